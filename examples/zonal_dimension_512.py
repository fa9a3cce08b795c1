r"""Densities on the sphere in dimension 512 that depend on the angle to one axis only.

Attention at beta = 0 (F = x . int y dmu) with a linear potential V = c z, z = x.e, has an
exact solution from the uniform start: in ascent every point follows the Moebius flow

    tan(theta / 2) = e^-tau tan(theta_0 / 2),   tau' = c + m(tau),   m = int z dmu,

because the mean of a zonal measure points along the axis.  Cell masses follow from the
distribution function of the uniform measure, an incomplete beta function.  At beta = 5
tokens attract each other over a shorter distance, and gather more slowly.
"""

from __future__ import annotations

import numpy as np
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


def main(num_cells: int = 512, t_end: float = 1.0) -> dict[str, float]:
    zonal = mfpde.Zonal(DIMENSION, num_cells)
    result = {}
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
        print(f"beta = {beta:g}: {run.reason}, mean height {height:.6f}")
        if beta == 0:
            exact = exact_masses(zonal.face_angles, t_end)
            result["error"] = float(np.abs(run.final.density.masses - exact).sum())
            print(f"    L1 distance to the exact masses {result['error']:.1e}")
    return result


if __name__ == "__main__":
    main()
