"""Conservative transport of cell masses.  It knows no physics: velocities in, masses out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from mfpde.arrays import choice
from mfpde.geometry import Circle, Geometry, Sphere
from mfpde.grid_equation import GridEquation
from mfpde.transport.base import Flow, State, Transport
from mfpde.transport.circle_schemes import (
    DonorBlendedCircle,
    MonotoneCircle,
    MusclCircle,
)
from mfpde.transport.sphere_schemes import (
    DonorBlendedSphere,
    MonotoneSphere,
    MusclSphere,
)

__all__ = ["Flow", "Scheme", "State", "Transport", "scheme_for"]


@dataclass(frozen=True)
class Scheme:
    """A named pair of transport and Runge-Kutta method for one geometry.

    ``tolerance_share`` is the share of ``rtol`` that the measured defect (that of the
    trapezoidal rule) may reach: Heun's own error is as large as the defect, that of SSPRK3 an
    order smaller.  ``keeps_energy_monotone`` asks the time loop to repeat a step whose energy
    moves the wrong way with half the step.
    """

    name: str
    transport: Callable[[GridEquation], Transport]
    runge_kutta: Literal["heun", "ssprk3"]
    tolerance_share: float
    keeps_energy_monotone: bool = False


_CIRCLE_SCHEMES = (
    Scheme("donor_blended", DonorBlendedCircle, "ssprk3", 1.0),
    Scheme("muscl", MusclCircle, "heun", 0.1),
    Scheme("monotone", MonotoneCircle, "heun", 0.1, keeps_energy_monotone=True),
)

_SPHERE_SCHEMES = (
    Scheme("donor_blended", DonorBlendedSphere, "heun", 0.1),
    Scheme("muscl", MusclSphere, "heun", 0.1),
    Scheme("monotone", MonotoneSphere, "heun", 0.1, keeps_energy_monotone=True),
)
_SCHEMES: dict[type[Geometry], tuple[Scheme, ...]] = {
    Circle: _CIRCLE_SCHEMES,
    Sphere: _SPHERE_SCHEMES,
}


def scheme_for(name: str, geometry: Geometry) -> Scheme:
    """Return the transport scheme ``name`` of ``geometry``.

    Raises
    ------
    ValueError
        For an unknown name, or a geometry without schemes.
    """
    if type(geometry) not in _SCHEMES:
        raise ValueError(f"geometry = {geometry!r} has no transport scheme")
    schemes = {scheme.name: scheme for scheme in _SCHEMES[type(geometry)]}
    return schemes[choice("transport", name, schemes)]
