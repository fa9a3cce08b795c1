"""A quantity of many runs against a parameter that they vary."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, product
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mfpde.arrays import FloatArray
from mfpde.plotting import palette, style
from mfpde.plotting.style import Look

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

MOST_GROUPS = 12
LONGEST_WORD, LONGEST_LINE = 32, 48
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
    settings = by_numbers(summary)
    against = settings[0] if against is None else against
    others = [name for name in settings if name not in (against, quantity)]
    # A row for each run, and for each of several values of one.
    drawn = summary[list(dict.fromkeys([against, quantity]))]
    rows = drawn.to_dataframe(summary[quantity].dims).reset_index(drop=True)
    rows["x"], x_words = numbers_of(rows[against])
    rows["y"], y_words = numbers_of(rows[quantity])
    seeds = [name for name in others if is_seed(summary, name)]
    is_single = summary[quantity].ndim == 1 and not y_words
    has_mean = is_single and len(seeds) > 0
    told = [name for name in others if not (has_mean and name in seeds)]
    rows["label"] = labels_of(rows, told, against)
    if rows["label"].nunique() > MOST_GROUPS:
        rows["label"], has_mean = "", False
    most = 1
    for (label, group), look in zip(rows.groupby("label", sort=False), cycle(LOOKS)):
        there = group[["x", "y"]].dropna().sort_values("x", kind="stable")
        x, y = there.to_numpy().T
        if has_mean:
            at = there.groupby("x")["y"].agg(["mean", "min", "max", "count"])
            most, x, y = max(most, at["count"].max()), at.index, at["mean"]
            span, colour = (x, at["min"], at["max"]), look["color"]
            if x_words or len(x) == 1:
                ax.vlines(*span, color=colour, alpha=0.5, linewidth=1.5)
            else:
                ax.fill_between(*span, color=colour, alpha=0.2, linewidth=0)
        is_line = not (x_words or y_words) and len(np.unique(x)) == len(x)
        (line,) = ax.plot(x, y, markersize=4.0, alpha=0.8, label=label, **look)
        line.set_linestyle("-" if is_line else "none")
    set_scale(ax, "x", rows["x"], x_words)
    set_scale(ax, "y", rows["y"], y_words)
    name = summary[quantity].attrs.get("long_name", quantity.replace("_", " "))
    spread = f"\n(mean over {most} seeds; band: least to most)" if most > 1 else ""
    ax.set(xlabel=against, ylabel=f"{fill(str(name), LONGEST_LINE)}{spread}")
    if rows["label"].nunique() > 1:
        ax.legend(loc="best", fontsize=7.0)
    return style.figure_of(ax)


def by_numbers(summary: xr.Dataset) -> list[str]:
    """Return the settings that vary: numbers, which make a better axis, words, then seeds."""
    varied = [str(name) for name in summary.coords if "setting" in summary[name].attrs]

    def rank(name: str) -> tuple[bool, bool]:
        return is_seed(summary, name), summary[name].dtype.kind not in "fi"

    return sorted(varied, key=rank)


def is_seed(summary: xr.Dataset, name: str) -> bool:
    """Whether a setting is a seed, over which a mean is taken."""
    return str(summary[name].attrs["setting"]).rpartition(".")[2] == "seed"


def numbers_of(column: pd.Series[Any]) -> tuple[FloatArray, list[str]]:
    """Return numbers to draw, and the words that they stand for if they do."""
    if column.dtype.kind in "fiub":
        return column.to_numpy(np.float64), []
    words = sorted({str(word) for word in column} - {""})
    place = {word: float(number) for number, word in enumerate(words)}
    return np.array([place.get(str(word), np.nan) for word in column]), words


def labels_of(rows: pd.DataFrame, names: Sequence[str], against: str) -> list[str]:
    """Name each row by its values of the settings ``names``."""
    words, telling = rows[[against, *names]].map(_word), [against]
    for name in names:
        # What follows from the others, as settings do from a case, need not be said.
        if words.groupby(telling)[name].nunique().max() > 1:
            telling.append(name)
    short = [name.rpartition(".")[2] for name in telling[1:]]
    return [
        ", ".join(f"{name} = {word}" for name, word in zip(short, row, strict=True))
        for row in words[telling[1:]].to_numpy()
    ]


def _word(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{float(value):.6g}"
    text = str(value)
    return text if len(text) <= LONGEST_WORD else f"{text[: LONGEST_WORD - 3]}..."


def set_scale(
    ax: Axes, which: str, values: pd.Series[float], words: Sequence[str]
) -> None:
    """Put words on an axis, whole numbers on one of counts, decades where numbers span them."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    finite = values[np.isfinite(values)].to_numpy()
    if words:
        axis.set_ticks(range(len(words)), labels=[_word(word) for word in words])
        ax.set(**{f"{which}lim": (-0.5, len(words) - 0.5)})
    elif len(finite) and which == "y" and (finite == np.round(finite)).all():
        # Between counts there is nothing.
        axis.set_major_locator(MaxNLocator(integer=True))
    elif len(finite) and finite.min() > 0 and np.ptp(np.log10(finite)) > DECADES:
        ax.set(**{f"{which}scale": "log"})
