r"""Particles beside a zonal run: points on S^(d-1), and their polar angles against a density.

A zonal measure is the law of cos(theta) e + sin(theta) u with u uniform around the axis e.
Between two zonal measures the Wasserstein distance is that of their polar angles, with the
quantile functions Q

    W_p^p = \int_0^1 |Q_a(u) - Q_b(u)|^p du:

meridians are geodesics, and no path is shorter than the difference of its polar angles.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry import Zonal
from mfpde.measure import AnyMeasure, Atoms, as_measure

_GAUSS = 0.5 / np.sqrt(3.0)


def zonal_of(measure: AnyMeasure) -> Zonal | None:
    """Return the zonal grid of ``measure``, or None if it lives on none."""
    if isinstance(measure, Atoms):
        return None
    geometry = as_measure(measure).geometry
    return geometry if isinstance(geometry, Zonal) else None


def zonal_particles(measure: AnyMeasure, count: int, *, seed: int = 0) -> Atoms:
    """Return ``count`` points at the quantiles of the polar angle, turned at random.

    Neighbours lie on opposite sides of the axis, so that their mean stays near it.
    """
    zonal = as_measure(measure).geometry
    generator = np.random.default_rng(seed)
    pairs = generator.standard_normal(((count + 1) // 2, zonal.dimension - 1))
    pairs /= np.linalg.norm(pairs, axis=1, keepdims=True)
    across = np.stack([pairs, -pairs], axis=1).reshape(-1, zonal.dimension - 1)[:count]
    angles = _quantiles(measure, (np.arange(count) + 0.5) / count)
    sines = np.sin(angles)[:, np.newaxis]
    return Atoms(
        np.concatenate([sines * across, np.cos(angles)[:, np.newaxis]], axis=1)
    )


def zonal_distance(a: AnyMeasure, b: AnyMeasure, *, order: int = 1) -> float:
    """Wasserstein distance between the polar angles of two measures, in radians.

    It is that of the measures themselves if both are zonal, else below it.
    """
    levels = np.unique(np.concatenate([_graph(m)[0] for m in (a, b)]).clip(0.0, 1.0))
    widths = np.diff(levels)
    middles = levels[:-1] + widths / 2
    power = 0.0
    # Two of Gauss's points in each interval, in which both quantiles are linear.
    for shift in (-_GAUSS, _GAUSS):
        gaps = _quantiles(a, middles + shift * widths) - _quantiles(
            b, middles + shift * widths
        )
        power += float((widths / 2) @ np.abs(gaps) ** order)
    return float(power ** (1 / order))


def _quantiles(measure: AnyMeasure, levels: FloatArray) -> FloatArray:
    """Polar angles below which a share ``levels`` of the mass lies."""
    heights, angles = _graph(measure)
    return np.asarray(np.interp(levels, heights, angles))


def _graph(measure: AnyMeasure) -> tuple[FloatArray, FloatArray]:
    """Distribution function of the polar angle: levels from 0 to 1, and their angles."""
    zonal = zonal_of(measure)
    atoms = measure if isinstance(measure, Atoms) else as_measure(measure).atoms
    # The axis is the last one; the arc tangent is accurate near the poles too.
    across = np.linalg.norm(atoms.points[:, :-1], axis=1)
    places = np.arctan2(across, atoms.points[:, -1])
    order = np.argsort(places, kind="stable")
    places, masses = places[order], atoms.masses[order]
    faces = np.empty(0) if zonal is None else zonal.face_angles
    angles = np.repeat(np.union1d(faces, places), 2)
    levels = np.zeros(len(angles))
    cumulated = np.concatenate([[0.0], np.cumsum(masses)])
    levels[::2] = cumulated[np.searchsorted(places, angles[::2], side="left")]
    levels[1::2] = cumulated[np.searchsorted(places, angles[1::2], side="right")]
    if zonal is not None:
        below = np.cumsum(as_measure(measure).density.masses)
        levels += np.interp(angles, faces, np.concatenate([[0.0], below]))
    return levels / levels[-1], angles
