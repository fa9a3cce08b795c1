"""What ``solve`` is given: how a run is computed, and checks before any work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray, check_kind, real_number, shown
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import Measure
from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.layers import (
    Dynamics,
    Layers,
    Stage,
    equations_of,
    largest_degree,
)
from mfpde.runs.observer import Observer
from mfpde.runs.stopping import SHORTEST_TIME
from mfpde.tracking import Concentration, Tracker
from mfpde.transport import LARGEST_DEGREE, Scheme, scheme_for


@dataclass(frozen=True, eq=False)
class Method:
    """How a run is computed on any layer: scheme, tolerance, longest step, exact atoms or not."""

    scheme: Scheme
    rtol: float
    longest_step: float = np.inf
    first_step: float = np.inf
    exact_atoms: bool = False


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


def positive_or_infinite(name: str, value: float | None) -> float:
    """Return ``value``, a length of time above 0, or infinity for None."""
    return np.inf if value is None else real_number(name, value, at_least=SHORTEST_TIME)


def check_onlookers(
    observe: object, observer: object, progress: object, resume_from: object
) -> None:
    """Raise ``ValueError`` for anything that cannot look on, or cannot be resumed."""
    if not isinstance(observe, Mapping | None):
        raise ValueError(
            f"observe = {shown(observe)} must name each function: {{'name': function}}"
        )
    if not isinstance(observer, Observer | None):
        raise ValueError(
            f"observer = {shown(observer)} must be an Observer (mfpde.runs.observer)"
        )
    if not (isinstance(progress, bool) or callable(progress)):
        raise ValueError(
            f"progress = {shown(progress)} must be True, False or a function"
        )
    if resume_from is not None:
        source = "as stored_checkpoint(path).checkpoint is one"
        check_kind("resume_from", resume_from, Checkpoint, source=source)


def choose_scheme(
    name: str | None, dynamics: Dynamics, measure: Measure, *, exact_atoms: bool
) -> Scheme:
    """Return the scheme ``name``, or for None the default of such a run.

    Raises
    ------
    ValueError
        For an unknown name, or labels that cannot carry the mass of the run.
    """
    obstacle = obstacle_to_labels(dynamics, measure, exact_atoms=exact_atoms)
    has_labels = obstacle is None and (
        largest_degree(dynamics, measure.geometry) <= LARGEST_DEGREE
    )
    scheme = scheme_for(
        name, measure.geometry, exact_atoms=exact_atoms, labels=has_labels
    )
    if scheme.moves_labels and obstacle is not None:
        raise ValueError(
            f"transport = {scheme.name!r} moves the mass of a density along the "
            f"characteristics alone, but {obstacle}; use 'spectral_donor_blended'"
        )
    return scheme


def obstacle_to_labels(
    dynamics: Dynamics, measure: Measure, *, exact_atoms: bool
) -> str | None:
    """Return why labels cannot carry the mass of a run, in words; None if they can."""
    if measure.dimension != 3:
        return f"geometry = {measure.geometry!r}"
    diffusion = max(equation.diffusion for equation in equations_of(dynamics))
    if diffusion > 0:
        owner = "a layer" if isinstance(dynamics, Layers) else "the equation"
        return f"{owner} has diffusion = {diffusion:g}"
    if len(measure.atoms):
        return "start has atoms"
    return "atoms = 'exact'" if exact_atoms else None


def make_tracker(
    track: Concentration | Tracker | None,
    dynamics: Dynamics,
    resume_from: Checkpoint | None,
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
    if resume_from is not None and resume_from.tracker is not None:
        return Tracker.recalled(given, dynamics, resume_from.tracker)
    return Tracker(given, dynamics)


def check_moment(
    checkpoint: Checkpoint, stages: tuple[Stage, ...], times: FloatArray
) -> None:
    """Raise ``ValueError`` if saves and layers are not those of the run that stopped."""
    before, after = np.split(times, [checkpoint.saves])
    fits = len(before) == checkpoint.saves and checkpoint.stage < len(stages)
    if len(before):
        fits = fits and bool(before[-1] == checkpoint.saved_until)
    if len(after):
        fits = fits and bool(after[0] > checkpoint.time)
    if not fits:
        raise ValueError(
            f"resume_from was taken at t = {checkpoint.time:g} after {checkpoint.saves} "
            f"saves in layer {checkpoint.stage + 1}, which is no moment of this run: it "
            "goes on with the very arguments of the run that stopped"
        )
