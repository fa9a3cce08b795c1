"""Terms and starts in settings and stores: they come back as they are, wrong ones are named."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from equations import ascent
from random_points import random_points

import mfpde
from mfpde import Attention, Circle, Density, Interaction, Perceptron, Polynomial
from mfpde.settings.settings import SettingsError, settings_from_dict

CIRCLE = Circle(128)
SETTINGS = {
    "geometry": {"kind": "circle", "cells": 128},
    "equation": {"direction": "ascent"},
    "start": {"kind": "uniform"},
    "solve": {"t_end": 1.0},
}
LOGITS, VALUES = np.array([[0.1, 0.7], [1 / 3, 0.2]]), np.array([[0.0, 1.0], [-1.0, 0]])
BIASED = {"directions": [[1.0, 0.0]], "weights": [0.5], "activation": "silu"}
BIASED |= {"output_bias": [0.0, 2.0]}


def read_twice(**tables):
    """Settings with these tables, and those of their record."""
    found = settings_from_dict(SETTINGS | tables)
    return found, settings_from_dict(json.loads(found.to_json()))


@pytest.mark.parametrize(
    "term",
    [
        Attention(2.0, True, bilinear=LOGITS, value=VALUES),
        Interaction(Polynomial((0.3, -0.5, 1.0, 0.2))),
        Interaction(mfpde.Exponential(4.0)),
        Perceptron(**BIASED),
    ],
    ids=str,
)
def test_terms_are_stored_to_the_bit(term, tmp_path):
    equation = ascent(term)
    run = mfpde.solve(equation, mfpde.perturbed_uniform(CIRCLE, 0.1), t_end=0.1)
    mfpde.save(run, tmp_path / "run.zarr")
    loaded = mfpde.load(tmp_path / "run.zarr")
    expected = equation.velocity(run.final)
    np.testing.assert_array_equal(loaded.equation.velocity(loaded.final), expected)
    assert repr(loaded.equation.terms) == repr(equation.terms)


def test_matrices_in_settings(tmp_path):
    np.savez(tmp_path / "head.npz", D=LOGITS, V=VALUES)
    np.save(tmp_path / "D.npy", LOGITS)
    place = {"dtype": "F64", "shape": [2, 2], "data_offsets": [0, 32]}
    header = json.dumps({"V": place}).encode()
    data = struct.pack("<Q", len(header)) + header + VALUES.tobytes()
    (tmp_path / "head.safetensors").write_bytes(data)
    expected = Attention(2.0, bilinear=LOGITS, value=VALUES)
    for logits, sent in (
        (LOGITS.tolist(), VALUES.tolist()),
        (f"{tmp_path}/head.npz:D", f"{tmp_path}/head.npz:V"),
        (f"{tmp_path}/D.npy", f"{tmp_path}/head.safetensors"),
    ):
        head = {"beta": 2.0, "bilinear": logits, "value": sent}
        for several in (head, [head, {"beta": 1.0}]):
            for found in read_twice(attention=several):
                terms = found.single_equation().terms
                assert terms[0] == expected
                assert len(terms) == 1 + isinstance(several, list)


def test_kernels_and_output_biases_in_settings():
    for table, kernel in (
        ({"kind": "polynomial", "coefficients": [0, 0, 1]}, Polynomial((0, 0, 1))),
        ({"kind": "exponential", "beta": 2.0}, mfpde.Exponential(2.0)),
    ):
        for found in read_twice(interaction=table):
            assert found.single_equation().terms == (Interaction(kernel),)
    # Along the axis of a zonal grid it is a number.
    zonal = {"kind": "zonal", "dimension": 4, "cells": 64}
    along = {"directions": [1.0], "weights": [0.5], "output_bias": -0.4}
    for tables, bias in (
        ({"perceptron": BIASED}, [0.0, 2.0]),
        ({"perceptron": along, "geometry": zonal}, [0.0, 0.0, 0.0, -0.4]),
    ):
        for found in read_twice(**tables):
            (term,) = found.single_equation().perceptrons
            np.testing.assert_array_equal(term.output_bias, bias)


def test_starts_in_settings(tmp_path):
    points, values = random_points(30, 2), np.exp(CIRCLE.points[:, 0])
    np.savez(tmp_path / "tokens.npz", tokens=points)
    np.save(tmp_path / "rho.npy", values)
    samples = {"points": f"{tmp_path}/tokens.npz:tokens", "bandwidth": 0.3}
    two = {"angles": [0.0, 1.5], "widths": [0.5, 0.4], "masses": [1.0, 2.0]}
    for kind, table, expected in (
        ("samples", samples, Density.from_samples(CIRCLE, points, bandwidth=0.3)),
        (
            "array",
            {"values": f"{tmp_path}/rho.npy"},
            Density(CIRCLE, values).normalized(),
        ),
        ("bumps", two, mfpde.bumps(CIRCLE, **two)),
    ):
        start = {"kind": kind, **table}
        for found in read_twice(start=start, attention={"beta": 2.0}):
            np.testing.assert_array_equal(found.start.values, expected.values)


WRONG = """
attention: {"beta": 1.0, "bilinear": "nothing.npy"} -> there is no file 'nothing.npy'
attention: {"beta": 1.0, "bilinear": "head.txt"} -> .npy, .npz, .safetensors
attention: {"beta": 1.0, "value": [[1.0, 0.0], [0.0, 1.0]]} -> value without bilinear
attention: {"beta": 1.0, "bilinear": [[1.0, 0.0]]} -> shape (1, 2)
attention: {"beta": 1.0, "bilinear": np.eye(3).tolist()} -> S^1: it must be (2, 2)
attention: [{"beta": 1.0}, {"beta": -1.0}] -> head 1: beta = -1.0
interaction: {"kind": "polynomial", "coefficients": [1.0]} -> coefficients of shape (1,)
interaction: {"kind": "polynomial", "coefficients": [1.0, 0.0]} -> constant kernel
interaction: {"kind": "exponentail", "beta": 1.0} -> did you mean 'exponential'
interaction: {"kind": "exponential", "beta": -1.0} -> beta = -1.0
interaction: {"coefficients": [0, 1]} -> needs the setting 'kind'
start: {"kind": "array", "values": [1.0, 2.0]} -> values of shape (2,)
start: {"kind": "samples", "points": "none.npy"} -> there is no file
start: {"kind": "samples"} -> needs the setting 'points'
start: {"kind": "bumps", "angles": [1.0], "widths": 1e-5} -> cells
start: {"kind": "run"} -> needs the setting 'path'
"""
"""A table of the settings -> what the error says."""


@pytest.mark.parametrize("row", WRONG.strip().splitlines())
def test_wrong_tables_are_named(row):
    table, _, words = row.partition(" -> ")
    name, _, value = table.partition(": ")
    tables = SETTINGS | ({"attention": {"beta": 2.0}} if name == "start" else {})
    with pytest.raises(SettingsError) as error:
        settings_from_dict(tables | {name: eval(value)})
    assert words in str(error.value)
    assert "pydantic" not in str(error.value)
