"""A quantity of many runs against a parameter that they vary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mfpde.arrays import FloatArray
from mfpde.plotting.style import DENSITY, NEURONS, axes_or_new, styled

if TYPE_CHECKING:
    import xarray as xr

MOST_GROUPS = 12
DECADES = 1.5
"""Values that span more of them are drawn on a logarithmic axis."""
_COLOURS = (DENSITY, *NEURONS)
_MARKERS = "os^Dv<>P"


@styled
def plot_sweep(
    summary: xr.Dataset,
    quantity: str,
    against: str,
    *,
    parameters: Sequence[str] = (),
    ax: Axes | None = None,
) -> Figure:
    """Draw a quantity of a sweep's summary against a swept parameter.

    Runs that differ in other parameters have colours of their own, up to 12 of them; of a
    quantity with several values for each run (``atom_masses``) each is a point.

    Parameters
    ----------
    summary
        Summaries of runs, dimension ``run``.
    quantity
        Name of a variable: numbers, or words such as the verdict.
    against
        Name of a parameter.
    parameters
        Names of all parameters that vary.
    ax
        Axes to draw on; by default those of a new figure.
    """
    ax = axes_or_new(ax, size=(6.0, 4.0))
    figure = ax.get_figure(root=True)
    assert isinstance(figure, Figure)
    x, x_words = _numbers(summary[against].values)
    y, y_words = _numbers(summary[quantity].values)
    groups = _groups(summary, [n for n in parameters if n not in (against, quantity)])
    is_labelled = 1 < len(groups) <= MOST_GROUPS
    if not is_labelled:
        groups = {"": np.arange(len(x))}
    for number, (label, places) in enumerate(groups.items()):
        order = places[np.argsort(x[places], kind="stable")]
        columns = y[order].reshape(len(order), -1)
        abscissas = np.repeat(x[order], columns.shape[1])
        is_line = columns.shape[1] == 1 and len(np.unique(abscissas)) == len(order)
        ax.plot(
            abscissas,
            columns.ravel(),
            linestyle="-" if is_line and not x_words else "none",
            marker=_MARKERS[number // len(_COLOURS) % len(_MARKERS)],
            markersize=4.0,
            alpha=0.8,
            color=_COLOURS[number % len(_COLOURS)],
            label=label,
        )
    _scale(ax, "x", x, x_words)
    _scale(ax, "y", y, y_words)
    ax.set_xlabel(against)
    ax.set_ylabel(_title(summary, quantity))
    if is_labelled:
        ax.legend(loc="best", fontsize=7.0)
    return figure


def _numbers(values: Any) -> tuple[FloatArray, list[str]]:
    """Return numbers to draw, and the words that they stand for if they do."""
    given = np.asarray(values)
    if given.dtype.kind in "fiub":
        return given.astype(np.float64), []
    words = sorted({str(word) for word in given.ravel()} - {""})
    place = {word: float(number) for number, word in enumerate(words)}
    drawn = [place.get(str(word), np.nan) for word in given.ravel()]
    return np.array(drawn).reshape(given.shape), words


def _groups(summary: xr.Dataset, names: Sequence[str]) -> Mapping[str, Any]:
    """Return the places of the runs that agree in the parameters ``names``, by their values."""
    count = summary.sizes["run"]
    words = {name: [_short(value) for value in summary[name].values] for name in names}
    telling: list[str] = []
    for name in names:
        # What follows from the others, as settings do from a case, need not be said.
        if len(set(zip(*(words[n] for n in (*telling, name)), strict=True))) > (
            len(set(zip(*(words[n] for n in telling), strict=True))) if telling else 1
        ):
            telling.append(name)
    found: dict[str, list[int]] = {}
    for index in range(count):
        parts = [
            f"{name.rpartition('.')[2]} = {words[name][index]}" for name in telling
        ]
        found.setdefault(", ".join(parts), []).append(index)
    return {label: np.array(places) for label, places in found.items()}


def _short(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{float(value):.6g}"
    text = str(value)
    return text if len(text) <= 32 else f"{text[:29]}..."


def _scale(ax: Axes, which: str, values: FloatArray, words: Sequence[str]) -> None:
    """Put words on an axis, or make it logarithmic where numbers span decades."""
    if words:
        getattr(ax, f"set_{which}ticks")(range(len(words)), [_short(w) for w in words])
        getattr(ax, f"set_{which}lim")(-0.5, len(words) - 0.5)
        return
    finite = values[np.isfinite(values)]
    is_positive = bool(len(finite)) and finite.min() > 0
    if is_positive and np.log10(finite.max() / finite.min()) > DECADES:
        getattr(ax, f"set_{which}scale")("log")


def _title(summary: xr.Dataset, quantity: str) -> str:
    return str(summary[quantity].attrs.get("long_name", quantity.replace("_", " ")))
