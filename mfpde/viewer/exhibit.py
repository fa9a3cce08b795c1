"""One run as the page shows it: facts, frames, landscape, diagnostics, atoms in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure, atoms_of
from mfpde.runs.run import Run
from mfpde.tracking import Junction, Path, Track
from mfpde.tracking.paths import joined
from mfpde.viewer.frames import Frames, density_part, frames_of
from mfpde.viewer.grids import grid_view
from mfpde.viewer.landscape import landscapes_of
from mfpde.viewer.packed import Stream

DIGITS = 9
MOST_POINTS = 2000
"""Points of a curve of diagnostics."""
THUMBNAIL = 32 * 64
"""Values of the last state on a card."""
BINS = 128
TURN = 2 * np.pi


@dataclass(frozen=True)
class Exhibit:
    """A run in a page.

    Attributes
    ----------
    card
        What a page of many runs shows at once: name, parameters, facts, last state.
    text
        All that is shown when the run is opened: the description and its numbers.
    """

    card: dict[str, Any]
    text: str


def exhibit_of(
    run: Run,
    name: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    room: int,
) -> Exhibit:
    """Turn a run into what a page holds of it.

    Parameters
    ----------
    run
        The run.
    name
        What it is called on the page.
    parameters
        What tells it from the other runs of the page, by name.
    room
        Numbers of two bytes that its states may take, about.

    Raises
    ------
    ValueError
        If nothing was saved, or there is no picture for the geometry.
    """
    stream = Stream()
    frames = frames_of(run, stream, room=room)
    geometries = list(frames.choice.views)
    card = {
        "name": name,
        "parameters": {k: _shown(v) for k, v in (parameters or {}).items()},
        "domain": frames.domain,
        "dimension": run.states[0].dimension,
        "facts": _facts(run),
        "thumbnail": _thumbnail(run, frames),
        "atoms": None if run.track is None else int(run.track.counts[-1]),
        "forming": 0 if run.track is None else _forming(run.track, -1),
    }
    description = {
        "notes": list(frames.notes),
        "frames": frames.description,
        "landscapes": landscapes_of(
            run, frames.domain, geometries[-1] if geometries else None, stream
        ),
        "diagnostics": _diagnostics(run, frames.domain),
        "track": None if run.track is None else _track(run, run.track, frames),
        "breakpoints": [] if run.layers is None else _rounded(run.layers.breakpoints),
    }
    return Exhibit(card, stream.text(description))


def _shown(value: Any) -> Any:
    return value if isinstance(value, bool | int | float) else str(value)


def _facts(run: Run) -> list[list[str]]:
    """Pairs of a word and what there is to say."""
    facts = [["equation", "not stored: it has the user's own functions"]]
    if run.equation is not None:
        terms = " + ".join(term.description for term in run.equation.terms)
        noise = run.equation.diffusion
        several = run.layers is not None and len(run.layers) > 1
        facts = [
            [
                "equation",
                f"{'last layer: ' if several else ''}{run.equation.direction} of {terms}"
                + (f", diffusion {noise:g}" if noise else ""),
            ],
            ["kernel", run.equation.convention],
        ]
    if run.layers is not None:
        facts.append(["layers", f"{len(run.layers)}, depth {run.layers.depth:g}"])
    if isinstance(run.final, Atoms):
        facts.append(["particles", str(len(run.final))])
    else:
        facts.append(["grid", repr(as_measure(run.final).geometry)])
    numbers = run.statistics
    facts += [["stopped", run.reason], ["saves", str(len(run.times))]]
    if "mass" in run.diagnostics:
        facts.append(["mass drift", f"{run.mass_drift:.1e}"])
    if "method" in numbers:
        facts.append(
            ["computed by", f"{numbers['method']}, {numbers.get('steps', '?')} steps"]
        )
    if "version" in numbers:
        facts.append(["version", f"mfpde {numbers['version']}"])
    return facts + [["grid", line] for line in run.refinement_lines]


def _diagnostics(run: Run, domain: str) -> dict[str, Any]:
    """The curves of the diagnostics, all saves or as many as a curve can show."""
    count = len(run.times)
    kept = np.unique(
        np.linspace(0, count - 1, min(count, MOST_POINTS)).round().astype(int)
    )
    curves = {}
    for name, values in run.diagnostics.items():
        if values.ndim != 1 or not np.isfinite(values).any():
            continue
        known = run.quantities.get(name)
        unit = "" if known is None or known.unit == "unknown" else known.unit
        curves[name] = {
            "meaning": "" if known is None else known.meaning,
            "unit": unit.replace("area", "radian") if domain == "circle" else unit,
            "values": _rounded(values[kept], digits=15 if name == "mass" else DIGITS),
        }
    return {"times": _rounded(run.times[kept]), "curves": curves}


def _rounded(values: FloatArray, *, digits: int = DIGITS) -> list[float | None]:
    """Numbers to so many digits; None for what is no number."""
    return [
        float(f"{value:.{digits}g}") if np.isfinite(value) else None
        for value in np.asarray(values).ravel().tolist()
    ]


def _track(run: Run, track: Track, frames: Frames) -> dict[str, Any]:
    """Paths, junctions, the atoms that are seen at each frame, and how many there are."""
    where = _Coordinates(run)
    saves = {float(time): k for k, time in enumerate(track.times)}
    seen = [saves.get(float(run.times[k])) for k in frames.choice.saves]
    return {
        "paths": [_path(path, where) for path in track.paths.values()],
        "junctions": [_junction(junction, where) for junction in track.junctions],
        "seen": [[] if k is None else _seen(track, k, where) for k in seen],
        "counts": [None if k is None else int(track.counts[k]) for k in seen],
        "forming": [0 if k is None else _forming(track, k) for k in seen],
        "verdicts": ["" if k is None else track.verdicts[k] for k in seen],
    }


def _forming(track: Track, save: int) -> int:
    """Number of the atoms of a save that are forming, which the count contains."""
    seen = track.atoms_at(save)
    return int((seen.is_forming & (seen.identities > 0)).sum())


class _Coordinates:
    """Coordinates of points as the page wants them: an angle, or three numbers."""

    def __init__(self, run: Run) -> None:
        density = density_part(run.states[0])
        self._view = None if density is None else grid_view(density.geometry)

    def __call__(self, points: FloatArray) -> list[list[float | None]]:
        if self._view is not None:
            places = self._view.coordinates(points)
        elif points.shape[-1] == 2:
            places = np.arctan2(points[:, 1], points[:, 0])[:, np.newaxis]
        else:
            places = points
        return [_rounded(row, digits=7) for row in places]


def _path(path: Path, where: _Coordinates) -> dict[str, Any]:
    return {
        "identity": path.identity,
        "times": _rounded(path.times),
        "places": where(path.points),
        "masses": _rounded(path.masses),
        "arrived": _rounded(path.arrived_masses),
        "begins": path.begins,
        "ends": path.ends,
        "parents": list(path.parents),
        "children": list(path.children),
        "birth": None if path.birth is None else path.birth.event.kind,
        "end": None if path.end is None else path.end.event.kind,
        "there": path.is_there_at_last,
    }


def _junction(junction: Junction, where: _Coordinates) -> dict[str, Any]:
    centre = joined(junction.event.points, junction.event.masses)[0]
    return {
        "kind": junction.event.kind,
        "time": float(junction.event.time),
        "earliest": float(junction.earliest),
        "latest": float(junction.latest),
        "place": where(centre[np.newaxis])[0],
        "parents": list(junction.parents),
        "children": list(junction.children),
    }


def _seen(track: Track, save: int, where: _Coordinates) -> list[dict[str, Any]]:
    atoms = track.atoms_at(save)
    arrived = np.full(len(atoms), np.nan)
    if atoms.arrived_masses is not None:
        arrived = atoms.arrived_masses
    return [
        {
            "identity": int(atoms.identities[k]),
            "place": place,
            "mass": _rounded(atoms.masses[k])[0],
            "arrived": _rounded(arrived[k])[0],
            "forming": bool(atoms.is_forming[k]),
        }
        for k, place in enumerate(where(atoms.points) if len(atoms) else [])
    ]


def _thumbnail(run: Run, frames: Frames) -> dict[str, Any] | None:
    """The last density, coarse; of particles on the circle their density in bins."""
    last = run.states[frames.choice.saves[-1]]
    density = density_part(last)
    if density is None:
        return _binned(last) if frames.domain == "circle" else None
    view = frames.choice.views[density.geometry]
    while view.cells > THUMBNAIL and view.coarsened().cells < view.cells:
        view = view.coarsened()
    return {"grid": view.description(), "values": _three(view.values(density))}


def _binned(particles: AnyMeasure) -> dict[str, Any]:
    atoms = atoms_of(particles)
    angles = np.mod(np.arctan2(atoms.points[:, 1], atoms.points[:, 0]), TURN)
    step = TURN / BINS
    masses, _ = np.histogram(angles, BINS, (0.0, TURN), weights=atoms.masses)
    grid = {"n": BINS, "first": step / 2, "step": step}
    return {"grid": grid, "values": _three(masses / step)}


def _three(values: FloatArray) -> list[float]:
    return [float(f"{value:.3g}") for value in values.ravel().tolist()]
