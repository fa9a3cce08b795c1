r"""Start densities made of bumps over a uniform background, on every geometry.

    rho = b / area + (1 - b) sum_j m_j f_j,   sum_j m_j = 1,   each f_j of mass 1,

with widths w_j, the standard deviation (in each direction) of a narrow bump:

    circle   f_j ~ exp((cos(theta - theta_j) - 1) / w_j^2)          (von Mises)
    sphere   f_j ~ exp((x.c_j - 1) / w_j^2)                         (von Mises-Fisher)
    zonal    f_j ~ exp(k_j (z - z_j) - (z - z_j)^2 / (2 s_j^2)),    z = x.e = cos theta.

On a zonal grid a bump is a ring of mass; k_j and s_j are such that the *mass per polar
angle*, sin^(d-2)(theta) f_j, has its maximum at theta_j and there the second logarithmic
derivative -1/w_j^2:

    k_j = (d-2) cos theta_j / sin^2 theta_j,
    1/s_j^2 = 1 / (w_j sin theta_j)^2 - (d-2) (1 + cos^2 theta_j) / sin^4 theta_j >= 0,

so that a ring is no wider than the uniform density would be there.  At the poles (theta_j =
0 or pi) a bump is that of the sphere; in high dimension its mass lies off the pole.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, real_array, real_number, unit_vectors
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.geometry.sphere import points_at
from mfpde.measures.measure import Density, uniform

_AT_POLE = 1e-9
_WIDEST = 1e12
_NARROWEST = 1e-9
"""Of no grid: the number of cells that it would need is not worth saying."""


def bumps(
    geometry: Geometry,
    *,
    widths: ArrayLike,
    angles: ArrayLike | None = None,
    centres: ArrayLike | None = None,
    masses: ArrayLike | None = None,
    background: float = 0.0,
) -> Density:
    """Return a probability density with bumps over a uniform background.

    Begin with ``bumps(Circle(512), angles=[0.4, 2.0], widths=0.1)``.

    Parameters
    ----------
    geometry
        The grid: a Circle, Sphere or Zonal.
    widths
        Widths w_j in radians, shape (bumps,) or one for all; at least one cell.
    angles
        On a circle the angles theta_j of the centres, on a zonal grid the polar angles
        of the rings, from 0 to pi; in radians, shape (bumps,).
    centres
        On a sphere the centres c_j: unit vectors, shape (bumps, 3), or rows
        [colatitude, longitude] in radians, shape (bumps, 2).
    masses
        Relative masses m_j, shape (bumps,); they are scaled to 1 - background together.
        Equal by default.
    background
        Share b of the mass that is uniform, from 0 to 1.

    Raises
    ------
    ValueError
        For angles where there should be centres or the other way round, lengths that do
        not match, a width below the cell width, a ring that is too wide, a mass that is
        not above 0, or a background outside [0, 1].
    """
    places = _places(geometry, angles, centres)
    sizes = _one_for_each("widths", widths, len(places))
    shares = _one_for_each("masses", 1.0 if masses is None else masses, len(places))
    _check_widths(sizes, geometry)
    if (shares <= 0).any():
        where = int(np.argmax(shares <= 0))
        raise ValueError(f"masses[{where}] = {shares[where]:g} must be above 0")
    rest = real_number("background", background, at_least=0.0, at_most=1.0)
    total = rest * uniform(geometry).masses
    for k, share in enumerate(shares / shares.sum()):
        heights = _log_masses(geometry, _Bump(k, places[k], float(sizes[k])))
        shape = np.exp(heights - heights.max())
        # Each bump has its mass on the grid exactly.
        total = total + (1 - rest) * share * shape / shape.sum()
    return Density(geometry, total / geometry.areas).normalized()


def von_mises_fisher(
    geometry: Geometry,
    centres: ArrayLike,
    concentrations: ArrayLike,
    weights: ArrayLike | None = None,
) -> Density:
    """A mixture of densities proportional to exp(k_j x.c_j), of total mass 1.

    Begin with ``von_mises_fisher(Circle(512), [[1, 0], [0, 1]], concentrations=20)``.

    Parameters
    ----------
    geometry
        The grid.
    centres
        Unit vectors c_j, shape (components, d); on a zonal grid the axis or its opposite.
    concentrations
        k_j, at least 0 (uniform), shape (components,) or one for all.
    weights
        Relative masses, above 0, shape (components,); equal by default.

    Raises
    ------
    ValueError
        For arguments that do not fit, or a component narrower than a cell (the message
        names a grid that holds it).
    """
    places = unit_vectors("centres", centres)
    if places.ndim != 2 or places.shape[1] != geometry.dimension or not len(places):
        raise ValueError(
            f"centres of shape {places.shape} must be (components, {geometry.dimension}) "
            f"on {geometry!r}"
        )
    if geometry.axis is not None:
        _check_on_axis(places, geometry.axis)
    sizes = _one_for_each("concentrations", concentrations, len(places))
    if (sizes < 0).any():
        where = int(np.argmax(sizes < 0))
        raise ValueError(
            f"concentrations[{where}] = {sizes[where]:g} must be at least 0"
        )
    _check_concentrations(sizes, geometry)
    shares = _one_for_each("weights", 1.0 if weights is None else weights, len(places))
    if (shares <= 0).any():
        where = int(np.argmax(shares <= 0))
        raise ValueError(f"weights[{where}] = {shares[where]:g} must be above 0")
    background = uniform(geometry).masses
    with np.errstate(divide="ignore"):
        areas = np.log(background)
    total = np.zeros(geometry.shape)
    for place, size, share in zip(places, sizes, shares / shares.sum(), strict=True):
        heights = areas + size * (geometry.points @ place - 1)
        shape = np.exp(heights - heights.max())
        total += share * shape / shape.sum()
    return Density(geometry, total / geometry.areas).normalized()


def _check_on_axis(places: FloatArray, axis: FloatArray) -> None:
    across = np.abs(np.abs(places @ axis) - 1) > _AT_POLE
    if across.any():
        where = int(np.argmax(across))
        raise ValueError(
            f"centres[{where}] = {places[where].tolist()} must be the axis of the zonal grid, "
            f"{axis.tolist()}, or its opposite"
        )


def _check_concentrations(sizes: FloatArray, geometry: Geometry) -> None:
    widths = 1 / np.sqrt(np.maximum(sizes, 1e-12))
    narrow = widths < geometry.spacing
    if narrow.any():
        where = int(np.argmax(narrow))
        whole = 2 * np.pi if geometry.dimension == 2 else np.pi
        what = "rings" if _on_sphere(geometry) else "cells"
        raise ValueError(
            f"concentrations[{where}] = {sizes[where]:g} has the width {widths[where]:.3g}, "
            f"below the cell width {geometry.spacing:.3g} of {geometry!r}: it needs at least "
            f"{int(np.ceil(whole / widths[where]))} {what}"
        )


@dataclass(frozen=True, eq=False)
class _Bump:
    """Bump ``number`` with its place (an angle, or a unit vector) and its width."""

    number: int
    place: FloatArray
    width: float

    @property
    def size(self) -> float:
        """The width, or the largest whose square matters: wider bumps are uniform."""
        return min(self.width, _WIDEST)


def _places(
    geometry: Geometry, angles: ArrayLike | None, centres: ArrayLike | None
) -> FloatArray:
    """Return the angles (bumps,), or on the sphere the unit vectors (bumps, 3)."""
    on_sphere = _on_sphere(geometry)
    name, wrong = ("centres", "angles") if on_sphere else ("angles", "centres")
    given, other = (centres, angles) if on_sphere else (angles, centres)
    if given is None or other is not None:
        mistake = "" if other is None else f", not {wrong}"
        raise ValueError(f"bumps on {geometry!r} take {name}{mistake}")
    array = np.atleast_1d(real_array(name, given))
    if on_sphere:
        return _unit_centres(array)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"angles = {angles!r} must be a nonempty list of angles")
    if geometry.axis is not None and not (0 <= array.min() <= array.max() <= np.pi):
        raise ValueError(
            f"angles = {angles!r} must lie between 0 and pi (polar angles)"
        )
    return array


def _unit_centres(centres: FloatArray) -> FloatArray:
    if centres.ndim != 2 or centres.shape[1] not in (2, 3) or not len(centres):
        raise ValueError(
            f"centres of shape {centres.shape} must be a nonempty list of unit vectors "
            "[x, y, z], or of [colatitude, longitude] in radians"
        )
    if centres.shape[1] == 3:
        return unit_vectors("centres", centres)
    wrong = (centres[:, 0] < 0) | (centres[:, 0] > np.pi)
    if wrong.any():
        where = int(np.argmax(wrong))
        raise ValueError(
            f"centres[{where}] = {centres[where].tolist()} is [colatitude, longitude]: "
            "the first must lie between 0 and pi"
        )
    return points_at(centres[:, 0], centres[:, 1])


@singledispatch
def _log_masses(geometry: Geometry, bump: _Bump) -> FloatArray:
    """Logarithms of the cell masses of ``bump``, up to a constant, shape of the cells."""
    raise ValueError(f"there are no bumps on {geometry!r}")


@_log_masses.register
def _(geometry: Circle, bump: _Bump) -> FloatArray:
    return np.asarray((np.cos(geometry.angles - bump.place) - 1) / bump.size**2)


@_log_masses.register
def _(geometry: Sphere, bump: _Bump) -> FloatArray:
    cosines = geometry.points @ bump.place
    return np.asarray((cosines - 1) / bump.size**2 + np.log(geometry.areas))


@_log_masses.register
def _(geometry: Zonal, bump: _Bump) -> FloatArray:
    # Areas may be too small for numbers; their logarithms are not.
    areas = (geometry.dimension - 2) * np.log(np.sin(geometry.angles))
    return np.asarray(areas + _ring_exponent(geometry, bump))


def _on_sphere(geometry: Geometry) -> bool:
    """Whether places are unit vectors, and not angles."""
    return geometry.dimension == 3 and geometry.axis is None


def _ring_exponent(zonal: Zonal, bump: _Bump) -> FloatArray:
    """Logarithm of f_j at the cell centres, up to a constant."""
    powers, angle = zonal.dimension - 2, float(bump.place)
    cosine, sine = np.cos(angle), np.sin(angle)
    heights = np.cos(zonal.angles) - cosine
    if sine < _AT_POLE:
        return np.asarray(np.sign(cosine) * heights / bump.size**2)
    natural = powers * (1 + cosine**2) / sine**4
    inverse_variance = 1 / (bump.size * sine) ** 2 - natural
    if inverse_variance < -1e-9 * natural:
        raise ValueError(
            f"widths[{bump.number}] = {bump.width:g} is too wide for a ring at the polar "
            f"angle {angle:g} in dimension {zonal.dimension}, where the uniform density "
            f"narrows it: it must be at most {1 / (sine * np.sqrt(natural)):.4g}"
        )
    slope = powers * cosine / sine**2
    return np.asarray(slope * heights - inverse_variance / 2 * heights**2)


def _one_for_each(name: str, values: ArrayLike, count: int) -> FloatArray:
    array = real_array(name, values)
    if array.shape not in ((), (count,)):
        raise ValueError(
            f"{name} of shape {array.shape} do not match the {count} bumps: they must "
            f"have shape ({count},), or be one number for all"
        )
    return np.broadcast_to(array, (count,))


def _check_widths(widths: FloatArray, geometry: Geometry) -> None:
    narrow = widths < geometry.spacing
    if not narrow.any():
        return
    where = int(np.argmax(narrow))
    whole = 2 * np.pi if geometry.dimension == 2 else np.pi
    what = "rings" if _on_sphere(geometry) else "cells"
    remedy = (
        f"use at least {int(np.ceil(whole / widths[where]))} {what}"
        if widths[where] > _NARROWEST
        else "a width is above 0"
    )
    raise ValueError(
        f"widths[{where}] = {widths[where]:g} must be at least the cell width "
        f"{geometry.spacing:.4g} of {geometry!r}; {remedy}"
    )
