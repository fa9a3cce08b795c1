r"""An atom that opens into a ring on the sphere, and the ring's angle in closed form.

Descent, shifted kernel without softmax, one ReLU neuron a of weight w < 0: it pulls the
active half towards a, V = w cos^2(theta) / 2 at the angle theta from a, while mass repels
mass.  A ring of mass m at the angle t has, with z = beta sin(theta) sin(t),

    A(theta) = (m / beta) e^{beta (cos theta cos t - 1)} I_0(z)
    A'(theta) = m e^{beta (cos(theta - t) - 1)} [cos theta sin t I_1e(z) - sin theta cos t I_0e(z)]

where I_ne(z) = e^{-z} I_n(z) (integral of the kernel over the azimuth).  At its own
angle A' = -m sin t cos t (I_0e - I_1e)(beta sin^2 t), and V' = -w sin t cos t, so that it
rests (t < pi/2) where

    m (I_0e - I_1e)(beta sin^2 t) = |w|.

I_0e - I_1e falls from 1 at 0: there is exactly one such ring if |w| < m and t < pi/2, and else
an atom at a.  Near a an atom's width grows at the rate m - |w|.

A start that is symmetric around a stays so: rings of angles t_i and masses m_i obey
t_i' = -F'(t_i), one ordinary differential equation in the angles alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import i0e, i1e

Array = NDArray[np.float64]

BETA, WEIGHT = 20.0, -0.3
WIDTH = 0.5 * np.pi / 64
TIMES = (2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 40.0, 60.0)


def ring_angle(beta: float, weight: float, mass: float = 1.0) -> float:
    """Angle of the resting ring from the neuron's axis; 0 if an atom rests there.

    Parameters
    ----------
    beta
        Inverse temperature, above 0.
    weight
        Weight w < 0 of the ReLU neuron.
    mass
        Mass m of the ring; other mass must be too far away to be felt.

    Raises
    ------
    ValueError
        If ``weight`` is not negative, or so weak that no ring rests in the open half.
    """
    if not weight < 0:
        raise ValueError(
            f"weight = {weight!r} must be below 0: descent then pulls to a"
        )
    if -weight >= mass:
        return 0.0
    if mass * (i0e(beta) - i1e(beta)) >= -weight:
        raise ValueError(
            f"weight = {weight!r} is too weak to hold a ring of mass {mass!r} at beta = "
            f"{beta!r}: |w| must be above {mass * (i0e(beta) - i1e(beta)):.3g}"
        )
    z = brentq(lambda x: mass * (i0e(x) - i1e(x)) + weight, 0.0, beta, xtol=1e-15)
    return float(np.arcsin(np.sqrt(z / beta)))


def ring_slope(theta: ArrayLike, ring: ArrayLike, beta: float) -> Array:
    """A'(theta) of a ring of mass 1 at the angle ``ring``; arguments broadcast."""
    theta, ring = np.asarray(theta, dtype=float), np.asarray(ring, dtype=float)
    z = beta * np.sin(theta) * np.sin(ring)
    near = np.exp(-2 * beta * np.sin((theta - ring) / 2) ** 2)
    outward = np.cos(theta) * np.sin(ring) * i1e(z)
    return np.asarray(near * (outward - np.sin(theta) * np.cos(ring) * i0e(z)))


def velocity(angles: Array, masses: Array, *, beta: float, weight: float) -> Array:
    """Rates t_i' of rings at ``angles`` (n,) in descent."""
    slopes = ring_slope(angles[:, None], angles[None, :], beta) @ masses
    active = np.maximum(np.cos(angles), 0.0)
    return np.asarray(-slopes + weight * np.sin(angles) * active)


def rings_of_bump(width: float, nodes: int) -> tuple[Array, Array]:
    """Rings of a von Mises-Fisher bump of mass 1 around the axis.

    Its density is that of e^{kappa cos theta}, kappa = 1/width^2: ``width`` is the rms
    extent along each of the two tangent directions, the rms radius sqrt(2) times it.
    The mass is e^{-u} du, u = kappa (1 - cos theta); ``nodes`` Gauss-Legendre nodes stand in
    each of several panels, which shrink towards the axis: what lies there leaves last.
    """
    edges = np.concatenate(
        [[0.0], 4.0 ** np.arange(-18, 1), [2.0, 4.0, 7.0, 11.0, 18.0, 40.0]]
    )
    points, weights = np.polynomial.legendre.leggauss(nodes)
    lengths = np.diff(edges)[:, None]
    u = (edges[:-1, None] + lengths * (points + 1) / 2).ravel()
    masses = np.exp(-u) * (lengths * weights / 2).ravel()
    return 2 * np.arcsin(width * np.sqrt(u / 2)), masses


def opening(
    times: ArrayLike = TIMES,
    *,
    width: float = WIDTH,
    beta: float = BETA,
    weight: float = WEIGHT,
    nodes: int = 6,
    rtol: float = 1e-11,
) -> tuple[Array, Array]:
    """Follow a bump of mass 1 around the axis.

    Returns
    -------
    angles (len(times), n) of its rings, and their masses (n,).
    """
    angles, masses = rings_of_bump(width, nodes)
    saves = np.asarray(times, dtype=float)
    result = solve_ivp(
        lambda _, t: velocity(t, masses, beta=beta, weight=weight),
        (0.0, float(saves[-1])),
        angles,
        method="DOP853",
        t_eval=saves,
        rtol=rtol,
        atol=rtol / 100,
    )
    return result.y.T, masses


def rms_radii(angles: Array, masses: Array) -> Array:
    """Root mean square angle from the axis, for each row of ``angles``."""
    return np.asarray(np.sqrt(angles**2 @ masses / masses.sum()))


def main(quick: bool = False) -> dict[str, float]:
    """Print rms radii in units of pi/64 at growing numbers of rings."""
    history = []
    for nodes in (2, 3) if quick else (3, 5, 8):
        history.append(rms_radii(*opening(nodes=nodes)) / (np.pi / 64))
        print(f"{nodes} nodes:", " ".join(f"{r:.6f}" for r in history[-1]))
    exact = ring_angle(BETA, WEIGHT) / (np.pi / 64)
    print(f"the ring: {exact:.6f}")
    for mass in (0.687, 0.567):
        angle = ring_angle(BETA, WEIGHT, mass)
        print(f"mass {mass}: ring at {angle:.8f} = {angle / (np.pi / 128):.4f} pi/128")
    return {
        "change": float(np.abs(history[-1] / history[-2] - 1).max()),
        "end": abs(float(history[-1][-1] / exact) - 1),
    }


if __name__ == "__main__":
    print(main())
