r"""Energy along runs into atoms: E rises in ascent and falls in descent.

The monotone scheme repeats a step whose discrete energy moves the wrong way: not one such
move beyond rounding.  The others promise it up to their error: all wrong moves together at
most a thousandth of the change.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation.charts import COLOURS, panels, show_legend
from validation.claim import Claim, Quantity
from validation.schemes.stressed import Place, places

Array = NDArray[np.float64]

CLAIM = Claim(
    "The energy moves one way",
    "E is a Lyapunov function of eq. (2.1); Carrillo, Chertock & Huang (2015) for the "
    "monotone scheme",
    "With the monotone scheme no step moves the discrete energy the wrong way; with the "
    "others all wrong moves of a run add up to less than a thousandth of its change.",
)
ROUNDING = 1e-15
SHARE = 1e-3


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


def main(quick: bool = False) -> dict[str, object]:
    """Wrong moves of both directions on every geometry."""
    t_end = 4.0 if quick else 30.0
    quantities = []
    drawn, axes = panels(3, width=3.2)
    for place, ax in zip(places(quick), axes, strict=True):
        for direction, style in (("ascent", "-"), ("descent", "--")):
            sign = 1 if direction == "ascent" else -1
            for scheme, colour in zip(place.schemes, COLOURS, strict=False):
                times, path = energies(place, scheme, direction=direction, t_end=t_end)
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
        ax.set(title=f"{place.name} (dashed: descent)", xlabel="time", ylabel="energy")
    show_legend(axes[0])
    return {"quantities": quantities, "figures": {"energy": drawn}}
