"""Refinement of a run's grid: what it keeps, what it gains, and when it stays away."""

import json
from itertools import pairwise

import numpy as np
import pytest

import mfpde
from mfpde.commands.command_line import main
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Sphere, Zonal
from mfpde.measures.measure import Density, Measure, uniform
from mfpde.solver.refinement import (
    DEFAULT_TOLERANCE,
    RefinementCriterion,
    coarse_to_fine,
    doubled_state,
    largest_grid,
)
from mfpde.solver.solve import solve
from mfpde.storage import RunWriter, load, open_dataset, save, stored_settings
from mfpde.terms import Attention, Perceptron
from mfpde.transport import State, scheme_for
from validation.circle_cases import poisson

ASCENT = MeanFieldEquation(Attention(4.0), direction="ascent")


def two_bumps(circle):
    """Return a smooth start that collapses to two clusters of different masses."""

    def values(points):
        angle = np.arctan2(points[..., 1], points[..., 0])
        return 1 + 0.6 * np.cos(2 * angle) + 0.2 * np.sin(angle + 0.3)

    return Density.from_function(circle, values)


@pytest.fixture(scope="module", params=["grid", "exact"])
def refined(request):
    """Return a refined run, with its atoms followed."""
    return solve(
        ASCENT,
        two_bumps(Circle(64)),
        t_end=14.0,
        save_every=1.0,
        atoms=request.param,
        refine=True,
        max_cells=256,
        track=mfpde.Concentration(),
    )


def collapsed(refined):
    """The same run from the start on the finest grid of ``refined``, and on the first."""
    atoms = "exact" if any(len(state.atoms) for state in refined.states) else "grid"
    return [
        solve(ASCENT, two_bumps(Circle(cells)), t_end=14.0, save_every=1.0, atoms=atoms)
        for cells in (256, 64)
    ]


@pytest.mark.filterwarnings("ignore:the grid is coarse")
def test_a_refined_run_is_nearly_one_on_the_finest_grid(refined):
    fine, coarse = collapsed(refined)
    # Compared as point values: W1 takes a density as uniform in each cell.
    distances = [
        mfpde.wasserstein(
            Measure(one.density.interpolated(Circle(256)), one.atoms), other
        )
        for one, other in zip(refined.states, fine.states, strict=True)
    ]
    assert max(distances) <= DEFAULT_TOLERANCE
    missed = mfpde.wasserstein(coarse.final, fine.final)
    assert distances[-1] <= missed / 100
    assert np.abs(refined.energies - fine.energies).max() <= 1e-4 * fine.energies.max()


def test_mass_is_exact_and_the_energy_still_grows(refined):
    assert refined.final.geometry == Circle(256)
    assert refined.mass_drift <= 1e-14
    assert np.diff(refined.energies).min() >= -1e-14


def test_the_record_tells_when_and_why(refined):
    chain = [Circle(64), Circle(128), Circle(256)]
    assert [(r.before, r.after) for r in refined.refinements] == list(pairwise(chain))
    times = [refinement.time for refinement in refined.refinements]
    assert times == sorted(times)
    for time, state in zip(refined.times, refined.states, strict=True):
        # The save of a moment comes before its refinement.
        assert state.geometry == chain[sum(t < time for t in times)]
    for refinement in refined.refinements:
        assert str(refinement) in str(refined)
    assert "max_cells = 256" in str(refined)
    assert len(refined.track.times) == len(refined.times)


def test_a_refined_run_is_stored_to_the_bit(refined, tmp_path):
    path = tmp_path / "refined.zarr"
    save(refined, path)
    again = load(path)
    assert again.refinements == refined.refinements
    assert np.array_equal(again.times, refined.times)
    for one, other in zip(
        [*again.states, again.final], [*refined.states, refined.final], strict=True
    ):
        assert one.geometry == other.geometry
        assert np.array_equal(one.density.values, other.density.values)
        assert np.array_equal(one.atoms.points, other.atoms.points)
    for name, values in refined.diagnostics.items():
        assert np.array_equal(again.diagnostics[name], values)
    dataset = open_dataset(path)
    widths = {"density": 64, "density_2": 128, "density_3": 256}
    masses = sum(
        dataset[n].sum(n.replace("density", "angle")) / m * 2 * np.pi
        for n, m in widths.items()
    )
    carried = [state.atoms.total_mass for state in refined.states]
    np.testing.assert_allclose(masses + carried, 1.0, rtol=1e-13)


@pytest.mark.parametrize("geometry", [Circle(64), Sphere(32)], ids=["circle", "sphere"])
@pytest.mark.parametrize("width", [5.0, 2.0, 1.0])
def test_a_doubling_keeps_mass_atoms_and_nearly_the_energy(geometry, width):
    centre = geometry.points.reshape(-1, geometry.dimension)[geometry.shape[-1] // 3]
    scale = (width * geometry.spacing) ** -2
    bump = Density.from_function(
        geometry, lambda x: np.exp(scale * (x @ centre - 1)) + 1e-3
    )
    equation = MeanFieldEquation(Attention(4.0), direction="ascent")
    fine = mfpde.solver.refinement.doubled(geometry)
    scheme = scheme_for(None, geometry)
    before, after = (scheme.transport(equation.on(g)) for g in (geometry, fine))
    atoms = -centre[np.newaxis], np.array([0.25])
    state = State(0.75 * before.represented(np.array(bump.masses)), *atoms)
    finer = doubled_state(state, geometry, after)
    assert finer.masses.min() >= 0
    assert abs(finer.total_mass - state.total_mass) <= 1e-14
    assert np.array_equal(finer.points, state.points)
    energies = [
        transport.grid.energy(s.masses, atoms, transport.flow(s).moments)
        for transport, s in ((before, state), (after, finer))
    ]
    # A sphere's remapping takes values as means over cells.
    bound = 5e-4 if isinstance(geometry, Circle) else 3e-3
    assert abs(energies[1] / energies[0] - 1) <= bound


def distance_of(circle, values):
    """The coarse-to-fine distance of a density on a circle."""
    transport = scheme_for(None, circle).transport(ASCENT.on(circle))
    state = State(values * circle.areas, np.empty((0, 2)), np.empty(0))
    return coarse_to_fine(transport, state, [])


def test_the_coarse_to_fine_distance_follows_the_strip_of_analyticity():
    circle = Circle(1024)
    found = [
        distance_of(circle, poisson(circle.angles, np.exp(-strip * circle.spacing)))
        for strip in (30.0, 5.4, 3.3, 2.0, 1.2)
    ]
    assert found == sorted(found)
    assert found[0] < 1e-6 < found[1] < found[2] < DEFAULT_TOLERANCE < found[4]


def test_the_distance_of_a_jump_falls_with_the_square_of_the_cells():
    found = []
    for cells in (126, 254, 510):
        # The jumps lie between the two cells of a pair.
        circle = Circle(cells)
        found.append(distance_of(circle, (circle.angles < np.pi) / np.pi))
    np.testing.assert_allclose(-np.diff(np.log2(found)), 2.0, atol=0.05)


@pytest.mark.parametrize("direction", ["ascent", "descent"])
def test_smooth_data_never_refine(direction):
    equation = MeanFieldEquation(Attention(4.0), direction=direction)
    run = solve(equation, two_bumps(Circle(512)), t_end=3.0, refine=True)
    assert run.refinements == ()


def test_a_jump_does_not_refine_for_ever():
    neuron = Perceptron([[1.0, 0.0]], [-0.5])
    equation = MeanFieldEquation(neuron, direction="descent")
    run = solve(equation, uniform(Circle(64)), t_end=2.0, refine=True, max_cells=65536)
    assert run.final.geometry.num_cells <= 512
    assert "not refined" not in str(run)


def test_a_sphere_is_refined_with_its_atoms():
    sphere = Sphere(32)
    centre = np.array([0.6, 0.0, 0.8])
    start = Density.from_function(sphere, lambda x: np.exp(6 * (x @ centre - 1)))
    atoms = mfpde.Atoms([[0.0, 1.0, 0.0]], [0.2])
    measure = Measure(Density(sphere, 0.8 * start.values), atoms)
    run = solve(
        MeanFieldEquation(Attention(2.0), direction="ascent"),
        measure,
        t_end=3.0,
        save_every=1.5,
        refine=True,
        max_cells=64 * 128,
    )
    assert run.final.geometry == Sphere(64)
    assert len(run.refinements) == 1
    assert run.mass_drift <= 1e-13
    assert run.final.atoms.total_mass == pytest.approx(0.2, abs=1e-15)


def test_the_largest_grid_follows_beta_and_max_cells():
    assert largest_grid(Circle(64), ASCENT, 700) == Circle(512)
    assert largest_grid(Circle(64), ASCENT, None) == Circle(1024)
    assert largest_grid(Circle(4096), ASCENT, None) == Circle(8192)
    assert largest_grid(Sphere(32), ASCENT, 64 * 128) == Sphere(64)


@pytest.mark.parametrize(
    ("geometry", "arguments", "message"),
    [
        (Circle(64), {"refine": True, "max_cells": 63}, "max_cells = 63"),
        (Circle(64), {"refine": True, "max_cells": 128.5}, "max_cells = 128.5"),
        (Circle(64), {"max_cells": 128}, "max_cells = 128"),
        (Circle(64), {"refine_tolerance": 0.1}, "refine_tolerance = 0.1"),
        (Circle(64), {"refine": True, "refine_tolerance": 0.0}, "refine_tolerance"),
        (Circle(64), {"refine": "yes"}, "refine = 'yes'"),
        (Sphere(32), {"refine": True, "max_cells": 64}, "nlat \\* nlon"),
        (Zonal(5, 64), {"refine": True}, "Circle or a Sphere"),
    ],
)
def test_bad_settings_are_refused(geometry, arguments, message):
    with pytest.raises(ValueError, match=message):
        solve(ASCENT, uniform(geometry), t_end=1.0, **arguments)


def test_the_criterion_leaves_an_atom_of_one_cell_alone():
    circle = Circle(256)
    masses = np.full(256, 0.1 / 256)
    masses[40] += 0.9
    transport = scheme_for(None, circle).transport(ASCENT.on(circle))
    state = State(masses, np.empty((0, 2)), np.empty(0))
    assert RefinementCriterion().reason(transport, state, transport.flow(state)) is None


TEXT = """
[geometry]
kind = "circle"
cells = 64
[attention]
beta = 4.0
[equation]
direction = "ascent"
[start]
kind = "bumps"
angles = [1.0, 3.5]
widths = [0.5, 0.5]
masses = [0.6, 0.4]
background = 0.1
[solve]
t_end = 9.0
save_every = 1.0
atoms = "exact"
refine = true
max_cells = 512
[concentration]
"""


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Return a settings file in a working directory of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(TEXT)
    return "run.toml"


def test_a_killed_refined_run_is_resumed(config, monkeypatch, capsys):
    arguments = ["run", config, "--quiet", "--out"]
    assert main([*arguments, "whole.zarr"]) == 0
    original, left = RunWriter.save, [4]

    def failing(self, *given):
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        original(self, *given)

    with monkeypatch.context() as patched:
        patched.setattr(RunWriter, "save", failing)
        assert main([*arguments, "part.zarr"]) == 130
    assert main(["resume", "part.zarr", "--quiet"]) == 0
    whole, resumed = load("whole.zarr"), load("part.zarr")
    assert [r.after for r in resumed.refinements] == [
        r.after for r in whole.refinements
    ]
    assert len(whole.refinements) == 3
    assert np.array_equal(resumed.times, whole.times)
    assert mfpde.wasserstein(resumed.final, whole.final) <= 1e-5
    assert json.loads(json.dumps(stored_settings("part.zarr")))["solve"]["refine"]
    assert main(["show", "part.zarr"]) == 0
    assert "refined at t" in capsys.readouterr().out
    assert main(["plot", "part.zarr", "--out", "part.pdf"]) == 0


def test_bad_settings_are_told_with_their_section(config, capsys):
    assert main(["run", config, "--set", "solve.max_cells=10"]) == 2
    told = capsys.readouterr().err
    assert "[solve]" in told
    assert "max_cells = 10" in told
