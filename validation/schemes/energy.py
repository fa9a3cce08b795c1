r"""Energy along runs into atoms: E rises in ascent and falls in descent.

The schemes promise it up to their error: all wrong moves together at most a thousandth of the
change.

That an energy moves the right way does not make the path right.  On the zonal grid the two
neurons leave mass at the kink of V on the equator, where it rests on one side and is unstable
on the other.  At a distance x from it mass leaves with w x, and a cell beside it is drained at
the rate (w h / 2) / h = w / 2 whatever its width h.  So a grid knows when tails escape up to
2 / w: its energy must be one that particles or labels (rings, ``validation.characteristics``)
have within that time, up to their own error, which is the difference to a quarter of their
number.  At last the bulk escapes.  Its own drift at the kink is small: on a grid the mass stands
at the last face before it, and leaves late or never.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde.runs.progress import Progress
from validation.characteristics import moved_rings, rings_of
from validation.charts import panels, show_legend
from validation.claim import Claim, Findings, Quantity, at_most, equal
from validation.independent import problem_of
from validation.schemes.places import STYLES, WITNESS, Place, places, start_along_axis

Array = NDArray[np.float64]

CLAIM = Claim(
    "The energy moves one way",
    "E is a Lyapunov function of eq. (2.1)",
    "All wrong moves of a run add up to less than a thousandth of its change. Where "
    "mass rests at a kink of V that is unstable on one side (zonal grid), the default "
    "scheme has the energy of particles and of labels, up to the time 2/w in which a "
    "neuron of weight w drains a cell beside its kink.",
    condition="Until the bulk of the mass at the kink escapes, which on a grid is late: at "
    "t = 45 in ascent the default scheme's energy is {late:.2g} times that of labels.",
)
SHARE = 1e-3
BETA, LATE, ESCAPED = 8.0, 30.0, 45.0
EARLY = 0.01
MEMBERS, TIME_STEP, HELD = 800, 0.2, 1e-3


@CLAIM
def main(quick: bool = False) -> Findings:
    """Wrong moves of both directions on every geometry; energies at the kink."""
    t_end = 4.0 if quick else LATE
    drawn, axes = panels(3, width=3.4)
    for place, ax in zip(places(quick), axes, strict=True):
        for direction, width in (("ascent", 1.0), ("descent", 0.6)):
            sign = 1 if direction == "ascent" else -1
            for scheme in place.schemes:
                times, path = energies(place, scheme, direction=direction, t_end=t_end)
                moves = sign * np.diff(path)
                wrong = -moves[moves < 0].sum() / moves.sum()
                name = (
                    f"{place.name}, {direction}, {scheme}: wrong moves over the change"
                )
                yield at_most(f"{name}, {len(moves)} steps", wrong, SHARE)
                style = STYLES[scheme] | {"lw": width * STYLES[scheme]["lw"]}
                label = scheme if direction == "ascent" else None
                ax.plot(times, path, **style, label=label)
        title = f"{place.name}: ascent, descent (thin)"
        ax.set(title=title, xlabel="time", ylabel="energy")
    yield from at_the_kink(place, quick)
    yield after_the_escape(place)
    for direction, label in (("ascent", "particles"), ("descent", None)):
        times = np.linspace(0.0, t_end, 16)
        path = of_particles(place, direction, MEMBERS // 4, times)
        axes[-1].plot(times, path, "o", **WITNESS, ms=2.5, label=label)
    # Free of curves: ascent rises to its upper edge, descent falls to the lower.
    show_legend(axes[-1], loc="center right")
    yield "energy", drawn


def energies(
    place: Place, scheme: str, *, direction: str, t_end: float
) -> tuple[Array, Array]:
    """Times and energies of the start and of every step."""
    times, found = [], []

    class Seen(mfpde.Observer):
        def step(self, progress: Progress) -> None:
            """Keep the energy of a step."""
            times.append(progress.time)
            found.append(progress.diagnostic("energy"))

    run = mfpde.solve(
        place.equation(direction, beta=BETA),
        place.smooth_start(),
        t_end=t_end,
        save_at=[0.0, t_end],
        transport=scheme,
        observer=Seen(),
    )
    return np.array([0.0, *times]), np.array([run.energies[0], *found])


def of_particles(place: Place, direction: str, count: int, times: Array) -> Array:
    """Energies at ``times`` of quantised particles on S^(d-1)."""
    run = mfpde.solve_particles(
        place.equation(direction, beta=BETA),
        mfpde.quantized(place.smooth_start(), count),
        t_end=float(times[-1]),
        time_step=TIME_STEP,
        save_at=times,
    )
    return np.asarray(run.energies[-len(times) :])


def of_labels(place: Place, direction: str, count: int, times: Array) -> Array:
    """Energies at ``times`` of rings of the zonal density."""
    problem = problem_of(place.equation(direction, beta=BETA))
    rings = rings_of(start_along_axis, place.grid.dimension, count)
    return np.array([one.energy(problem) for one in moved_rings(problem, rings, times)])


def default_energy(place: Place, direction: str, time: float) -> float:
    """Energy of the default scheme."""
    equation = place.equation(direction, beta=BETA)
    run = mfpde.solve(equation, place.smooth_start(), t_end=time, save_at=[time])
    return float(run.energies[-1])


def at_the_kink(place: Place, quick: bool) -> Iterator[Quantity]:
    """Last energies on the zonal grid against those of particles and labels.

    Within 2/w, w the rate at which a neuron drives mass away, they may be those of another time.
    """
    members = MEMBERS // 2 if quick else MEMBERS
    witnesses = {"particles": of_particles, "labels": of_labels}
    for direction, sign in (("ascent", 1), ("descent", -1)):
        equation = place.equation(direction, beta=BETA)
        window = 2.0 / (sign * equation.perceptrons[0].weights).max()
        default = default_energy(place, direction, LATE)
        name = f"{place.name}, kinks, {direction}, energy at t = {LATE:g}: default scheme against"
        for kind, energies_of in witnesses.items():
            times = np.array([LATE - window, LATE, LATE + window])
            before, now, after = energies_of(place, direction, members, times)
            own = abs(now - energies_of(place, direction, members // 4, times)[1])
            change = max(abs(now - before), abs(now - after))
            yield equal(f"{name} {members} {kind}", default, now, change + own)
            if kind == "particles" and direction == "ascent" and not quick:
                label = f"{name} {members} {kind}, to a thousandth"
                yield equal(label, default, now, HELD)


def after_the_escape(place: Place) -> Quantity:
    """Energy of the default scheme over that of labels: late, never early."""
    late = default_energy(place, "ascent", ESCAPED)
    late /= of_labels(place, "ascent", MEMBERS, np.array([ESCAPED]))[-1]
    name = (
        f"{place.name}, kinks, ascent, energy at t = {ESCAPED:g}: default over labels"
    )
    return at_most(name, late, 1.0, EARLY, key="late", shows="condition")
