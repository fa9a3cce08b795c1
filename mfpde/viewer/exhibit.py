"""One run as the page shows it: facts, frames, landscape, diagnostics, atoms in time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import sphere
from mfpde.measures.measure import AnyMeasure
from mfpde.measures.sampling import as_atoms
from mfpde.plotting.angle_view import density_of
from mfpde.plotting.landscape import external_field, largest_sum, neurons_of
from mfpde.runs.run import Run, spread_indices
from mfpde.tracking import Track
from mfpde.tracking.paths import join_atoms
from mfpde.tracking.track import stack_bands
from mfpde.viewer.frames import Frames, choose_frames, describe_frames, notes_of
from mfpde.viewer.packed import Pack, round_to

DIGITS = 9
DIGITS_OF_MASS = 15
DIGITS_OF_PLACE = 7
MOST_POINTS = 2000
"""Points of a curve of diagnostics."""
THUMBNAIL = 32 * 64
"""Values of the last state on a card."""


class Exhibit(NamedTuple):
    """A run in a page: its card among many runs, and the text of all that opens with it."""

    card: dict[str, Any]
    text: str


def exhibit_of(
    run: Run, name: str, *, parameters: Mapping[str, Any] | None = None, room: int
) -> Exhibit:
    """Turn a run into what a page holds of it, in about ``room`` numbers of two bytes.

    ``parameters`` tell it from the other runs of the page, by name.  A run without saves, or on
    a geometry without a picture, is a ValueError.
    """
    frames, pack, track = choose_frames(run, room), Pack(), run.track
    facts = dict(run.facts)
    if "version" in run.statistics:
        facts["version"] = f"mfpde {run.statistics['version']}"
    card = {
        "name": name,
        "parameters": dict(parameters or {}),
        "domain": frames.domain,
        "facts": [list(fact) for fact in facts.items()],
        "thumbnail": _thumbnail(run, frames),
        "middle": _middle(run.states[-1]) if frames.domain == "sphere" else None,
        "atoms": None if track is None else int(track.counts[-1]),
        "forming": 0 if track is None else _count_forming(track, -1),
    }
    description = {
        "notes": notes_of(run, frames),
        "frames": describe_frames(run, frames, pack),
        "landscapes": _describe_landscapes(run, frames, pack),
        "diagnostics": _diagnostics(run, frames.domain),
        "track": None if track is None else _describe_track(run, track, frames),
        "breakpoints": list(run.layers.breakpoints) if run.layers is not None else [],
    }
    return Exhibit(card, pack.text(description))


ANGLES = 721
RINGS = 128
MANY_LAYERS = 8
MOST_LAYERS = 64
LARGEST = 3e37


def _describe_landscapes(run: Run, frames: Frames, pack: Pack) -> list[dict[str, Any]]:
    """The landscape of each layer with external terms, and the times between which it acts.

    A run of more than 64 layers has none.
    """
    layers: list[Any] = [(run.equation, 0.0, None)]
    if run.layers is not None:
        times = run.layers.breakpoints.tolist()
        layers = list(zip(run.layers.equations, times, times[1:], strict=False))
    if len(layers) > MOST_LAYERS:
        return []
    rings = RINGS // 2 if len(layers) > MANY_LAYERS else RINGS
    return [
        {"from": start, "to": end, **_describe_landscape(equation, frames, rings, pack)}
        for equation, start, end in layers
        if equation is not None and equation.externals
    ]


def _describe_landscape(
    equation: MeanFieldEquation, frames: Frames, rings: int, pack: Pack
) -> dict[str, Any]:
    """Neurons, V (else the drift along an angle), and the largest a.x + b on the sphere.

    On the circle and on zonal grids V stands against the angle, on the sphere on rings.
    """
    view = frames.view
    neurons = neurons_of(equation, 3 if view is None else view.dimension)
    axis = None if frames.grid is None else frames.grid.geometry.axis
    told = [
        {
            # Along the axis of a zonal grid.
            "a": n.direction.tolist() if axis is None else [float(n.direction @ axis)],
            "w": float(n.weight) if np.ndim(n.weight) == 0 else None,
            "b": n.bias,
        }
        for n in neurons
    ]
    found: dict[str, Any] = {"neurons": told, "field": None, "zone": None}
    if view is not None:
        angles = np.linspace(0.0, view.span, ANGLES)
        along, name = external_field(equation, angles, view)
        return {**found, "field": {"name": name, **_put(along, pack)}}
    grid = {"rows": rings, "columns": 2 * rings}
    angles = np.arange(2 * rings) * np.pi / rings
    points = sphere.points_at((angles[:rings, np.newaxis] + angles[1] / 2), angles)
    if all(term.is_gradient for term in equation.externals):
        values = np.asarray(sum(term.value(points) for term in equation.externals))
        found["field"] = {"name": "V", **grid, **_put(values, pack)}
    largest = largest_sum(neurons, points) if neurons else np.zeros(1)
    if (largest < 0).any():
        found["zone"] = {**grid, **_put(largest, pack)}
    return found


def _put(values: FloatArray, pack: Pack) -> dict[str, Any]:
    shown = np.clip(values, -LARGEST, LARGEST)
    ends = {"low": float(shown.min()), "high": float(shown.max())}
    return {**ends, **pack.add_halves(shown)}


def _diagnostics(run: Run, domain: str) -> dict[str, Any]:
    """The curves of the diagnostics, all saves or as many as a curve can show."""
    kept, curves = spread_indices(len(run.times), MOST_POINTS), {}
    for name, values in run.diagnostics.items():
        if values.ndim != 1 or not np.isfinite(values).any():
            continue
        known = run.quantities.get(name)
        unit = "" if known is None or known.unit == "unknown" else known.unit
        digits = DIGITS_OF_MASS if name == "mass" else DIGITS
        curves[name] = {
            "meaning": "" if known is None else known.meaning,
            "unit": unit.replace("area", "radian") if domain == "circle" else unit,
            "values": round_to(values[kept], digits),
        }
    return {"times": round_to(run.times[kept], DIGITS), "curves": curves}


def _describe_track(run: Run, track: Track, frames: Frames) -> dict[str, Any]:
    """Paths, junctions, the atoms that are seen at each frame, and how many there are."""
    save_at = {float(time): k for k, time in enumerate(track.times)}
    saves = [save_at.get(float(time)) for time in run.times[frames.saves]]
    return {
        "paths": [
            {
                "times": round_to(path.times, DIGITS),
                "places": _places(path.points, frames),
                "mass": float(path.masses.max()),
            }
            for path in track.paths.values()
        ],
        "bands": _describe_bands(track),
        "junctions": [
            {
                "kind": event.kind,
                "time": float(event.time),
                "place": _places(join_atoms(event.points, event.masses)[0], frames)[0],
            }
            for event in track.events
        ],
        "seen": [[] if k is None else _seen(track, k, frames) for k in saves],
        "counts": [None if k is None else int(track.counts[k]) for k in saves],
        "forming": [0 if k is None else _count_forming(track, k) for k in saves],
        "verdicts": ["" if k is None else track.verdicts[k] for k in saves],
    }


def _count_forming(track: Track, save: int) -> int:
    """Number of the atoms of a save that are forming, which the count contains."""
    seen = track.seen[save]
    return int((seen.is_forming & (seen.identities > 0)).sum())


def _places(points: FloatArray, frames: Frames) -> list[list[float | None]]:
    found = frames.coordinates(np.atleast_2d(points))
    return [round_to(row, DIGITS_OF_PLACE) for row in found]


def _describe_bands(track: Track) -> list[dict[str, Any]]:
    """The tree of the atoms: edges of a band for each, and what is at its ends."""
    bands = stack_bands(track)
    edges = bands.low, bands.arrived, bands.high
    return [
        {
            "identity": path.identity,
            "times": round_to(bands.times[is_alive], DIGITS),
            "low": round_to(low[is_alive], DIGITS),
            "arrived": round_to(arrived[is_alive], DIGITS),
            "high": round_to(high[is_alive], DIGITS),
            "birth": None if path.birth is None else path.birth.event.kind,
            "end": None if path.end is None else path.end.event.kind,
            "there": path.end is None,
        }
        for path, is_alive, low, arrived, high in zip(
            bands.paths, bands.is_alive, *edges, strict=True
        )
    ]


def _seen(track: Track, save: int, frames: Frames) -> list[dict[str, Any]]:
    """The atoms of a save."""
    atoms = track.seen[save]
    columns = {
        "identity": atoms.identities.tolist(),
        "place": _places(atoms.points, frames),
        "mass": atoms.masses.tolist(),
        "arrived": round_to(atoms.arrived_masses, DIGITS),
    }
    return [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]


def _middle(state: AnyMeasure) -> list[float | None]:
    """Mean point of the mass of a state on the sphere."""
    cells = as_atoms(state)
    return round_to(cells.masses @ cells.points / cells.total_mass, 3)


def _thumbnail(run: Run, frames: Frames) -> dict[str, Any] | None:
    """The last density, coarse; None for particles on the sphere."""
    density = density_of(run.states[-1])
    if density is None or frames.grid is None:
        return None
    grid = frames.grid.coarsen(THUMBNAIL)
    return {"grid": grid.description(), "values": round_to(grid.values(density), 3)}
