r"""Optimal transport of weighted points for the cost (geodesic distance)^p.

The cost is computed exactly, by the network simplex of POT (Bonneel et al., 2011; Flamary et
al., 2021), or with entropy: with P_ij = a_i b_j exp((f_i + g_j - C_ij)/eps) of marginals a
and b, and
OT_eps = f.a + g.b, the debiased cost is

    S = OT_eps(a, b) - (OT_eps(a, a) + OT_eps(b, b)) / 2     (Feydy et al., 2019).

The unregularised cost lies between the value of the potentials, made feasible by
g_j = min_i (C_ij - f_i), and the cost of P, rounded to its marginals (Altschuler, Weed &
Rigollet, 2017); S is clipped to that interval, whose width bounds its error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from mfpde.arrays import FloatArray
from mfpde.measures.transport_pieces import Pieces

SIMPLEX_PIVOTS = 100_000_000
SIMPLEX_ERROR = 1e-12
ENTROPY = 2e-3
"""Regularisation eps, as a share of the largest cost."""

SWEEPS = 40
LAST_SWEEPS = 1000
MARGINAL_ERROR = 1e-6


class Cost(NamedTuple):
    """A transport cost, and an interval that holds the exact one."""

    value: float
    lowest: float
    highest: float

    def distance(self, order: int) -> tuple[float, float]:
        """The distance, the root of the cost, and a bound for its error."""
        value, low, high = (max(cost, 0.0) ** (1 / order) for cost in self)
        return value, max(value - low, high - value)


def geodesic_distances(points: FloatArray, others: FloatArray) -> FloatArray:
    """Angles (n, m) between all pairs of unit vectors, accurate at 0 and at pi."""
    return np.asarray(2 * np.arctan2(cdist(points, others), cdist(points, -others)))


def exact_cost(first: Pieces, second: Pieces, order: int) -> Cost:
    """Cost of the optimal plan between two probabilities.

    Raises
    ------
    ArithmeticError
        If the network simplex does not end.
    """
    import ot

    costs = geodesic_distances(first.points, second.points) ** order
    a, b = first.masses, second.masses * (first.total_mass / second.total_mass)
    value, log = ot.emd2(a, b, costs, numItermax=SIMPLEX_PIVOTS, log=True)
    if log["warning"] is not None:
        raise ArithmeticError(
            f"the network simplex failed on {len(a)} x {len(b)} points: "
            f"{log['warning']}; coarsen further (support=...) or use method='entropic'"
        )
    return Cost(
        float(value), float(value) - SIMPLEX_ERROR, float(value) + SIMPLEX_ERROR
    )


def entropic_cost(first: Pieces, second: Pieces, order: int) -> Cost:
    """Debiased entropic cost between two probabilities."""
    costs = geodesic_distances(first.points, second.points) ** order
    entropy = ENTROPY * float(costs.max()) if costs.max() > 0 else ENTROPY
    a, b = first.masses, second.masses
    f, g = _potentials((a, b), costs, entropy)
    value = float(f @ a + g @ b)
    for pieces in (first, second):
        own = geodesic_distances(pieces.points, pieces.points) ** order
        masses = pieces.masses
        potential = _own_potential(masses, own, entropy)
        value -= float(potential @ masses)
    feasible = (costs - f[:, np.newaxis]).min(axis=0)
    lowest = float(f @ a + feasible @ b)
    plan = np.exp((f[:, np.newaxis] + g - costs) / entropy)
    plan *= a[:, np.newaxis] * b
    highest = _rounded_cost(plan, (a, b), costs)
    return Cost(min(max(value, lowest), highest), lowest, highest)


def _potentials(
    masses: tuple[FloatArray, FloatArray], costs: FloatArray, entropy: float
) -> tuple[FloatArray, FloatArray]:
    """Sinkhorn's potentials f, g, for an entropy that is halved stage by stage."""
    a, b = masses
    f, g = np.zeros(len(a)), np.zeros(len(b))
    stages = int(np.ceil(np.log2(max(float(costs.max()) / entropy, 1.0))))
    for stage in range(stages, -1, -1):
        eps = entropy * 2.0**stage
        sweeps = LAST_SWEEPS if stage == 0 else SWEEPS
        for _ in range(sweeps // SWEEPS):
            # In logarithms once, so that no sum below is zero.
            f = -eps * logsumexp((g - costs) / eps, b=b, axis=1)
            kernel = np.exp((f[:, np.newaxis] + g - costs) / eps)
            u, v = np.ones(len(a)), np.ones(len(b))
            for _ in range(SWEEPS):
                v = 1 / (kernel.T @ (a * u))
                u = 1 / (kernel @ (b * v))
            f, g = f + eps * np.log(u), g + eps * np.log(v)
            if np.abs(b * (v * (kernel.T @ (a * u)) - 1)).sum() < MARGINAL_ERROR:
                break
    return f, g


def _own_potential(masses: FloatArray, costs: FloatArray, entropy: float) -> FloatArray:
    """The potential of a measure with itself, for which a few averaged sweeps suffice."""
    kernel = np.exp(-costs / entropy)
    scaling = np.ones(len(masses))
    for _ in range(LAST_SWEEPS):
        wanted = 1 / (kernel @ (masses * scaling))
        change = float(masses @ np.abs(wanted / scaling - 1))
        scaling = np.sqrt(scaling * wanted)
        if change < MARGINAL_ERROR:
            break
    return np.asarray(entropy * np.log(scaling))


def _rounded_cost(
    plan: FloatArray, masses: tuple[FloatArray, FloatArray], costs: FloatArray
) -> float:
    """Cost of the plan after it is moved onto the marginals exactly."""
    a, b = masses
    plan = plan * np.minimum(a / plan.sum(axis=1), 1.0)[:, np.newaxis]
    plan *= np.minimum(b / plan.sum(axis=0), 1.0)
    left, right = a - plan.sum(axis=1), b - plan.sum(axis=0)
    rest = float(left.sum())
    extra = float(left @ costs @ right) / rest if rest > 0 else 0.0
    return float((plan * costs).sum()) + extra
