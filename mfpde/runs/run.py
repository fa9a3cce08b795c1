"""The result of a run: saved states, diagnostics, and the reason of its end."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.arrays import FloatArray, IntArray, real_number
from mfpde.detection import concentration
from mfpde.equation import MeanFieldEquation
from mfpde.measures.events import Event
from mfpde.measures.measure import AnyMeasure
from mfpde.notebook import Printed, call_above, format_table
from mfpde.positions.rows import PositionedDensity
from mfpde.runs.layers import Dynamics, Layers
from mfpde.runs.stopping import StopReason
from mfpde.tracking import Concentration, Track, Tracker

TIME, DENSITY = "time", "density"
EDGES, POSITION = "position_edges", "position"
PARTICLES, LOCK = "particles", "lock"
"""Groups of a store: the particle run beside a density run; what the process that writes locks."""
RESERVED = (
    *(TIME, DENSITY, EDGES, POSITION, PARTICLES, LOCK, "atom", "axis", "axis2"),
    *("atom_points", "atom_masses", "atom_covariances", "atom_positions"),
    *("angle", "colatitude", "longitude", "polar_angle"),
)
"""Names of the parts of a stored run: variables, dimensions and groups share one name space."""


@dataclass(frozen=True)
class Quantity:
    """Name, meaning and unit of a number that a run records at every save.

    The name is a word of letters, digits and underscores that no part of a store has.
    """

    name: str
    meaning: str
    unit: str

    def __post_init__(self) -> None:
        check_free_name(self.name)


def check_free_name(name: object) -> None:
    """Raise ``ValueError`` unless ``name`` is a word that a store has no use of its own for."""
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(
            f"diagnostic name = {name!r} must be a word of letters, digits and underscores "
            "that begins with no digit, such as 'mean_height'"
        )
    if name in RESERVED:
        raise ValueError(
            f"a diagnostic named {name!r} cannot be stored: rename it, as 'my_{name}'; a "
            f"store has parts of its own named {', '.join(RESERVED)}"
        )


SAME_TIME = 1e-9
"""Relative distance of two times that are one save."""
TIMES_SHOWN = 6
"""Saves of which a table has a line."""
UNKNOWN_UNIT = "unknown"
"""Unit of the numbers of ``solve(..., observe=...)``, which come without one."""


@dataclass(frozen=True, eq=False, repr=False)
class Run(Printed):
    """A finished run of the density solver or of particles.

    Attributes
    ----------
    equation
        The equation, of several layers the one that acted last, or None for a stored run
        whose terms were the user's own functions.
    times
        Times of the saved states, shape (saves,).
    states
        The saved measures (``Measure`` for a density run, ``Atoms`` for particles).
    diagnostics
        Arrays of first length ``saves`` by name: ``mass``, ``minimum``, ``energy``,
        ``dissipation``, ``largest_density``, ``largest_ball_mass``, ``step``, and the
        user's own.
    stop
        Why the run stopped (``kind`` and ``message``).
    final, final_time
        The last state, saved or not, and its time.
    statistics
        Numbers and names of the computation: ``method``, ``steps``, ``rejected``,
        ``evaluations``, ``wall_seconds``, ``last_step``, ``version``, ...
    events
        Births, merges, fissions and deaths of atoms, in their order: the events that the
        solver told of exact atoms, else those that the track found between saves;
        ``pandas.DataFrame(run.events)`` is their table.  Exact atoms merge at a distance of 1e-6
        rad, as they never meet: about log(h/1e-6)/M later than at a cell's width h, with M the
        mass of the two (8.7/M for 1024 cells), while the track's basins become one earlier.
    track
        The atoms in time, with their identities and their tree, where the run was asked
        to follow them (``solve(..., track=Concentration())``) or :meth:`tracked`.
    quantities
        Meanings and units of the diagnostics, by name, where they are known.
    layers
        The layers, of which ``layers.breakpoints`` are the times; None for a run of one
        equation, and for a stored run of layers with the user's own functions.  A state that
        was saved at a breakpoint has the diagnostics of the layer that ended there;
        ``layers.equation_after(t).energy(run.at(t))`` is the energy of the layer that began.
    """

    equation: MeanFieldEquation | None
    times: FloatArray
    states: list[AnyMeasure]
    diagnostics: dict[str, FloatArray]
    stop: StopReason
    final: AnyMeasure
    final_time: float
    statistics: dict[str, Any] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    track: Track | None = None
    quantities: dict[str, Quantity] = field(default_factory=dict)
    layers: Layers | None = None

    @property
    def dynamics(self) -> Dynamics | None:
        """What was solved: the layers if there were several, else the equation."""
        return self.equation if self.layers is None else self.layers

    def equation_at(self, time: float) -> MeanFieldEquation | None:
        """Equation that acts up to ``time``, at a breakpoint that which ends; None if unknown."""
        return None if self.dynamics is None else self.dynamics.equation_before(time)

    @property
    def energies(self) -> FloatArray:
        """Energy at each save, shape (saves,); NaN where there is none."""
        return self.diagnostics.get("energy", np.empty(0))

    @property
    def radii(self) -> FloatArray:
        """R at each save, of a density (saves, *geometry.shape); empty if none is carried."""
        return self.diagnostics.get("radius", np.empty(0))

    @property
    def reason(self) -> str:
        """Reason of the run's end and advice on the next step, in words."""
        return self.stop.message

    @property
    def mass_drift(self) -> float:
        """Largest deviation of the total mass from that of the first save."""
        masses = self.diagnostics.get("mass", np.empty(0))
        return float(np.abs(masses - masses[:1]).max(initial=0.0))

    def at(self, time: float) -> AnyMeasure:
        """Return the state that was saved at ``time``, a measure.

        Raises
        ------
        ValueError
            If none was, to 1e-9 of the time; the message names the nearest saves.
        """
        wanted = real_number("time", time)
        if not len(self.times):
            raise ValueError("the run has no saved states; its last one is run.final")
        away = np.abs(self.times - wanted)
        if away.min() <= SAME_TIME * max(abs(wanted), SAME_TIME):
            return self.states[int(away.argmin())]
        after = int(np.searchsorted(self.times, wanted))
        near = ", ".join(f"{t:.9g}" for t in self.times[max(after - 1, 0) : after + 1])
        raise ValueError(
            f"time = {wanted:.9g} is no save: of {len(self.times)} from "
            f"{self.times[0]:.9g} to {self.times[-1]:.9g} the nearest are at {near}"
        )

    def rows(self, index: int) -> Run:
        """Return the run of one row, whose states know what they see, or raise ``ValueError``."""
        final = self.final
        if not isinstance(final, PositionedDensity):
            raise ValueError("the run has no rows; tokens have run.final.rows(edges)")
        all_rows: list[Any] = self.states
        states = [rows[index] for rows in all_rows]
        numbers = {
            "mass": np.array([one.total_mass for one in states]),
            "minimum": np.array([one.density.values.min() for one in states]),
            "largest_density": np.array([one.density.values.max() for one in states]),
        }
        return replace(self, states=states, final=final[index], diagnostics=numbers)

    def plot(self, **options: Any) -> Any:
        """Return the figure of the run on one page, as :func:`mfpde.plot_run` with ``options``."""
        return call_above("plotting:plot_run", self, **options)

    def save(self, path: str | Path, **options: Any) -> None:
        """Write the run to a new store at ``path``, as :func:`mfpde.save` with ``options``."""
        call_above("storage:save", self, path, **options)

    def tracked(self, settings: Concentration | None = None) -> Run:
        """Return the run with the track of its saved states, and events if it had none.

        Its ``settings`` are by default ``Concentration()``.  A run without an equation, or of
        which nothing was saved, is a ``ValueError``.
        """
        dynamics = self.dynamics
        has_rows = isinstance(self.final, PositionedDensity)
        if dynamics is None or has_rows or not len(self.times):
            missing = "no equation" if dynamics is None else "no saved states"
            missing = "rows, each of which is a run.rows(i)" if has_rows else missing
            raise ValueError(f"the run has {missing}: its atoms cannot be followed")
        tracker = Tracker(Concentration() if settings is None else settings, dynamics)
        for time, state in zip(self.times, self.states, strict=True):
            tracker.observe(float(time), state, self.events)
        track = tracker.track
        return replace(self, track=track, events=tuple(self.events or track.events))

    def to_xarray(self) -> Any:
        """Return the saved states and diagnostics as an ``xarray.Dataset``.

        The variables are those of a store (:mod:`mfpde.storage`): ``density`` over time and
        the grid's coordinates, ``atom_points`` and ``atom_masses`` (NaN beyond the atoms of a
        time), mass, energy and the other diagnostics, with meaning and units; attributes say
        the equation, the convention, the grid and why the run stopped.  The end of the run, if
        it was not saved, is one more time, without diagnostics.  ``ValueError`` if nothing was.
        """
        if not len(self.times):
            raise ValueError("run.states is empty: give save_every or save_at to solve")
        return call_above("storage.run_dataset:build_dataset", self)

    @property
    def facts(self) -> dict[str, str]:
        """What was solved and how it ended: equation, grid, end, steps, drift and energies."""
        dynamics, numbers, found = self.dynamics, self.statistics, {}
        if self.layers is not None:
            reached = self.layers.index_before(self.final_time) + 1
            depth = f"{len(self.layers)} of depth {self.layers.depth:g}"
            found["layers"] = f"{depth}; the last that was reached, number {reached}"
        found["equation"] = "not stored (it has the user's own functions)"
        if self.equation is not None:
            found["equation"] = self.equation.description
        if dynamics is not None:
            found["convention"] = dynamics.convention
        seconds = float(numbers.get("wall_seconds", np.nan))
        found |= {
            "final state": ", ".join(f"{k} {v}" for k, v in self.final.facts.items()),
            "saves": f"{len(self.times)} to t = {self.final_time:.6g}",
            "stopped": self.reason,
            "computed by": f"{numbers.get('method', '?')} in {numbers.get('steps', '?')} "
            f"steps, {seconds:.2f} s",
        }
        if "mass" in self.diagnostics:
            found["mass drift"] = f"{self.mass_drift:.1e}"
        if np.isfinite(self.energies).any():
            found["energy"] = f"{self.energies[0]:.9g} → {self.energies[-1]:.9g}"
        if self.notes:
            found["note"] = "; ".join(self.notes)
        return found

    @property
    def notes(self) -> list[str]:
        """What to know first: an unstable symmetry, mass whose way the grid decides."""
        return list(self.statistics.get("notes", ()))

    def __repr__(self) -> str:
        solved = "user's own terms" if self.dynamics is None else self.dynamics
        return (
            f"<Run of {solved}: {len(self.times)} saves to t = {self.final_time:g}, "
            f"stopped by {self.stop.kind}; print it for a summary>"
        )

    def __str__(self) -> str:
        facts = [f"{name + ':':13}{fact}" for name, fact in self.facts.items()]
        parts = ["\n".join(facts), self._diagnostics_table]
        plain = self.equation and self.equation.without_normalization
        if plain is not None and not isinstance(self.final, PositionedDensity):
            # Particles beyond S^2, and tokens, have none.
            with suppress(ValueError):
                parts.append(str(concentration(self.final, plain)))
        if self.track is not None:
            parts.append(str(self.track))
        return "\n\n".join(part for part in parts if part)

    @property
    def _diagnostics_table(self) -> str:
        """The diagnostics at some saved times, and what they are."""
        scalars = {n: v for n, v in self.diagnostics.items() if v.ndim == 1}
        if not len(self.times) or not scalars:
            return ""
        some = spread_indices(len(self.times))
        rows = np.stack([self.times, *scalars.values()], axis=1)[some]
        meanings = [
            f"{name}: {self.quantities[name].meaning} [{self.quantities[name].unit}]"
            for name in scalars
            if name in self.quantities and self.quantities[name].unit != UNKNOWN_UNIT
        ]
        return "\n".join([format_table(["time", *scalars], rows), *meanings])


def spread_indices(count: int, most: int = TIMES_SHOWN) -> IntArray:
    """Return up to ``most`` of the indices below ``count``, evenly, with both ends."""
    chosen = np.linspace(0, count - 1, min(most, count)).round()
    return np.unique(chosen).astype(int)
