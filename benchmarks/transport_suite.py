"""The transport suite for the sphere of Lauritzen et al., with two of the package's schemes.

A wind is prescribed that deforms a tracer and brings it back at t = T = 5.  Nondivergent flow:
Lauritzen, Skamarock, Prather, Taylor, Geosci. Model Dev. 5, 887 (2012), eqs. (18), (19); divergent
flow: Nair, Lauritzen, J. Comput. Phys. 229, 8868 (2010), case 3, on the background rotation.

``labels`` is what the default on S^2, ``spectral_labels``, goes on with once the grid does not
resolve the density.  At t = T its labels are back where they were, to the error of their paths; so
the density made of them is measured at T/2, where the tracer is deformed most, against the start
at the other end of each path (in nondivergent flow).  ``donor_blended``, the finite volumes of
runs with atoms or diffusion, is measured at T, as the suite does.

    python benchmarks/transport_suite.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from results_table import Row

from mfpde import Attention, MeanFieldEquation, Sphere
from mfpde.geometry.arcs import normalize
from mfpde.transport import scheme_for
from mfpde.transport.base import State
from mfpde.transport.euler_stages import IGNORED_SHARE

PART = "Transport suite on the sphere (Lauritzen et al. 2012)"
PERIOD = 5.0
GRIDS = (48, 96, 192)
PATH_STEPS = 200
Wind = Callable[[np.ndarray, np.ndarray, float], np.ndarray]


def nondivergent(longitudes: np.ndarray, latitudes: np.ndarray, t: float) -> np.ndarray:
    """Velocity to the south and to the east (2, ...)."""
    moved = longitudes - 2 * np.pi * t / PERIOD
    swing = 10 / PERIOD * np.cos(np.pi * t / PERIOD)
    east = swing * np.sin(moved) ** 2 * np.sin(2 * latitudes)
    east += 2 * np.pi / PERIOD * np.cos(latitudes)
    north = swing * np.sin(2 * moved) * np.cos(latitudes)
    return np.stack([-north, east])


def divergent(longitudes: np.ndarray, latitudes: np.ndarray, t: float) -> np.ndarray:
    """Velocity to the south and to the east (2, ...)."""
    moved = longitudes - 2 * np.pi * t / PERIOD
    swing = 5 / PERIOD * np.cos(np.pi * t / PERIOD)
    east = -swing * np.sin(moved / 2) ** 2 * np.sin(2 * latitudes)
    east *= np.cos(latitudes) ** 2
    east += 2 * np.pi / PERIOD * np.cos(latitudes)
    north = swing / 2 * np.sin(moved) * np.cos(latitudes) ** 3
    return np.stack([-north, east])


def hills(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Two smooth Gaussian hills, at ``points`` (..., 3)."""
    squares = ((points[..., np.newaxis, :] - centres) ** 2).sum(axis=-1)
    return 0.95 * np.exp(-5 * squares).sum(axis=-1)


def bells(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Two cosine bells of radius 1/2 on a background of 0.1."""
    distances = np.arccos(np.clip(points @ centres.T, -1, 1))
    bumps = np.where(distances < 0.5, 0.5 * (1 + np.cos(2 * np.pi * distances)), 0.0)
    return 0.1 + 0.9 * bumps.sum(axis=-1)


def cylinders(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Two slotted cylinders of height 1 on a background of 0.1."""
    values = np.full(points.shape[:-1], 0.1)
    for centre, side in zip(centres, (-1, 1), strict=True):
        distance = np.arccos(np.clip(points @ centre, -1, 1))
        east = np.arctan2(points[..., 1], points[..., 0]) - np.arctan2(*centre[1::-1])
        across = np.abs((east + np.pi) % (2 * np.pi) - np.pi)
        latitude = np.arcsin(np.clip(points[..., 2], -1, 1))
        is_slot = (across < 1 / 12) & (side * latitude > -5 / 24)
        values[(distance <= 0.5) & ~is_slot] = 1.0
    return values


class Case(NamedTuple):
    """A wind, a tracer and the longitudes of its two centres on the equator."""

    name: str
    wind: Wind
    tracer: Callable[[np.ndarray, np.ndarray], np.ndarray]
    longitudes: tuple[float, float]

    def start(self, points: np.ndarray) -> np.ndarray:
        """The tracer's density at t = 0 at ``points`` (..., 3)."""
        angles = np.array(self.longitudes)
        centres = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
        return self.tracer(points, centres)


APART = (5 * np.pi / 6, 7 * np.pi / 6)
CASES = [
    Case("nondivergent, Gaussian hills", nondivergent, hills, APART),
    Case("nondivergent, cosine bells", nondivergent, bells, APART),
    Case("nondivergent, slotted cylinders", nondivergent, cylinders, APART),
    Case("divergent, cosine bells", divergent, bells, (3 * np.pi / 4, 5 * np.pi / 4)),
]


class Errors(NamedTuple):
    """Normalised errors, the least density and that of the truth, and what was spent."""

    l1: float
    l2: float
    largest: float
    least: float
    least_true: float
    drift: float
    steps: int

    def describe(self) -> str:
        """Return all but the error in l2."""
        return (
            f"l1 {self.l1:.1e}, linf {self.largest:.1e}, least density {self.least:.2g} "
            f"(truth {self.least_true:.2g}), mass drift {self.drift:.0e}, "
            f"{self.steps} steps"
        )


def errors(
    start: np.ndarray, masses: np.ndarray, truth: np.ndarray, sphere: Sphere, steps: int
) -> Errors:
    """Return the errors of cell ``masses`` against densities ``truth`` at the centres."""
    areas = sphere.areas
    total = (start * areas).sum()
    missed = masses / areas - truth
    return Errors(
        l1=float((np.abs(missed) * areas).sum() / (truth * areas).sum()),
        l2=float(np.sqrt((missed**2 * areas).sum() / (truth**2 * areas).sum())),
        largest=float(np.abs(missed).max() / truth.max()),
        least=float((masses / areas).min()),
        least_true=float(truth.min()),
        drift=float(abs(masses.sum() - total) / total),
        steps=steps,
    )


def by_fluxes(case: Case, rings: int) -> Errors:
    """Errors of finite volumes at t = T, by SSPRK(4,2) with the step rule of the solver."""
    sphere = Sphere(rings)
    grid = MeanFieldEquation(Attention(1.0), direction="ascent").on(sphere)
    transport = scheme_for("donor_blended", sphere).transport(grid)
    moments = sphere.moments(sphere.areas, grid.degree)
    latitudes = (np.pi / 2 - sphere.colatitudes)[:, np.newaxis]
    start = case.start(sphere.points)
    masses = transport.represent_masses(start * sphere.areas)
    total, now, steps = masses.sum(), 0.0, 0

    def outflows(masses: np.ndarray, t: float) -> np.ndarray:
        wind = case.wind(sphere.longitudes, latitudes, t)
        wind = np.ascontiguousarray(np.broadcast_to(wind, (2, *sphere.shape)))
        return transport.outflows(masses, moments, wind)[0]

    while now < PERIOD - 1e-12:
        first = outflows(masses, now)
        least = IGNORED_SHARE * total / masses.size
        third = 1.2 * transport.draining_time(masses, first, least)
        third = min(third, (PERIOD - now) / 3)
        stage = transport.drain(masses, first, third)
        for number in (1, 2, 3):
            flow = outflows(stage, now + number * third)
            stage = transport.drain(stage, flow, third)
        masses = 0.25 * masses + 0.75 * stage
        now, steps = now + 3 * third, steps + 1
    return errors(start, masses, start, sphere, steps)


def carried(wind: Wind, points: np.ndarray, begin: float, end: float) -> np.ndarray:
    """Return where ``points`` (n, 3) are at the time ``end``, by Runge-Kutta's method."""
    step = (end - begin) / PATH_STEPS

    def velocity(points: np.ndarray, t: float) -> np.ndarray:
        x, y, z = normalize(points).T
        south, east = wind(np.arctan2(y, x), np.arcsin(np.clip(z, -1, 1)), t)
        ring = np.hypot(x, y)
        toward_east = np.stack([-y, x, 0 * z]) / ring
        toward_south = np.stack([x * z / ring, y * z / ring, -ring])
        return (south * toward_south + east * toward_east).T

    for number in range(PATH_STEPS):
        t = begin + number * step
        first = velocity(points, t)
        second = velocity(points + 0.5 * step * first, t + 0.5 * step)
        third = velocity(points + 0.5 * step * second, t + 0.5 * step)
        fourth = velocity(points + step * third, t + step)
        points = points + step / 6 * (first + 2 * (second + third) + fourth)
        points = normalize(points)
    return points


def by_labels(case: Case, rings: int) -> Errors:
    """Errors of the density of labels at t = T/2, in nondivergent flow."""
    sphere = Sphere(rings)
    grid = MeanFieldEquation(Attention(1.0), direction="ascent").on(sphere)
    transport = scheme_for("labels", sphere).transport(grid)
    nobody = np.empty((0, 3)), np.empty(0)
    start = case.start(sphere.points)
    state = transport.begin(State(start * sphere.areas, *nobody))
    moved = carried(case.wind, state.points, 0.0, PERIOD / 2)
    found = transport.restore(state.moved(state.masses, moved)).masses
    origins = carried(case.wind, state.points, PERIOD / 2, 0.0)
    truth = case.start(origins.reshape(sphere.points.shape))
    return errors(start, found, truth, sphere, PATH_STEPS)


SCHEMES = {
    "labels at T/2": (by_labels, [c for c in CASES if c.wind is nondivergent]),
    "donor_blended": (by_fluxes, CASES),
}


def rows(*, quick: bool = False) -> Iterator[Row]:
    """Errors of each scheme and case on each grid, and orders from the last two."""
    grids = (32, 48) if quick else GRIDS
    for scheme, (transport, cases) in SCHEMES.items():
        for case in cases[:1] if quick else cases:
            found = [transport(case, rings) for rings in grids]
            for rings, error in zip(grids, found, strict=True):
                what = f"{scheme}: {case.name}, {rings} rings: l2 error"
                yield Row(PART, what, error.l2, unit="", remark=error.describe())
            order = np.log(found[-2].l2 / found[-1].l2) / np.log(grids[-1] / grids[-2])
            # Hills are the suite's test of order; the others are no smoother than their kinks.
            target = 1.9 if case.tracer is hills and not quick else None
            what = f"{scheme}: {case.name}: order in l2"
            yield Row(PART, what, float(order), unit="", target=target, at_least=True)
