"""The small picture of a sweep in a notebook: where its runs have ended, over what varies."""

from __future__ import annotations

from matplotlib.figure import Figure

from mfpde.plotting.pictures import new_picture, picture_of
from mfpde.sweeps.sweep import Sweep

QUANTITIES = ("atoms", "energy_last")
"""What is drawn: the first of them that the runs have."""


@picture_of.register
def _(sweep: Sweep) -> Figure | None:
    found = [name for name in QUANTITIES if name in sweep.summary]
    if not (found and sweep.plan.parameters):
        return None
    figure = new_picture()
    ax = figure.subplots()
    sweep.plot(found[0], ax=ax)
    legend = ax.get_legend()
    if legend is not None:
        # Of many runs the print has the words.
        legend.remove()
    return figure
