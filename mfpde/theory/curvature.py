r"""The kernel along the circle: where it is concave, and how much.

With K(t) = exp(beta (cos t - 1)) (paper, eqs. 5.7 to 5.9; unshifted: times e^beta)

    K''  = beta K (beta sin^2 t - cos t)
    K''' = beta K sin t (1 + 3 beta cos t - beta^2 sin^2 t)

K'' < 0 on |t| < theta_beta = arccos((sqrt(1 + 4 beta^2) - 1) / (2 beta)), and K''' changes
its sign at most once in (0, pi): K'' rises to its maximum and then falls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.terms import Attention

PUBLISHED_INWARD = 0.375 * np.exp(-0.125)
"""C_1 at eps = 1/2: K'' <= -C_1 beta on |t| <= theta_beta / 2 at large beta (paper, eq. 5.5)."""
PUBLISHED_OUTWARD = 2 * np.exp(-1.5)
"""C_2: K'' <= C_2 beta everywhere at large beta (paper, eq. 5.6)."""


@dataclass(frozen=True)
class KernelCurvature:
    """Exact bounds on K''/beta (shifted) at one beta.

    ``angle`` is theta_beta; K''/beta <= -``inward`` on |t| <= theta_beta / 2 and
    K''/beta <= ``outward`` everywhere, both attained.
    """

    angle: float
    inward: float
    outward: float

    @property
    def satisfies_published_constants(self) -> bool:
        """Whether beta is large enough for the paper's constants (eqs. 5.5 and 5.6)."""
        return bool(
            self.inward >= PUBLISHED_INWARD and self.outward <= PUBLISHED_OUTWARD
        )


def concavity_angle(beta: float) -> float:
    """theta_beta = arccos((sqrt(1 + 4 beta^2) - 1) / (2 beta)) (paper, eq. 5.8).

    Two atoms closer than this attract more strongly the further apart they are.  It is
    pi/2 at beta = 0 and close to beta^(-1/2) at large beta; the same for both kernels.

    Parameters
    ----------
    beta
        Inverse temperature, from 0 to 1000.

    Returns
    -------
    The angle in radians, in (0, pi/2].

    Raises
    ------
    ValueError
        If beta is out of its range.
    """
    beta = Attention(beta).beta
    # With c = cos theta: beta sin^2 theta = c and c = 2 beta / (1 + sqrt(1 + 4 beta^2)).
    share = 2 / (1 + np.sqrt(1 + 4 * beta**2))
    return float(np.arctan2(np.sqrt(share), beta * share))


def kernel_curvature(beta: float) -> KernelCurvature:
    """Return theta_beta and the exact extremes of K''/beta, derived from eqs. 5.7 and 5.9.

    Parameters
    ----------
    beta
        Inverse temperature, from 0 to 1000; at 0, K''/beta is -cos t.

    Raises
    ------
    ValueError
        If beta is out of its range.
    """
    angle = concavity_angle(beta)
    # K'' increases on (0, theta_beta): there 1 + 3 beta c - beta^2 sin^2 = 1 + 2 beta c.
    inward = -float(kernel_second_derivative(beta, np.array(angle / 2)))
    outward = float(kernel_second_derivative(beta, np.array(_steepest_angle(beta))))
    return KernelCurvature(angle, inward, outward)


def kernel_second_derivative(beta: float, angles: FloatArray) -> FloatArray:
    """K''/beta = K (beta sin^2 t - cos t) at ``angles`` t, shifted kernel (paper, eq. 5.7)."""
    kernel = np.exp(-2 * beta * np.sin(angles / 2) ** 2)
    return np.asarray(kernel * (beta * np.sin(angles) ** 2 - np.cos(angles)))


def _steepest_angle(beta: float) -> float:
    """Angle in (0, pi] at which K'' is largest: the zero of K''', or pi if there is none."""
    if beta <= 1 / 3:
        return float(np.pi)
    cosine = (np.sqrt(5 + 4 * beta**2) - 3) / (2 * beta)
    return float(np.arccos(np.clip(cosine, -1.0, 1.0)))
