r"""Counts of clusters that need no angle: the effective number, silhouettes, and agreement.

The effective number of a measure is exp(-sum_i l_i log l_i), l_i the eigenvalues of
\int x x^T dmu / mu(S) (the Vendi score; Friedman & Dieng, TMLR 2023): k clusters that are small
and orthogonal to each other give k.  It is at most d, so that it says little where d <= 3.

The silhouette of a point is (b - a) / max(a, b), a its mean angle to the rest of its own cluster
and b that to the nearest other one (Rousseeuw, J. Comput. Appl. Math. 20 (1987)).  The clusters
are those of spherical k-means: each token goes to the nearest of k mean directions (Dhillon &
Modha, Mach. Learn. 42 (2001)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import comb, xlogy

from mfpde.arrays import FloatArray, IntArray

NUMBERS = range(2, 11)
"""Numbers of clusters k that are tried."""
SEPARATE = 0.5
"""Mean silhouette from which on clusters are separate; of points at random on S^2 it is .4."""
NARROW, NARROW_SHARE = np.pi / 4, 0.95
"""One cluster holds this share of the mass within this angle of the mean direction."""
STARTS, STEPS = 6, 50
"""Of k-means."""
BLOCK = 1 << 20
"""Angles that are held at once."""
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Silhouettes:
    """Mean silhouettes ``scores`` (9,) of 2 to 10 clusters, NaN where there are too few points.

    ``count`` is the number with the largest one if that is at least 0.5, else 1 if 95 % of the
    mass lie within pi/4 of the mean direction, else 0; ``labels`` (n,) are those of the number
    with the largest.
    """

    scores: FloatArray
    count: int
    labels: IntArray


def effective_number(points: FloatArray, shares: FloatArray) -> float:
    """exp of the entropy of the eigenvalues of sum m x x^T, of points (n, d) and shares (n,)."""
    parts = np.sqrt(shares)[:, np.newaxis] * points
    gram = parts.T @ parts if len(parts) > parts.shape[1] else parts @ parts.T
    return exponential_of_entropy(np.linalg.eigvalsh(gram))


def exponential_of_entropy(shares: ArrayLike) -> float:
    """exp(-sum p log p) of ``shares`` p of 1; rounded ones below 0 count as 0."""
    kept = np.clip(shares, 0.0, None)
    return float(np.exp(-xlogy(kept, kept).sum()))


def adjusted_rand(one: ArrayLike, other: ArrayLike) -> float:
    """Agreement of two partitions of the same points by pairs: 1 if equal, 0 as by chance.

    With n_ij points in class i of one and j of the other, and sums over pairs C(n, 2), it is
    (sum_ij - expected) / ((sum_i + sum_j) / 2 - expected), expected = sum_i sum_j / C(n, 2)
    (Hubert & Arabie, J. Classif. 2 (1985)).  Begin with ``adjusted_rand([0, 0, 1], [5, 5, 2])``.

    Parameters
    ----------
    one, other
        Labels (n,) of the same n >= 1 points, of any values; -1 (scattered) is one as all others.

    Raises
    ------
    ValueError
        If they are not of one length.
    """
    labels = np.asarray(one), np.asarray(other)
    shapes = [each.shape for each in labels]
    if labels[0].ndim != 1 or shapes[0] != shapes[1] or not len(labels[0]):
        raise ValueError(
            f"labels of shapes {shapes[0]} and {shapes[1]} must both be (n,)"
        )
    first, second = (np.unique(each, return_inverse=True)[1] for each in labels)
    table = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(table, (first, second), 1)
    joint, rows, columns, pairs = (
        comb(counts, 2).sum()
        for counts in (table, table.sum(axis=1), table.sum(axis=0), table.sum())
    )
    expected, most = rows * columns / max(pairs, 1.0), (rows + columns) / 2
    return 1.0 if most == expected else float((joint - expected) / (most - expected))


def find_silhouettes(points: FloatArray, shares: FloatArray) -> Silhouettes:
    """Silhouettes of the best of some k-means for each k, of points (n, d) with shares (n,)."""
    rng, tried = np.random.default_rng(0), [np.zeros(len(points), dtype=np.int64)]
    for number in NUMBERS if len(points) > 1 else ():
        found = [_partition(points, shares, number, rng) for _ in range(STARTS)]
        tried.append(max(found, key=lambda pair: pair[0])[1])
    numbers = [labels.max() + 1 for labels in tried]
    scores = np.full(len(NUMBERS), np.nan)
    # Fewer places than clusters leave some of them empty.
    kept = [k for k in NUMBERS if k < len(points) and numbers[k - 1] == k]
    if kept:
        scores[np.array(kept) - 2] = _score(
            points, shares, [tried[k - 1] for k in kept]
        )
    best = int(np.nanargmax(scores)) + 2 if kept else 1
    mean = shares @ points
    near = points @ mean >= np.cos(NARROW) * np.linalg.norm(mean) - ROUNDING
    count = int(shares[near].sum() >= NARROW_SHARE)
    if kept and scores[best - 2] >= SEPARATE:
        count = best
    return Silhouettes(scores, count, tried[best - 1])


def _partition(
    points: FloatArray, shares: FloatArray, number: int, rng: np.random.Generator
) -> tuple[float, IntArray]:
    """One spherical k-means from far centres (k-means++): sum m cos to the centres, labels."""
    chosen = [rng.choice(len(points), p=shares / shares.sum())]
    nearness = np.full(len(points), -1.0)
    for _ in range(number - 1):
        nearness = np.maximum(nearness, points @ points[chosen[-1]])
        far = shares * (1 - nearness).clip(ROUNDING)
        chosen.append(rng.choice(len(points), p=far / far.sum()))
    centres, labels = points[chosen], np.full(len(points), -1)
    for _ in range(STEPS):
        before, labels = labels, (points @ centres.T).argmax(axis=1)
        if (labels == before).all():
            break
        sums = _indicate(labels, shares, number).T @ points
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > ROUNDING, sums / lengths.clip(ROUNDING), centres)
    return float(shares @ (points @ centres.T).max(axis=1)), labels


def _score(
    points: FloatArray, shares: FloatArray, partitions: list[IntArray]
) -> list[float]:
    """The mean silhouette of each of the ``partitions``; of a point alone it is 0."""
    parts = [_indicate(labels, shares, labels.max() + 1) for labels in partitions]
    ends, rows = np.cumsum([part.shape[1] for part in parts])[:-1], len(points)
    totals = np.zeros(len(partitions))
    for low in range(0, rows, size := max(1, BLOCK // rows)):
        here = slice(low, low + size)
        angles = np.arccos((points[here] @ points.T).clip(-1, 1))
        sums = np.split(angles @ np.hstack(parts), ends, axis=1)
        for i, (part, labels, own) in enumerate(
            zip(parts, partitions, sums, strict=True)
        ):
            masses, mine = part.sum(axis=0), (np.arange(len(own)), labels[here])
            others = masses[labels[here]] - shares[here]
            inside = own[mine] / np.where(others > ROUNDING, others, np.inf)
            away = own / masses
            away[mine] = np.inf
            outside = away.min(axis=1)
            share = (outside - inside) / np.maximum(outside, inside).clip(ROUNDING)
            totals[i] += shares[here] @ np.where(others > ROUNDING, share, 0.0)
    return list(totals / shares.sum())


def _indicate(labels: IntArray, shares: FloatArray, number: int) -> FloatArray:
    """The mass (n, k) of each point in each cluster."""
    return np.asarray(
        (labels[:, np.newaxis] == np.arange(number)) * shares[:, np.newaxis]
    )
