"""Diagnostics: the numbers that a run records at every save.

A diagnostic is one record: its name, meaning, unit and function.  The diagnostics of every
run are the table ``DIAGNOSTICS``; a user's own are given to a run,

    solve(..., diagnostics=[Diagnostic("spread", "int |x - m|^2 dmu", "1", spread)])

with a function of a :class:`Snapshot`.  All are kept in ``run.diagnostics``, stored with
meaning and unit, shown, and drawn in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, shown
from mfpde.detection import ball_radius, largest_ball_mass
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.measures.measure import Measure, as_measure
from mfpde.positions.rows import RunState
from mfpde.runs.run import UNKNOWN_UNIT, Quantity
from mfpde.terms import PointMasses
from mfpde.terms.normalization import MEAN_RADIUS
from mfpde.transport import State


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A state of a run as a diagnostic sees it.

    It is the ``measure`` under an ``equation``, at a breakpoint that of the layer that ends, after
    the last time ``step``.  The ``state`` is the solver's own form of the measure: masses of
    cells, and atoms with a width as the points that represent them.
    """

    equation: MeanFieldEquation
    measure: RunState
    step: float
    state: State

    @property
    def geometry(self) -> Geometry:
        """The grid."""
        return self.measure.geometry

    @property
    def density(self) -> FloatArray:
        """Values of the density on the grid, of rows (P, *shape)."""
        return self.measure.density.values

    @cached_property
    def atoms(self) -> PointMasses:
        """The atoms as points with masses."""
        return PointMasses(self.state.points, self.state.atom_masses)

    @cached_property
    def moments(self) -> ComplexArray:
        """Moments of the state, as far as the equation needs them."""
        return self.equation.on(self.geometry).moments(self.state.masses, self.atoms)


@dataclass(frozen=True)
class Diagnostic(Quantity):
    """A number that is recorded at every save: name, meaning, unit, and its function.

    Begin with
    ``Diagnostic("step", "length of the last step", "time", lambda seen: seen.step)``.

    Parameters
    ----------
    name
        Name in ``run.diagnostics``, stores and tables: a word that no part of a store has.
    meaning
        What it is, in a few words.
    unit
        Its unit; ``"1"`` for none.
    function
        Function of a ``Snapshot`` (equation, measure, step, geometry) that returns a number.
    """

    function: Callable[[Snapshot], float] = field(repr=False)

    def __call__(self, seen: Snapshot) -> float:
        """Return the number; ``ValueError`` if the function returns something else."""
        value: Any = self.function(seen)
        is_number = isinstance(value, int | float | np.generic | np.ndarray)
        if is_number and np.ndim(value) == 0:
            return float(value)
        raise ValueError(
            f"diagnostics: {self.name!r} is {shown(value)}; its function must return "
            "one number"
        )


def find_energy(seen: Snapshot) -> float:
    """Energy of the state; NaN for an equation that has none."""
    if not seen.equation.has_energy:
        return np.nan
    grid = seen.equation.on(seen.geometry)
    return grid.energy(seen.state.masses, seen.atoms, seen.moments)


def find_dissipation(seen: Snapshot) -> float:
    """int |v|^2 dmu over density and atoms."""
    state, grid = seen.state, seen.equation.on(seen.geometry)
    velocity = grid.velocity(seen.moments)
    # Beyond the largest number it is infinite.
    with np.errstate(over="ignore"):
        dissipation = float((state.masses * (velocity**2).sum(axis=0)).sum())
        if len(state.points):
            speeds = grid.velocity_at(seen.moments, seen.atoms.points)
            dissipation += float(state.atom_masses @ (speeds**2).sum(axis=-1))
    return dissipation


def find_ball_mass(seen: Snapshot) -> float:
    """Largest mass in a ball of the radius on which the kernel varies."""
    return largest_ball_mass(as_measure(seen.measure), ball_radius(seen.equation))


RATE = "int |v|^2 dmu, the rate |dE/dt| of a gradient flow"
BALL = (
    "largest mass in a ball of radius min(1/(2 sqrt beta), pi/6) (zonal: about a pole)"
)
DIAGNOSTICS = {
    name: Diagnostic(name, *record)
    for name, record in {
        "mass": ("mass of density and atoms", "1", lambda s: s.measure.total_mass),
        "minimum": ("smallest density", "1/area", lambda s: s.density.min()),
        "energy": ("E = (1/2 beta) iint K dmu dmu + int V dmu", "1", find_energy),
        "dissipation": (RATE, "1/time", find_dissipation),
        "largest_density": ("largest density", "1/area", lambda s: s.density.max()),
        "largest_ball_mass": (BALL, "1", find_ball_mass),
        "step": ("last time step", "time", lambda s: s.step),
    }.items()
}
"""Diagnostics of every run, by name."""
OF_ROWS = ("mass", "minimum", "largest_density", "step")
"""Those of a run of rows, over all of them; the mass is the mean of the rows'."""


def choose_diagnostics(
    own: Diagnostic | Sequence[Diagnostic],
    observe: Mapping[str, Callable[[Measure], float]] | None,
    *,
    of_rows: bool = False,
    has_radii: bool = False,
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a run: those of every run, the user's own, the observed.

    ``ValueError`` if a name is taken, or what is given is no diagnostic or no function.
    """
    if not isinstance(observe, Mapping | None):
        raise ValueError(
            f"observe = {shown(observe)} must name each function: {{'name': function}}"
        )
    given: list[Any] = list(own) if isinstance(own, Sequence) else [own]
    for name, function in (observe or {}).items():
        if not callable(function):
            raise ValueError(
                f"observe[{name!r}] = {shown(function)} must be a function of the measure"
            )
        of_snapshot = partial(_call_on_measure, function)
        given.append(Diagnostic(name, name, UNKNOWN_UNIT, of_snapshot))
    names = OF_ROWS if of_rows or has_radii else DIAGNOSTICS
    chosen = {name: DIAGNOSTICS[name] for name in names}
    if has_radii:
        chosen[MEAN_RADIUS] = Diagnostic(
            MEAN_RADIUS, "int R dmu", "1", lambda s: s.state.masses[1].sum()
        )
    for one in given:
        if not isinstance(one, Diagnostic) or not callable(one.function):
            raise ValueError(
                f"diagnostics holds {shown(one)}; it takes Diagnostic(name, meaning, unit, "
                "function of a Snapshot)"
            )
        if one.name in chosen:
            raise ValueError(
                f"{one.name!r} is recorded anyway ({chosen[one.name].meaning}); give your own "
                f"number another name, such as 'my_{one.name}'"
            )
        chosen[one.name] = one
    return tuple(chosen.values())


def _call_on_measure(function: Callable[[Any], float], seen: Snapshot) -> float:
    return function(seen.measure)
