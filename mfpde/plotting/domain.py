"""The spheres and grids that have a picture.

The drawing functions ask :func:`domain_of` once and look their painter up by its
answer, so that another geometry is one more entry here and one more painter there.
"""

from __future__ import annotations

from mfpde.geometry import Circle, Sphere, Zonal
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.runs.run import Run

_DOMAINS = {Circle: "circle", Sphere: "sphere", Zonal: "zonal"}
_DOMAINS_OF_ATOMS = {2: "circle", 3: "sphere"}


def domain_of(measure: AnyMeasure, *, picture: str) -> str:
    """Name the domain that ``measure`` lies on: ``"circle"``, ``"sphere"``, ``"zonal"``.

    Parameters
    ----------
    measure
        A density, atoms, or both.
    picture
        Name of the function that asks, for the error message.

    Raises
    ------
    ValueError
        If there is no picture for the measure's geometry.
    """
    if isinstance(measure, Atoms):
        domain = _DOMAINS_OF_ATOMS.get(measure.dimension)
        where = f"atoms on S^{measure.dimension - 1}"
    else:
        geometry = as_measure(measure).geometry
        domain = _DOMAINS.get(type(geometry))
        where = f"a density on {geometry!r}"
    if domain is None:
        raise ValueError(
            f"{picture} has no picture for {where}: it draws densities on a Circle, a "
            "Sphere or a Zonal grid, and Atoms with points of shape (n, 2) or (n, 3)"
        )
    return domain


def domain_of_run(run: Run, *, picture: str) -> str:
    """Name the domain of a run's saved states; it must have some.

    Raises
    ------
    ValueError
        If nothing was saved, or there is no picture for the geometry.
    """
    if not len(run.states):
        raise ValueError(
            f"{picture} needs saved states, but run.states is empty: give "
            "save_every or save_at when solving"
        )
    return domain_of(run.states[0], picture=picture)
