"""Conservative transport of cell masses.  It knows no physics: velocities in, masses out.

A scheme of one's own is a subclass of :class:`Transport`, registered under a name:

    register_scheme(Circle, Scheme("monotone", MonotoneCircle))
    solve(equation, start, t_end=1.0, transport="monotone")
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import singledispatch

import numpy as np

from mfpde.arrays import FloatArray, choice
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.grid_equation import GridEquation
from mfpde.terms import PointMasses
from mfpde.transport.base import Transport
from mfpde.transport.circle_schemes import (
    DonorBlendedCircle,
    ResolvedSemiLagrangianCircle,
    SemiLagrangianCircle,
    is_mostly_resolved,
)
from mfpde.transport.lagrangian import LARGEST_DEGREE, LagrangianSphere
from mfpde.transport.spectral import ResolvedSpectral, Spectral, is_resolved
from mfpde.transport.sphere import DonorBlendedSphere
from mfpde.transport.state import Flow, State
from mfpde.transport.zonal import DonorBlendedZonal, SemiLagrangianZonal

__all__ = [
    "LARGEST_DEGREE",
    "Flow",
    "Scheme",
    "State",
    "Transport",
    "default_scheme",
    "register_scheme",
    "scheme_for",
]

# Above this dimension zonal densities are bumps a few cells wide, which travel far.
LARGEST_DONOR_BLENDED_DIMENSION = 30


def _resolves_all(grid: GridEquation, masses: FloatArray) -> bool:
    del grid, masses
    return True


def _resolves_spectrally(grid: GridEquation, masses: FloatArray) -> bool:
    """Whether masses stay positive in the grid's degrees, and their noise rules nothing."""
    nobody = PointMasses(np.empty((0, grid.geometry.dimension)), np.empty(0))
    return is_resolved(grid.geometry, masses) and not grid.has_lost_mass(
        grid.moments(masses, nobody), masses
    )


@dataclass(frozen=True)
class Scheme:
    """A ``transport`` for one geometry by its ``name``; it brings its own step.

    ``tolerance_share`` is the share of ``rtol`` that the measured defect (that of the
    trapezoidal rule) may reach: Heun's own error is as large as the defect, that of SSPRK3
    an order smaller.  ``while_smooth`` is the scheme with which a run of a density without
    atoms and diffusion begins, until the grid does not resolve the density any more; it
    ``resolves`` cell masses, of an equation on a grid, if it may begin with them.  A scheme
    that ``moves_labels`` carries the mass of a density along characteristics: of equations
    without diffusion, without atoms, on one grid.
    """

    name: str
    transport: Callable[[GridEquation], Transport]
    tolerance_share: float = 0.1
    while_smooth: Scheme | None = None
    resolves: Callable[[GridEquation, FloatArray], bool] = _resolves_all
    moves_labels: bool = False


_SCHEMES: dict[type[Geometry], dict[str, Scheme]] = {}


def register_scheme(geometry: type[Geometry], scheme: Scheme) -> None:
    """Let ``transport=scheme.name`` name ``scheme`` on grids of a class and its subclasses.

    Parameters
    ----------
    geometry
        Class of geometries, such as ``Circle``.
    scheme
        The scheme; one of the same name that this class had is replaced.  The first scheme
        of a geometry is its default, unless :func:`default_scheme` says otherwise.
    """
    _SCHEMES.setdefault(geometry, {})[scheme.name] = scheme


register_scheme(Circle, Scheme("donor_blended", DonorBlendedCircle, 1.0))
register_scheme(Circle, Scheme("semi_lagrangian", SemiLagrangianCircle, 1.0))
_RESOLVED = Scheme(
    "semi_lagrangian", ResolvedSemiLagrangianCircle, 1.0, resolves=is_mostly_resolved
)
register_scheme(
    Circle,
    Scheme(
        "semi_lagrangian_donor_blended",
        DonorBlendedCircle,
        1.0,
        while_smooth=_RESOLVED,
    ),
)

# The lag of the last stage is 30 to 1000 times the error of the classical Runge-Kutta method.
_SPECTRAL = Scheme("spectral", Spectral, 30.0, resolves=_resolves_spectrally)

register_scheme(Sphere, Scheme("donor_blended", DonorBlendedSphere))
register_scheme(
    Sphere,
    Scheme("spectral_donor_blended", DonorBlendedSphere, while_smooth=_SPECTRAL),
)

# The lag says as little about a label's error; kinks are crossed label by label.
_LABELS = Scheme("labels", LagrangianSphere, 30.0, moves_labels=True)
_RESOLVED_SPECTRAL = replace(_SPECTRAL, transport=ResolvedSpectral)
register_scheme(Sphere, _LABELS)
register_scheme(
    Sphere, replace(_LABELS, name="spectral_labels", while_smooth=_RESOLVED_SPECTRAL)
)

register_scheme(Zonal, Scheme("donor_blended", DonorBlendedZonal, 1.0))
register_scheme(Zonal, Scheme("semi_lagrangian", SemiLagrangianZonal, 1.0))


def _schemes_of(geometry: Geometry) -> dict[str, Scheme]:
    """Schemes by name, those of a geometry's own class before those of its bases."""
    found: dict[str, Scheme] = {}
    for kind in reversed(type(geometry).__mro__):
        found |= _SCHEMES.get(kind, {})
    if not found:
        raise ValueError(f"geometry = {geometry!r} has no transport scheme")
    return found


@singledispatch
def default_scheme(
    geometry: Geometry, *, exact_atoms: bool = False, labels: bool = False
) -> str:
    """Name of the scheme for ``geometry`` if none is asked for.

    The semi-Lagrangian scheme, the least diffusive one, is the default on zonal grids with
    d > 30, and on the circle if atoms leave the grid (``exact_atoms``).  On the sphere labels
    that carry the mass are, after a spectral phase, where nothing but a density moves
    (``labels``).  The donor-blended scheme, with which atoms move on the grid, is the default
    elsewhere; on the circle after a semi-Lagrangian phase and on the sphere after a spectral
    one, which last while the grid resolves the density.  On a geometry of one's own it is the
    first scheme registered for it.
    """
    del exact_atoms, labels
    return next(iter(_schemes_of(geometry)))


@default_scheme.register
def _(geometry: Circle, *, exact_atoms: bool = False, labels: bool = False) -> str:
    del labels
    return "semi_lagrangian" if exact_atoms else "semi_lagrangian_donor_blended"


@default_scheme.register
def _(geometry: Sphere, *, exact_atoms: bool = False, labels: bool = False) -> str:
    del geometry, exact_atoms
    return "spectral_labels" if labels else "spectral_donor_blended"


@default_scheme.register
def _(geometry: Zonal, *, exact_atoms: bool = False, labels: bool = False) -> str:
    del exact_atoms, labels
    is_high = geometry.dimension > LARGEST_DONOR_BLENDED_DIMENSION
    return "semi_lagrangian" if is_high else "donor_blended"


def scheme_for(
    name: str | None,
    geometry: Geometry,
    *,
    exact_atoms: bool = False,
    labels: bool = False,
) -> Scheme:
    """Return the scheme ``name`` of ``geometry``, or its default scheme for None.

    Raises
    ------
    ValueError
        For an unknown name, or a geometry without schemes.
    """
    schemes = _schemes_of(geometry)
    if name is None:
        name = default_scheme(geometry, exact_atoms=exact_atoms, labels=labels)
    return schemes[choice("transport", name, schemes)]
