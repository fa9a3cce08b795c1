"""Heads of attention with matrices: logits beta x.Dy, values V y."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_points import random_points
from scipy.integrate import solve_ivp
from scipy.special import iv, ive
from witness import cells_of, head_by_sums

import mfpde
from mfpde import Atoms, Attention, Circle, MeanFieldEquation, Sphere, Zonal
from mfpde.settings.settings import SettingsError, settings_from_dict
from mfpde.storage.records import CONVERTER, to_json
from mfpde.terms import transfer

CIRCLE, SPHERE = Circle(512), Sphere(64)
TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def head_equation(bilinear, value=None, *, beta=3.0, direction="descent", **kwargs):
    head = Attention(beta, bilinear=bilinear, value=value, **kwargs)
    return MeanFieldEquation(head, direction=direction)


def smooth_density(geometry, seed):
    centres = random_points(3, geometry.dimension, seed)
    return mfpde.Density.from_function(
        geometry, lambda x: 1 + sum(np.exp(2 * (x @ centre)) for centre in centres)
    )


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    sphere=st.booleans(),
    normalized=st.booleans(),
    singular=st.booleans(),
    beta=st.sampled_from([0.0, 0.1, 1.0, 4.0, 8.0]),
)
def test_velocity_is_that_of_direct_quadrature(
    seed, sphere, normalized, singular, beta
):
    generator = np.random.default_rng(seed)
    geometry = SPHERE if sphere else CIRCLE
    dimension = geometry.dimension
    bilinear, value = generator.standard_normal((2, dimension, dimension))
    if singular:
        bilinear[:, 0] = 0.0
    bilinear *= 1.2 / np.linalg.norm(bilinear, 2)
    density = smooth_density(geometry, seed)
    points = random_points(20, dimension, generator)
    equation = head_equation(bilinear, value, beta=beta, normalized=normalized)
    expected, _ = head_by_sums(
        points,
        *cells_of(density),
        beta=beta,
        bilinear=bilinear,
        value=value,
        normalized=normalized and beta > 0,
    )
    size = max(1.0, np.abs(value).max())
    assert np.abs(equation.velocity(density, points) + expected).max() < 1e-10 * size
    at_centres = equation.velocity(density)
    again = equation.velocity(density, geometry.points)
    assert np.abs(at_centres - again).max() < 1e-10 * size


@pytest.mark.parametrize("geometry", [CIRCLE, SPHERE], ids=["circle", "sphere"])
def test_the_gradient_form_is_that_of_vectors(geometry):
    """V = D takes one gradient; V = D beside a value that is no multiple takes vectors."""
    generator = np.random.default_rng(3)
    dimension = geometry.dimension
    bilinear = generator.standard_normal((dimension, dimension))
    other = generator.standard_normal((dimension, dimension))
    density = smooth_density(geometry, 2)
    gradient = head_equation(bilinear).velocity(density)
    # The drift is linear in V.
    with_other = head_equation(bilinear, bilinear + other).velocity(density)
    only_other = head_equation(bilinear, other).velocity(density)
    assert np.abs(gradient - (with_other - only_other)).max() < 1e-12


def test_velocity_of_the_uniform_measure_in_closed_form():
    generator = np.random.default_rng(5)
    for geometry in (CIRCLE, SPHERE):
        dimension = geometry.dimension
        bilinear, value = generator.standard_normal((2, dimension, dimension))
        beta = 3.0
        x = random_points(30, dimension, generator)
        z = beta * x @ bilinear
        r = np.linalg.norm(z, axis=1)
        if dimension == 2:
            total, along = iv(0, r), iv(1, r)
        else:
            total = np.sinh(r) / r
            along = np.cosh(r) / r - np.sinh(r) / r**2
        sent = (z / r[:, None]) @ value.T
        tangent = sent - (sent * x).sum(axis=1)[:, None] * x
        uniform = mfpde.uniform(geometry)
        softmax = head_equation(bilinear, value, beta=beta, normalized=True)
        expected = -tangent * (along / total)[:, None]
        assert np.abs(softmax.velocity(uniform, x) - expected).max() < 1e-11
        plain = head_equation(bilinear, value, beta=beta, kernel="unshifted")
        expected = -tangent * along[:, None]
        scale = np.abs(expected).max()
        assert np.abs(plain.velocity(uniform, x) - expected).max() < 1e-12 * scale


@pytest.mark.parametrize("normalized", [False, True])
def test_rotated_matrices_rotate_the_flow(normalized):
    generator = np.random.default_rng(7)
    for dimension in (2, 3, 5):
        bilinear, value = generator.standard_normal((2, dimension, dimension))
        rotation, _ = np.linalg.qr(generator.standard_normal((dimension, dimension)))
        atoms = Atoms(random_points(6, dimension, generator), np.full(6, 1 / 6))
        turned = Atoms(atoms.points @ rotation.T, atoms.masses)
        equation = head_equation(bilinear, value, normalized=normalized)
        other = head_equation(
            rotation @ bilinear @ rotation.T,
            rotation @ value @ rotation.T,
            normalized=normalized,
        )
        expected = equation.velocity(atoms) @ rotation.T
        assert np.abs(other.velocity(turned) - expected).max() < 1e-12


def test_an_antisymmetric_value_turns_the_uniform_measure():
    equation = head_equation(np.eye(2), TURN, beta=2.0, direction="ascent")
    uniform = mfpde.uniform(CIRCLE)
    speed = ive(1, 2.0)
    expected = speed * CIRCLE.points @ TURN.T
    assert np.abs(equation.velocity(uniform) - expected).max() < 1e-14
    run = mfpde.solve(equation, uniform, t_end=2.0)
    assert np.abs(run.final.density.values - 1 / (2 * np.pi)).max() < 1e-13


def test_two_exact_atoms_move_as_their_equation_says():
    bilinear = np.array([[1.0, 0.4], [-0.2, 0.6]])
    value = np.array([[0.5, -0.3], [0.8, 0.9]])
    angles, masses = np.array([0.3, 1.5]), np.array([0.4, 0.6])
    beta = 2.0

    def rate(_, theta):
        x = np.stack([np.cos(theta), np.sin(theta)], axis=1)
        tangents = np.stack([-np.sin(theta), np.cos(theta)], axis=1)
        weights = masses * np.exp(beta * (x @ bilinear @ x.T))
        sent = weights @ x @ value.T / weights.sum(axis=1, keepdims=True)
        return (sent * tangents).sum(axis=1)

    found = solve_ivp(rate, (0, 1.0), angles, rtol=1e-12, atol=1e-13)
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    start = mfpde.Measure(mfpde.Density(CIRCLE, np.zeros(512)), Atoms(points, masses))
    equation = head_equation(
        bilinear, value, beta=beta, normalized=True, direction="ascent"
    )
    expected = np.stack([np.cos(found.y[:, -1]), np.sin(found.y[:, -1])], axis=1)
    run = mfpde.solve(equation, start, t_end=1.0, atoms="exact")
    assert np.abs(run.final.atoms.points - expected).max() < 1e-8
    particles = mfpde.solve_particles(equation, start.atoms, t_end=1.0, rtol=1e-11)
    assert np.abs(particles.final.points - expected).max() < 1e-8


def test_two_heads_and_a_perceptron_on_the_sphere_agree_with_particles():
    generator = np.random.default_rng(11)
    heads = [
        Attention(
            b, normalized, bilinear=generator.standard_normal((3, 3)) / 2, value=v
        )
        for b, normalized, v in (
            (3.0, True, generator.standard_normal((3, 3)) / 2),
            (2.0, False, None),
        )
    ]
    neurons = mfpde.Perceptron([[0.0, 0.6, 0.8]], [0.5], "gelu")
    equation = MeanFieldEquation(*heads, neurons, direction="ascent")
    errors = []
    fine = smooth_density(Sphere(64), 3)
    atoms = Atoms(*cells_of(fine))
    witness = mfpde.solve_particles(equation, atoms, t_end=0.4, rtol=1e-5, atol=1e-7)
    for nlat in (32, 48):
        run = mfpde.solve(equation, smooth_density(Sphere(nlat), 3), t_end=0.4)
        fine_moments, moments = (
            Sphere(32).atom_moments(*points_and_masses, 8)
            for points_and_masses in (
                (witness.final.points, witness.final.masses),
                cells_of(run.final.density),
            )
        )
        errors.append(np.abs(moments - fine_moments).max())
    assert errors[0] < 2e-3
    assert errors[1] < errors[0] / 1.8  # 2.25 at second order


def test_energy_exists_for_symmetric_gradient_heads_and_rises_in_ascent():
    bilinear = np.array([[1.0, 0.3], [0.3, -0.5]])
    equation = head_equation(bilinear, 0.7 * bilinear, direction="ascent")
    assert equation.has_energy
    assert equation.energy_is_lyapunov
    run = mfpde.solve(equation, smooth_density(Circle(256), 5), t_end=5.0)
    assert (np.diff(run.energies) > -1e-12).all()
    # dE/dt = int |v|^2 dmu at the start.
    density = smooth_density(CIRCLE, 5)
    points = Atoms(CIRCLE.points, density.masses)
    step = 1e-4
    moved = mfpde.solve_particles(equation, points, t_end=step).final
    rise = (equation.energy(moved) - equation.energy(points)) / step
    speed = (equation.velocity(density) ** 2).sum(axis=-1)
    assert rise == pytest.approx(density.masses @ speed, rel=1e-3)
    assert equation.energy(points) == pytest.approx(equation.energy(density), 1e-12)


@pytest.mark.parametrize(
    ("bilinear", "value", "has_first_variation"),
    [
        ([[1.0, 0.2], [0.0, 1.0]], None, True),
        ([[1.0, 0.2], [0.0, 1.0]], [[1.0, 0.0], [0.0, 2.0]], False),
        ([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 2.0]], False),
    ],
)
def test_without_energy_what_needs_one_is_refused(bilinear, value, has_first_variation):
    equation = head_equation(bilinear, value)
    uniform = mfpde.uniform(Circle(128))
    assert not equation.has_energy
    assert equation.energy(uniform) is None
    assert equation.has_first_variation is has_first_variation
    if not has_first_variation:
        with pytest.raises(ValueError, match="if value is a multiple of bilinear"):
            equation.first_variation(uniform)
    with pytest.raises(ValueError, match="minimize needs an energy"):
        mfpde.minimize(equation, Circle(128))
    with pytest.raises(ValueError, match="certificate needs an energy"):
        mfpde.certificate(equation, uniform)
    with pytest.raises(ValueError, match=r"Attention alone|needs an energy"):
        mfpde.maximize(MeanFieldEquation(*equation.terms, direction="ascent"))


@pytest.mark.parametrize("normalized", [False, True])
def test_derivatives_between_atoms_are_those_of_the_velocity(normalized):
    from mfpde.geometry.arcs import geodesic_moves, tangent_frames
    from mfpde.stationary.derivatives import field_derivatives

    generator = np.random.default_rng(13)
    for dimension in (2, 3, 4):
        bilinear, value = generator.standard_normal((2, dimension, dimension))
        equation = head_equation(bilinear, value, normalized=normalized)
        points = random_points(4, dimension, generator)
        masses = np.array([0.1, 0.2, 0.3, 0.4])
        frames = tangent_frames(points)
        found = field_derivatives(equation, points, masses)
        velocity = -equation.velocity(Atoms(points, masses))
        assert np.abs(
            np.einsum("nai,ni->na", frames, velocity) - found.gradient
        ).max() < (1e-13)
        step = 1e-5
        for j in range(4):
            for b in range(dimension - 1):
                move = np.zeros((4, dimension - 1))
                move[j, b] = step
                ends = [
                    np.einsum(
                        "nai,ni->na",
                        frames,
                        -equation.velocity(
                            Atoms(geodesic_moves(points, frames, sign * move), masses)
                        ),
                    )
                    for sign in (1, -1)
                ]
                slope = (ends[0] - ends[1]) / (2 * step)
                assert np.abs(slope - found.jacobian[:, :, j, b]).max() < 1e-8


def test_a_triangle_that_turns_is_a_relative_equilibrium():
    equation = head_equation(np.eye(2), np.eye(2) + 0.3 * TURN, beta=4.0)
    angles = np.array([0.0, 2.0, 4.3])
    atoms = Atoms(np.stack([np.cos(angles), np.sin(angles)], axis=1), np.full(3, 1 / 3))
    found = mfpde.polish(equation, atoms, max_move=1.0)
    assert found.converged
    assert "relative equilibrium" in found.message
    speed = found.angular_velocity[1, 0]
    # The particles turn as fast, and stay an equilateral triangle.
    run = mfpde.solve_particles(equation, found.atoms, t_end=10.0)
    rotation = np.array(
        [
            [np.cos(10 * speed), -np.sin(10 * speed)],
            [np.sin(10 * speed), np.cos(10 * speed)],
        ]
    )
    assert np.abs(run.final.points - found.atoms.points @ rotation.T).max() < 1e-7
    gaps = np.diff(np.sort(np.mod(np.arctan2(*found.atoms.points.T[::-1]), 2 * np.pi)))
    assert gaps == pytest.approx(2 * np.pi / 3, abs=1e-12)


def test_a_state_turns_only_by_rotations_that_leave_the_equation_as_it_is():
    value = np.array([[1.0, -0.1], [0.1, 0.8]])
    atoms = Atoms([[1.0, 0.0], [-0.6, 0.8]], [0.5, 0.5])
    equation = head_equation(np.diag([1.0, 0.4]), value, direction="ascent")
    run = mfpde.solve_particles(equation, atoms, t_end=300.0)
    found = mfpde.polish(equation, run.final, max_move=0.5)
    assert found.symmetry_dimension == 0
    assert (found.angular_velocity == 0).all()
    assert found.converged


def test_heads_are_stored_to_the_bit(tmp_path):
    head = Attention(2.0, True, bilinear=[[0.1, 0.7], [1 / 3, 0.2]], value=-TURN)
    equation = MeanFieldEquation(head, direction="ascent")
    record = to_json(equation)
    again = CONVERTER.structure(json.loads(record), MeanFieldEquation)
    assert again.terms == equation.terms
    assert hash(again.terms) == hash(equation.terms)
    run = mfpde.solve(equation, smooth_density(Circle(128), 1), t_end=0.5)
    mfpde.save(run, tmp_path / "run.zarr")
    loaded = mfpde.load(tmp_path / "run.zarr")
    assert loaded.equation.terms == equation.terms


SETTINGS = {
    "geometry": {"kind": "circle", "cells": 128},
    "equation": {"direction": "ascent"},
    "start": {"kind": "uniform"},
    "solve": {"t_end": 1.0},
}


def test_matrices_in_settings(tmp_path):
    bilinear, value = np.array([[0.1, 0.7], [1 / 3, 0.2]]), -TURN
    np.savez(tmp_path / "head.npz", D=bilinear, V=value)
    np.save(tmp_path / "D.npy", bilinear)
    place = {"dtype": "F64", "shape": [2, 2], "data_offsets": [0, 32]}
    header = json.dumps({"V": place}).encode()
    data = struct.pack("<Q", len(header)) + header + value.tobytes()
    (tmp_path / "head.safetensors").write_bytes(data)
    expected = Attention(2.0, bilinear=bilinear, value=value)
    for logits, sent in (
        (bilinear.tolist(), value.tolist()),
        (f"{tmp_path}/head.npz:D", f"{tmp_path}/head.npz:V"),
        (f"{tmp_path}/D.npy", f"{tmp_path}/head.safetensors"),
    ):
        head = {"beta": 2.0, "bilinear": logits, "value": sent}
        for several in (head, [head, {"beta": 1.0}]):
            found = settings_from_dict(SETTINGS | {"attention": several})
            assert found.single_equation().terms[0] == expected
            again = settings_from_dict(json.loads(found.to_json()))
            assert again.single_equation().terms == found.single_equation().terms
            assert len(again.single_equation().terms) == 1 + isinstance(several, list)


@pytest.mark.parametrize(
    ("attention", "words"),
    [
        ({"beta": 1.0, "bilinear": "nothing.npy"}, "there is no file 'nothing.npy'"),
        ({"beta": 1.0, "bilinear": "head.txt"}, ".npy, .npz, .safetensors"),
        ({"beta": 1.0, "value": [[1.0, 0.0], [0.0, 1.0]]}, "value without bilinear"),
        ({"beta": 1.0, "bilinear": [[1.0, 0.0]]}, "shape (1, 2)"),
        ({"beta": 1.0, "bilinear": np.eye(3).tolist()}, "S^1: it must be (2, 2)"),
        ([{"beta": 1.0}, {"beta": -1.0}], "head 1: beta = -1.0"),
    ],
)
def test_wrong_matrices_in_settings_are_named(attention, words):
    with pytest.raises(SettingsError) as error:
        settings_from_dict(SETTINGS | {"attention": attention})
    assert words in str(error.value)
    assert "pydantic" not in str(error.value)


def test_files_that_are_no_matrices_are_named(tmp_path):
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY nothing")
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 nothing")
    (tmp_path / "bad.safetensors").write_bytes(b"\xff" * 64)
    np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
    for name in ("bad.npy", "bad.npz", "bad.safetensors", "objects.npy"):
        with pytest.raises(SettingsError, match=r"cannot be read|nothing|header"):
            settings_from_dict(
                SETTINGS
                | {"attention": {"beta": 1.0, "bilinear": f"{tmp_path}/{name}"}}
            )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"value": np.eye(2)}, "value without bilinear"),
        ({"bilinear": np.ones((2, 3))}, r"shape \(2, 3\)"),
        ({"bilinear": np.eye(2), "value": np.eye(3)}, "same d"),
        ({"bilinear": np.zeros((2, 2))}, "bilinear is zero"),
        ({"bilinear": [[1.0, np.nan], [0.0, 1.0]]}, r"bilinear\[0, 1\] = nan"),
        ({"bilinear": 300 * np.eye(2)}, "at most 1000"),
        ({"bilinear": 90 * np.eye(2), "kernel": "unshifted"}, "at most 350"),
    ],
)
def test_wrong_matrices_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        Attention(5.0, **arguments)


def test_grids_that_cannot_hold_a_head_say_so():
    sharp = head_equation(np.diag([1.0, 0.5]), beta=200.0)
    with pytest.raises(ValueError, match=r"too coarse for beta \|bilinear\| = 200"):
        sharp.on(Circle(64))
    with pytest.raises(MemoryError, match=r"transfer matrix .* GB are left"):
        head_equation(np.diag([1.0, 1.0, 0.5]), beta=900.0).on(Sphere(1000))
    with pytest.raises(ValueError, match=r"takes no matrices .*Circle and Sphere do$"):
        head_equation(np.diag([1.0, 1.0, 3.0])).on(Zonal(3, 128))
    with pytest.raises(ValueError, match="particles need no grid: solve_particles"):
        head_equation(np.eye(8)).on(Zonal(8, 128))
    with pytest.raises(ValueError, match=r"must be \(2, 2\)"):
        head_equation(np.eye(3)).on(CIRCLE)


@pytest.mark.parametrize("layered", [False, True])
def test_each_matrix_of_many_heads_is_computed_once(monkeypatch, layered):
    built = []
    sampled = transfer._sample_kernel
    monkeypatch.setattr(
        transfer, "_sample_kernel", lambda *a, **k: built.append(a) or sampled(*a, **k)
    )
    generator = np.random.default_rng(23 + layered)
    heads = [
        Attention(2.0, bilinear=matrix / np.linalg.norm(matrix, 2), value=value)
        for matrix, value in generator.standard_normal((20, 2, 2, 2))
    ]
    if layered:
        layers = [(MeanFieldEquation(h, direction="ascent"), 0.01) for h in heads]
        whole = mfpde.Layers(layers)
    else:
        whole = MeanFieldEquation(*heads, direction="ascent")
    start = smooth_density(Circle(64), 1)
    for _ in range(2):
        mfpde.solve(whole, start, t_end=None if layered else 0.02)
        assert len(built) == 20
