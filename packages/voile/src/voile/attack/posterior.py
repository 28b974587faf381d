"""What an adversary believes of the people he knows: whose row is which, by Bayes' rule.

What it does: draws the targets of an attack, and turns what a release shows of them
(``release.reading``) into probabilities: of the rows that may be a person's, and of the people
that a row may belong to.

Source: Bayes' rule, with nothing known beforehand: every row is as likely as another, and so is
every person.  Each column weighs every pair of a person and a published row by how much likelier
the row shows what it shows if it is that person's (for noise, "Privacy-Preserving Bin-Packing With
Differential Privacy", IEEE OJ-CS 2022, eq. 30); weights of several columns are multiplied.

Cost: O(t n m) for t people, n different published rows and m columns, some 3 ns a pair and
column, 30 with noise; memory for a few million pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.evidence import Chosen, CoverEvidence
from voile.release.reading.sightings import People, PublishedRows, Sightings, texts_of
from voile.release.release import Release
from voile.table.arrays import Values
from voile_base.errors import InputError, nearest
from voile_base.randomness import Key, Randomness

__all__ = [
    "PAIRS",
    "draw_rows",
    "draw_targets",
    "draw_units",
    "owner_posteriors",
    "plain_weights",
    "posteriors",
    "rows_of_people",
    "sampling",
    "worst_and_typical",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

PAIRS = 1 << 21
"""Pairs of a person and a row that are weighed at a time: some 50 megabytes."""


def draw_targets(
    people: People,
    columns: Sequence[str],
    targets: int | None,
    randomness: Randomness,
    link: str | None = None,
    there: Indices | None = None,
) -> Indices:
    """Indices of the rows at which an attack is aimed, ascending; all where ``targets`` is None.

    Where the plan names persons or households, so many of these are drawn, and one row of each:
    the one that is known, one of ``there`` where that is given.  A function of what rows hold in
    these columns and in the link, and of whose they are, not of where they stand.
    """
    linked = [link] if link in people.frame.columns else []
    names = (*sorted(columns), *linked)
    if people.protected != "row":
        whose, _ = people.units
        rows = np.arange(len(whose)) if there is None else there
        chosen = draw_units(people, targets, randomness, np.unique(whose[rows]))
        return _row_of_each(people, names, rows[np.isin(whose[rows], chosen)], randomness)
    known = (people.column(name) for name in names)
    return _drawn(known, people.frame.height, targets, randomness.key("targets"))


def draw_units(
    people: People, targets: int | None, randomness: Randomness, among: Indices | None = None
) -> Indices:
    """So many of the persons or households that the plan names, ascending; all for None.

    ``among`` are those who may be drawn.  A function of what they are called alone.
    """
    units, count = people.units
    among = np.arange(count) if among is None else among
    _, first = np.unique(units, return_index=True)
    called = people.frame[people.unit_column].gather(first[among])
    chosen = _drawn([called], len(among), targets, randomness.key("targets"))
    return among[chosen]


def _row_of_each(
    people: People, names: Sequence[str], rows: Indices, randomness: Randomness
) -> Indices:
    """Of these rows one of each person, drawn by what it holds; ascending."""
    from voile.table.engines.polars.engine import unique_words  # noqa: PLC0415 - compiled code

    units, _ = people.units
    known = [people.column(name).gather(rows) for name in (*names, people.unit_column)]
    words = unique_words(known, randomness.key("rows of targets"))
    order = np.lexsort((words, units[rows]))
    _, first = np.unique(units[rows][order], return_index=True)
    return np.sort(rows[order[first]])


def draw_rows(published: PublishedRows, count: int | None, randomness: Randomness) -> Indices:
    """Indices of published rows, ascending; all where ``count`` is None.

    A function of what rows show, not of where they stand.
    """
    columns = (published.frame[name] for name in sorted(published.frame.columns))
    return _drawn(columns, published.frame.height, count, randomness.key("rows"))


def posteriors(
    sightings: Sightings, targets: int, *, population: bool = False, pairs: int = PAIRS
) -> Iterator[tuple[slice, Floats]]:
    """For chunks of the t targets, the probability that a target's row is a given row.

    Yields ``(chunk, weights)``, the weights of shape (targets in the chunk, g): all rows of a
    sighting have the same, so ``weights @ sightings.rows`` is 1 for each target, or 0 where no row
    fits.  With ``population`` weights are first divided by their mean over the targets, which is
    Bayes' rule for others drawn like the targets.  ``pairs`` bounds the size of a chunk.
    """
    chunks = _chunks(targets, len(sightings.rows), pairs)
    usual = _log_mean_weights(sightings, chunks) if population else None
    for chunk in chunks:
        masks = [seen.fits_some_target(chunk) for seen in sightings.texts]
        if masks:  # a table of many different rows becomes a short list, for a look-up a row
            which = np.flatnonzero(np.logical_and.reduce(masks))
            divisors = None if usual is None else usual[which]
            weights = np.zeros((chunk.stop - chunk.start, len(sightings.rows)))
            weights[:, which] = _weights(sightings.only(which), chunk, 1, divisors)
        else:
            weights = _weights(sightings, chunk, 1, usual)
        total = weights @ sightings.rows
        weights /= np.where(total > 0, total, 1.0)[:, np.newaxis]
        yield chunk, weights


def owner_posteriors(
    sightings: Sightings, people: NDArray[np.int64], pairs: int = PAIRS
) -> Iterator[tuple[slice, Indices, Floats]]:
    """For chunks of the g sightings, the probability that a row belongs to a given person.

    The targets of the sightings are t different people; ``people`` (t,) says how many there are of
    each.  Yields ``(chunk, who, weights)``: the weights, of shape (who, sightings in the chunk), of
    the people at the places ``who``; all others have none.  ``people[who] @ weights`` is 1 for each
    sighting, or 0 where nobody fits.
    """
    for chunk in _chunks(len(sightings.rows), len(people), pairs):
        part = sightings.only(np.arange(len(sightings.rows))[chunk])
        masks = [seen.fits_some_row() for seen in part.texts]
        fit = np.logical_and.reduce(masks) if masks else np.ones(len(people), np.bool_)
        who = np.flatnonzero(fit)
        weights = _weights(part, who, 0)
        total = people[who] @ weights
        yield chunk, who, weights / np.where(total > 0, total, 1.0)


def plain_weights(
    sightings: Sightings, targets: int, pairs: int = PAIRS
) -> Iterator[tuple[slice, Floats]]:
    """For chunks of the t targets, how well each row fits them, not normalized.

    Yields ``(chunk, weights)``, the weights of shape (targets in the chunk, g): 1 where a row fits
    and 0 where not; noise and permuted columns weigh as ``release.reading`` says.
    """
    for chunk in _chunks(targets, len(sightings.rows), pairs):
        if all(isinstance(seen, CoverEvidence) for seen in sightings.evidence):
            yield chunk, _weights(sightings, chunk, 1)
        else:
            yield chunk, np.exp(_log_weights(sightings, chunk))


def rows_of_people(
    published: PublishedRows, people: People, link: str, targets: Indices
) -> Indices:
    """The published row of each target by the link, shape (t,); -1 where it is not published.

    Raises ``InputError`` where the link is missing or does not tell rows apart.
    """
    both = ((published.frame, "the release"), (people.frame, "the original"))
    for frame, where in both:
        if link not in frame.columns:
            msg = f"{where} has no column {link!r} to link rows by{nearest(link, frame.columns)}"
            raise InputError(msg)
    for frame, where in both:
        if frame[link].n_unique() < frame.height:
            msg = f"column {link!r} of {where} does not tell rows apart; a link is unique"
            raise InputError(msg)
    row_of = {text: row for row, text in enumerate(texts_of(published.frame[link]))}
    texts = texts_of(people.column(link).gather(targets))
    return np.array([row_of.get(text, -1) for text in texts], dtype=np.int64)


def sampling(release: Release) -> float:
    """The probability with which a row was sampled before it was published."""
    return release.disclosure.probability


def worst_and_typical(probability: Floats) -> tuple[int, int]:
    """The targets with the largest and with the median probability, of one target or more."""
    order = np.argsort(probability, kind="stable")
    return int(order[-1]), int(order[(len(order) - 1) // 2])


def _drawn(columns: Iterable[Values], rows: int, count: int | None, key: Key) -> Indices:
    """Indices of so many of the rows, ascending; all where there are no more."""
    if count is None or rows <= count:
        return np.arange(rows)
    from voile.table.engines.polars.engine import unique_words  # noqa: PLC0415 - compiled code

    words = unique_words(columns, key)
    return np.sort(np.argsort(words)[:count])


def _weights(
    sightings: Sightings, targets: Chosen, axis: int, usual: Floats | None = None
) -> Floats:
    """The weights of all sightings for some targets, the largest along an axis being 1, or all 0.

    ``usual`` (g,) are logarithms of what they are divided by.
    """
    if usual is None and all(isinstance(seen, CoverEvidence) for seen in sightings.evidence):
        covers = _covers(sightings, targets)
        assert covers is not None
        return covers.astype(np.float64)
    weights = _log_weights(sightings, targets)
    if usual is not None:
        weights = weights - usual
    top = weights.max(axis=axis, keepdims=True, initial=-np.inf)
    weights -= np.where(np.isfinite(top), top, 0.0)
    return np.exp(weights, out=weights)


def _log_weights(sightings: Sightings, targets: Chosen) -> Floats:
    """Logarithms of the weights of all sightings for some targets; -inf rules one out."""
    graded = [seen for seen in sightings.evidence if not isinstance(seen, CoverEvidence)]
    covers = _covers(sightings, targets)
    weights = sum((seen.log_weights(targets) for seen in graded), start=np.zeros(()))
    return weights if covers is None else np.where(covers, weights, -np.inf)


def _covers(sightings: Sightings, targets: Chosen) -> NDArray[np.bool_] | None:
    """Which sightings fit some targets in all columns that say yes or no; None without any."""
    covers = None
    for seen in sightings.evidence:
        if isinstance(seen, CoverEvidence):
            fits = seen.covers(targets)
            covers = fits if covers is None else np.logical_and(covers, fits, out=covers)
    return covers


def _log_mean_weights(sightings: Sightings, chunks: Sequence[slice]) -> Floats:
    """Logarithm of the mean weight of each sighting over targets, up to a constant; (g,)."""
    total = np.full(len(sightings.rows), -np.inf)
    for chunk in chunks:
        total = np.logaddexp(total, np.logaddexp.reduce(_log_weights(sightings, chunk)))
    return np.where(np.isfinite(total), total, 0.0)


def _chunks(count: int, width: int, pairs: int) -> list[slice]:
    size = max(1, pairs // max(width, 1))
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]
