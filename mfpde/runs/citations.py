"""Which sources a run rests on: keys of ``references.bib``, chosen by what the run used."""

from __future__ import annotations

import re
from functools import cache, singledispatch
from pathlib import Path

from mfpde.arrays import check_kind
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure, atoms_of
from mfpde.runs.run import Run

PAPER = "alvarezlopez2026"
ALWAYS = (PAPER, "mfpde", "harris2020", "virtanen2020", "lam2015")
_STAGES = ("shu1988", "gottlieb2001")
_DONORS = ("zalesak1979", *_STAGES)
_FEET = ("zerroukat2002", "white2008", "suresh1997", "celledoni2003")
_LABELS = ("raviart1985", "hairer1993")
_SCHEMES: dict[str, tuple[str, ...]] = {
    "donor_blended": _DONORS,
    "spectral_donor_blended": _DONORS,
    "labels": _LABELS,
    "spectral_labels": _LABELS,
    "semi_lagrangian_donor_blended": (*_FEET, *_DONORS),
    "semi_lagrangian": _FEET,
}


@singledispatch
def _transforms(geometry: Geometry) -> tuple[str, ...]:
    """Keys of the transforms of a geometry, registered by its class."""
    return ()


_transforms.register(Circle, lambda _: ("frigo2005",))
_transforms.register(Sphere, lambda _: ("schaeffer2013", "frigo2005"))
_transforms.register(Zonal, lambda _: ("mueller1998",))


def cited(run: Run, *, compared: bool = False) -> tuple[str, ...]:
    """Return the keys of what a run used, in the order of ``references.bib``.

    ``compared`` says whether it was compared with particles, by Wasserstein distances.
    """
    keys = {*ALWAYS, *_of_equation(run)}
    if isinstance(run.final, Atoms):
        keys |= set(_of_particles(run))
    else:
        keys |= set(_of_density(run, run.final))
        if compared:
            keys.add("hairer1993")
    if compared and run.final.dimension == 3:
        keys.add("flamary2021")
    if run.track is not None:
        keys |= {"petzold1983", "crouse2016"}
    return tuple(key for key in references() if key in keys)


def cite(run: Run, *, compared: bool = False) -> str:
    """Return BibTeX entries of the equation's paper and of the methods that a run used.

    Parameters
    ----------
    run
        A run, solved or loaded.
    compared
        Whether it was compared with particles, by Wasserstein distances.
    """
    check_kind("run", run, Run, source="what solve returns or load reads")
    entries = references()
    return "\n\n".join(entries[key] for key in cited(run, compared=compared))


@cache
def references() -> dict[str, str]:
    """Return all entries of ``references.bib`` by key, in their order."""
    text = Path(__file__).with_name("references.bib").read_text("utf-8")
    found = re.finditer(r"^@\w+\{(\w+),.*?^\}", text, re.DOTALL | re.MULTILINE)
    return {entry.group(1): entry.group() for entry in found}


def _of_equation(run: Run) -> set[str]:
    terms = () if run.equation is None else run.equation.externals
    activations = [getattr(term, "activation", None) for term in terms]
    names = {getattr(activation, "name", "") for activation in activations}
    return {"hendrycks2016"} if "gelu" in names else set()


def _of_particles(run: Run) -> set[str]:
    method = run.statistics.get("method")
    keys = {"hairer1993"}
    if method in ("spectral", "labels"):
        keys.add("frigo2005" if run.final.dimension == 2 else "schaeffer2013")
    return keys | ({"fritsch1980"} if method == "labels" else set())


def _of_density(run: Run, final: AnyMeasure) -> set[str]:
    method = str(run.statistics.get("method"))
    geometry = as_measure(final).geometry
    on_sphere = "schaeffer2013" in _transforms(geometry)
    keys = {*_SCHEMES.get(method, ()), *_transforms(geometry)}
    if on_sphere and method in ("donor_blended", "spectral_donor_blended"):
        keys.add("spiteri2002")
    if "spectral_until" in run.statistics or method.startswith("spectral"):
        keys.add("hairer1993")
    if any(len(atoms_of(state)) for state in (*run.states, final)):
        # Once the atoms are alone a stiff integrator moves them.
        keys.add("petzold1983")
    if run.equation is not None and run.equation.diffusion > 0:
        keys.add("strang1968")
    return keys
