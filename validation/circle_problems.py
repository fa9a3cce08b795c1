r"""Problems on the circle that are solved as densities, labels and particles.

d_t mu + div(mu v) = 0,    v = s grad F
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import mfpde
from validation.circle_cases import cosine_potential

STRENGTH, PHASE = 0.3, 1.0
"""The linear potential is V = 0.3 cos(theta - 1)."""


@dataclass(frozen=True)
class Problem:
    """An equation to ``t_end`` from (1 + amplitude cos(theta - 2)) / 2 pi."""

    name: str
    equation: mfpde.MeanFieldEquation
    amplitude: float
    is_smooth: bool = True
    t_end: float = 3.0

    def start(self, cells: int) -> mfpde.Density:
        """The density at time 0 on ``cells`` cells."""
        circle = mfpde.Circle(cells)
        values = 1 + self.amplitude * np.cos(circle.angles - 2.0)
        return mfpde.Density(circle, values / (2 * np.pi))

    def density(
        self, cells: int, transport: str = "", *, rtol: float = 1e-6
    ) -> mfpde.Measure:
        """The density solver's state at the end; with kinks by donor blending."""
        default = "semi_lagrangian" if self.is_smooth else "donor_blended"
        return mfpde.solve(
            self.equation,
            self.start(cells),
            t_end=self.t_end,
            save_at=[self.t_end],
            transport=transport or default,
            rtol=rtol,
        ).final

    def move(self, start: Any, **options: Any) -> mfpde.Atoms:
        """Particles, or labels of a density, at the end."""
        run = mfpde.solve_particles(self.equation, start, t_end=self.t_end, **options)
        return run.final

    def labels(self, count: int) -> mfpde.Atoms:
        """``count`` weighted labels at the end."""
        # At every kink of a ReLU an adaptive method would stop.
        steps = (
            {"rtol": 1e-12, "atol": 1e-14} if self.is_smooth else {"time_step": 0.02}
        )
        return self.move(self.start(count), method="labels", **steps)

    def label_density(self, count: int, cells: int) -> mfpde.Density:
        """Density at the end on ``cells`` cells from ``count`` weighted labels."""
        return mfpde.label_density(self.labels(count), mfpde.Circle(cells))


def equation_of(
    beta: float, direction: str, *external: Any, softmax: bool = False
) -> mfpde.MeanFieldEquation:
    """Attention and what stands beside it."""
    attention = mfpde.Attention(beta, softmax)
    return mfpde.MeanFieldEquation(attention, *external, direction=direction)


LINEAR = cosine_potential(STRENGTH, PHASE)
ASCENT = equation_of(4.0, "ascent", LINEAR)
DESCENT = equation_of(8.0, "descent", LINEAR)
SOFTMAX = equation_of(8.0, "ascent", LINEAR, softmax=True)
PAPER = equation_of(5.0, "descent", mfpde.Perceptron.random(2, 2, seed=777))
ALONE = equation_of(8.0, "descent", softmax=True)

BESIDE_PARTICLES = (
    Problem("ascent, β = 4, linear V", ASCENT, 0.4),
    Problem("softmax descent, β = 8", ALONE, 0.4),
    Problem("descent, β = 5, ReLU of seed 777", PAPER, 0.0, is_smooth=False),
)
"""The last has the paper's perceptron: its density has kinks and jumps."""
SMOOTH = (
    Problem("ascent, β = 4, t = 3", ASCENT, 0.3),
    Problem("descent, β = 8, t = 3", DESCENT, 0.3),
    Problem("softmax ascent, β = 8, t = 1", SOFTMAX, 0.3, t_end=1.0),
)
LATER = Problem("ascent, β = 4, t = 6", ASCENT, 0.3, t_end=6.0)
UNRESOLVED = Problem("ascent, β = 4, t = 12", ASCENT, 0.3, t_end=12.0)
