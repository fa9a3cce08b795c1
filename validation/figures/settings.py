r"""The paper's settings: the table of all panels, and each as a density and as particles.

The paper's figures (arXiv 2601.21366, section 4) are runs of particles from uniform starts.
The shifted kernel K = exp(beta (x.y - 1)) and the seeds of the neurons, drawn once, d of them
on S^(d-1), are not in its text: they are those of the authors' code (repository
antonioalvarezl/2026-MLP-Attention-Energy, by Antonio Álvarez-López, Borjan Geshkovski and
Domènec Ruiz-Balet), 777 on the circle and 111 on S^2.  The betas of figures 1, 3 to 5, 7 and 8
are in neither: those here are guesses.  The uniform density moves by the same equation, and
particles are its witness: quantised (no sampling noise) or sampled as the paper does.
Figure 2 is not cited in the text that we have, and has no script.

Counts are basins of the velocity field that hold an atom.  Beside them stands the paper's
rule, clusters of width min(1/(2 sqrt beta), pi/(2 d)), applied to 1000 quantiles of the mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.runs.run import Run
from validation.characteristics import Cloud
from validation.claim import Quantity, vanishes
from validation.figures import atoms
from validation.figures.paper_protocol import (
    LEAST_MASS,
    TIME_STEP,
    TURN,
    cluster_distance,
)
from validation.independent import Problem, problem_of

Array = NDArray[np.float64]

BETAS = (0.01, 0.05, 0.1, 0.5, 1.0, 3.0, 5.0, 7.0, 10.0, 15.0, 25.0, 35.0, 50.0)
WEIGHT_SEEDS = {2: 777, 3: 111}
"""Seeds of the paper's neurons by dimension d; other dimensions take that of the circle."""
NEURONS = {"relu": "ReLU", "gelu": "GeLU", None: "no perceptron"}


@dataclass(frozen=True)
class Setting:
    """One of the paper's settings; ``activation=None`` is attention without perceptron.

    Another number of neurons has a ``seed`` of its own.
    """

    beta: float
    direction: str
    activation: str | None = "relu"
    dimension: int = 2
    normalized: bool = False
    scale: float = 1.0
    units: int | None = None
    seed: int | None = None

    @cached_property
    def equation(self) -> mfpde.MeanFieldEquation:
        """The equation, with the paper's neurons."""
        attention = mfpde.Attention(self.beta, normalized=self.normalized)
        if self.activation is None:
            return mfpde.MeanFieldEquation(attention, direction=self.direction)
        neurons = mfpde.Perceptron.random(
            self.units or self.dimension,
            self.dimension,
            seed=WEIGHT_SEEDS.get(self.dimension, WEIGHT_SEEDS[2])
            if self.seed is None
            else self.seed,
            scale=self.scale,
            activation=self.activation,
        )
        return mfpde.MeanFieldEquation(attention, neurons, direction=self.direction)

    @property
    def reach(self) -> float:
        """Width of the paper's clusters."""
        return cluster_distance(self.beta, self.dimension)

    @property
    def neurons(self) -> str:
        """The activation as one writes it."""
        return NEURONS[self.activation]

    @property
    def softmax(self) -> str:
        """Beginning of a row's name that says whether the kernel is normalised."""
        return "softmax, " if self.normalized else ""

    def grid(self, size: int) -> mfpde.Circle | mfpde.Sphere:
        """A circle of ``size`` cells, or a sphere of ``size`` rings."""
        return mfpde.Circle(size) if self.dimension == 2 else mfpde.Sphere(size)

    def __str__(self) -> str:
        return f"{self.softmax}{self.direction}, {self.neurons}, β = {self.beta:g}"


def panels(directions: str, neurons: str, *betas: float, **kind: Any) -> list[Setting]:
    """Each of the directions with all neurons, each of them at all beta."""
    kinds = product(directions.split(), neurons.split(), betas)
    return [Setting(beta, direction, name, **kind) for direction, name, beta in kinds]


PANELS = {
    "1": panels("descent", "relu", 5.0),
    "3": panels("ascent", "relu", 1.0, 5.0, 25.0),
    "4": panels("ascent", "relu gelu", 5.0, 25.0, dimension=3),
    "5": panels("descent", "relu", 1.0, 5.0, 25.0),
    "6": panels("descent", "gelu", 1.0, 5.0, 25.0),
    "7": panels("descent", "relu gelu", 5.0, 25.0, dimension=3),
    "8": panels("ascent", "relu", 1.0, 5.0, 25.0, normalized=True),
    "8, descent": panels("descent", "relu gelu", 1.0, 5.0, 25.0, normalized=True),
    "8, sphere": panels(
        "ascent descent", "relu gelu", 5.0, dimension=3, normalized=True
    ),
}


def panels_of(figure: str, quick: bool) -> list[Setting]:
    """The panels of a figure; the quick form has only the first with beta = 5."""
    found = PANELS[figure]
    return [setting for setting in found if setting.beta == 5.0][:1] if quick else found


class Clouds(NamedTuple):
    """Particles by independent formulas at some times."""

    times: Array
    states: list[Cloud]

    @property
    def final(self) -> Cloud:
        """The last state."""
        return self.states[-1]


@dataclass(frozen=True, eq=False)
class Panel:
    """A setting: the density, and particles from the uniform measure.

    They are compared at ``times``; the runs may have more saves, for the pictures.
    """

    setting: Setting
    run: Run
    few: Run | Clouds
    times: Sequence[float]

    @property
    def equation(self) -> mfpde.MeanFieldEquation:
        """The equation of the setting."""
        return self.setting.equation

    @cached_property
    def problem(self) -> Problem:
        """The same for independent formulas."""
        return problem_of(self.equation)

    @property
    def width(self) -> float:
        """Width of a cell."""
        return spacing(self.run)

    @property
    def count(self) -> int:
        """The number of particles."""
        return len(self.few.states[0].points)

    @property
    def end(self) -> float:
        """The last time."""
        return float(self.times[-1])

    @cached_property
    def atoms(self) -> Atoms:
        """The atoms of the last state."""
        return basins(self.run.final, self.equation)

    @cached_property
    def polished(self) -> mfpde.PolishedAtoms:
        """They after Newton's method."""
        return mfpde.polish(self.equation, self.atoms)

    @cached_property
    def minimum(self) -> mfpde.Minimum:
        """The certified minimum of E."""
        is_circle = self.setting.dimension == 2
        return mfpde.minimize(
            self.equation, self.setting.grid(256 if is_circle else 96)
        )

    @cached_property
    def cores(self) -> tuple[Atoms, Atoms]:
        """The cores of the atoms, and of the clusters of the particles."""
        reach = self.setting.reach
        ours = atoms.cores(self.run.final, self.atoms.points, reach)
        return ours, atoms.particle_cores(self.few.final, reach)

    def moments_row(self, time: float, known: float) -> Quantity:
        """The row that the moments of degrees 1 and 2 are those of the particles."""
        apart = atoms.moments_apart(at(self.run, time), at(self.few, time))
        row = f"moments of degrees 1 and 2 at t = {time:g}, largest difference"
        return vanishes(f"{row} to {self.count} particles", apart, known)


def density_run(
    setting: Setting, size: int, times: Sequence[float], *, atoms: str = "exact"
) -> Run:
    """The run from the uniform density, saved at 0 and ``times``."""
    start, saves = mfpde.uniform(setting.grid(size)), [0.0, *times]
    given = {"t_end": times[-1], "save_at": saves, "atoms": atoms}
    return mfpde.solve(setting.equation, start, **given)


def particle_run(
    setting: Setting,
    count: int,
    times: Sequence[float],
    *,
    seed: int | None = None,
    time_step: float = TIME_STEP,
) -> Run:
    """The same by ``count`` particles: quantised, or sampled if there is a ``seed``."""
    start = mfpde.uniform(setting.grid(64))
    given = {"t_end": times[-1], "save_at": [0.0, *times], "time_step": time_step}
    if seed is None:
        particles = mfpde.quantized(start, count)
    else:
        particles = mfpde.sampled(start, count, seed=seed)
    return mfpde.solve_particles(setting.equation, particles, **given)


def spacing(run: Run) -> float:
    """Cell width of a density run on the circle or the sphere."""
    return float(as_measure(run.final).geometry.spacing)


def at(run: Run | Clouds, time: float) -> Any:
    """The state saved at ``time``."""
    return run.states[int(np.argmin(np.abs(run.times - time)))]


def basins(measure: AnyMeasure, equation: mfpde.MeanFieldEquation) -> mfpde.Atoms:
    """Atoms, narrow or forming, of mass at least ``LEAST_MASS``, heaviest first."""
    found = mfpde.concentration(measure, equation).clusters
    heavy = [region for region in found if region.mass >= LEAST_MASS]
    if not heavy:
        return mfpde.Atoms.none(measure.dimension)
    places = np.stack([region.position for region in heavy])
    return mfpde.Atoms(places, np.array([region.mass for region in heavy]))


def angles(points: Array) -> Array:
    """Angles in [0, 2 pi) of points on the circle."""
    return np.asarray(np.mod(np.arctan2(points[..., 1], points[..., 0]), TURN))
