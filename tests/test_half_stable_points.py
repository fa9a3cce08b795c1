"""Mass that stands at a point of rest from which it leaves on one side is noted."""

import warnings

import numpy as np
import pytest
from equations import ascent, descent

import mfpde
from mfpde import Attention, Circle, Density, MeanFieldEquation, Perceptron, Zonal
from validation.circle_cases import points_at

WORDS = "attracts from one side and repels to the other"


def opposite_neurons(axis: np.ndarray, weights: tuple[float, float]) -> Perceptron:
    return Perceptron([axis, -axis], weights)


def solve_tilted(geometry, weights, *, beta=8.0, direction="ascent", **arguments):
    """A run from 1 + .3 z, z the height over the common plane of two opposite neurons."""
    axis = np.eye(geometry.dimension)[-1]
    equation = MeanFieldEquation(
        Attention(beta), opposite_neurons(axis, weights), direction=direction
    )
    start = Density.from_function(geometry, lambda x: 1 + 0.3 * x[..., -1])
    return mfpde.solve(equation, start, t_end=30.0, save_every=5.0, **arguments)


@pytest.mark.parametrize(
    ("cells", "weights", "beta"),
    [(64, (0.7, -0.45), 8.0), (64, (-0.67, -0.57), 20.0), (192, (-0.66, -0.52), 8.0)],
)
def test_steps_do_not_shrink_where_the_face_of_a_kink_comes_to_rest(
    cells, weights, beta
):
    limit = mfpde.StepLimit(2000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = solve_tilted(
            Circle(cells), weights, beta=beta, direction="descent", stop=limit
        )
    assert run.final_time == 30.0


@pytest.mark.parametrize("weights", [(0.6, -0.5), (0.8, -0.3), (-0.4, 0.7)])
def test_what_a_half_stable_kink_holds_is_held_on_coarse_grids(weights):
    """In descent: a grid that lets it slip through the kink's cell is twice as far off."""
    axis = points_at(0.7)
    equation = descent(Attention(5.0), opposite_neurons(axis, weights))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        coarse, fine = (
            mfpde.solve(
                equation,
                mfpde.perturbed_uniform(Circle(cells), 0.3, seed=1),
                t_end=10.0,
                save_at=[10.0],
            ).final
            for cells in (256, 2048)
        )
    assert mfpde.wasserstein(coarse, fine) <= 7.6e-3


@pytest.mark.parametrize("grid", [Zonal(5, 96), Zonal(5, 192), Circle(192)], ids=repr)
def test_mass_that_the_grid_holds_is_noted(grid):
    """V' = .6 z and .5 |z|: 44 % of the mass comes to the equator from below, and passes it."""
    direction = "ascent" if grid.dimension == 5 else "descent"
    with pytest.warns(UserWarning, match=WORDS):
        run = solve_tilted(grid, (0.6, -0.5), direction=direction)
    (note,) = run.notes
    assert repr(grid) in note
    assert grid.dimension == 2 or "angle 1.5" in note
    assert WORDS in str(run)


@pytest.mark.parametrize("geometry", [Circle(192), Zonal(5, 192)], ids=repr)
@pytest.mark.parametrize("direction", ["ascent", "descent"])
@pytest.mark.parametrize("weights", [(0.6, 0.5), (-0.6, -0.5)], ids=["valley", "ridge"])
def test_a_kink_that_attracts_from_both_sides_or_repels_to_both_has_no_note(
    geometry, direction, weights
):
    assert not solve_tilted(geometry, weights, direction=direction).notes


def test_atoms_of_random_neurons_have_no_note():
    generator = np.random.default_rng(3)
    for seed in range(8):
        neurons = Perceptron(
            generator.normal(size=(3, 2)), 0.5 * generator.normal(size=3)
        )
        equation = ascent(Attention(8.0), neurons)
        start = mfpde.perturbed_uniform(Circle(128), 0.3, seed=seed)
        run = mfpde.solve(equation, start, t_end=20.0, save_every=2.0)
        assert not run.notes


def test_what_has_passed_an_atom_on_a_kink_does_not_belong_to_it():
    """The atom repels what is behind its kink, which flows on to the cluster at the neuron."""
    circle = Circle(400)
    angles, kink = np.array([0.45, -2.93]), -2.93 + np.pi / 2
    neurons = Perceptron(points_at(angles), [-1.2, 0.44])
    equation = descent(Attention(25.0), neurons)
    density = mfpde.bumps(circle, angles=[0.45], widths=[0.08], masses=[1.0])
    cluster = Density(circle, 0.75 * density.values)
    atom = mfpde.Atoms([points_at(kink)], [0.25])
    report = mfpde.concentration(mfpde.Measure(cluster, atom), equation)
    masses = sorted(region.mass for region in report.clusters)
    assert masses == pytest.approx([0.25, 0.75], abs=1e-3)
