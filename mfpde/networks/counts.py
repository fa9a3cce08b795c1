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

from mfpde.arrays import FloatArray, IntArray, blocks_of_rows

NUMBERS = range(2, 11)
"""Numbers of clusters k that are tried."""
SEPARATE = 0.5
"""Mean silhouette from which on clusters are separate; of points at random on S^2 it is .4."""
NARROW, NARROW_SHARE = np.pi / 4, 0.95
"""One cluster holds this share of the mass within this angle of the mean direction."""
STARTS, STEPS = 6, 50
"""Of k-means."""
MOST_ANGLES = 1 << 20
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


def effective_number(
    points: FloatArray, shares: FloatArray, axis: FloatArray | None = None
) -> float:
    """exp(-sum l log l), l the eigenvalues of sum m x x^T, of points (n, d) and shares m (n,).

    About an ``axis`` (d,) each point is a whole ring.
    """
    if axis is not None:
        along, across = float(shares @ (points @ axis) ** 2), len(axis) - 1
        eigenvalues = np.array([along, *[(1 - along) / across] * across])
    else:
        parts = np.sqrt(shares)[:, np.newaxis] * points
        is_long = len(parts) > parts.shape[1]
        gram = parts.T @ parts if is_long else parts @ parts.T
        eigenvalues = np.linalg.eigvalsh(gram).clip(0.0)
    return float(np.exp(-xlogy(eigenvalues, eigenvalues).sum()))


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
    joint, rows, columns = (
        comb(np.unique(each, axis=-1, return_counts=True)[1], 2).sum()
        for each in (np.stack(labels), *labels)
    )
    pairs = max(comb(len(labels[0]), 2), 1.0)
    expected, most = rows * columns / pairs, (rows + columns) / 2
    return 1.0 if most == expected else float((joint - expected) / (most - expected))


def find_silhouettes(points: FloatArray, shares: FloatArray) -> Silhouettes:
    """Silhouettes of the best of some k-means for each k, of points (n, d) with shares (n,)."""
    rng, tried = np.random.default_rng(0), dict[int, IntArray]()
    for number in NUMBERS[: max(len(points) - 2, 0)]:
        found = [_partition(points, shares, number, rng) for _ in range(STARTS)]
        labels = max(found, key=lambda pair: pair[0])[1]
        # Fewer places than clusters leave some of them empty.
        if len(np.unique(labels)) == number:
            tried[number] = labels
    mean = shares @ points
    near = points @ mean >= np.cos(NARROW) * np.linalg.norm(mean) - ROUNDING
    count = int(shares[near].sum() >= NARROW_SHARE)
    scores = np.full(len(NUMBERS), np.nan)
    if not tried:
        return Silhouettes(scores, count, np.zeros(len(points), dtype=np.int64))
    members = np.hstack([np.eye(number)[labels] for number, labels in tried.items()])
    sums = _sum_angles(points, shares[:, np.newaxis] * members)
    each = np.split(sums, np.cumsum([*tried])[:-1], axis=1)
    for (number, labels), own in zip(tried.items(), each, strict=True):
        scores[number - 2] = _score(own, labels, shares)
    best = int(np.nanargmax(scores)) + 2
    if scores[best - 2] >= SEPARATE:
        count = best
    return Silhouettes(scores, count, tried[best])


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
    weighted = shares[:, np.newaxis] * points
    for _ in range(STEPS):
        before, labels = labels, (points @ centres.T).argmax(axis=1)
        if (labels == before).all():
            break
        sums = np.eye(number)[labels].T @ weighted
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > ROUNDING, sums / lengths.clip(ROUNDING), centres)
    return float(shares @ (points @ centres.T).max(axis=1)), labels


def _sum_angles(points: FloatArray, weights: FloatArray) -> FloatArray:
    """Sums (n, k) of the angles from each point (n, d) to all, with ``weights`` (n, k)."""
    count = len(points)
    rows = [
        np.arccos((points[here] @ points.T).clip(-1, 1)) @ weights
        for here in blocks_of_rows(count, count, MOST_ANGLES)
    ]
    return np.concatenate(rows)


def _score(sums: FloatArray, labels: IntArray, shares: FloatArray) -> float:
    """The mean silhouette, by sums (n, k) of angles to each cluster; of a point alone it is 0."""
    masses, own = np.bincount(labels, shares), (np.arange(len(labels)), labels)
    others = masses[labels] - shares
    is_alone = others <= ROUNDING
    inside = sums[own] / np.where(is_alone, np.inf, others)
    away = sums / masses
    away[own] = np.inf
    outside = away.min(axis=1)
    each = (outside - inside) / np.maximum(outside, inside).clip(ROUNDING)
    return float(shares @ np.where(is_alone, 0.0, each) / shares.sum())
