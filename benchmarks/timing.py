"""Taking times side by side, so that both sides meet the same machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from time import perf_counter

__all__ = ["cells_of_ratios", "in_turn", "seconds_text"]


def in_turn(
    sides: Mapping[str, Callable[[], object]],
    calls: Mapping[str, tuple[int, int]],
    rounds: int,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, float]:
    """Median seconds a call of each side, the sides called in turn in each round.

    ``calls`` gives the rounds in which a side takes part and how often it is then called in a
    row, each call timed by itself; all rounds and once by default.  With the clock
    ``time.process_time`` the seconds are those of all processor cores.  Warm up before: nothing
    is left out here.
    """
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for round_number in range(rounds):
        for name, side in sides.items():
            its_rounds, its_calls = calls.get(name, (rounds, 1))
            for _ in range(its_calls if round_number < its_rounds else 0):
                started = clock()
                side()
                taken[name].append(clock() - started)
    return {name: median(times) for name, times in taken.items()}


def cells_of_ratios(ratios: Sequence[float]) -> str:
    """Median ratio with the smallest and the largest."""
    return f"{_number(median(ratios))} ({_number(min(ratios))} to {_number(max(ratios))})"


def _number(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def seconds_text(seconds: float) -> str:
    """A time with three digits and a fitting unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"
