"""A quantity of many runs against a parameter that they vary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mfpde.arrays import FloatArray
from mfpde.plotting.style import DENSITY, NEURONS, axes_or_new, figure_of, styled

if TYPE_CHECKING:
    import xarray as xr

MOST_GROUPS = 12
LONGEST_LINE = 48
DECADES = 1.5
"""Values that span more of them are drawn on a logarithmic axis."""
_COLOURS = (DENSITY, *NEURONS)
_MARKERS = "os^Dv<>P"


@styled
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
    ax = axes_or_new(ax, size=(6.0, 4.0))
    varied = varied_settings(summary)
    if against is None:
        against = by_numbers(summary)[0]
    x, x_words = _numbers(summary[against].values)
    y, y_words = _numbers(summary[quantity].values)
    others = [n for n in varied if n not in (against, quantity)]
    is_averaged = y.ndim == 1 and not y_words
    seeds = [n for n in others if is_seed(summary, n)] if is_averaged else []
    groups = _groups(summary, [n for n in others if n not in seeds], against)
    if len(groups) > MOST_GROUPS:
        groups, seeds = {"": np.arange(len(x))}, []
    most = 1
    for number, (label, places) in enumerate(groups.items()):
        look = _Look(
            color=_COLOURS[number % len(_COLOURS)],
            marker=_MARKERS[number // len(_COLOURS) % len(_MARKERS)],
            label=label,
            is_line=not x_words,
        )
        if seeds:
            most = max(most, _draw_means(ax, x[places], y[places], look))
        else:
            _draw_points(ax, x[places], y[places], look)
    _scale(ax, "x", x, x_words)
    _scale(ax, "y", y, y_words)
    ax.set_xlabel(against)
    spread = f"\n(mean over {most} seeds; band: least to most)" if most > 1 else ""
    ax.set_ylabel(f"{_title(summary, quantity)}{spread}")
    if len(groups) > 1:
        ax.legend(loc="best", fontsize=7.0)
    return figure_of(ax)


class _Look(NamedTuple):
    """How a group of runs is drawn; ``is_line`` if its points may be joined."""

    color: str
    marker: str
    label: str
    is_line: bool


def varied_settings(summary: xr.Dataset) -> list[str]:
    """Return the names of the settings that vary."""
    return [str(n) for n in summary.coords if "setting" in summary[n].attrs]


def by_numbers(summary: xr.Dataset) -> list[str]:
    """Return the settings that vary: numbers, which make a better axis, words, then seeds."""

    def rank(name: str) -> tuple[bool, bool]:
        return is_seed(summary, name), summary[name].dtype.kind not in "fi"

    return sorted(varied_settings(summary), key=rank)


def is_seed(summary: xr.Dataset, name: str) -> bool:
    """Whether a setting is a seed, over which a mean is taken."""
    return str(summary[name].attrs["setting"]).rpartition(".")[2] == "seed"


def _draw_means(ax: Axes, x: FloatArray, y: FloatArray, look: _Look) -> int:
    """Draw the mean and the span of ``y`` at each ``x``; return how many there are at most."""
    x, y = x[np.isfinite(y)], y[np.isfinite(y)]
    places = np.unique(x)
    parts = [y[x == place] for place in places]
    means = np.array([part.mean() for part in parts])
    least, most = (np.array([f(part) for part in parts]) for f in (np.min, np.max))
    _draw_points(ax, places, means, look)
    if look.is_line and len(places) > 1:
        ax.fill_between(places, least, most, color=look.color, alpha=0.2, linewidth=0)
    else:
        ax.vlines(places, least, most, color=look.color, alpha=0.5, linewidth=1.5)
    return max(map(len, parts), default=0)


def _draw_points(ax: Axes, x: FloatArray, y: FloatArray, look: _Look) -> None:
    """Draw all values at each ``x``, joined where there is one."""
    order = np.argsort(x, kind="stable")
    columns = y[order].reshape(len(order), -1)
    abscissas = np.repeat(x[order], columns.shape[1])
    is_line = columns.shape[1] == 1 and len(np.unique(abscissas)) == len(order)
    ax.plot(
        abscissas,
        columns.ravel(),
        linestyle="-" if is_line and look.is_line else "none",
        marker=look.marker,
        markersize=4.0,
        alpha=0.8,
        color=look.color,
        label=look.label,
    )


def _numbers(values: Any) -> tuple[FloatArray, list[str]]:
    """Return numbers to draw, and the words that they stand for if they do."""
    given = np.asarray(values)
    if given.dtype.kind in "fiub":
        return given.astype(np.float64), []
    words = sorted({str(word) for word in given.ravel()} - {""})
    place = {word: float(number) for number, word in enumerate(words)}
    drawn = [place.get(str(word), np.nan) for word in given.ravel()]
    return np.array(drawn).reshape(given.shape), words


def _groups(
    summary: xr.Dataset, names: Sequence[str], against: str
) -> Mapping[str, Any]:
    """Return the places of the runs that agree in the parameters ``names``, by their values."""
    words = {n: [_short(v) for v in summary[n].values] for n in (against, *names)}
    telling = [against]
    for name in names:
        # What follows from the others, as settings do from a case, need not be said.
        there = set(zip(*(words[n] for n in telling), strict=True))
        if len(set(zip(*(words[n] for n in (*telling, name)), strict=True))) > len(
            there
        ):
            telling.append(name)
    found: dict[str, list[int]] = {}
    for index in range(summary.sizes["run"]):
        parts = [
            f"{name.rpartition('.')[2]} = {words[name][index]}" for name in telling[1:]
        ]
        found.setdefault(", ".join(parts), []).append(index)
    return {label: np.array(places) for label, places in found.items()}


def _short(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{float(value):.6g}"
    text = str(value)
    return text if len(text) <= 32 else f"{text[:29]}..."


def _scale(ax: Axes, which: str, values: FloatArray, words: Sequence[str]) -> None:
    """Put words on an axis, whole numbers on one of counts, decades where numbers span them."""
    if words:
        getattr(ax, f"set_{which}ticks")(range(len(words)), [_short(w) for w in words])
        getattr(ax, f"set_{which}lim")(-0.5, len(words) - 0.5)
        return
    finite = values[np.isfinite(values)]
    if len(finite) and which == "y" and (finite == np.round(finite)).all():
        # Between counts there is nothing.
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        return
    is_positive = bool(len(finite)) and finite.min() > 0
    if is_positive and np.log10(finite.max() / finite.min()) > DECADES:
        getattr(ax, f"set_{which}scale")("log")


def _title(summary: xr.Dataset, quantity: str) -> str:
    words = str(summary[quantity].attrs.get("long_name", quantity.replace("_", " ")))
    return fill(words, LONGEST_LINE)
