r"""Energy along runs into atoms: E rises in ascent and falls in descent.

The schemes promise it up to their error: all wrong moves together at most a thousandth of the
change.

That an energy moves the right way does not make the path right.  On the zonal grid the two
neurons leave mass at the kink of V on the equator, where it rests on one side and is unstable
on the other.  At a distance x from it mass leaves with w x, and a cell beside it is drained at
the rate (w h / 2) / h = w / 2 whatever its width h.  So a grid knows when tails escape up to
2 / w: its energy must be one that particles or labels have within that time, up to their own
error, which is the difference to a quarter of their number.  At last the bulk escapes.  Its own
drift at the kink is small: on a grid the mass stands at the last face before it, and leaves late
or never.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde.runs.progress import Progress
from validation.characteristics import moved_rings, rings_of
from validation.charts import describe, panels, show_legend
from validation.claim import Claim, Quantity
from validation.independent import problem_of
from validation.schemes.scheme_styles import STYLES, WITNESS
from validation.schemes.stressed import Place, places

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
PARTICLES, LABELS, TIME_STEP, HELD = 800, 800, 0.2, 1e-3


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


@dataclass(frozen=True)
class Witness:
    """Energies of particles or labels around ``LATE``, and how exactly they tell it."""

    name: str
    energy: float
    allowed: float


def exit_time(place: Place, direction: str) -> float:
    """2 / w, w the rate at which the neuron that is active outside drives mass away."""
    sign = 1 if direction == "ascent" else -1
    return float(2.0 / (sign * place.perceptron().weights).max())


def witness(
    name: str,
    count: int,
    *,
    energies: Callable[[int, Array], Array],
    window: float,
) -> Witness:
    """``energies(count, times)`` at ``LATE``; how it changes within ``window``, and its error."""
    times = np.array([LATE - window, LATE, LATE + window])
    before, now, after = energies(count, times)
    own = abs(now - energies(count // 4, times)[1])
    change = max(abs(now - before), abs(now - after))
    return Witness(f"{count} {name}", float(now), float(change + own))


def particle_run(
    place: Place, direction: str, *, count: int, times: Array
) -> mfpde.Run:
    """Quantised particles on S^(d-1), saved at ``times``."""
    return mfpde.solve_particles(
        place.equation(direction, beta=BETA),
        mfpde.quantized(place.smooth_start(), count),
        t_end=float(times[-1]),
        time_step=TIME_STEP,
        save_at=times,
    )


def labels(place: Place, direction: str, *, count: int, times: Array) -> Array:
    """Energies at ``times`` of labels of the zonal density."""
    problem = problem_of(place.equation(direction, beta=BETA))
    rings = rings_of(lambda z: 1 + 0.4 * z + 0.3 * z**2, place.grid.dimension, count)
    return np.array([one.energy(problem) for one in moved_rings(problem, rings, times)])


def witnesses(place: Place, direction: str, quick: bool) -> list[Witness]:
    """Particles and labels."""

    def of_particles(count: int, times: Array) -> Array:
        run = particle_run(place, direction, count=count, times=times)
        return np.asarray(run.energies[-len(times) :])

    def of_labels(count: int, times: Array) -> Array:
        return labels(place, direction, count=count, times=times)

    window = exit_time(place, direction)
    share = 2 if quick else 1
    return [
        witness("particles", PARTICLES // share, energies=of_particles, window=window),
        witness("labels", LABELS // share, energies=of_labels, window=window),
    ]


def after_the_escape(place: Place) -> Quantity:
    """Energy of the default scheme over that of labels: late, never early."""
    run = mfpde.solve(
        place.equation("ascent", beta=BETA),
        place.smooth_start(),
        t_end=ESCAPED,
        save_at=[ESCAPED],
    )
    expected = labels(place, "ascent", count=LABELS, times=np.array([ESCAPED]))[-1]
    name = (
        f"{place.name}, kinks, ascent, energy at t = {ESCAPED:g}: default over labels"
    )
    late = float(run.energies[-1] / expected)
    return Quantity(name, late, 1.0, EARLY, "at most", key="late", shows="condition")


def at_the_kink(place: Place, quick: bool) -> list[Quantity]:
    """Last energies on the zonal grid against those of particles and labels."""
    found = []
    for direction in ("ascent", "descent"):
        default = mfpde.solve(
            place.equation(direction, beta=BETA),
            place.smooth_start(),
            t_end=LATE,
            save_at=[LATE],
        ).energies[-1]
        name = f"{place.name}, kinks, {direction}, energy at t = {LATE:g}"
        told = witnesses(place, direction, quick)
        for known in told:
            label = f"{name}: default scheme against {known.name}"
            found.append(Quantity(label, float(default), known.energy, known.allowed))
        if direction == "ascent" and not quick:
            label = f"{name}: default scheme against {told[0].name}, to a thousandth"
            found.append(Quantity(label, float(default), told[0].energy, HELD))
    return found


def main(quick: bool = False) -> dict[str, object]:
    """Wrong moves of both directions on every geometry."""
    t_end = 4.0 if quick else 30.0
    quantities = []
    drawn, axes = panels(3, width=3.4)
    for place, ax in zip(places(quick), axes, strict=True):
        for direction, width in (("ascent", 1.0), ("descent", 0.6)):
            sign = 1 if direction == "ascent" else -1
            for scheme in place.schemes:
                times, path = energies(place, scheme, direction=direction, t_end=t_end)
                moves = sign * np.diff(path)
                wrong = -moves[moves < 0]
                label = f"{place.name}, {direction}, {scheme}"
                share = float(wrong.sum() / moves.sum())
                name = f"{label}: wrong moves over the change, {len(moves)} steps"
                quantities.append(Quantity(name, share, SHARE, 0.0, "at most"))
                style = STYLES[scheme] | {"lw": width * STYLES[scheme]["lw"]}
                shown = scheme if direction == "ascent" else None
                ax.plot(times, path, **style, label=shown)
        describe(
            ax,
            title=f"{place.name}: ascent, descent (thin)",
            xlabel="time",
            ylabel="energy",
        )
    quantities += [*at_the_kink(place, quick), after_the_escape(place)]
    for direction in ("ascent", "descent"):
        saved = np.linspace(0.0, t_end, 16)
        run = particle_run(place, direction, count=PARTICLES // 4, times=saved)
        shown = "particles" if direction == "ascent" else None
        axes[-1].plot(run.times, run.energies, "o", **WITNESS, ms=2.5, label=shown)
    # Free of curves: ascent rises to its upper edge, descent falls to the lower.
    show_legend(axes[-1], loc="center right")
    return {"quantities": quantities, "figures": {"energy": drawn}}
