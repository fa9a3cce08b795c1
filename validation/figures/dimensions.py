"""The paper's protocol in descent in several dimensions (Figures 11 and 12).

d neurons on S^(d-1), drawn like the circle's for d > 3; a grid cannot follow there, so that
particles by independent formulas stand alone, and what they come to rest at is compared with
stationary atoms of the package.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation.claim import Quantity
from validation.figures.independent_particles import Cloud
from validation.figures.paper_protocol import (
    LEAST_MASS,
    START_SEED,
    PaperRun,
    cluster_distance,
    linked_groups,
    paper_run,
    uniform_points,
)
from validation.figures.paper_runs import Setting
from validation.figures.sphere_runs import cluster_centres, cores
from validation.independent import cells_of, gradient, problem_of

Array = NDArray[np.float64]

BEFORE: Final = 100.0
"""A time at which tails still arrive in d > 3."""
GIVE_UP: Final = 6000.0
AT_REST: Final = 1e-3
"""At the stop speeds are 1e-4 at most: e-foldings at a rate of 0.1 and more leave this."""


@dataclass(frozen=True, eq=False)
class InDimension:
    """The paper's protocol for a setting, by single linkage in every dimension."""

    setting: Setting
    paper: PaperRun
    count: int

    @property
    def reach(self) -> float:
        """Width of the paper's clusters."""
        return cluster_distance(self.setting.beta, self.setting.dimension)

    @cached_property
    def masses(self) -> Array:
        """Masses of the clusters at the stop, heaviest first."""
        return linked_masses(self.paper.end, self.reach)

    @cached_property
    def masses_before(self) -> Array:
        """The same at ``BEFORE``."""
        return linked_masses(self.paper.seen[BEFORE], self.reach)

    @property
    def widest(self) -> float:
        """Largest angle between the first and another particle of a cluster at the end."""
        points = self.paper.end.points
        groups = linked_groups(points, self.reach)
        chords = [
            float(np.linalg.norm(points[held] - points[held[0]], axis=1).max())
            for held in groups
        ]
        return 2 * float(np.arcsin(max(chords) / 2))

    @property
    def number(self) -> int:
        """Clusters of 1 % and more at the stop."""
        return int((self.masses >= LEAST_MASS).sum())


def linked_masses(cloud: Cloud, distance: float) -> Array:
    """Masses of single-linkage clusters, heaviest first."""
    groups = linked_groups(cloud.points, distance)
    return np.sort(np.array([cloud.masses[held].sum() for held in groups]))[::-1]


def in_dimension(
    setting: Setting, count: int, *, seed: int = START_SEED
) -> InDimension:
    """Run the protocol with ``count`` particles, up to its stop and to ``BEFORE``."""
    start = uniform_points(count, setting.dimension, seed)
    problem = problem_of(setting.equation)
    found = paper_run(problem, start, give_up=GIVE_UP, see=(BEFORE,))
    return InDimension(setting, found, count)


def stationary_quantities(found: InDimension) -> list[Quantity]:
    """What the particles rest at is a stationary state of the package's equation."""
    setting = found.setting
    name = f"d = {setting.dimension}, {setting}"
    centres = cluster_centres(found.paper.end, found.reach)
    atoms = cores(found.paper.end, centres, found.reach)
    polished = mfpde.polish(setting.equation, atoms).atoms
    points, masses = cells_of(polished)
    force = gradient(problem_of(setting.equation), points, masses, at=points)
    chords = np.linalg.norm(points[:, np.newaxis] - atoms.points, axis=-1)
    speed = float(found.paper.end.speeds(problem_of(setting.equation)).max())
    lost = 1 - float(atoms.masses.sum())
    return [
        Quantity(
            f"{name}: |grad F| at polished atoms with the particles' masses, by independent "
            "formulas",
            float(np.abs(force).max()),
            0.0,
            1e-12,
        ),
        # What still moves at the stop, and strays that belong to no cluster of 1 %.
        Quantity(
            f"{name}: places of the particles' clusters at the stop, from polished atoms",
            float(chords.min(axis=1).max()),
            0.0,
            (speed + lost) * found.reach + AT_REST,
        ),
    ]
