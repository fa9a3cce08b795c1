r"""The ladder from a network to its mean field: what each idealisation costs, layer by layer.

All rungs start from the same tokens and go on by themselves.  At each layer a rung is compared
with the exact pass: by the mean angle between a token and the exact one, and by its clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist

from mfpde.arrays import FloatArray, choice
from mfpde.geometry import Circle, Geometry, Sphere
from mfpde.geometry.arcs import distances
from mfpde.measures.measure import AnyMeasure, Atoms, Density
from mfpde.measures.wasserstein import wasserstein
from mfpde.networks.clusters import clusters
from mfpde.networks.counts import adjusted_rand
from mfpde.networks.folding import PARTS
from mfpde.notebook import Printed, call_above, format_table
from mfpde.particles import solve_particles
from mfpde.particles.systems import particle_system
from mfpde.positions.tokens import place_tokens
from mfpde.runs.layers import largest_degree
from mfpde.solver.solve import solve
from mfpde.terms.normalization import split_tokens

if TYPE_CHECKING:
    from mfpde.networks.network import Network

EXACT, JUDGED, DENSITY = "exact", "parallel flow", "density"
STEPS = 16
"""Of the Runge-Kutta method of order 4 in a layer."""
NEAR, AGREES = 0.1, 0.8
"""Share of the way of tokens up to which a rung is near, and Rand index from which it agrees."""
SIZES = 32, 64, 128
GRIDS: dict[int, Callable[[int], Geometry]] = {2: lambda n: Circle(8 * n), 3: Sphere}
"""Of densities by d': the first that resolves all layers is taken."""
SUPPORT = 500
"""Points between which the distance of a density is measured."""


class Measures(NamedTuple):
    """A rung beside the exact tokens, numbers (layers + 1,) from the start on.

    ``angle`` is the mean angle (radians) to the exact tokens, of a density the distance W1;
    ``effective_number`` that of directions; ``clusters`` their count by silhouettes, 0 for none;
    ``rand`` the adjusted Rand index with the exact partition.  NaN: there is none.
    """

    angle: FloatArray
    effective_number: FloatArray
    clusters: FloatArray
    rand: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Ladder(Printed):
    """What the idealisations of a network cost, beside baselines; printed, a table and a verdict.

    Attributes
    ----------
    rungs
        :class:`Measures` by the names of rungs, from ``"exact"`` on.
    baselines
        The same of ``"moved"``, tokens that stay where they start; ``"unrelated tokens"``,
        the mean angle of all pairs; and of the network in its own steps without F of attention,
        ``"no attention"``, and of the perceptron, ``"no MLP"``.
    """

    rungs: dict[str, Measures]
    baselines: dict[str, Measures]

    @property
    def verdict(self) -> str:
        """``"pointwise"``, ``"clusters only"`` or ``"neither"``, of the parallel flow.

        Pointwise: the angle is at most a tenth of that by which tokens have moved, in each layer.
        Clusters only: at the end there are as many clusters, two or more, and Rand is >= 0.8.
        """
        flow, exact = self.rungs[JUDGED], self.rungs[EXACT]
        if (flow.angle <= NEAR * self.baselines["moved"].angle)[1:].all():
            return "pointwise"
        has_clusters = flow.clusters[-1] == exact.clusters[-1] > 1
        is_alike = has_clusters and flow.rand[-1] >= AGREES
        return "clusters only" if is_alike else "neither"

    @property
    def costs(self) -> dict[str, float]:
        """The angle that rungs add to what they idealise, the largest first.

        It is a mean over the layers that a rung reaches.  A rung without its parent is compared
        with the exact pass.
        """
        means = {name: float(np.nanmean(one.angle)) for name, one in self.rungs.items()}
        names = means.keys() - {EXACT, DENSITY}
        found = {name: means[name] - means.get(RUNGS[name][0], 0.0) for name in names}
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))

    @property
    def costliest(self) -> str:
        """The rung that costs most."""
        return next(iter(self.costs))

    def to_pandas(self) -> Any:
        """A DataFrame: ``kind`` (rungs, baselines), ``name``, ``layer``, and the measures."""
        import pandas as pd

        frames = {
            (kind, name): pd.DataFrame(measures._asdict())
            for kind, part in vars(self).items()
            for name, measures in part.items()
        }
        return pd.concat(frames, names=["kind", "name", "layer"]).reset_index()

    def __str__(self) -> str:
        rows = []
        for name, (angle, *others) in (self.rungs | self.baselines).items():
            ends = [f"{numbers[-1]:.3g}" for numbers in others]
            rows.append([name, *(f"{x:.3f}" for x in angle[1:]), *ends])
        layers = map(str, range(1, len(self.rungs[EXACT].angle)))
        headers = ["angle after layer", *layers, "n_eff", "clusters", "Rand"]
        return f"{self.headline}\n{format_table(headers, rows)}"

    @property
    def headline(self) -> str:
        """The verdict in a line."""
        return f"{JUDGED}: {self.verdict}; {self.costliest!r} costs most"

    def plot(self, **options: Any) -> Any:
        """The figure of the ladder, as :func:`mfpde.plot_ladder` makes it with these options."""
        return call_above("networks.pictures:plot_ladder", self, **options)


class ExactPass:
    """The exact pass of ``tokens`` (N, d), in coordinates of U, and what stands beside it."""

    def __init__(self, network: Network, tokens: FloatArray, radii: FloatArray) -> None:
        self.network, self.tokens, self.radii = network, tokens, radii
        self.is_causal = has_mask(network)
        self.layers = partial(network.layers, radius=radii, causal=self.is_causal)
        self.states = self._run(slice(None))
        self.labels = [clusters(state).silhouettes.labels for state in self.states]

    def flow(self, order: str = "parallel", drop: Iterable[str] = ()) -> Measures:
        """Let tokens flow."""
        layers = self.layers(order, drop=drop)
        times = {
            "time_step": layers.durations[0] / STEPS,
            "save_at": layers.breakpoints,
        }
        run = solve_particles(layers, self.states[0], method="direct", **times)
        return self.measure(run.states)

    def step(self, order: str = "parallel", left_out: int | None = None) -> Measures:
        """Let tokens go each layer in one step, u -> u + step F(N(u)).

        Every second of the layers may be ``left_out``, the first (0) or the other (1) of two.
        """
        found, radii = self.states[:1], np.ones(len(self.tokens))
        for index, (equation, step) in enumerate(self.layers(order)):
            system = particle_system(equation, found[-1], "direct", radii)
            tokens = system.start
            if index % 2 != left_out:
                tokens = tokens + step * system.velocity(tokens)
            radii, _ = split_tokens(tokens)
            found.append(system.atoms(tokens))
        return self.measure(found)

    def flow_as_density(self) -> Measures:
        """Let the density flow of which tokens are a sample, if a grid resolves all layers."""
        layers = self.network.layers(radius=self.radii.mean())
        start = self.states[0]
        for size in SIZES:
            grid = GRIDS[start.dimension](size)
            with suppress(ValueError):
                largest_degree(layers, grid)
                density = Density.from_samples(grid, start.points)
                break
        else:
            return self.measure([])
        return self.measure(solve(layers, density, save_at=layers.breakpoints).states)

    def run_half(self) -> Measures:
        """Run the network on half of the tokens alone."""
        count = len(self.tokens)
        kept = np.random.default_rng(0).permutation(count)[: (count + 1) // 2]
        kept.sort()
        return self.measure(self._run(kept), kept)

    def compare_pairs(self) -> Measures:
        """The mean angle of all pairs of tokens; a token alone has no other."""
        cosines = np.array([1 - pdist(one.points, "cosine") for one in self.states])
        sums = np.arccos(cosines.clip(-1, 1)).sum(axis=1)
        angles = sums / (cosines.shape[1] or np.nan)
        return Measures(angles, *np.full((3, len(angles)), np.nan))

    def measure(
        self, states: Sequence[AnyMeasure], kept: Any = slice(None)
    ) -> Measures:
        """The measures of the tokens that are ``kept``, or of densities, after each layer.

        Of two states in a layer, those of serial sublayers, it is the second.
        """
        rows = np.full((len(self.states), len(Measures._fields)), np.nan)
        ends = states[:: 1 + (len(states) > len(rows))]
        exact = zip(self.states, self.labels, strict=True)
        for row, state, (tokens, labels) in zip(rows, ends, exact, strict=False):
            found = clusters(state)
            row[1:3] = found.effective_number, found.silhouettes.count
            if isinstance(state, Atoms):
                row[0] = distances(state.points, tokens.points[kept]).mean()
                row[3] = adjusted_rand(found.silhouettes.labels, labels[kept])
            else:
                row[0] = wasserstein(state, tokens, support=SUPPORT)
        return Measures(*rows.T)

    def _run(self, kept: Any) -> list[Atoms]:
        """The tokens that are ``kept``, by themselves, before and after each layer."""
        points = self.network.run(self.tokens[kept]).points @ self.network.basis
        if not self.is_causal:
            return list(map(Atoms, points))
        places = np.linspace(0.0, 1.0, len(self.tokens) + 1)[1:][kept]
        return [place_tokens(Atoms(one), places) for one in points]


RUNGS: dict[str, tuple[str, Callable[[ExactPass], Measures]]] = {
    EXACT: (EXACT, lambda one: one.measure(one.states)),
    "parallel discrete": (EXACT, ExactPass.step),
    "serial flow": (EXACT, partial(ExactPass.flow, order="serial")),
    JUDGED: ("parallel discrete", ExactPass.flow),
    "no gain deviation": (JUDGED, partial(ExactPass.flow, drop=PARTS[:1])),
    "no drift constants": (
        "no gain deviation",
        partial(ExactPass.flow, drop=PARTS[:2]),
    ),
    "no inner constants": ("no drift constants", partial(ExactPass.flow, drop=PARTS)),
    "half of the keys": (EXACT, ExactPass.run_half),
    DENSITY: (JUDGED, ExactPass.flow_as_density),
}
"""What a rung idealises, and how it is found."""
BASELINES: dict[str, Callable[[ExactPass], Measures]] = {
    "moved": lambda one: one.measure(one.states[:1] * len(one.states)),
    "unrelated tokens": ExactPass.compare_pairs,
    "no attention": partial(ExactPass.step, order="serial", left_out=0),
    "no MLP": partial(ExactPass.step, order="serial", left_out=1),
}


def climb(network: Network, tokens: FloatArray, names: Iterable[str] | None) -> Ladder:
    """Return the ladder of ``tokens`` (N, d), with the rungs of these ``names`` or all."""
    dimension, is_causal = network.basis.shape[1], has_mask(network)
    has_density = dimension in GRIDS and not is_causal
    if names is None:
        names = [name for name in RUNGS if name != DENSITY or has_density]
    chosen = {EXACT, JUDGED, *(choice("rungs", name, RUNGS) for name in names)}
    if DENSITY in chosen and not has_density:
        raise ValueError(
            f"rungs: tokens of this network lie on S^{dimension - 1}, causal: {is_causal}, and "
            f"densities on S^1 and S^2 alone (LayerNorm of d = 3, 4, RMSNorm of d = 2, 3), "
            f"without a mask: leave {DENSITY!r} out"
        )
    radii = network.run(tokens).radii[0]
    if network.norm == "post" and network.embedding_norm is None:
        gain = np.full(network.dimension, radii.mean() / np.sqrt(network.dimension))
        network = replace(network, embedding_norm=(gain, 0 * gain))
    exact = ExactPass(network, tokens, radii)
    rungs = {name: find(exact) for name, (_, find) in RUNGS.items() if name in chosen}
    baselines = {name: find(exact) for name, find in BASELINES.items()}
    return Ladder(rungs, baselines)


def has_mask(network: Network) -> bool:
    """Whether a token sees those before it alone."""
    return any(block.causal for block in network.blocks)
