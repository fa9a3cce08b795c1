r"""The problems on the circle whose density is compared with particles, and the density.

    d_t mu + div(mu v) = 0,    v = s grad F

to t = 3: attention in ascent with a linear potential; softmax in descent; and the paper's
perceptron (ReLU, seed 777) in descent, whose density has kinks and jumps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import mfpde
from validation.circle_cases import cosine_potential

T_END = 3.0


@dataclass(frozen=True)
class Problem:
    """An equation, the size of mode 1 of its start, and whether its density is smooth."""

    name: str
    equation: mfpde.MeanFieldEquation
    amplitude: float
    is_smooth: bool

    def start(self, cells: int) -> mfpde.Density:
        """Density (1 + amplitude cos(theta - 2)) / 2 pi."""
        circle = mfpde.Circle(cells)
        values = 1 + self.amplitude * np.cos(circle.angles - 2.0)
        return mfpde.Density(circle, values / (2 * np.pi))

    def density(self, cells: int) -> mfpde.Measure:
        """The density solver's state at t = 3 on ``cells`` cells."""
        scheme = "semi_lagrangian" if self.is_smooth else "donor_blended"
        run = mfpde.solve(
            self.equation,
            self.start(cells),
            t_end=T_END,
            save_at=[T_END],
            transport=scheme,
            rtol=1e-6,
        )
        return run.final

    def move(self, start: Any, **options: Any) -> mfpde.Atoms:
        """Particles, or labels of a density, at t = 3."""
        run = mfpde.solve_particles(self.equation, start, t_end=T_END, **options)
        return run.final

    def labels(self, count: int) -> mfpde.Atoms:
        """``count`` weighted labels at t = 3."""
        # At every kink of a ReLU an adaptive method would stop.
        steps = (
            {"rtol": 1e-12, "atol": 1e-14} if self.is_smooth else {"time_step": 0.02}
        )
        return self.move(self.start(count), method="labels", **steps)

    def label_density(self, count: int, cells: int) -> mfpde.Density:
        """Density at t = 3 on ``cells`` cells from ``count`` weighted labels."""
        return mfpde.label_density(self.labels(count), mfpde.Circle(cells))


def problems() -> tuple[Problem, ...]:
    """All three."""
    ascent = mfpde.MeanFieldEquation(
        mfpde.Attention(4.0), cosine_potential(0.3, 1.0), direction="ascent"
    )
    softmax = mfpde.MeanFieldEquation(mfpde.Attention(8.0, True), direction="descent")
    paper = mfpde.MeanFieldEquation(
        mfpde.Attention(5.0),
        mfpde.Perceptron.random(2, 2, seed=777),
        direction="descent",
    )
    return (
        Problem("ascent, β = 4, linear V", ascent, 0.4, True),
        Problem("softmax descent, β = 8", softmax, 0.4, True),
        Problem("descent, β = 5, ReLU of seed 777", paper, 0.0, False),
    )
