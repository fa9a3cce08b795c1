r"""Dimension 512
=============

Densities on the sphere that depend on the angle to one axis only.

Attention at beta = 0 (F = x . int y dmu) with a linear potential V = c z, z = x.e, has an
exact solution from the uniform start: in ascent every point follows the Moebius flow

    tan(theta / 2) = e^-tau tan(theta_0 / 2),   tau' = c + m(tau),   m = int z dmu,

because the mean of a zonal measure points along the axis.  Cell masses follow from the
distribution function of the uniform measure, an incomplete beta function.  At beta = 5
tokens attract each other over a shorter distance, and gather more slowly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp
from scipy.special import betainc, roots_jacobi

import mfpde

DIMENSION, SLOPE = 512, 0.5


def potential() -> mfpde.Potential:
    """V = c z, along the last axis."""
    axis = SLOPE * np.eye(DIMENSION)[-1]
    return mfpde.Potential(
        lambda x: x @ axis,
        lambda x: np.broadcast_to(axis, x.shape),
        dimension=DIMENSION,
    )


def exact_masses(faces: np.ndarray, t_end: float) -> np.ndarray:
    """Cell masses in ascent at ``t_end``: the uniform ones between the faces' origins."""
    tau = exact_shift(t_end)
    origins = 2 * np.arctan2(np.exp(tau) * np.sin(faces / 2), np.cos(faces / 2))
    below = betainc((DIMENSION - 1) / 2, 0.5, np.sin(origins) ** 2) / 2
    return np.diff(np.where(origins <= np.pi / 2, below, 1 - below))


def exact_shift(t_end: float) -> float:
    """Solve tau' = c + m(tau) for the Moebius flow's parameter at ``t_end``."""
    # Gauss's nodes for z under the uniform probability, of weight (1 - z^2)^((d-3)/2).
    power = (DIMENSION - 3) / 2
    nodes, weights = roots_jacobi(40, power, power)
    weights /= weights.sum()

    def rate(_: float, tau: np.ndarray) -> np.ndarray:
        moved = np.tanh(tau + np.arctanh(nodes))
        return SLOPE + np.array([weights @ moved])

    path = solve_ivp(rate, (0.0, t_end), [0.0], rtol=1e-11, atol=1e-12)
    return float(path.y[0, -1])


def mean_height(measure: mfpde.Measure) -> float:
    """Mean of cos(theta): 0 for the uniform density, 1 for an atom at the axis."""
    return float(np.cos(measure.geometry.angles) @ measure.density.masses)


def main(num_cells: int = 512, t_end: float = 1.0) -> dict[str, Any]:
    zonal = mfpde.Zonal(DIMENSION, num_cells)
    result: dict[str, Any] = {}
    finals = {}
    for beta in (0.0, 5.0):
        run = mfpde.solve(
            mfpde.MeanFieldEquation(
                mfpde.Attention(beta), potential(), direction="ascent"
            ),
            mfpde.uniform(zonal),
            t_end=t_end,
            observe={"mean_height": mean_height},
        )
        height = float(run.diagnostics["mean_height"][-1])
        result[f"height_{beta:g}"] = height
        finals[f"beta = {beta:g}"] = run.final.density.masses
        print(f"beta = {beta:g}: {run.reason}, mean height {height:.6f}")
        if beta == 0:
            exact = exact_masses(zonal.face_angles, t_end)
            result["error"] = float(np.abs(run.final.density.masses - exact).sum())
            print(f"    L1 distance to the exact masses {result['error']:.1e}")
            finals["beta = 0, exact"] = exact
    result["figure"] = drawn(zonal, finals)
    return result


def drawn(zonal: mfpde.Zonal, finals: dict[str, np.ndarray]) -> Figure:
    """The share of mass per angle to the axis: a belt of width d^(-1/2) that has moved."""
    figure = Figure(figsize=(6.0, 3.4), layout="constrained")
    ax = figure.subplots()
    widths = np.diff(zonal.face_angles)
    start = mfpde.uniform(zonal).masses
    ax.plot(zonal.angles, start / widths, color="0.6", label="start")
    for label, masses in finals.items():
        style = "k:" if "exact" in label else "-"
        ax.plot(zonal.angles, masses / widths, style, label=label)
    ax.set(xlabel="angle to the axis", ylabel="mass per angle", xlim=(0, np.pi))
    ax.legend()
    return figure


if __name__ == "__main__":
    figure = main()["figure"]
    mfpde.save_figure(figure, "results/zonal_dimension_512.pdf")
