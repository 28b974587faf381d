"""What averaging finds of a truck that stands, and that the documentation says it."""

from __future__ import annotations

import re

import pytest

from benchmarks.sharing_standing import MECHANISMS, Standing, found_to
from voile_share.platform import Settings
from voile_testing.plugin import ROOT

PAGE = ROOT / "docs" / "sharing-protocol.md"
TRUCKS = 400


def known_leaks() -> str:
    """That part of the page."""
    return PAGE.read_text(encoding="utf-8").partition("## Known leaks")[2].partition("\n## ")[0]


def documented(case: str, mechanism: str) -> list[float]:
    """Metres at the near, the middle and the far level, as the page has them."""
    [row] = re.findall(rf"\| {case}, `{mechanism}` \|(.*)\|\n", known_leaks())
    return [float(cell.replace(",", "")) for cell in row.split("|")]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    ("case", "standing"),
    [
        ("once", (0, 1)),
        pytest.param("1 hour", (1, 1), marks=pytest.mark.slow),
        pytest.param("8 hours", (8, 1), marks=pytest.mark.slow),
    ],
)
def test_the_page_says_how_near_averaging_comes(
    case: str, standing: Standing, mechanism: str
) -> None:
    """The service's own noise, averaged, is as far off as Known leaks says, at each level.

    A mean of 400 Rayleigh lengths has a relative standard error of 2.6 %; 12 % are 4.6 of them, and
    so false alarms have odds below 1e-3 for all figures.
    """
    found = found_to(Settings(mechanism=mechanism), standing, TRUCKS).mean(axis=0)
    said = documented(case, mechanism)
    assert found.tolist() == pytest.approx(said, rel=0.12)
    # Noise that is wider or narrower by a third is told apart.
    assert (4 * found / 3).tolist() != pytest.approx(said, rel=0.12)
    assert (3 * found / 4).tolist() != pytest.approx(said, rel=0.12)


def test_nobody_is_advised_to_report_in_every_slot() -> None:
    """What the rhythm hides costs the place where a truck stands."""
    source = ROOT / "packages/voile-share/src/voile_share/protocol/truck.py"
    for text in (known_leaks(), source.read_text(encoding="utf-8")):
        assert "ublish in every slot" not in text
        assert "average" in text or "averaging" in text
