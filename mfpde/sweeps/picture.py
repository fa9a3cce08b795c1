"""The small picture of a sweep in a notebook: where its runs have ended, over what varies."""

from __future__ import annotations

from matplotlib.figure import Figure

from mfpde.plotting.pictures import new_picture, picture_of
from mfpde.plotting.sweep import is_seed, varied_settings
from mfpde.sweeps.sweep import Sweep
from mfpde.sweeps.table import finished_only, rows_of

QUANTITIES = ("atoms", "energy_last")
"""What is drawn: the first of them that the runs have."""


@picture_of.register
def _(sweep: Sweep) -> Figure | None:
    finished = finished_only(rows_of(sweep.plan, sweep.records))
    found = [name for name in QUANTITIES if name in finished]
    if not (found and sweep.plan.parameters and finished.sizes["run"]):
        return None
    # Numbers make a better axis than words.
    names = sorted(
        varied_settings(finished),
        key=lambda name: (
            is_seed(finished, name),
            finished[name].dtype.kind not in "fi",
        ),
    )
    figure = new_picture()
    ax = figure.subplots()
    sweep.plot(found[0], names[0], ax=ax)
    legend = ax.get_legend()
    if legend is not None:
        # Of many runs the print has the words.
        legend.remove()
    return figure
