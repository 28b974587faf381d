"""The picture of the bins: what is drawn, in which form, and that it is the same every time."""

from __future__ import annotations

import re
import struct
import sys

import numpy as np
import pytest

from voile_base.errors import InputError
from voile_base.ondemand import require_plotting
from voile_pack.drawing import DrawnMeasure, draw_bins

pytest.importorskip("matplotlib", reason="pictures are an extra")


def measure(values, capacity=10.0, planned=None, uncertain=False, name="weight_g") -> DrawnMeasure:
    values = np.asarray(values, float)
    ends = (values * 0.5, values * 1.5) if uncertain else (None, None)
    return DrawnMeasure(name, values, capacity, planned or capacity, *ends)


def svg(tmp_path, measures, bin_of, title="Bins") -> str:
    path = tmp_path / "bins.svg"
    draw_bins(path, measures, np.asarray(bin_of), title)
    return path.read_text(encoding="utf-8")


def size(path) -> tuple[int, int]:
    """Width and height that a PNG file states."""
    return struct.unpack(">II", path.read_bytes()[16:24])


def test_words_of_a_small_picture(tmp_path):
    """Title, axes, the capacity, the margin and the uncertain part are named."""
    text = svg(
        tmp_path, [measure([4, 5, 6], planned=9.8, uncertain=True)], [0, 0, 1], "PRIVATE: 3 parcels"
    )
    for words in (
        "PRIVATE: 3 parcels",
        "load: weight_g",
        ">bin<",
        "capacity",
        "less the margin",
        "parcels, largest first",
        "sum of lower to sum of upper ends",
        "planned load",
    ):
        assert words in text


def test_exact_parcels_have_no_uncertain_part(tmp_path):
    """Without intervals and margin, neither is in the legend."""
    text = svg(tmp_path, [measure([4, 5, 6])], [0, 0, 1])
    assert "upper ends" not in text
    assert "margin" not in text


@pytest.mark.slow
def test_each_measure_has_a_panel(tmp_path):
    """Weight and volume are drawn one below the other."""
    text = svg(tmp_path, [measure([4, 5]), measure([1, 2], name="volume_l")], [0, 1])
    assert "load: weight_g" in text
    assert "load: volume_l" in text


@pytest.mark.slow
def test_hundreds_of_bins_are_a_profile(tmp_path):
    """Up to 160 bins stand one by one; more are one profile, no taller than a few bins."""
    few, many = tmp_path / "few.png", tmp_path / "many.png"
    draw_bins(few, [measure(np.full(100, 9.0))], np.arange(100), "100 bins")
    draw_bins(many, [measure(np.full(2000, 9.0))], np.arange(2000), "2,000 bins")
    assert size(many)[1] < size(few)[1]
    text = svg(tmp_path, [measure(np.full(2000, 9.0), uncertain=True)], np.arange(2000))
    assert "2,000 bins, fullest first" in text
    assert "parcels, largest first" not in text
    assert len(text) < 400_000


@pytest.mark.slow
def test_many_parcels_in_a_bin_are_one_block(tmp_path):
    """Parcels beyond the twelve largest of a bin do not make the picture larger."""
    some = svg(tmp_path, [measure(np.ones(13))], np.zeros(13, np.int64))
    many = svg(tmp_path, [measure(np.ones(5000), 6000.0)], np.zeros(5000, np.int64))
    assert "smaller parcels" in many
    assert len(many) < 1.2 * len(some)
    assert "smaller parcels" not in svg(tmp_path, [measure([4, 5])], [0, 0])


def test_bars_reach_the_loads(tmp_path):
    """The bars of a bin together are as high as its load: read from the drawn rectangles."""
    text = svg(tmp_path, [measure([2, 3, 8])], [0, 0, 1])
    bars = re.findall(r'<path d="M ([\d.]+) ([\d.]+) \nL ([\d.]+) [\d.]+ \nL [\d.]+ ([\d.]+)', text)
    heights: dict[str, float] = {}
    for left, bottom, right, top in bars:
        if 60 < float(right) - float(left) < 400 and bottom != top:
            heights[left] = heights.get(left, 0.0) + float(bottom) - float(top)
    found = sorted(heights.values())[-3:]
    assert found[1] / found[0] == pytest.approx(8 / 5, rel=1e-3)


@pytest.mark.slow
def test_pictures_repeat(tmp_path):
    """The same packing makes the same file."""
    first = svg(tmp_path, [measure([4, 5, 6], uncertain=True)], [0, 0, 1])
    assert svg(tmp_path, [measure([4, 5, 6], uncertain=True)], [0, 0, 1]) == first


def test_without_matplotlib(monkeypatch):
    """Where matplotlib is absent the message says how to install it."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'voile-base\[plot\]'"):
        require_plotting()
