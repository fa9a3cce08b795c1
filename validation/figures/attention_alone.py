r"""Attention alone in ascent from a rippled uniform state: its first clusters (Figure 9)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation.claim import Quantity
from validation.figures.beta_sweeps import Slope
from validation.figures.paper_runs import TURN, counts

Array = NDArray[np.float64]

BETAS: Final = (3.0, 5.0, 7.0, 10.0, 15.0, 25.0, 35.0, 50.0)
AMPLITUDE: Final = 1e-3
MODES: Final = 24
GROWTH_TIMES: Final = (1.0, 1.5, 2.0)
NEIGHBOUR: Final = 1.0


def first_clusters(*, quick: bool) -> dict[float, Array]:
    """Numbers of basins by beta, at ``GROWTH_TIMES``.

    The uniform state is stationary, so that it is perturbed; a mode of rate g has grown
    from the amplitude to order 1 at log(1/amplitude)/g.
    """
    found = {}
    for beta in (5.0, 10.0, 25.0) if quick else BETAS:
        circle = mfpde.Circle(256 if quick else 512)
        equation = mfpde.MeanFieldEquation(mfpde.Attention(beta), direction="ascent")
        rates = mfpde.theory.growth_rates(
            beta, 2, range(1, MODES + 1), direction="ascent"
        )
        grown = float(np.log(1 / AMPLITUDE) / rates.max())
        times = [share * grown for share in GROWTH_TIMES]
        run = mfpde.solve(equation, ripples(circle), t_end=times[-1], save_at=times)
        found[beta] = counts(run)
    return found


def ripples(circle: mfpde.Circle) -> mfpde.Density:
    """The uniform density with all modes that can grow, equally strong, at random phases."""
    phases = np.random.default_rng(1).uniform(0, TURN, MODES)

    def density(points: Array) -> Array:
        angle = np.arctan2(points[..., 1], points[..., 0])[..., np.newaxis]
        waves = np.cos(np.arange(1, MODES + 1) * angle + phases).sum(axis=-1)
        return np.asarray(1 + AMPLITUDE * waves)

    return mfpde.Density.from_function(circle, density)


def alone_quantities(found: dict[float, Array]) -> list[Quantity]:
    """As many clusters as the fastest mode has crests, up to the interval of the slope."""
    betas = list(found)
    modes = np.array([mfpde.theory.fastest_mode(b, 2) for b in betas], float)
    most = np.array([values.max() for values in found.values()])
    ours, theirs = Slope.of(betas, most), Slope.of(betas, modes)
    return [
        # Neighbours of the fastest mode grow nearly as fast, and phases are random.
        Quantity(
            "attention alone, ascent: first clusters against the fastest mode, largest "
            "difference at any beta",
            float(np.abs(most - modes).max()),
            0.0,
            NEIGHBOUR,
        ),
        Quantity(
            "attention alone, ascent: slope of first clusters in sqrt(beta), as the fastest "
            "mode's",
            ours.value,
            theirs.value,
            NEIGHBOUR / float(np.ptp(np.sqrt(betas))),
            key="alone",
            shows="condition",
        ),
    ]
