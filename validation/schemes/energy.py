r"""Energy along runs into atoms: E rises in ascent and falls in descent.

The monotone scheme repeats a step whose discrete energy moves the wrong way: not one such
move beyond rounding.  The others promise it up to their error: all wrong moves together at
most a thousandth of the change.

That an energy moves the right way does not make the path right.  On the zonal grid the two
neurons leave mass at the kink of V on the equator, where it rests on one side and is unstable
on the other.  There a tail of one cell is enough: schemes that diffuse send it to the pole
tens of time units too early, while particles and semi-Lagrangian steps still hold it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation.charts import COLOURS, describe, panels, show_legend
from validation.claim import Claim, Quantity
from validation.schemes.stressed import Place, places

Array = NDArray[np.float64]

CLAIM = Claim(
    "The energy moves one way",
    "E is a Lyapunov function of eq. (2.1); Carrillo, Chertock & Huang (2015) for the "
    "monotone scheme",
    "With the monotone scheme no step moves the discrete energy the wrong way; with the "
    "others all wrong moves of a run add up to less than a thousandth of its change.",
    condition="A monotone energy is no proof of accuracy: mass at a kink that is unstable on "
    "one side leaves it too early with schemes that diffuse (zonal grid, t = 30).",
)
ROUNDING = 1e-15
SHARE = 1e-3
PARTICLES, TIME_STEP, HELD, LOST = 800, 0.2, 1e-3, 2e-2


def energies(
    place: Place, scheme: str, *, direction: str, t_end: float
) -> tuple[Array, Array]:
    """Times and energies of every step."""
    times, found = [], []

    def keep(record: object) -> None:
        times.append(record.time)
        found.append(record.energy)

    mfpde.solve(
        place.equation(direction, beta=8.0),
        place.smooth_start(),
        t_end=t_end,
        save_at=[t_end],
        transport=scheme,
        progress=keep,
    )
    return np.array(times), np.array(found)


def at_the_kink(place: Place, ends: dict[str, float], t_end: float) -> list[Quantity]:
    """Last energies of ascent on the zonal grid against those of particles."""
    particles = mfpde.solve_particles(
        place.equation("ascent", beta=8.0),
        mfpde.quantized(place.smooth_start(), PARTICLES),
        t_end=t_end,
        time_step=TIME_STEP,
    )
    expected = float(particles.energies[-1])
    held, lost = ends["semi_lagrangian"], ends["donor_blended"]
    name = f"{place.name}, ascent, energy at t = {t_end:g}"
    return [
        Quantity(f"{name}: semi_lagrangian against particles", held, expected, HELD),
        Quantity(
            f"{name}: donor_blended, above that of particles",
            lost - expected,
            LOST,
            0.0,
            "at least",
        ),
    ]


def main(quick: bool = False) -> dict[str, object]:
    """Wrong moves of both directions on every geometry."""
    t_end = 4.0 if quick else 30.0
    quantities, ends = [], {}
    drawn, axes = panels(3, width=3.2)
    for place, ax in zip(places(quick), axes, strict=True):
        for direction, style in (("ascent", "-"), ("descent", "--")):
            sign = 1 if direction == "ascent" else -1
            for scheme, colour in zip(place.schemes, COLOURS, strict=False):
                times, path = energies(place, scheme, direction=direction, t_end=t_end)
                ends[f"{place.name} {direction}", scheme] = float(path[-1])
                moves = sign * np.diff(path)
                wrong = -moves[moves < 0]
                label = f"{place.name}, {direction}, {scheme}"
                if scheme == "monotone":
                    worst = float(wrong.max(initial=0.0))
                    name = f"{label}: largest wrong move in {len(moves)} steps"
                    quantities.append(Quantity(name, worst, 0.0, ROUNDING))
                else:
                    share = float(wrong.sum() / moves.sum())
                    name = f"{label}: wrong moves over the change, {len(moves)} steps"
                    quantities.append(Quantity(name, share, SHARE, 0.0, "at most"))
                shown = scheme if direction == "ascent" else None
                ax.plot(times, path, style, color=colour, lw=1.0, label=shown)
        describe(
            ax, title=f"{place.name} (dashed: descent)", xlabel="time", ylabel="energy"
        )
        last = {s: e for (p, s), e in ends.items() if p == f"{place.name} ascent"}
    if not quick:
        quantities += at_the_kink(place, last, t_end)
    show_legend(axes[0])
    return {"quantities": quantities, "figures": {"energy": drawn}}
