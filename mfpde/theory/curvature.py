r"""Second derivative of the kernel along great circles: where it is concave, and how much.

With K(t) = exp(beta (cos t - 1)) (paper, eqs. 5.7 to 5.9; unshifted: times e^beta)

    K''  = beta K (beta sin^2 t - cos t)
    K''' = beta K sin t (1 + 3 beta cos t - beta^2 sin^2 t)

K'' < 0 on |t| < theta_beta = arccos((sqrt(1 + 4 beta^2) - 1) / (2 beta)), and K''' changes
its sign at most once in (0, pi): K'' rises to its maximum and then falls.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.terms import Attention, Exponential

Convention = Literal["shifted", "unshifted"]
"""K = exp(beta (x.y - 1)), or exp(beta x.y)."""
SHARE = 1 / 2
"""eps of the paper's eq. 5.5: clusters are within this share of theta_beta."""
PUBLISHED_INWARD = (1 - SHARE**2) / 2 * np.exp(-(SHARE**2) / 2)
"""C_1: K'' <= -C_1 beta on |t| <= eps theta_beta at large beta (paper, eq. 5.5)."""
PUBLISHED_OUTWARD = 2 * np.exp(-3 / 2)
"""C_2: K'' <= C_2 beta everywhere at large beta (paper, eq. 5.6)."""


class KernelCurvature(NamedTuple):
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
    """theta_beta = arccos((sqrt(1 + 4 beta^2) - 1) / (2 beta)) in radians (paper, eq. 5.8).

    Two atoms closer than this attract more strongly the further apart they are.  It is
    pi/2 at ``beta`` 0 and close to beta^(-1/2) at large beta; the same for both kernels.  A beta
    out of its range, 0 to 1000, is a ``ValueError``.  Begin with ``concavity_angle(5.0)``.
    """
    beta = Attention(beta).beta
    # With c = cos theta: beta sin^2 theta = c and c = 2 beta / (1 + sqrt(1 + 4 beta^2)).
    share = 2 / (1 + np.sqrt(1 + 4 * beta**2))
    return float(np.arctan2(np.sqrt(share), beta * share))


def kernel_curvature(beta: float) -> KernelCurvature:
    """Return theta_beta and the exact extremes of K''/beta, derived from eqs. 5.7 and 5.9.

    At ``beta`` 0, K''/beta is -cos t; errors are those of :func:`concavity_angle`.
    Begin with ``kernel_curvature(5.0)``.
    """
    angle = concavity_angle(beta)
    steepest = np.pi
    if 3 * beta > 1:
        # The zero of K'''; at smaller beta there is none.
        cosine = (np.sqrt(5 + 4 * beta**2) - 3) / (2 * beta)
        steepest = np.arccos(max(cosine, -1.0))
    # K'' increases on (0, theta_beta): there 1 + 3 beta c - beta^2 sin^2 = 1 + 2 beta c.
    inner, outward = kernel_second_derivative(beta, np.array([angle / 2, steepest]))
    return KernelCurvature(angle, -float(inner), float(outward))


def kernel_second_derivative(beta: float, angles: FloatArray) -> FloatArray:
    """K''/beta = K (beta sin^2 t - cos t) at ``angles`` t, shifted kernel (paper, eq. 5.7)."""
    kernel = Exponential(beta).slope(np.cos(angles))
    return np.asarray(kernel * (beta * np.sin(angles) ** 2 - np.cos(angles)))
