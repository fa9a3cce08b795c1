"""Conservative transport of cell masses.  It knows no physics: velocities in, masses out.

A scheme of one's own is a subclass of :class:`Transport`, registered under a name:

    register_scheme(Circle, Scheme("monotone", MonotoneCircle))
    solve(equation, start, t_end=1.0, transport="monotone")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mfpde.arrays import choice
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.grid_equation import GridEquation
from mfpde.transport.base import (
    DEFAULT_RTOL,
    LARGEST_ERROR,
    Flow,
    State,
    Step,
    Transport,
)
from mfpde.transport.circle import DonorBlendedCircle
from mfpde.transport.lagrangian import LARGEST_DEGREE, LagrangianSphere
from mfpde.transport.phases import SMOOTH, Phases, SmoothTransport
from mfpde.transport.semi_lagrangian_schemes import (
    ResolvedSemiLagrangianCircle,
    SemiLagrangianCircle,
    SemiLagrangianZonal,
)
from mfpde.transport.spectral import Spectral
from mfpde.transport.sphere import DonorBlendedSphere

__all__ = [
    "LARGEST_DEGREE",
    "LARGEST_ERROR",
    "SMOOTH",
    "Flow",
    "Scheme",
    "State",
    "Step",
    "Transport",
    "register_scheme",
    "scheme_for",
]


@dataclass(frozen=True)
class Scheme:
    """A transport by its ``name``: made by ``transport(grid, rtol)`` of an equation on a grid.

    One that ``moves_labels`` carries the mass of a density along characteristics: of equations
    without diffusion, without atoms, on one grid.  One that ``pins_atoms`` leaves those on the
    grid where they are, and is no default there.  It may count ``statistics`` of its run.
    """

    name: str
    transport: Callable[..., Transport]
    moves_labels: bool = False
    pins_atoms: bool = False
    statistics: Mapping[str, Any] = field(default_factory=dict, compare=False)


def _in_phases(
    smooth: Callable[..., SmoothTransport], rough: type[Transport]
) -> Callable[..., Transport]:
    """What makes a transport that begins ``smooth``; with diffusion it is the second alone."""

    def make(grid: GridEquation, rtol: float = DEFAULT_RTOL) -> Transport:
        then = rough(grid, rtol)
        return then if grid.diffusion > 0 else Phases(smooth(grid, rtol), then)

    return make


_SCHEMES: dict[type[Geometry], list[Scheme]] = {
    Circle: [
        Scheme("semi_lagrangian", SemiLagrangianCircle, pins_atoms=True),
        Scheme(
            "semi_lagrangian_donor_blended",
            _in_phases(ResolvedSemiLagrangianCircle, DonorBlendedCircle),
        ),
        Scheme("donor_blended", DonorBlendedCircle),
    ],
    Sphere: [
        Scheme("spectral_labels", _in_phases(Spectral, LagrangianSphere), True),
        Scheme("spectral_donor_blended", _in_phases(Spectral, DonorBlendedSphere)),
        Scheme("labels", LagrangianSphere, moves_labels=True),
        Scheme("donor_blended", DonorBlendedSphere),
    ],
    Zonal: [Scheme("semi_lagrangian", SemiLagrangianZonal)],
}
"""Schemes in the order in which they are defaults, where they can be."""


def register_scheme(geometry: type[Geometry], scheme: Scheme) -> None:
    """Let ``transport=scheme.name`` name ``scheme`` on grids of a class and its subclasses.

    One of the same name that this class had is replaced.  The first scheme of a geometry of one's
    own is its default.
    """
    others = [s for s in _SCHEMES.get(geometry, []) if s.name != scheme.name]
    _SCHEMES[geometry] = [*others, scheme]


def _schemes_of(geometry: Geometry) -> dict[str, Scheme]:
    """Schemes by name; those of a geometry's own class replace those of its bases."""
    found: dict[str, Scheme] = {}
    for kind in reversed(type(geometry).__mro__):
        found |= {scheme.name: scheme for scheme in _SCHEMES.get(kind, [])}
    if not found:
        raise ValueError(f"geometry = {geometry!r} has no transport scheme")
    return found


def scheme_for(
    name: str | None,
    geometry: Geometry,
    *,
    exact_atoms: bool = False,
    labels: bool = False,
) -> Scheme:
    """Return the scheme ``name`` of ``geometry``, or its default scheme for None.

    The semi-Lagrangian scheme, the least diffusive one, is the default on zonal grids, and on
    the circle if atoms leave the grid (``exact_atoms``).  On the sphere labels that carry the
    mass are, after a spectral phase, where nothing but a density moves (``labels``).  The
    donor-blended scheme, with which atoms move on the grid, is the default elsewhere; on the
    circle after a semi-Lagrangian phase and on the sphere after a spectral one, which last
    while the grid resolves the density.  On a geometry of one's own it is the first scheme
    registered for it.  ``ValueError`` for an unknown name, or a geometry without schemes.
    """
    schemes = _schemes_of(geometry)
    if name is not None:
        return schemes[choice("transport", name, schemes)]
    return next(
        scheme
        for scheme in schemes.values()
        if (exact_atoms or not scheme.pins_atoms)
        and (labels or not scheme.moves_labels)
    )
