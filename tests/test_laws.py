"""Laws of the density solver: mass, positivity, energy, symmetries, conventions."""

from __future__ import annotations

import numpy as np
import pytest
from equations import ascent, descent
from scipy.special import eval_gegenbauer, gamma, ive

import mfpde
from validation.circle_cases import density_of

SCHEMES = {
    "circle": ("donor_blended", "semi_lagrangian"),
    "sphere": ("donor_blended", "spectral_donor_blended", "labels", "spectral_labels"),
    "zonal": ("semi_lagrangian",),
}
TRANSPORTS = ["donor_blended", "semi_lagrangian"]
RELU, GELU = (
    mfpde.Perceptron.random(2, 2, seed=777, activation=kind)
    for kind in ("relu", "gelu")
)
VECTORS = mfpde.Perceptron(np.eye(2), [[0.0, 0.6], [-0.4, 0.1]], "tanh")
NEURONS = {"none": [], "relu": [RELU], "gelu": [GELU], "vectors": [VECTORS]}


def smooth_start(circle: mfpde.Circle, turn: float = 0.0) -> mfpde.Density:
    x = circle.angles - turn
    return density_of(circle, 1 + 0.4 * np.cos(x - 1) + 0.3 * np.sin(2 * x))


@pytest.mark.parametrize("seed", range(4))
def test_half_empty_cells_stay_nonnegative_in_steps_of_any_length(seed: int) -> None:
    generator = np.random.default_rng(seed)
    values = generator.exponential(size=64) * (generator.random(64) > 0.5)
    strong = mfpde.Perceptron.random(3, 2, seed=seed, scale=3.0)
    run = mfpde.solve(
        (ascent if seed % 2 else descent)(mfpde.Attention(4.0), strong),
        density_of(mfpde.Circle(64), values),
        t_end=30.0,
        rtol=1.0,
        stop=mfpde.StepLimit(40),
        transport="donor_blended",
    )
    assert run.final.density.values.min() >= 0
    assert abs(run.final.total_mass - 1) <= 1e-12


@pytest.mark.parametrize("toward", [ascent, descent])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_summed_energy_rises_are_a_thousandth_of_the_drop(transport, toward) -> None:
    """Of -s E, after each step of a run into atoms."""
    equation, energies = toward(12.0, RELU), []
    assert equation.energy_is_lyapunov

    class Seen(mfpde.Observer):
        def step(self, progress) -> None:
            energies.append(progress.diagnostic("energy"))

    options = {"t_end": 60.0, "transport": transport, "observer": Seen()}
    mfpde.solve(equation, smooth_start(mfpde.Circle(256)), **options)
    moves = -equation.sign * np.diff(energies)
    assert moves[moves > 0].sum() <= 1e-3 * (-moves.sum())


def test_energy_decays_at_the_rate_of_dissipation() -> None:
    """d(-sE)/dt = -int |v|^2 dmu: central differences against the diagnostic."""
    equation = descent(mfpde.Attention(5.0), RELU)
    run = mfpde.solve(
        equation, smooth_start(mfpde.Circle(512)), t_end=2.0, save_every=0.01
    )
    slope = (run.energies[2:] - run.energies[:-2]) / 0.02
    np.testing.assert_allclose(slope, -run.diagnostics["dissipation"][1:-1], rtol=2e-3)


ROUGH = mfpde.perturbed_uniform(mfpde.Sphere(32), 0.7, seed=3)
TURNED = [
    *((smooth_start(mfpde.Circle(256)), 37, 3.0, name) for name in TRANSPORTS),
    # At the poles eight cells of a ring move as one.
    *((ROUGH, 24, 0.3, name) for name in SCHEMES["sphere"][:2]),
]


@pytest.mark.parametrize(("start", "shift", "t_end", "transport"), TURNED)
@pytest.mark.parametrize("normalized", [False, True])
def test_rotation_by_cells_and_reflection_commute_with_the_flow(
    *, start, shift, t_end, transport, normalized
) -> None:
    geometry, begin = start.geometry, start.values
    width = 2 * np.pi / geometry.shape[-1]
    rotation, mirror = (np.eye(geometry.dimension) for _ in range(2))
    turn = shift * width
    rotation[:2, :2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    # The last cell comes to the first.
    both = 0.0 if geometry.dimension == 2 else -width
    mirror[:2, :2] = [[np.cos(both), np.sin(both)], [np.sin(both), -np.cos(both)]]
    neurons = mfpde.Perceptron.random(2, geometry.dimension, seed=777)

    def final(matrix: np.ndarray, values: np.ndarray) -> np.ndarray:
        directions = neurons.directions @ matrix.T
        biased = mfpde.Perceptron(
            directions, neurons.weights, "gelu", biases=[0.1, -0.2]
        )
        equation = descent(6.0, biased, normalized=normalized)
        begun = mfpde.Density(geometry, values)
        run = mfpde.solve(equation, begun, t_end=t_end, transport=transport)
        return run.final.density.values

    def turned(values: np.ndarray) -> np.ndarray:
        return np.roll(values, shift, axis=-1)

    def mirrored(values: np.ndarray) -> np.ndarray:
        return values[..., ::-1]

    end = final(np.eye(geometry.dimension), begin)
    for matrix, moved in ((rotation, turned), (mirror, mirrored)):
        found = final(matrix, moved(begin))
        np.testing.assert_allclose(found, moved(end), atol=1e-10)


@pytest.mark.parametrize("toward", [ascent, descent])
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("neurons", NEURONS)
def test_w1_to_label_particles_falls_at_second_order(
    toward, normalized, neurons
) -> None:
    """Where vector weights make the drift no gradient there is no energy."""
    equation = toward(5.0, *NEURONS[neurons], normalized=normalized)
    options = {"t_end": 1.5, "save_at": [1.5]}
    fine = smooth_start(mfpde.Circle(4096))
    labels = mfpde.solve_particles(
        equation, fine, method="labels", rtol=1e-7, **options
    ).final

    def error(cells: int) -> float:
        circle = mfpde.Circle(cells)
        run = mfpde.solve(equation, smooth_start(circle), **options)
        assert np.isnan(run.energies).all() == (neurons == "vectors")
        return mfpde.wasserstein(run.final, mfpde.label_density(labels, circle))

    # A ReLU makes the density jump, and where the jump sits in its cell varies with the
    # grid: the order is that over three doublings.
    coarse, fine = error(128), error(1024)
    assert np.log2(coarse / fine) / 3 >= 1.9
    assert fine < 3e-5


GRIDS = {
    "circle": mfpde.Circle(256),
    "sphere": mfpde.Sphere(64),
    "zonal": mfpde.Zonal(6, 192),
}


@pytest.mark.parametrize(
    ("geometry", "transport"),
    # The density of labels is worth a hundredth of it, not this.
    [
        (grid, name)
        for kind, grid in GRIDS.items()
        for name in SCHEMES[kind]
        if name != "labels"
    ],
)
@pytest.mark.parametrize("toward", [ascent, descent])
@pytest.mark.parametrize(
    ("degree", "normalized", "diffusion"),
    [(1, False, 0.0), (2, True, 0.0), (4, False, 0.0), (2, False, 0.02)],
)
def test_the_uniform_state_grows_at_the_rate_of_each_degree(
    *, geometry, transport, toward, degree, normalized, diffusion
) -> None:
    """l (l + d - 2) (s lambda_l / beta - kappa), over lambda_0 with softmax."""
    if diffusion and transport == "spectral_labels":
        pytest.skip("labels do not diffuse")
    beta, amplitude, d = 5.0, 1e-4, geometry.dimension
    bessel = ive(np.array([0, degree]) + d / 2 - 1, beta)
    eigenvalues = gamma(d / 2) * (2 / beta) ** (d / 2 - 1) * bessel
    rate = eigenvalues[1] / beta / (eigenvalues[0] if normalized else 1.0)
    rate = (rate if toward is ascent else -rate) - diffusion
    rate *= degree * (degree + d - 2)
    heights = geometry.points[..., -1]
    wave = np.cos(degree * np.arccos(heights))
    if d > 2:
        wave = eval_gegenbauer(degree, d / 2 - 1, heights)
        wave /= eval_gegenbauer(degree, d / 2 - 1, 1.0)
    start = mfpde.Density(geometry, 1 + amplitude * wave).normalized()
    equation = toward(beta, normalized=normalized, diffusion=diffusion)
    run = mfpde.solve(equation, start, t_end=1.0, transport=transport)
    even = mfpde.uniform(geometry).masses
    before, after = (
        ((s.masses - even) * wave).sum() for s in (start, run.final.density)
    )
    assert np.log(after / before) == pytest.approx(rate, rel=2e-3, abs=2e-6)


@pytest.mark.parametrize("dimension", [2, 3])
def test_atoms_alone_have_a_verdict(dimension) -> None:
    """The axes of S^1 and S^2 are all of the mass, each in a region of its own."""
    report = mfpde.concentration(mfpde.Atoms(np.eye(dimension)), ascent(20.0))
    assert [one.mass for one in report.regions] == [1 / dimension] * dimension


def test_the_heaviest_balls_do_not_know_where_angles_begin() -> None:
    places = [[0.0], [np.pi / 4]]
    starts = [mfpde.bumps(mfpde.Circle(64), angles=a, widths=[0.3]) for a in places]
    reports = [mfpde.concentration(start, ascent(2.0)) for start in starts]
    balls = [report.largest_ball_masses for report in reports]
    np.testing.assert_allclose(*balls, rtol=1e-9)
