"""What tests of pictures look for in figures, and runs that no solver has to compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from equations import ascent, descent
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.legend import Legend

import mfpde
from mfpde.measures import Event
from mfpde.runs.stopping import StopReason
from mfpde.tracking import Junction, SeenAtoms, Track
from validation.circle_cases import density_of, points_at, poisson


def by_gid(where: Artist, gid: str) -> list[Any]:
    """Artists of this name in a figure, or on axes and their insets."""
    return where.findobj(lambda artist: artist.get_gid() == gid)


def legend_of(figure: Figure) -> set[str]:
    """Texts of all legends of a figure and its parts."""
    legends = figure.findobj(Legend)
    return {text.get_text() for legend in legends for text in legend.get_texts()}


def lay_out(figure: Figure) -> Figure:
    figure.draw_without_rendering()
    return figure


def is_within_page(figure: Figure) -> bool:
    """Whether nothing of a figure is cut by the edge of its page."""
    box, (width, height) = lay_out(figure).get_tightbbox(), figure.get_size_inches()
    return 0 <= box.x0 < box.x1 <= width and 0 <= box.y0 < box.y1 <= height


# Measures and runs ----------------------------------------------------------------------------

NEURONS = mfpde.Perceptron([[-0.9967, 0.0806], [-0.6199, -0.7847]], [0.63, -0.47])
DESCENT = descent(5.0, NEURONS)


def poisson_kernel(circle: mfpde.Circle, r: float) -> mfpde.Density:
    """The Poisson kernel about the angle 2."""
    return density_of(circle, poisson(circle.angles, r, 2.0))


def bump(sphere: mfpde.Sphere, centre: Any, sharpness: float) -> mfpde.Density:
    centre = np.array(centre) / np.linalg.norm(centre)
    return mfpde.Density.from_function(
        sphere, lambda x: np.exp(sharpness * (x @ centre - 1))
    )


def run_of(
    states: Sequence[Any],
    equation: Any = None,
    *,
    times: Any = None,
    track: Track | None = None,
    **diagnostics: Any,
) -> mfpde.Run:
    """A run that holds these states, at the times 0, 1, ... by default."""
    times = np.arange(float(len(states))) if times is None else np.asarray(times)
    masses = {"mass": np.array([state.total_mass for state in states])}
    end = float(times[-1])
    return mfpde.Run(
        equation=equation,
        times=times,
        states=list(states),
        diagnostics=masses | diagnostics,
        stop=StopReason.of("t_end", time=end),
        final=states[-1],
        final_time=end,
        track=track,
    )


def kuramoto_run(
    *, equation: Any = DESCENT, times: Any = None, cells: int = 256
) -> mfpde.Run:
    """Exact ascent at beta = 0: Poisson kernels, r^2/(1-r^2) = e^t r0^2/(1-r0^2)."""
    times = np.linspace(0.0, 10.0, 21) if times is None else times
    odds = np.exp(times) * 0.01 / 0.99
    radii = np.sqrt(odds / (1 + odds))
    kernels = [poisson_kernel(mfpde.Circle(cells), r) for r in radii]
    return run_of(
        [mfpde.Measure(kernel) for kernel in kernels],
        equation,
        times=times,
        track=empty_track(times, 2),
        energy=radii**2 / 2,
        dissipation=radii**2 * (1 - radii**2) / 2,
        largest_density=np.array([kernel.values.max() for kernel in kernels]),
    )


def particle_run(count: int) -> mfpde.Run:
    start = 2 * np.pi * (np.arange(count) + 0.5) / count
    states = [mfpde.Atoms(points_at(start - 0.2 * t * np.sin(start))) for t in range(3)]
    return run_of(states, energy=np.full(3, np.nan))


def zonal_run() -> mfpde.Run:
    zonal = mfpde.Zonal(8, 128)
    states = [
        mfpde.Density.from_function(zonal, lambda x, r=r: np.exp(r * x[:, -1]))
        for r in np.linspace(0.0, 30.0, 6)
    ]
    neuron = mfpde.Perceptron([zonal.axis], [1.0], biases=[0.5])
    equation = ascent(8.0, neuron)
    numbers = {name: np.exp(-np.arange(6.0)) for name in ("energy", "dissipation")}
    times = np.linspace(0.0, 3.0, 6)
    return run_of(list(map(mfpde.Measure, states)), equation, times=times, **numbers)


def layered_run(geometry: Any) -> mfpde.Run:
    """A run that holds one narrow bump at five times, over a layer each of two units of time.

    The layers have other neurons; the first gathers mass and the second spreads it.  The save
    at the breakpoint, t = 2, is the last of the first.
    """
    first, second = np.eye(geometry.dimension)[:2]
    if geometry.axis is not None:
        first, second = geometry.axis, -geometry.axis
    one, other = (
        toward(4.0, mfpde.Perceptron([unit], [0.8]))
        for unit, toward in ((first, ascent), (second, descent))
    )
    narrow = mfpde.Density.from_function(
        geometry, lambda x: 0.02 + np.exp(25 * (x @ first - 1))
    )
    run = run_of([mfpde.Measure(narrow.normalized())] * 5, other)
    return replace(run, layers=mfpde.Layers([(one, 2.0), (other, 2.0)]))


# Tracks ---------------------------------------------------------------------------------------

TIMES = np.arange(6.0)
# Atoms 1 and 2 merge into 4 between 2 and 3, over the angle 0; 3 is born, and dies.
ANGLES = {1: [0.3, 0.2, 0.1], 2: [-0.3, -0.2, -0.1], 3: [2.0, 2.0, 2.0], 4: [0.0] * 3}
MASSES = {1: 0.3, 2: 0.3, 3: 0.2, 4: 0.6}
FIRST = {1: 0, 2: 0, 3: 1, 4: 3}
EVENTS = (
    ("birth", 0.5, [3], 0, (), (3,)),
    ("merge", 2.5, [1, 2], 2, (1, 2), (4,)),
    ("death", 3.5, [3], 2, (3,), ()),
)


def sighting(
    points: Any, masses: Any, identities: Any = 0, *, is_forming: Any = False
) -> SeenAtoms:
    """The atoms of a save, of identities that are not known yet by default."""
    masses = np.array(masses, dtype=float)
    names = np.broadcast_to(np.asarray(identities, dtype=np.int64), masses.shape)
    forming = np.broadcast_to(is_forming, masses.shape)
    return SeenAtoms(np.array(points), masses, forming, names, masses)


def empty_track(times: Any, dimension: int) -> Track:
    """A track without atoms; a run that has it is not searched for any."""
    seen = (sighting(np.empty((0, dimension)), []),) * len(times)
    return Track(np.asarray(times), seen, ("",) * len(times), ())


def placed(angles: Any, dimension: int) -> np.ndarray:
    """Points at angles of the circle, or of a great circle that is tilted."""
    flat = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    return flat if dimension == 2 else flat @ np.array([[0.6, 0, 0.8], [0, 1.0, 0]])


def known_track(dimension: int) -> Track:
    """A track with a birth, a merge and a death."""

    def at(identities: list[int], index: Any) -> tuple[np.ndarray, np.ndarray]:
        angles = np.array([ANGLES[i][index(i)] for i in identities])
        return placed(angles, dimension), np.array([MASSES[i] for i in identities])

    seen = []
    for save in range(len(TIMES)):
        held = [i for i in ANGLES if FIRST[i] <= save < FIRST[i] + 3]
        seen.append(sighting(*at(held, lambda i, save=save: save - FIRST[i]), held))
    junctions = tuple(
        Junction(
            Event(kind, time, *at(identities, lambda _, last=last: last)),
            *(np.floor(time), np.ceil(time)),
            parents,
            children,
        )
        for kind, time, identities, last, parents, children in EVENTS
    )
    return Track(TIMES, tuple(seen), ("",) * len(TIMES), junctions)


def known_run(geometry: Any) -> mfpde.Run:
    """Uniform states with a known track."""
    neuron = mfpde.Perceptron(np.eye(1, geometry.dimension), [0.1])
    states = [mfpde.Measure(mfpde.uniform(geometry))] * len(TIMES)
    track = known_track(geometry.dimension)
    return run_of(states, ascent(neuron), times=TIMES, track=track, energy=TIMES)


# On the page of runs ---------------------------------------------------------------------------

PAIR = mfpde.Perceptron([[1.0, 0.0], [0.6, 0.8]], [0.8, -0.5])
DRIVEN = descent(5.0, PAIR)
ASCENT = ascent(4.0)


def sphere_run(nlat: int = 32) -> mfpde.Run:
    """A bump on the sphere that moves and becomes narrower."""
    sphere = mfpde.Sphere(nlat)
    neurons = mfpde.Perceptron([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], [1.0, -0.7])
    states = []
    for share in np.linspace(0.0, 1.0, 4):
        angle = 0.9 - 0.5 * share
        heights = sphere.points @ [np.cos(angle), 0.0, np.sin(angle)]
        values = 0.05 + np.exp((4 + 30 * share) * (heights - 1))
        states.append(mfpde.Measure(mfpde.Density(sphere, values).normalized()))
    energy = np.exp(-np.arange(4.0) / 30)
    return run_of(states, descent(3.0, neurons), energy=energy)


def runs_of_all_kinds() -> dict[str, mfpde.Run]:
    circle = mfpde.uniform(mfpde.Circle(128))
    times = {"t_end": 6.0, "save_every": 0.5, "track": mfpde.Concentration()}
    few = {"t_end": 2.0, "save_at": [0.0, 1.0, 2.0]}
    zonal = mfpde.perturbed_uniform(mfpde.Zonal(6, 64), 0.5)
    return {
        "circle": mfpde.solve(DRIVEN, circle, **times),
        "sphere": sphere_run(),
        "zonal": mfpde.solve(ASCENT, zonal, t_end=1.0, save_every=0.5),
        "particles": mfpde.solve_particles(DRIVEN, mfpde.quantized(circle, 50), **few),
    }
