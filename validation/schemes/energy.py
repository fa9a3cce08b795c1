r"""Energy, mass and sign along runs into atoms: E rises in ascent and falls in descent.

The schemes promise it up to their error: all wrong moves together at most a thousandth of the
change.  A conservative step changes the total mass by rounding alone; outflows that never take
more than a cell has keep any start nonnegative, for steps of any length.

That an energy moves the right way does not make the path right.  On the zonal grid the two
neurons leave mass at the kink of V on the equator, where it rests on one side and is unstable
on the other.  At a distance x from it mass leaves with w x, and a cell beside it is drained at
the rate (w h / 2) / h = w / 2 whatever its width h.  So a grid knows when tails escape: its
energy must be that of labels (rings, ``validation.characteristics``) to the first order in h.
At last the bulk escapes.  Its own drift at the kink is small: on a grid the mass stands at the
last face before it, and leaves late or never.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde.runs.progress import Progress
from validation.characteristics import moved_rings, rings_of
from validation.claim import (
    Claim,
    Findings,
    Quantity,
    at_least,
    at_most,
    equal,
    mark,
    vanishes,
)
from validation.drawing import panels, show_legend
from validation.independent import problem_of
from validation.schemes.witness import STYLES, WITNESS

Array = NDArray[np.float64]

CLAIM = Claim(
    "The energy moves one way, and mass and sign are kept",
    "E is a Lyapunov function of eq. (2.1); its conservation form",
    "On S¹, S² and zonal grids all wrong moves of a run add up to less than a thousandth of "
    "its change, the total mass changes by less than 1e-13, and rough starts stay nonnegative "
    "for steps of any length. Where mass rests at a kink of V that is unstable on one side "
    "(zonal grid), the default scheme has the energy of labels to the first order in a cell's "
    "width.",
    condition="Until the bulk of the mass at the kink escapes, which on a grid is late: at "
    "t = 45 in ascent the default scheme's energy is {late:.2g} times that of labels.",
)
SHARE, DRIFT = 1e-3, 1e-13
BETA, LATE, ESCAPED = 8.0, 30.0, 45.0
EARLY, WIDTHS = 0.01, 1.5
"""Share by which energies err after the escape; before it, in shares 1/n of n cells."""
MEMBERS = 800
SEEDS = {2: 777, 3: 111}


@dataclass(frozen=True)
class Place:
    """A geometry and its schemes."""

    name: str
    grid: mfpde.Circle | mfpde.Sphere | mfpde.Zonal
    schemes: tuple[str, ...]

    def equation(self, direction: str) -> mfpde.MeanFieldEquation:
        """Unnormalised attention and neurons of the paper's seeds; two along a zonal axis."""
        d = self.grid.dimension
        if isinstance(self.grid, mfpde.Zonal):
            axis = np.eye(d)[-1]
            neurons = mfpde.Perceptron([axis, -axis], [0.4, -0.3])
        else:
            neurons = mfpde.Perceptron.random(d, d, seed=SEEDS[d], activation="relu")
        return mfpde.MeanFieldEquation(
            mfpde.Attention(BETA), neurons, direction=direction
        )

    def smooth_start(self) -> mfpde.Density:
        """The start along the axis."""
        return mfpde.Density.from_function(
            self.grid, lambda x: start_along_axis(x[..., -1])
        )

    def rough_start(self) -> mfpde.Density:
        """Exponential random masses, half of the cells empty."""
        uniform, generator = mfpde.uniform(self.grid).values, np.random.default_rng(0)
        values = uniform * generator.exponential(size=uniform.shape)
        values *= generator.random(uniform.shape) > 0.5
        return mfpde.Density(self.grid, values).normalized()


def start_along_axis(z: Array) -> Array:
    """A smooth density of the last coordinate, up to its mass."""
    return np.asarray(1 + 0.4 * z + 0.3 * z**2)


def places(quick: bool) -> Iterator[Place]:
    """Circle, sphere and zonal grid; the last has the kink that mass rests at."""
    both = ("donor_blended", "semi_lagrangian")
    yield Place("S¹", mfpde.Circle(128 if quick else 512), both)
    yield Place("S²", mfpde.Sphere(32 if quick else 48), both[:1])
    yield Place("zonal d = 5", mfpde.Zonal(5, 64 if quick else 192), both[1:])


def smooth_run(
    place: Place, direction: str, t_end: float, **options: Any
) -> tuple[mfpde.Run, Array]:
    """A run from the smooth start, and times and energies (2, n) of it and of every step."""
    found = []

    class Seen(mfpde.Observer):
        def step(self, progress: Progress) -> None:
            """Keep the energy of a step."""
            found.append((progress.time, progress.diagnostic("energy")))

    times = {"t_end": t_end, "save_at": [0.0, t_end]}
    start, equation = place.smooth_start(), place.equation(direction)
    run = mfpde.solve(equation, start, **times, observer=Seen(), **options)
    return run, np.transpose([(0.0, run.energies[0]), *found])


def rough_run(place: Place, direction: str, scheme: str) -> mfpde.Run:
    """20 steps of up to 10 from a rough start."""
    stop = [mfpde.StepLimit(20)]
    options = {"t_end": 10.0, "rtol": 1.0, "stop": stop, "transport": scheme}
    with warnings.catch_warnings():
        # Where the grid decides when mass leaves matters to no sign.
        warnings.filterwarnings("ignore", "at t = .* a share", UserWarning)
        return mfpde.solve(place.equation(direction), place.rough_start(), **options)


def energies_of_labels(place: Place, direction: str, times: Array) -> Array:
    """Energies at ``times`` of rings of the zonal density."""
    problem = problem_of(place.equation(direction))
    rings = rings_of(start_along_axis, place.grid.dimension, MEMBERS)
    return np.array([one.energy(problem) for one in moved_rings(problem, rings, times)])


@CLAIM
def main(quick: bool = False) -> Findings:
    """Laws in both directions on every geometry; energies at the kink."""
    t_end = 4.0 if quick else LATE
    drawn, axes = panels(3, width=3.4)
    for place, ax in zip(places(quick), axes, strict=True):
        for direction, width in (("ascent", 1.0), ("descent", 0.6)):
            for scheme in place.schemes:
                name = f"{place.name}, {direction}, {scheme}: "
                run, path = smooth_run(place, direction, t_end, transport=scheme)
                rough = rough_run(place, direction, scheme)
                yield from mark(laws(run, path[1], rough), under=name)
                style = STYLES[scheme] | {"lw": width * STYLES[scheme]["lw"]}
                label = scheme if direction == "ascent" else None
                ax.plot(*path, **style, label=label)
        title = f"{place.name}: ascent, descent (thin)"
        ax.set(title=title, xlabel="time", ylabel="energy")
    yield from at_the_kink(place)
    times = np.linspace(t_end / 16, t_end, 16)
    for direction, label in (("ascent", "labels"), ("descent", None)):
        known = energies_of_labels(place, direction, times)
        axes[-1].plot(times, known, "o", **WITNESS, ms=2.5, label=label)
    # Free of curves: ascent rises to its upper edge, descent falls to the lower.
    show_legend(axes[-1], loc="center right")
    yield "energy", drawn


def laws(run: mfpde.Run, energies: Array, rough: mfpde.Run) -> Iterator[Quantity]:
    """What holds of a run from the smooth start, and of one from a rough start."""
    moves = run.equation.sign * np.diff(energies)
    wrong = -moves[moves < 0].sum() / moves.sum()
    yield at_most(f"wrong moves over the change, {len(moves)} steps", wrong, SHARE)
    yield vanishes(f"mass drift in {len(moves)} steps", run.mass_drift, DRIFT)
    least = min(one.diagnostics["minimum"].min() for one in (run, rough))
    yield at_least("least density", least, 0.0)


def at_the_kink(place: Place) -> Iterator[Quantity]:
    """Energies of the default scheme against those of labels, before and after the escape."""
    times, allowed = np.array([LATE, ESCAPED]), WIDTHS / len(place.grid.angles)
    for direction in ("ascent", "descent"):
        known = energies_of_labels(place, direction, times)
        equation, start = place.equation(direction), place.smooth_start()
        run = mfpde.solve(equation, start, t_end=ESCAPED, save_at=times)
        found, name = (
            run.energies[-2:],
            f"{place.name}, kinks, {direction}, energy at t = ",
        )
        text = f"{name}{LATE:g}: default scheme against {MEMBERS} labels"
        yield equal(text, found[0], known[0], allowed, relative=True)
        if direction == "ascent":
            # Late, never early.
            text, late = f"{name}{ESCAPED:g}: default over labels", found[1] / known[1]
            yield at_most(text, late, 1.0, EARLY, key="late", shows="condition")
