"""Checks of a run's arguments before any work: errors and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from mfpde.arrays import real_number, shown, whole_number
from mfpde.atoms import coarseness
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.measures.measure import Measure
from mfpde.runs.stopping import StoppingCondition
from mfpde.solver.refinement import cell_count, doubled
from mfpde.tracking import Concentration, Tracker


def check_equation(equation: MeanFieldEquation) -> None:
    """Raise ``ValueError`` if the argument is no :class:`MeanFieldEquation`."""
    # Users hand over other things too.
    given: object = equation
    if not isinstance(given, MeanFieldEquation):
        raise ValueError(f"equation = {shown(given)} must be a MeanFieldEquation")


def check_start(measure: Measure, equation: MeanFieldEquation) -> None:
    """Raise ``ValueError`` if the start is no probability, or has atoms and diffusion."""
    if abs(measure.total_mass - 1.0) > 1e-8:
        raise ValueError(
            f"start has total mass {measure.total_mass:.12g}; a probability has 1 "
            "(Density.normalized() scales it)"
        )
    if len(measure.atoms) and equation.diffusion > 0:
        raise ValueError(
            f"start has atoms and the equation diffusion = {equation.diffusion:g}, which "
            "dissolves atoms at once; start from a density"
        )


def stopping_conditions(
    stop: StoppingCondition | Sequence[StoppingCondition],
) -> tuple[StoppingCondition, ...]:
    """Return one or several conditions as a tuple; other objects raise ``ValueError``."""
    # Users hand over other things too.
    given: object = stop
    if isinstance(given, StoppingCondition):
        return (given,)
    several = (
        given if isinstance(given, Sequence) and not isinstance(given, str) else None
    )
    for condition in (given,) if several is None else several:
        if not isinstance(condition, StoppingCondition):
            raise ValueError(
                f"stop holds {shown(condition)}; it takes SteadyState, StepLimit and "
                "WallTimeLimit, one or several"
            )
    return tuple(stop)  # type: ignore[arg-type]


def positive_or_infinite(name: str, value: float | None) -> float:
    """Return ``value``, a length of time above 0, or infinity for None."""
    return np.inf if value is None else real_number(name, value, above=0.0)


def tracker_of(
    track: Concentration | Tracker | None, equation: MeanFieldEquation
) -> Tracker | None:
    """Return the tracker that follows the atoms of a run, or None without a track."""
    if track is None or isinstance(track, Tracker):
        return track
    # Users hand over other things too.
    given: object = track
    if not isinstance(given, Concentration):
        raise ValueError(
            f"track = {shown(given)} must be Concentration(...), the settings of what is "
            "followed, or None"
        )
    return Tracker(given, equation)


def check_refine(
    refine: bool,
    geometry: Geometry,
    *,
    tolerance: float | None,
    max_cells: int | None,
) -> None:
    """Raise ``ValueError`` for settings of refinement that are wrong or not used.

    They are wrong too if the start has more than ``max_cells`` cells.
    """
    # Users hand over other things too.
    given: object = refine
    if not isinstance(given, bool):
        raise ValueError(f"refine = {shown(given)} must be True or False")
    for name, value in (("max_cells", max_cells), ("refine_tolerance", tolerance)):
        if value is not None and not refine:
            raise ValueError(f"{name} = {value!r} is used with refine = True only")
    if not refine:
        return
    doubled(geometry)
    if tolerance is not None:
        real_number("refine_tolerance", tolerance, above=0.0)
    if max_cells is None:
        return
    whole_number("max_cells", max_cells, at_least=1)
    if max_cells < cell_count(geometry):
        raise ValueError(
            f"max_cells = {max_cells} is less than the {cell_count(geometry)} cells of "
            f"{geometry!r} that the run starts on (a sphere counts nlat * nlon)"
        )


def warn_of_coarse_grid(equation: MeanFieldEquation, finest: Geometry) -> None:
    """Warn the caller of ``solve`` if its ``finest`` grid is too coarse for exact atoms."""
    message = coarseness(equation, finest)
    if message is not None:
        warnings.warn(message, stacklevel=3)
