"""The rates at which a stationary state changes: of motion, and of splitting."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mfpde.arrays import FloatArray
from mfpde.branches import StationaryDensity
from mfpde.plotting.style import ATOM, DENSITY, MUTED, Picture, styled
from mfpde.stationary import PolishedAtoms

LINEAR_SHARE = 1e-3
MARK = 34.0
MOST_NUMBERED = 40


@styled
def plot_hessian_spectrum(polished: PolishedAtoms | StationaryDensity) -> Figure:
    """Draw the eigenvalues that decide whether a stationary state is stable.

    Left the rates of all motions of the state, fastest growing first: below zero they decay
    (blue), above it they grow (red); rotations are grey.  Right, for atoms, the rates at
    which a small part of each would leave it, own mass included; areas are masses.  The
    scale is logarithmic beyond a thousandth of the largest rate.

    Parameters
    ----------
    polished
        What :func:`mfpde.polish` returns, or a state of :func:`mfpde.continuation`.

    Raises
    ------
    ValueError
        If there is nothing to draw: atoms that were not polished have no rates.
    """
    if isinstance(polished, StationaryDensity):
        figure = Picture(figsize=(4.6, 3.6), layout="constrained")
        rates = -polished.hessian_eigenvalues
        _draw_rates(figure.subplots(), rates, polished.symmetry_dimension)
        figure.axes[0].set_ylabel("− eigenvalue of the free energy / κ")
        figure.suptitle(_title(polished.is_second_order))
        return figure
    if not isinstance(polished, PolishedAtoms):
        raise ValueError(
            f"polished = {polished!r} must be what polish returns, or a state of a "
            "continuation"
        )
    if not polished.converged:
        raise ValueError(
            f"the atoms are not stationary, so that their rates mean nothing: "
            f"{polished.message}"
        )
    figure = Picture(figsize=(7.4, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    rotations = np.zeros(polished.symmetry_dimension)
    rates = np.concatenate([polished.shift_rates.real, rotations])
    _draw_rates(left, np.sort(rates)[::-1], polished.symmetry_dimension)
    left.set_ylabel("rate of motion")
    _draw_splits(right, polished)
    figure.suptitle(_title(polished.is_second_order and polished.is_split_stable))
    return figure


def _title(is_stable: bool) -> str:
    return "stable" if is_stable else "not stable"


def _draw_rates(ax: Axes, rates: FloatArray, rotations: int) -> None:
    """Rates in order, with those of rotations, the nearest to zero, in grey."""
    order = np.arange(1, len(rates) + 1)
    is_rotation = np.zeros(len(rates), dtype=bool)
    is_rotation[np.argsort(np.abs(rates), kind="stable")[:rotations]] = True
    _set_scale(ax, rates)
    for chosen, colour, label in (
        (~is_rotation & (rates <= 0), DENSITY, "decays"),
        (~is_rotation & (rates > 0), ATOM, "grows"),
        (is_rotation, MUTED, "rotation"),
    ):
        if chosen.any():
            ax.vlines(order[chosen], 0.0, rates[chosen], color=colour, linewidth=0.8)
            ax.scatter(
                order[chosen], rates[chosen], s=14, color=colour, gid=label, label=label
            )
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("mode")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)


def _draw_splits(ax: Axes, polished: PolishedAtoms) -> None:
    rates, masses = polished.split_rates, polished.atoms.masses
    numbers = np.arange(len(masses))
    _set_scale(ax, rates.ravel())
    areas = np.maximum(MARK * len(masses) * masses / masses.sum(), 6.0)
    for column in rates.T:
        colours = np.where(column > 0, ATOM, DENSITY)
        ax.scatter(numbers, column, s=areas, c=list(colours), linewidths=0, gid="split")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("atom")
    ax.set_ylabel("rate of splitting")
    ax.margins(x=0.15)


def _set_scale(ax: Axes, rates: FloatArray) -> None:
    largest = float(np.abs(rates).max(initial=0.0))
    sizes = np.abs(rates[np.abs(rates) > 0])
    if largest > 0 and sizes.min() < 0.02 * largest:
        ax.set_yscale("symlog", linthresh=LINEAR_SHARE * largest)
    ax.axhline(0.0, color=MUTED, linewidth=0.7)
