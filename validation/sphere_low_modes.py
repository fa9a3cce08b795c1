"""The sphere's default scheme against MUSCL: errors of low modes and cost.

For beta in {5, 10}, ReLU and GeLU, ascent and descent: the largest error of the coefficients
of degree 1 to 8 at several times, against a run of the default scheme on a grid three times
as fine, and the ratio default / MUSCL of errors and of wall time for the same steps.
"""

from __future__ import annotations

import itertools
import time

import numpy as np

import mfpde

DEGREE = 8
TIMES = (0.5, 1.0, 2.0, 5.0)


def start_on(sphere: mfpde.Sphere) -> mfpde.Density:
    """A smooth start without symmetry."""

    def values(x: np.ndarray) -> np.ndarray:
        one, other = np.array([0.6, 0.48, 0.64]), np.array([-0.36, 0.8, -0.48])
        return 1 + 0.4 * np.exp(2 * (x @ one - 1)) + 0.3 * np.exp(3 * (x @ other - 1))

    return mfpde.Density.from_function(sphere, values)


def low_modes(measure: mfpde.Measure) -> np.ndarray:
    return measure.geometry.moments(measure.density.masses, DEGREE)


def solved(
    equation: mfpde.MeanFieldEquation,
    nlat: int,
    *,
    transport: str,
    times: tuple[float, ...],
) -> tuple[np.ndarray, float]:
    sphere = mfpde.Sphere(nlat)
    begin = time.perf_counter()
    run = mfpde.solve(
        equation, start_on(sphere), t_end=times[-1], save_at=times, transport=transport
    )
    seconds = time.perf_counter() - begin
    return np.array([low_modes(state) for state in run.states]), seconds / float(
        run.statistics["steps"]
    )


def main(quick: bool = False) -> dict[str, float]:
    nlat = 64 if quick else 128
    times = TIMES[:2] if quick else TIMES
    cases = itertools.product((5.0, 10.0), ("relu", "gelu"), ("ascent", "descent"))
    ratios, costs = [], []
    for beta, activation, direction in list(cases)[: 2 if quick else None]:
        equation = mfpde.MeanFieldEquation(
            mfpde.Attention(beta),
            mfpde.Perceptron.random(3, 3, seed=111, activation=activation),
            direction=direction,
        )
        reference, _ = solved(
            equation, 3 * nlat, transport="donor_blended", times=times
        )
        errors, prices = [], []
        for transport in ("donor_blended", "muscl"):
            modes, price = solved(equation, nlat, transport=transport, times=times)
            errors.append(np.abs(modes - reference).max(axis=1))
            prices.append(price)
        ratios.append(errors[0] / errors[1])
        costs.append(prices[0] / prices[1])
        shown = " ".join(f"{r:.2f}" for r in ratios[-1])
        print(
            f"beta {beta:4.0f} {activation} {direction:8s} error ratios at {times}: {shown}"
            f"   ({errors[0][1]:.1e} against {errors[1][1]:.1e} at t = 1)"
            f"   cost of a step {costs[-1]:.2f}",
            flush=True,
        )
    early = np.array(ratios)[:, :2]
    return {"largest_early_ratio": float(early.max()), "cost": float(np.median(costs))}


if __name__ == "__main__":
    print(main())
