"""Pictures of paths on maps."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from voile_geo.roads.drawing import ATTRIBUTION, DrawnPath, draw_paths
from voile_testing.towns import random_network


def paths(count: int) -> list[DrawnPath]:
    line = np.linspace([-300.0, -200.0], [300.0, 250.0], 5)
    return [DrawnPath(f"path {number}", line + 20 * number) for number in range(count)]


def test_a_picture_names_its_paths_and_whose_map_it_is(tmp_path: Path) -> None:
    """Every path is in the legend, with a bar for the scale, north, and the attribution."""
    file = tmp_path / "map.svg"
    draw_paths(file, random_network(5, size=8), paths(6), "six paths")
    text = file.read_text(encoding="utf-8")
    for said in (
        *(f"path {number}" for number in range(6)),
        "six paths",
        ATTRIBUTION,
        "100 m",
        "N",
    ):
        assert f">{said}<" in text


def test_the_same_picture_is_the_same_file(tmp_path: Path) -> None:
    """No date and no random names."""
    for name in ("one.svg", "two.svg"):
        draw_paths(tmp_path / name, random_network(5, size=8), paths(2))
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_a_picture_becomes_a_png_by_its_name(tmp_path: Path) -> None:
    """Even of one point."""
    file = tmp_path / "map.png"
    draw_paths(file, random_network(5, size=8), [DrawnPath("here", np.zeros((1, 2)))])
    assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("count", [0, 7])
def test_too_few_or_too_many_paths_are_refused(tmp_path: Path, count: int) -> None:
    """Nothing to draw, or too much to be told apart."""
    with pytest.raises(ValueError, match="1 to 6 paths"):
        draw_paths(tmp_path / "map.svg", random_network(5, size=8), paths(count))


@pytest.mark.parametrize("end", [(30.0, 9_000.0), (9_000.0, 30.0), (4_000.0, 5_000.0)])
def test_a_map_fits_on_a_screen_whichever_way_a_path_goes(
    tmp_path: Path, end: tuple[float, float]
) -> None:
    """Never much higher than wide, as wide as the page, and without a gap above the legend."""
    file = tmp_path / "map.svg"
    draw_paths(file, random_network(5, size=8), [DrawnPath("way", np.array([(0.0, 0.0), end]))])
    text = file.read_text(encoding="utf-8")
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
    frame = re.search(r'id="patch_2">\s*<path d="M ([\d.]+) ([\d.]+) \nL ([\d.]+) [\d.]+', text)
    assert size is not None
    assert frame is not None
    width, height = map(float, size.groups())
    assert 0.4 < height / width < 1.5
    left, bottom, right = map(float, frame.groups())
    assert right - left > 0.9 * width
    assert height - bottom < 100
