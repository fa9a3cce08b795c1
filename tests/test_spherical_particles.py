"""Particles on S^2 whose sums go through the moments, and weighted labels at Gauss nodes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import special_ortho_group

from mfpde import (
    Atoms,
    Attention,
    Density,
    Interaction,
    Layers,
    MeanFieldEquation,
    Perceptron,
    Polynomial,
    Sphere,
    quantized,
    solve_particles,
    uniform,
)
from mfpde.particles import systems
from mfpde.particles.systems import particle_system


def drawn(count, seed=0):
    generator = np.random.default_rng(seed)
    points = generator.standard_normal((count, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    masses = generator.uniform(0.5, 1.5, count)
    return Atoms(points, masses / masses.sum())


def neurons(activation="gelu"):
    return Perceptron(
        [[1.0, 0.2, -0.4], [0.3, -1.0, 0.5]], [0.8, -0.6], activation=activation
    )


TERMS = {
    "attention": Attention(6.0),
    "softmax": Attention(6.0, normalized=True),
    "unshifted": Attention(3.0, kernel="unshifted"),
    "polynomial": Interaction(Polynomial([0.0, 1.0, -0.5, 0.25])),
}


@settings(deadline=None, max_examples=40)
@given(
    name=st.sampled_from([*TERMS, "several"]),
    seed=st.integers(0, 10**6),
    count=st.integers(1, 70),
    spread=st.floats(0.01, 2.0),
)
def test_velocity_and_energy_are_those_of_direct_sums(name, seed, count, spread):
    """Also for clusters, where softmax leaves the kernel's mean small elsewhere."""
    atoms = drawn(count, seed)
    points = np.array([0.0, 0.6, 0.8]) + spread * atoms.points
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    terms = (
        [TERMS["attention"], TERMS["softmax"]] if name == "several" else [TERMS[name]]
    )
    equation = MeanFieldEquation(*terms, neurons(), direction="descent")
    direct, spectral = (
        particle_system(equation, Atoms(points, atoms.masses), method)
        for method in ("direct", "spectral")
    )
    wanted, found = direct.velocity(points), spectral.velocity(points)
    assert np.abs(found - wanted).max() <= 1e-8 * max(1.0, np.abs(wanted).max())
    radial = np.einsum("ni,ni->n", found, points)
    assert np.abs(radial).max() <= 1e-12 * max(1.0, np.abs(wanted).max())
    energies = [system.energy(points) for system in (direct, spectral)]
    if np.isfinite(energies[0]):
        assert energies[1] == pytest.approx(energies[0], rel=1e-9, abs=1e-11)
    else:
        assert np.isnan(energies[1])


@pytest.mark.parametrize("name", TERMS)
def test_many_particles_move_to_the_bit_the_same_on_any_number_of_threads(
    name, monkeypatch
):
    """Shares of few particles, the last one cut short."""
    monkeypatch.setattr(systems, "_SHARE", 16)
    atoms = drawn(70, seed=3)
    equation = MeanFieldEquation(TERMS[name], neurons(), direction="ascent")
    system = particle_system(equation, atoms, "spectral")
    wanted = particle_system(equation, atoms, "direct").velocity(atoms.points)
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(systems, "thread_count", lambda threads=threads: threads)
        found.append((system.velocity(atoms.points), system.energy(atoms.points)))
    np.testing.assert_allclose(found[0][0], wanted, rtol=0, atol=1e-8)
    for velocity, energy in found[1:]:
        np.testing.assert_array_equal(velocity, found[0][0])
        np.testing.assert_array_equal(energy, found[0][1])


@pytest.mark.parametrize("name", ["attention", "softmax"])
def test_trajectories_are_those_of_direct_sums(name):
    equation = MeanFieldEquation(TERMS[name], neurons(), direction="ascent")
    start = drawn(40)
    finals = [
        solve_particles(equation, start, t_end=3.0, method=method, rtol=1e-10).final
        for method in ("direct", "spectral")
    ]
    assert np.abs(finals[0].points - finals[1].points).max() <= 1e-7


def test_trajectories_turn_with_start_and_neurons():
    turn = special_ortho_group.rvs(3, random_state=2)
    start, term = drawn(40), TERMS["softmax"]
    plain = neurons()
    turned = Perceptron(plain.directions @ turn.T, plain.weights, "gelu")
    finals = [
        solve_particles(
            MeanFieldEquation(term, external, direction="ascent"),
            Atoms(start.points @ matrix.T, start.masses),
            t_end=2.0,
            method="spectral",
            time_step=0.05,
        ).final.points
        for external, matrix in ((plain, np.eye(3)), (turned, turn))
    ]
    assert np.abs(finals[0] @ turn.T - finals[1]).max() <= 1e-10


def test_layers_may_end_between_steps():
    first = MeanFieldEquation(TERMS["attention"], direction="ascent")
    second = MeanFieldEquation(TERMS["softmax"], neurons(), direction="descent")
    runs = [
        solve_particles(
            Layers([(first, 0.7), (second, 0.6)]), drawn(30), method=method, rtol=1e-10
        )
        for method in ("direct", "spectral")
    ]
    apart = runs[0].final.points - runs[1].final.points
    assert np.abs(apart).max() <= 1e-8


def test_many_particles_are_summed_spectrally_and_few_directly():
    equation = MeanFieldEquation(Attention(2.0), direction="ascent")
    named = [
        solve_particles(equation, drawn(count), t_end=0.01).statistics
        for count in (50, 300)
    ]
    assert [s["method"] for s in named] == ["direct", "spectral"]
    assert all("rtol=1e-05" in s["integrator"] for s in named)
    assert ["order=5" in s["integrator"] for s in named] == [False, True]


def test_the_default_count_moves_through_moments_in_few_evaluations():
    """ReLU: each particle at a kink in a step spoils its error estimate."""
    equation = MeanFieldEquation(
        Attention(5.0), Perceptron.random(3, 3, seed=111), direction="descent"
    )
    run = solve_particles(equation, uniform(Sphere(32)), t_end=1.0)
    assert len(run.final) == 2000
    assert run.statistics["method"] == "spectral"
    # 50 measured; 2930 at 1e-8.
    assert run.statistics["evaluations"] < 150
    few = quantized(uniform(Sphere(32)), 400)
    quick, exact = (
        solve_particles(equation, few, t_end=0.3, **options).final
        for options in ({}, {"method": "direct", "rtol": 1e-8, "atol": 1e-10})
    )
    assert np.linalg.norm(quick.points - exact.points, axis=1).max() <= 1e-4
    assert np.linalg.norm(quick.points - exact.points, axis=1).mean() <= 1e-5
    assert equation.energy(quick) == pytest.approx(equation.energy(exact), abs=3e-7)


def test_labels_at_gauss_nodes_converge_spectrally():
    """Moments of twice as many labels a ring agree, until the flow is too steep for them."""

    def moments(rings, time):
        start = Density.from_function(
            Sphere(rings), lambda x: 1 + 0.3 * x[..., 2] + 0.2 * x[..., 0] * x[..., 1]
        ).normalized()
        equation = MeanFieldEquation(Attention(3.0), neurons(), direction="ascent")
        run = solve_particles(equation, start, t_end=time, method="labels", rtol=1e-9)
        return Sphere(32).atom_moments(run.final.points, run.final.masses, 6)

    fine = moments(64, 0.5)
    errors = [np.abs(moments(rings, 0.5) - fine).max() for rings in (32, 48)]
    assert errors[0] <= 1e-6
    assert errors[1] <= 0.05 * errors[0] + 1e-10


def test_labels_of_another_count_are_those_of_a_finer_grid():
    equation = MeanFieldEquation(Attention(3.0), direction="ascent")
    start = Density.from_function(Sphere(32), lambda x: 1 + 0.5 * x[..., 0])
    options = {"t_end": 0.1, "method": "labels"}
    run = solve_particles(equation, start.normalized(), count=2 * 48**2, **options)
    assert len(run.final) == 48 * 96
    assert run.final.masses.sum() == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(ValueError, match=r"count = 4000 labels .* such as 4232"):
        solve_particles(equation, start.normalized(), count=4000, **options)
