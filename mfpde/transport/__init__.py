"""Conservative transport of cell masses.  It knows no physics: velocities in, masses out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from mfpde.arrays import choice
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.grid_equation import GridEquation
from mfpde.transport.base import Flow, State, Transport
from mfpde.transport.circle_schemes import (
    DonorBlendedCircle,
    MonotoneCircle,
    MusclCircle,
    SemiLagrangianCircle,
)
from mfpde.transport.sphere_schemes import (
    DonorBlendedSphere,
    MonotoneSphere,
    MusclSphere,
)
from mfpde.transport.zonal import (
    DonorBlendedZonal,
    MonotoneZonal,
    MusclZonal,
    SemiLagrangianZonal,
)

__all__ = ["Flow", "Scheme", "State", "Transport", "default_scheme", "scheme_for"]

# Above this dimension zonal densities are bumps a few cells wide, which travel far.
LARGEST_DONOR_BLENDED_DIMENSION = 30


@dataclass(frozen=True)
class Scheme:
    """A named pair of transport and Runge-Kutta method for one geometry.

    ``tolerance_share`` is the share of ``rtol`` that the measured defect (that of the
    trapezoidal rule) may reach: Heun's own error is as large as the defect, that of
    SSPRK3 an order smaller.  ``keeps_energy_monotone`` asks the time loop to repeat a
    step whose energy moves the wrong way with half the step.
    """

    name: str
    transport: Callable[[GridEquation], Transport]
    runge_kutta: Literal["heun", "ssprk3", "commutator_free"]
    tolerance_share: float
    keeps_energy_monotone: bool = False


_CIRCLE_SCHEMES = (
    Scheme("donor_blended", DonorBlendedCircle, "ssprk3", 1.0),
    Scheme("muscl", MusclCircle, "heun", 0.1),
    Scheme("monotone", MonotoneCircle, "heun", 0.1, keeps_energy_monotone=True),
    Scheme("semi_lagrangian", SemiLagrangianCircle, "commutator_free", 1.0),
)

_SPHERE_SCHEMES = (
    Scheme("donor_blended", DonorBlendedSphere, "heun", 0.1),
    Scheme("muscl", MusclSphere, "heun", 0.1),
    Scheme("monotone", MonotoneSphere, "heun", 0.1, keeps_energy_monotone=True),
)


_ZONAL_SCHEMES = (
    Scheme("donor_blended", DonorBlendedZonal, "ssprk3", 1.0),
    Scheme("muscl", MusclZonal, "heun", 0.1),
    Scheme("monotone", MonotoneZonal, "heun", 0.1, keeps_energy_monotone=True),
    Scheme("semi_lagrangian", SemiLagrangianZonal, "commutator_free", 1.0),
)
_SCHEMES: dict[type[Geometry], tuple[Scheme, ...]] = {
    Circle: _CIRCLE_SCHEMES,
    Sphere: _SPHERE_SCHEMES,
    Zonal: _ZONAL_SCHEMES,
}


def default_scheme(geometry: Geometry, *, exact_atoms: bool = False) -> str:
    """Name of the scheme for ``geometry`` if none is asked for.

    The semi-Lagrangian scheme, the least diffusive one, is the default on zonal grids with
    d > 30, and on the circle if atoms leave the grid (``exact_atoms``).  The donor-blended
    scheme, with which atoms move on the grid, is the default elsewhere.
    """
    is_zonal = isinstance(geometry, Zonal)
    if is_zonal and geometry.dimension > LARGEST_DONOR_BLENDED_DIMENSION:
        return "semi_lagrangian"
    if exact_atoms and isinstance(geometry, Circle):
        return "semi_lagrangian"
    return "donor_blended"


def scheme_for(
    name: str | None, geometry: Geometry, *, exact_atoms: bool = False
) -> Scheme:
    """Return the scheme ``name`` of ``geometry``, or its default scheme for None.

    Raises
    ------
    ValueError
        For an unknown name, or a geometry without schemes.
    """
    if type(geometry) not in _SCHEMES:
        raise ValueError(f"geometry = {geometry!r} has no transport scheme")
    schemes = {scheme.name: scheme for scheme in _SCHEMES[type(geometry)]}
    chosen = default_scheme(geometry, exact_atoms=exact_atoms) if name is None else name
    return schemes[choice("transport", chosen, schemes)]
