"""A quantity of many runs against a parameter that they vary."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, product
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mfpde.plotting import palette, style
from mfpde.plotting.style import Look

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

MOST_GROUPS = 12
LONGEST_LINE = 48
DECADES = 1.5
"""Values that span more of them are drawn on a logarithmic axis."""
LOOKS: list[Look] = [
    {"marker": marker, "color": colour}
    for marker, colour in product("os^Dv<>P", (palette.DENSITY, *palette.NEURONS))
]


@style.styled
def plot_sweep(
    summary: xr.Dataset,
    quantity: str,
    against: str | None = None,
    *,
    ax: Axes | None = None,
) -> Figure:
    """Draw a quantity of a sweep's runs against a setting that varies.

    Runs that differ in nothing but seeds are drawn by their mean, and a band from the least to
    the most.  Runs that differ in other settings have colours of their own, up to 12 of them;
    of a quantity with several values for each run (``atom_masses``), and of words, each is a
    point.

    Parameters
    ----------
    summary
        Summaries of runs along one dimension ``run``; settings have the attribute ``setting``.
    quantity
        Name of a variable: numbers, or words such as the verdict.
    against
        Name of a setting; by default the first of numbers that are no seeds.
    ax
        Axes to draw on; by default those of a new figure.
    """
    ax = style.axes_or_new(ax, size=(6.0, 4.0))
    settings = _settings_of(summary)
    against = settings[0] if against is None else against
    # A row for each run, and for each of several values of one.
    table = summary[list(dict.fromkeys([against, quantity]))]
    rows = table.to_dataframe(summary[quantity].dims).reset_index(drop=True)
    rows = rows.replace("", np.nan).dropna(subset=[against, quantity])
    words = {name: _words_of(rows[name]) for name in (against, quantity)}
    others = [name for name in settings if name not in (against, quantity)]
    has_mean = summary[quantity].ndim == 1 and not words[quantity]
    has_mean &= any(_is_seed(summary, name) for name in others)
    named = [name for name in others if not (has_mean and _is_seed(summary, name))]
    rows["label"] = _labels_of(rows, named, against)
    if rows["label"].nunique() > MOST_GROUPS:
        rows["label"], has_mean = "", False
    for axis, name in ((ax.xaxis, against), (ax.yaxis, quantity)):
        _set_scale(axis, rows[name], words[name])
    most = 1
    for (label, group), look in zip(rows.groupby("label", sort=False), cycle(LOOKS)):
        there = group.sort_values(against, kind="stable")
        x, y = there[against].to_numpy(), there[quantity].to_numpy()
        if has_mean:
            at = there.groupby(against)[quantity].agg(["mean", "min", "max", "count"])
            most = max(most, at["count"].max())
            band: Look = {"color": look["color"], "alpha": 0.2}
            ax.fill_between(at.index, at["min"], at["max"], **band)
            x, y = at.index.to_numpy(), at["mean"].to_numpy()
        is_line = not any(words.values()) and len(np.unique(x)) == len(x)
        line: Look = {"markersize": 4.0, "linestyle": "-" if is_line else "none"}
        ax.plot(x, y, alpha=0.8, label=label, **line, **look)
    name = summary[quantity].attrs.get("long_name", quantity.replace("_", " "))
    note = f"\n(mean over {most} seeds; band: least to most)" if most > 1 else ""
    ax.set(xlabel=against, ylabel=f"{fill(str(name), LONGEST_LINE)}{note}")
    if rows["label"].nunique() > 1:
        ax.legend(loc="best", fontsize=7.0)
    return style.figure_of(ax)


def _settings_of(summary: xr.Dataset) -> list[str]:
    """Return the settings that vary: numbers, which make a better axis, words, then seeds."""
    varied = [str(name) for name in summary.coords if "setting" in summary[name].attrs]

    def rank(name: str) -> tuple[bool, bool]:
        return _is_seed(summary, name), summary[name].dtype.kind not in "fi"

    return sorted(varied, key=rank)


def _is_seed(summary: xr.Dataset, name: str) -> bool:
    """Whether a setting is a seed, over which a mean is taken."""
    return str(summary[name].attrs["setting"]).rpartition(".")[2] == "seed"


def _words_of(column: pd.Series[Any]) -> list[str]:
    """Words of a column in their order on an axis; none of numbers."""
    return [] if column.dtype.kind in "fiub" else sorted({*column})


def _labels_of(rows: pd.DataFrame, names: Sequence[str], against: str) -> list[str]:
    """Name each row by its values of the settings ``names``, but for what these imply."""
    words, telling = rows[[against, *names]].map(_write), [against]
    for name in names:
        if words.groupby(telling)[name].nunique().max() > 1:
            telling.append(name)
    parts = [name.rpartition(".")[2] + " = " + words[name] for name in telling[1:]]
    return [", ".join(row) for row in zip(*parts, strict=True)] or [""] * len(rows)


def _write(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _set_scale(
    axis: XAxis | YAxis, column: pd.Series[Any], words: Sequence[str]
) -> None:
    """Put words on an axis, whole numbers on one of counts, decades where numbers span them."""
    if words:
        axis.update_units(words)  # type: ignore[no-untyped-call]
    elif isinstance(axis, YAxis) and (column.astype(float) % 1 == 0).all():
        # Between counts there is nothing.
        axis.set_major_locator(MaxNLocator(integer=True))
    elif column.min() > 0 and np.log10(column.max() / column.min()) > DECADES:
        axis.axes.set(**{f"{axis.axis_name}scale": "log"})
