"""Transport on a grid: velocities in, outflows and conservative Euler stages out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.geometry import Geometry
from mfpde.grid_equation import GridEquation
from mfpde.terms import PointMasses
from mfpde.transport.draining import IGNORED_SHARE, draining_quantile, draining_times
from mfpde.transport.state import HEUN, Advance, Flow, State, normalised

SomeGeometry = TypeVar("SomeGeometry", bound=Geometry)


def geometry_of(
    grid: GridEquation, kind: type[SomeGeometry], name: str
) -> SomeGeometry:
    """Return the geometry of ``grid``, or raise ``ValueError`` if it is not of ``kind``."""
    if not isinstance(grid.geometry, kind):
        raise ValueError(f"geometry = {grid.geometry!r} must be a {name}")
    return grid.geometry


class StepFarTooLongError(Exception):
    """A stage moves so fast that the step has to be repeated with a much shorter one."""


class Transport(ABC):
    """A transport scheme for one equation on one ``grid``.

    ``diffusion_tolerance`` is the additional error that a step with diffusion may show,
    relative to how far the measure moves: the grid, not the step, causes it.
    ``balance_tolerance`` is that relative to transport and to heat, which go on where
    the measure rests: what splitting misses of a state of balance.
    ``steps_to_hand_off`` is the number of steps between two hand-offs of mass between
    density and exact atoms. ``method_in_time`` is the Runge-Kutta method of
    :meth:`advanced`. ``draining_share`` is the share of the draining time that a stage
    may last. ``tolerance_share`` is the share of the scheme's tolerance that a step may use
    on this grid.
    """

    diffusion_tolerance = 0.0
    balance_tolerance = 0.0
    steps_to_hand_off = 8
    method_in_time = HEUN
    draining_share = 0.8
    tolerance_share = 1.0

    def __init__(self, grid: GridEquation) -> None:
        self.grid = grid

    def flow(self, state: State) -> Flow:
        """Evaluate moments, velocity and outflows of ``state``."""
        grid, masses = self.grid, state.masses
        moments = density_moments = self.density_moments(masses)
        atoms = PointMasses(normalised(state.points), state.atom_masses)
        if len(state.atom_masses):
            moments = moments + grid.geometry.atom_moments(*atoms, grid.degree)
        if grid.may_lose_mass:
            moments = grid.with_masses(moments, self.restored(masses), atoms)
        atom_velocities = np.empty(state.points.shape)
        if len(state.atom_masses):
            atom_velocities = grid.velocity_at(moments, atoms.points)
        velocity = self.velocity(moments)
        outflows, unresolved = self.outflows(masses, moments, velocity)
        return Flow(
            density_moments, moments, velocity, outflows, unresolved, atom_velocities
        )

    def density_moments(self, masses: FloatArray) -> ComplexArray:
        """Moments of cell masses in the form that the scheme evolves."""
        return self.grid.geometry.moments(masses, self.grid.degree)

    def velocity(self, moments: ComplexArray) -> FloatArray:
        """Velocity at the scheme's points, by default the centres, (directions, *shape)."""
        return self.grid.velocity(moments)

    def velocity_in_cells(self, flow: Flow, numbers: IntArray) -> FloatArray:
        """Velocity (n, d) at the centres of cells with flat ``numbers`` (n,)."""
        tangents = self.grid.geometry.tangents
        directions, dimension = len(tangents), tangents.shape[-1]
        return _vectors(
            flow.velocity.reshape(directions, -1),
            tangents.reshape(directions, -1, dimension),
            numbers,
        )

    @abstractmethod
    def outflows(
        self, masses: FloatArray, moments: ComplexArray, velocity: FloatArray
    ) -> tuple[FloatArray, float]:
        """Mass per unit time that each cell sends through each side, and unresolved mass.

        ``velocity`` is that of :meth:`velocity`.  The outflows have shape (sides, *shape);
        a scheme may add rows that its stages need.
        """

    def represented(self, masses: FloatArray) -> FloatArray:
        """Return start masses in the form that the scheme evolves; the mass is kept."""
        return masses.copy()

    def restored(self, masses: FloatArray) -> FloatArray:
        """Cell masses of a density from those that the scheme evolves; the mass is kept."""
        return masses

    def evolved(self, state: State) -> State:
        """Return a state of cell masses and atoms in the form that the scheme evolves."""
        return state.moved(self.represented(state.masses), state.points)

    def measured(self, state: State) -> State:
        """Return the cell masses and atoms of a state in the form that the scheme evolves."""
        return state.moved(self.restored(state.masses), state.points)

    def resumed(self, state: State) -> State:
        """Return the state of a checkpoint in the form that the scheme evolves."""
        return state

    def go_on_from(self, before: Transport) -> None:
        """Take over what is known of the last state of the transport of the layer ``before``.

        The new layer begins with that very state, on the same grid.
        """
        del before

    @abstractmethod
    def drained(
        self, masses: FloatArray, outflows: FloatArray, step: float
    ) -> FloatArray:
        """Masses, a new array, after an Euler stage; no cell sends more than it has."""

    @abstractmethod
    def rate(self, masses: FloatArray, outflows: FloatArray) -> FloatArray:
        """Rate of change of the cell masses, shape ``shape``; linear in ``outflows``."""

    def rate_moments(self, masses: FloatArray, outflows: FloatArray) -> ComplexArray:
        """Moments of :meth:`rate`."""
        return self.density_moments(self.rate(masses, outflows))

    def lag_moments(self, state: State, last: Flow, now: Flow) -> ComplexArray:
        """Moments of the rate that the flow of the last stage shows beyond that at its end."""
        return self.rate_moments(state.masses, last.outflows - now.outflows)

    def grid_error(self, state: State, flow: Flow) -> ComplexArray | None:
        """Error that the grid makes in the rates of change of the moments; None if not known.

        Steps in time need not be more accurate.
        """
        del state, flow
        return None

    def defect(
        self,
        old: FloatArray,
        new: FloatArray,
        first_rate: FloatArray,
        last_rate: FloatArray,
        step: float,
    ) -> FloatArray:
        """Defect of the trapezoidal rule in the cell masses, from rates at both ends."""
        missed = np.empty(old.shape)
        fill_defect(
            missed.ravel(),
            old.ravel(),
            new.ravel(),
            first_rate.ravel(),
            last_rate.ravel(),
            0.5 * step,
        )
        return missed

    def advanced(self, state: State, flow: Flow, step: float) -> Advance:
        """State after a step, and the flow of the last stage if that stands at its end.

        By default it is a Runge-Kutta method of Euler stages, each of which conserves mass and
        sign for any step.

        Raises
        ------
        StepFarTooLongError
            If no step of this length can be accurate.
        """
        length = self.method_in_time.length * step
        new = self.stage(state, flow, length)
        for share in self.method_in_time.shares:
            new = self.mixed_stage(state, new, length, share)
        return Advance(new, None)

    def stage(self, state: State, flow: Flow, step: float) -> State:
        """Return the Euler stage of cells and atoms (points not yet normalised)."""
        masses = self.drained(state.masses, flow.outflows, step)
        points = state.points
        if len(state.atom_masses):
            points = _combined(points, 1.0, flow.atom_velocities, step)
        return state.moved(masses, points)

    def mixed_stage(
        self, start: State, state: State, step: float, share: float
    ) -> State:
        """Return (1 - share) ``start`` + share times the Euler stage of ``state``.

        Points are mixed in the ambient space.  There the equation x' = v(x/|x|) keeps |x|,
        so that the methods keep their order if points are normalised when velocities are
        taken and at the end of the step.
        """
        stage = self.stage(state, self.flow(state), step)
        if share == 1.0:
            return stage
        mix_in(stage.masses.ravel(), start.masses.ravel(), share)
        points = stage.points
        if len(start.atom_masses):
            points = _combined(start.points, 1.0 - share, points, share)
        return start.moved(stage.masses, points)

    def carries(self, state: State) -> bool:
        """Whether the scheme can go on from ``state``; if not, another has to."""
        del state
        return True

    def density_mass(self, state: State, flow: Flow) -> float:
        """Total mass of the cells."""
        del flow
        return float(state.masses.sum())

    def longest_step(self, state: State, flow: Flow) -> float:
        """The step whose stages last ``draining_share`` of the draining time; inf at rest.

        The draining time is its mass-weighted 1e-5-quantile over the cells.
        """
        times = self.draining_times(state.masses, flow.outflows)
        total = self.density_mass(state, flow) + state.atom_masses.sum()
        share = self.draining_share / self.method_in_time.length
        return share * float(
            draining_quantile(state.masses.ravel(), times, IGNORED_SHARE * total)
        )

    def draining_times(self, masses: FloatArray, outflows: FloatArray) -> FloatArray:
        """Mass over the sum of the outflows of each cell, flat; inf where nothing flows."""
        return draining_times(masses.ravel(), outflows.sum(axis=0).ravel())


@compiled
def _combined(
    vectors: FloatArray, share: float, others: FloatArray, other_share: float
) -> FloatArray:
    """Sum of vectors and others (n, d) times their shares; numpy is slow on a few."""
    result = np.empty(vectors.shape)
    for n in range(len(vectors)):
        for i in range(vectors.shape[1]):
            result[n, i] = share * vectors[n, i] + other_share * others[n, i]
    return result


@compiled
def fill_defect(
    missed: FloatArray,
    old: FloatArray,
    new: FloatArray,
    first: FloatArray,
    last: FloatArray,
    half_step: float,
) -> None:
    """Fill in new - old - half a step times the sum of both rates, all (cells,)."""
    for i in range(len(missed)):
        missed[i] = (new[i] - old[i]) - half_step * (first[i] + last[i])


@compiled
def mix_in(values: FloatArray, others: FloatArray, share: float) -> None:
    """Replace ``values`` by share times them plus (1 - share) times ``others``."""
    for i in range(len(values)):
        values[i] = values[i] * share + others[i] * (1.0 - share)


@compiled
def _vectors(
    components: FloatArray, tangents: FloatArray, numbers: IntArray
) -> FloatArray:
    """Vectors (n, d) with ``components`` (a, cells) along ``tangents`` (a, cells, d)."""
    vectors = np.zeros((len(numbers), tangents.shape[2]))
    for n in range(len(numbers)):
        for a in range(len(components)):
            for i in range(tangents.shape[2]):
                along = components[a, numbers[n]]
                vectors[n, i] += along * tangents[a, numbers[n], i]
    return vectors
