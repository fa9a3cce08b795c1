r"""Start densities made of bumps: sums of von Mises densities on the circle.

    rho(theta) = b / (2 pi) + (1 - b) sum_j m_j f_j(theta),  sum_j m_j = 1,
    f_j(theta) = exp((cos(theta - theta_j) - 1) / w_j^2) / Z_j

with widths w_j (the standard deviation of a narrow bump) and a uniform share b.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, real_array, real_number
from mfpde.geometry import Circle
from mfpde.measure import Density


def bumps(
    circle: Circle,
    *,
    angles: ArrayLike,
    widths: ArrayLike,
    masses: ArrayLike | None = None,
    background: float = 0.0,
) -> Density:
    """Return a probability density with von Mises bumps over a uniform background.

    Parameters
    ----------
    circle
        The grid.
    angles
        Centres theta_j in radians, shape (bumps,).
    widths
        Widths w_j in radians, shape (bumps,) or one for all; at least one cell.
    masses
        Relative masses m_j, shape (bumps,); they are scaled to 1 - background together.
        Equal by default.
    background
        Share b of the mass that is uniform, from 0 to 1.

    Raises
    ------
    ValueError
        For lengths that do not match, a width below the cell width, a mass that is not
        above 0, or a background outside [0, 1].
    """
    centres = np.atleast_1d(real_array("angles", angles))
    if centres.ndim != 1 or centres.size == 0:
        raise ValueError(f"angles = {angles!r} must be a nonempty list of angles")
    sizes = _one_for_each("widths", widths, len(centres))
    shares = _one_for_each("masses", 1.0 if masses is None else masses, len(centres))
    _check_widths(sizes, circle)
    if (shares <= 0).any():
        where = int(np.argmax(shares <= 0))
        raise ValueError(f"masses[{where}] = {shares[where]:g} must be above 0")
    rest = real_number("background", background, at_least=0.0, at_most=1.0)
    distances = circle.angles - centres[:, np.newaxis]
    shapes = np.exp((np.cos(distances) - 1) / sizes[:, np.newaxis] ** 2)
    # Each bump has its mass on the grid exactly, by the same sum as Density's.
    shapes /= (shapes @ circle.areas)[:, np.newaxis]
    values = (1 - rest) * (shares / shares.sum()) @ shapes + rest / (2 * np.pi)
    return Density(circle, values).normalized()


def _one_for_each(name: str, values: ArrayLike, count: int) -> FloatArray:
    array = real_array(name, values)
    if array.shape not in ((), (count,)):
        raise ValueError(
            f"{name} of shape {array.shape} do not match the {count} angles: they must "
            f"have shape ({count},), or be one number for all"
        )
    return np.broadcast_to(array, (count,))


def _check_widths(widths: FloatArray, circle: Circle) -> None:
    narrow = widths < circle.spacing
    if not narrow.any():
        return
    where = int(np.argmax(narrow))
    remedy = (
        f"use at least {int(np.ceil(2 * np.pi / widths[where]))} cells"
        if widths[where] > 0
        else "a width is above 0"
    )
    raise ValueError(
        f"widths[{where}] = {widths[where]:g} must be at least the cell width "
        f"{circle.spacing:.4g} of {circle!r}; {remedy}"
    )
