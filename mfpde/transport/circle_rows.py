"""Donor-blended transport of many circle densities at once, one in each row of an array.

Each row has an equation of its own: another beta, another perceptron.  The loops over rows are
compiled, and call the kernels of a single density, so that each row has the digits that
:class:`DonorBlendedCircle` gives it alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from mfpde.arrays import BoolArray, ComplexArray, FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.geometry.circle import Circle
from mfpde.geometry.circle_rows import CircleRows
from mfpde.terms.softmax_sums import EMPTY
from mfpde.transport.base import Transport, mix_in
from mfpde.transport.circle import drained, fifth_order_outflows
from mfpde.transport.circle_schemes import DonorBlendedCircle
from mfpde.transport.state import Flow

_ROWS_OF_A_PLAN = 8


@dataclass(eq=False)
class FlowRows:
    """The :class:`Flow` of each row, with its total mass (rows,)."""

    moments: ComplexArray
    velocity: FloatArray
    outflows: FloatArray
    unresolved: FloatArray
    total: FloatArray

    def taken(self, rows: IntArray) -> FlowRows:
        """Return these rows alone."""
        return FlowRows(*(getattr(self, name)[rows] for name in vars(self)))

    def take_over(self, other: FlowRows, rows: BoolArray) -> None:
        """Replace the marked rows by those of another."""
        for name, mine in vars(self).items():
            mine[rows] = getattr(other, name)[rows]


def kind_of_row(transport: Transport) -> Hashable | None:
    """What transports in one array must have in common; None for one that goes alone."""
    grid = transport.grid
    # A scheme or a circle of one's own may have another step, or another transform.
    is_known = type(transport) is DonorBlendedCircle and type(grid.geometry) is Circle
    if not is_known or grid.heads or grid.diffusion > 0:
        return None
    return grid.geometry, len(grid.softmaxes)


class DonorBlendedRows:
    """Donor-blended transport of one density for each of ``transports``, all of one kind."""

    def __init__(self, transports: Sequence[DonorBlendedCircle]) -> None:
        self._circle = transports[0].circle
        self._transports = list(transports)
        grids = [transport.grid for transport in transports]
        self.sizes = np.array([grid.degree + 1 for grid in grids])
        self._sign = np.array([[float(grid.sign)] for grid in grids])
        self._withheld = np.stack([transport.withheld for transport in transports])
        self._external = np.stack([grid.external_velocity[0] for grid in grids])
        self._linear = self.padded([grid.summed_spectrum for grid in grids])
        self._softmaxes = [
            (
                np.array([[grid.softmaxes[a][0].sharpness] for grid in grids]),
                self.padded([grid.softmaxes[a][1] for grid in grids]),
            )
            for a in range(len(grids[0].softmaxes))
        ]
        self._plan()

    def __len__(self) -> int:
        return len(self._transports)

    def padded(self, spectra: Sequence[FloatArray]) -> FloatArray:
        """Spectra of different degrees in one array, filled up with zeros."""
        padded = np.zeros((len(spectra), int(self.sizes.max())))
        for row, spectrum in enumerate(spectra):
            padded[row, : len(spectrum)] = spectrum
        return padded

    def _plan(self) -> None:
        blocks = -(-len(self) // _ROWS_OF_A_PLAN)
        self._fields = CircleRows(self._circle, blocks * _ROWS_OF_A_PLAN)
        self._planned_blocks = blocks

    def taken(self, rows: IntArray) -> DonorBlendedRows:
        """Return the transport of these rows alone."""
        fewer = DonorBlendedRows.__new__(DonorBlendedRows)
        fewer._circle = self._circle
        fewer._transports = [self._transports[row] for row in rows]
        fewer.sizes = self.sizes[rows]
        for name in ("_sign", "_withheld", "_external", "_linear"):
            setattr(fewer, name, getattr(self, name)[rows])
        fewer._softmaxes = [(beta[rows], s[rows]) for beta, s in self._softmaxes]
        fewer._fields, fewer._planned_blocks = self._fields, self._planned_blocks
        if -(-len(rows) // _ROWS_OF_A_PLAN) < self._planned_blocks:
            fewer._plan()
        return fewer

    def moments(self, masses: FloatArray) -> ComplexArray:
        """Moments (rows, largest degree + 1) of cell masses (rows, n)."""
        return self._fields.moments(masses, self._linear.shape[1] - 1)

    def _velocity(self, moments: ComplexArray) -> FloatArray:
        """Velocity (rows, n) at the centres."""
        fields = self._fields
        slopes = fields.gradient(self._linear * moments)
        if not self._softmaxes:
            return np.asarray(slopes + self._external)
        velocity = slopes.copy()
        for beta, spectrum in self._softmaxes:
            coefficients = spectrum * moments
            values = fields.synthesis(coefficients).copy()
            gradient = fields.gradient(coefficients)
            least = np.maximum(EMPTY * moments[:, :1].real, np.finfo(float).tiny)
            velocity += self._sign * gradient / np.maximum(beta * values, least)
        velocity += self._external
        return velocity

    def flow(self, masses: FloatArray) -> FlowRows:
        """Evaluate moments, velocity and outflows of cell masses (rows, n)."""
        moments = self.moments(masses)
        velocity = self._velocity(moments)
        outflows = np.empty((len(masses), 2, masses.shape[1]))
        unresolved = np.empty(len(masses))
        _fill_outflows(
            outflows, unresolved, masses, velocity, self._withheld, self._circle.spacing
        )
        return FlowRows(moments, velocity, outflows, unresolved, masses.sum(axis=1))

    def advanced(
        self, masses: FloatArray, flow: FlowRows, steps: FloatArray
    ) -> FloatArray:
        """Masses after a step of each row's own length, by the scheme's Runge-Kutta method."""
        method = DonorBlendedCircle.method_in_time
        lengths = method.length * steps
        new = np.empty(masses.shape)
        _fill_first_stage(new, masses, flow.outflows, lengths)
        for share in method.shares:
            velocity = self._velocity(self.moments(new))
            _go_through_stage(
                new,
                masses,
                velocity,
                self._withheld,
                spacing=self._circle.spacing,
                steps=lengths,
                share=share,
            )
        return new

    def flow_of(self, row: int, flow: FlowRows) -> Flow:
        """The flow of one row, as a single density has it."""
        moments = flow.moments[row, : self.sizes[row]].copy()
        return Flow(
            moments,
            moments,
            flow.velocity[row : row + 1].copy(),
            flow.outflows[row].copy(),
            float(flow.unresolved[row]),
            np.empty((0, self._circle.dimension)),
        )


@compiled
def _fill_outflows(
    outflows: FloatArray,
    unresolved: FloatArray,
    masses: FloatArray,
    velocity: FloatArray,
    withheld: FloatArray,
    spacing: float,
) -> None:
    """Fill in outflows (rows, 2, n) and unresolved masses (rows,)."""
    for row in range(len(masses)):
        density = masses[row] / spacing
        found, share = fifth_order_outflows(density, velocity[row], withheld[row])
        outflows[row] = found
        unresolved[row] = share * spacing


@compiled
def _fill_first_stage(
    new: FloatArray, masses: FloatArray, outflows: FloatArray, steps: FloatArray
) -> None:
    """Fill in the masses (rows, n) after an Euler stage of each row's own length."""
    for row in range(len(masses)):
        new[row] = drained(masses[row], outflows[row], steps[row])


@compiled
def _go_through_stage(
    masses: FloatArray,
    start: FloatArray,
    velocity: FloatArray,
    withheld: FloatArray,
    spacing: float,
    steps: FloatArray,
    share: float,
) -> None:
    """Replace ``masses`` by their Euler stage, mixed with the ``start`` of the step."""
    for row in range(len(masses)):
        density = masses[row] / spacing
        outflows, _ = fifth_order_outflows(density, velocity[row], withheld[row])
        masses[row] = drained(masses[row], outflows, steps[row])
        if share != 1.0:
            mix_in(masses[row], start[row], share)
