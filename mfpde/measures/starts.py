r"""Start densities on every geometry: the uniform one perturbed, bumps on a background.

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

from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import (
    FloatArray,
    check_entries,
    real_array,
    real_number,
    shown,
    unit_vectors,
    whole_number,
)
from mfpde.geometry import Geometry, Zonal, circle, sphere
from mfpde.measures.measure import Density, uniform

PERTURBED_DEGREE = 8
_AT_POLE = 1e-9
_WIDEST = 1e12
"""Bumps that are wider are as uniform."""
_NARROWEST = 1e-9
"""No grid holds a bump that is narrower."""


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
        Widths w_j in radians, shape (bumps,) or one for all; at least one cell.  A von
        Mises-Fisher density of concentration k has the width 1 / sqrt k.
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
    cells = "rings" if len(geometry.shape) == 2 else "cells"
    turn = 2 * np.pi if geometry.dimension == 2 else np.pi
    needed = np.ceil(turn / np.maximum(sizes.min(), _NARROWEST))
    wide = (
        f"must be at least the cell width {geometry.spacing:.4g} of {geometry!r}; use at "
        f"least {needed:.0f} {cells}"
    )
    check_entries("widths", sizes, sizes >= geometry.spacing, wide)
    shares = _one_for_each("masses", 1.0 if masses is None else masses, len(places))
    check_entries("masses", shares, shares > 0, "must be above 0")
    rest = real_number("background", background, at_least=0.0, at_most=1.0)
    total = rest * uniform(geometry).masses
    for number, (place, width) in enumerate(zip(places, sizes, strict=True)):
        heights = _log_masses(geometry, place, float(width), number=number)
        shape = np.exp(heights - heights.max())
        share = (1 - rest) * shares[number] / shares.sum()
        total = total + share * shape / shape.sum()
    return Density(geometry, total / geometry.areas).normalized()


def perturbed_uniform(
    geometry: Geometry, amplitude: float = 0.01, seed: int = 0
) -> Density:
    """Return the uniform density times (1 + a random smooth field of degree 1 to 8).

    Parameters
    ----------
    geometry
        The grid.
    amplitude
        Largest relative perturbation, at least 0 and below 1.
    seed
        Seed of numpy's ``default_rng``; the field is that of every grid, up to its scale.

    Raises
    ------
    ValueError
        If the amplitude is outside [0, 1).
    """
    amplitude = real_number("amplitude", amplitude, at_least=0.0)
    if amplitude >= 1:
        raise ValueError(
            f"amplitude = {amplitude} must be below 1 (the density stays > 0)"
        )
    generator = np.random.default_rng(whole_number("seed", seed, at_least=0))
    degree = min(PERTURBED_DEGREE, geometry.max_degree)
    count = len(geometry.degrees(degree))
    real = generator.standard_normal(count)
    coefficients = real + 1j * generator.standard_normal(count)
    coefficients[geometry.degrees(degree) == 0] = 0.0
    field_values = geometry.synthesis(coefficients)
    relative = 1 + amplitude * field_values / np.abs(field_values).max()
    return Density(geometry, relative).normalized()


def _log_masses(
    geometry: Geometry, place: FloatArray, width: float, *, number: int
) -> FloatArray:
    """Logarithms of the cell masses of bump ``number``, up to a constant."""
    square = min(width, _WIDEST) ** 2
    if geometry.axis is None:
        return np.asarray(
            (geometry.points @ place - 1) / square + np.log(geometry.areas)
        )
    zonal, angle = cast(Zonal, geometry), float(place)
    powers, cosine, sine = zonal.dimension - 2, np.cos(angle), np.sin(angle)
    # Areas may be too small for numbers; their logarithms are not.
    areas = powers * np.log(np.sin(zonal.angles))
    heights = np.cos(zonal.angles) - cosine
    if sine < _AT_POLE:
        return np.asarray(areas + np.sign(cosine) * heights / square)
    natural = powers * (1 + cosine**2) / sine**4
    inverse_variance = 1 / (square * sine**2) - natural
    if inverse_variance < -1e-9 * natural:
        raise ValueError(
            f"widths[{number}] = {width:g} is too wide for a ring at the polar "
            f"angle {angle:g} in dimension {zonal.dimension}, where the uniform density "
            f"narrows it: it must be at most {1 / (sine * np.sqrt(natural)):.4g}"
        )
    slope = powers * cosine / sine**2
    return np.asarray(areas + slope * heights - inverse_variance / 2 * heights**2)


def _places(
    geometry: Geometry, angles: ArrayLike | None, centres: ArrayLike | None
) -> FloatArray:
    """Return unit vectors (bumps, d), or of the rings of a zonal grid the angles (bumps,)."""
    on_sphere = geometry.dimension == 3 and geometry.axis is None
    name, wrong = ("centres", "angles") if on_sphere else ("angles", "centres")
    given, other = (centres, angles) if on_sphere else (angles, centres)
    if given is None or other is not None:
        mistake = "" if other is None else f", not {wrong}"
        raise ValueError(f"bumps on {geometry!r} take {name}{mistake}")
    array = np.atleast_1d(real_array(name, given))
    if array.shape[1:] not in ([(3,), (2,)] if on_sphere else [()]) or not array.size:
        what = "unit vectors, or of [colatitude, longitude]" if on_sphere else "angles"
        raise ValueError(f"{name} = {shown(given)} must be a nonempty list of {what}")
    if on_sphere and array.shape[1] == 2:
        polar = array[:, 0]
        words = "is [colatitude, longitude]: the first must lie between 0 and pi"
        check_entries(name, array, (polar >= 0) & (polar <= np.pi), words)
        return sphere.points_at(polar, array[:, 1])
    if on_sphere:
        return unit_vectors(name, array)
    if geometry.axis is None:
        return circle.points_at(array)
    words = "must lie between 0 and pi (polar angles)"
    check_entries(name, array, (array >= 0) & (array <= np.pi), words)
    return array


def _one_for_each(name: str, values: ArrayLike, count: int) -> FloatArray:
    array = real_array(name, values)
    if array.shape not in ((), (count,)):
        raise ValueError(
            f"{name} of shape {array.shape} do not match the {count} bumps: they must "
            f"have shape ({count},), or be one number for all"
        )
    return np.broadcast_to(array, (count,))
