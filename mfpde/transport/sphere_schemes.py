"""The transport schemes of the sphere."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry.gauss_legendre import group_means, level, spread
from mfpde.geometry.sphere import Sphere, points_at, tangents_at
from mfpde.grid_equation import GridEquation
from mfpde.transport import sphere as kernels
from mfpde.transport import sphere_rows as methods
from mfpde.transport.base import (
    Transport,
    check_monotone,
    geometry_of,
)
from mfpde.transport.kinks import withheld_velocity
from mfpde.transport.sphere_faces import faces_of
from mfpde.transport.sphere_rows import Withheld
from mfpde.transport.state import SSPRK42, Flow, State


class SphereTransport(Transport):
    """Base of the schemes on the sphere: cells with four sides, in groups near the poles."""

    # Diffusion smooths the profiles within groups, which every stage forms anew: a
    # stiff exchange, of this size at any step that is of use.
    diffusion_tolerance = 2e-3
    # Merge times of pairs are those of 8 and of 16 steps, to 4e-4 of themselves.
    steps_to_hand_off = 8
    method_in_time = SSPRK42
    # Beyond 1.6 steps are refused.
    draining_share = 1.2
    method: int

    def __init__(self, grid: GridEquation) -> None:
        super().__init__(grid)
        self.sphere = geometry_of(grid, Sphere, "Sphere")
        self._faces = faces_of(self.sphere)
        # Half of what the grid itself makes of e^(V/kappa), |V| = 2 kappa (1e-4 at 96 rings).
        self.balance_tolerance = 0.05 * self.sphere.spacing**2

    @cached_property
    def _withheld(self) -> Withheld:
        return _where_any(withheld_velocity(self.grid))

    def represented(self, masses: FloatArray) -> FloatArray:
        """Masses spread linearly within the groups near the poles."""
        result = masses.copy()
        spread(result, self._faces.sizes)
        return result

    def drained(
        self, masses: FloatArray, outflows: FloatArray, step: float
    ) -> FloatArray:
        """Masses after an Euler stage."""
        return kernels.drained(masses, outflows, self._faces.sizes, step)

    def rate(self, masses: FloatArray, outflows: FloatArray) -> FloatArray:
        """Rate of change of the cell masses, equal within groups."""
        return kernels.net_rate(outflows, self._faces.sizes)

    def defect(
        self,
        old: FloatArray,
        new: FloatArray,
        first_rate: FloatArray,
        last_rate: FloatArray,
        step: float,
    ) -> FloatArray:
        """Defect of the trapezoidal rule in the masses of groups, without their profiles.

        The limited profile of a group is not a smooth function of the masses, and says
        nothing about the error in time.
        """
        missed = super().defect(old, new, first_rate, last_rate, step)
        level(missed, self._faces.sizes)
        return missed

    def grid_error(self, state: State, flow: Flow) -> ComplexArray:
        r"""Rates of the moments by the fluxes less \int conj(grad Y_k).v dmu by quadrature."""
        by_fluxes = self.rate_moments(state.masses, flow.outflows)
        return by_fluxes - self.sphere.drift_moments(
            state.masses, flow.velocity, self.grid.degree
        )

    def density_mass(self, state: State, flow: Flow) -> float:
        """Mass of the cells: their moment of degree 0."""
        del state
        return float(flow.density_moments[0].real)

    def draining_times(self, masses: FloatArray, outflows: FloatArray) -> FloatArray:
        """Draining times of whole groups."""
        return np.ravel(outflows[methods.DRAINING_TIME])

    def outflows(
        self, masses: FloatArray, moments: ComplexArray, velocity: FloatArray
    ) -> tuple[FloatArray, float]:
        """Fluxes (3, nlat, nlon) of :mod:`mfpde.transport.sphere`, and unresolved mass."""
        at_faces = self._at_faces(moments, velocity)
        given = masses, velocity, at_faces, self._withheld, self._faces, self.method
        return kernels.fluxes_of(*given)

    @abstractmethod
    def _at_faces(self, moments: ComplexArray, velocity: FloatArray) -> FloatArray:
        """Velocities (2, nlat, nlon) for the argument ``at_faces`` of the kernels."""


class DonorBlendedSphere(SphereTransport):
    """Donor blending with the third-order upwind difference in smooth regions."""

    method = methods.THIRD_ORDER

    def _at_faces(self, moments: ComplexArray, velocity: FloatArray) -> FloatArray:
        return velocity


class MusclSphere(SphereTransport):
    """Donor blending with limited linear reconstruction in smooth regions.

    In these regions the attention's velocity is the mean of the two centres, and the
    external velocity is taken exactly at the face.
    """

    method = methods.MUSCL

    def __init__(self, grid: GridEquation) -> None:
        super().__init__(grid)
        sphere = self.sphere
        south_faces = sphere.rings.face_colatitudes[1:, np.newaxis], sphere.longitudes
        east_faces = (
            sphere.colatitudes[:, np.newaxis],
            sphere.longitudes + sphere.longitude_step / 2,
        )
        at_faces = np.stack(
            [
                grid.external_velocity_along(
                    points_at(*faces), tangents_at(*faces)[direction]
                )
                for direction, faces in enumerate((south_faces, east_faces))
            ]
        )
        # What the mean of two centres misses of the external velocity.
        self._missing_at_faces = at_faces - _means_at_faces(grid.external_velocity)

    def _at_faces(self, moments: ComplexArray, velocity: FloatArray) -> FloatArray:
        return self._missing_at_faces


class MonotoneSphere(SphereTransport):
    """Face velocities from differences of F: the energy moves the right way.

    The flux through a face has the sign of s (F_+ - F_0), as on the circle; on rings of
    groups F is averaged over a group.  (The linear profile within groups is not part of
    the argument: there the time loop checks the energy.)  Atoms of mass m are pinned as
    soon as the outside pull is below m h / 2.
    """

    method = methods.FACE_VELOCITY

    def __init__(self, grid: GridEquation) -> None:
        super().__init__(grid)
        check_monotone(grid)
        sphere = self.sphere
        self._distances = np.diff(sphere.colatitudes)[:, np.newaxis]
        widths = np.sin(sphere.colatitudes) * sphere.longitude_step * self._faces.sizes
        self._widths = widths[:, np.newaxis]

    def _at_faces(self, moments: ComplexArray, velocity: FloatArray) -> FloatArray:
        potential = self.grid.sign * self.grid.first_variation(moments)
        at_faces = np.zeros((2, *self.sphere.shape))
        at_faces[0, :-1] = np.diff(potential, axis=0) / self._distances
        means = group_means(potential, self._faces.sizes)
        at_faces[1] = (np.roll(means, -1, axis=1) - means) / self._widths
        return at_faces


def _where_any(velocity: FloatArray) -> Withheld:
    """Return the velocities of (2, nlat, nlon) that are not 0, as the kernels take them."""
    is_any = velocity.any(axis=0)
    firsts = np.concatenate([[0], np.cumsum(is_any.sum(axis=1))])
    columns = np.nonzero(is_any)[1]
    return Withheld(firsts, columns, np.ascontiguousarray(velocity[:, is_any].T))


def _means_at_faces(components: FloatArray) -> FloatArray:
    """Means of two neighbouring cells at the south and at the east faces."""
    result = np.zeros(components.shape)
    result[0, :-1] = 0.5 * (components[0, :-1] + components[0, 1:])
    result[1] = 0.5 * (components[1] + np.roll(components[1], -1, axis=1))
    return result
