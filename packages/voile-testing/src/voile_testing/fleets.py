"""A small fleet in a small town, as files."""

from __future__ import annotations

from pathlib import Path

__all__ = ["write_fleet"]


def write_fleet(folder: Path) -> None:
    """A town of 15 x 15 streets and two trips in it, of which one stands for ten minutes."""
    lines, number = ["S_Node,E_Node,wkt\n"], 0
    for row in range(15):
        for column in range(15):
            here = (48.80 + row / 500, 2.30 + column / 333)
            for there in ((here[0] + 1 / 500, here[1]), (here[0], here[1] + 1 / 333)):
                ends = [f"{longitude:.6f} {latitude:.6f}" for latitude, longitude in (here, there)]
                for one, two in (ends, ends[::-1]):
                    names = [name.replace(" ", "_") for name in (one, two)]
                    lines.append(f'{names[0]},{names[1]},"LINESTRING ({one}, {two})"\n')
                    number += 1
    (folder / "town.csv").write_text("".join(lines))
    rows = ["trip,time,latitude,longitude\n"]
    rows += [
        f"secret <A>,{60 * minute},{48.80 + minute / 1000:.6f},2.303003\n" for minute in range(20)
    ]
    places = [min(minute, 8) + max(minute - 18, 0) for minute in range(20)]
    rows += [
        f"B,{60 * minute},48.810000,{2.30 + at / 500:.6f}\n" for minute, at in enumerate(places)
    ]
    (folder / "fleet.csv").write_text("".join(rows))
    (folder / "plan.toml").write_text(
        '[method]\nname = "geo-indistinguishability"\nepsilon = 0.02\n'
    )
