"""The optimum of a few items by plain search; shares nothing with the package."""

from __future__ import annotations

from collections.abc import Sequence


def fewest_bins(weights: Sequence[int], capacity: int) -> int:
    """The least number of bins, by trying every bin for every item."""
    best = len(weights)

    def place(item: int, loads: list[int]) -> None:
        nonlocal best
        if len(loads) >= best and item < len(weights):
            return
        if item == len(weights):
            best = min(best, len(loads))
            return
        seen = set()
        for number, load in enumerate(loads):
            if load + weights[item] <= capacity and load not in seen:
                seen.add(load)
                loads[number] += weights[item]
                place(item + 1, loads)
                loads[number] -= weights[item]
        place(item + 1, [*loads, weights[item]])

    place(0, [])
    return best


def best_value(
    weights: Sequence[int], counts: Sequence[int], prices: Sequence[int], capacity: int
) -> int:
    """The largest sum of prices of what fits into one bin."""
    values = [0] * (capacity + 1)
    for weight, count, price in zip(weights, counts, prices, strict=True):
        for _ in range(count):
            for room in range(capacity, weight - 1, -1):
                values[room] = max(values[room], values[room - weight] + price)
    return values[capacity]
