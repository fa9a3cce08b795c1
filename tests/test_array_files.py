"""Terms, starts and their matrices in files: they come back as they are, wrong ones are named.

Of a file of matrices one is read, whatever else is in it, and what it claims is checked.
"""

import io
import json
import os
import pickle
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_points import random_points
from stored import Evil

import mfpde
from mfpde import Attention, Circle, Density, Interaction, Polynomial
from mfpde.settings import SettingsError, settings_from_dict

CIRCLE = Circle(128)
SETTINGS = {
    "geometry": {"kind": "circle", "cells": 128},
    "equation": {"direction": "ascent"},
    "start": {"kind": "uniform"},
    "solve": {"t_end": 1.0},
}
SMALL = np.array([[0.1, -0.7], [1 / 3, 2.0]])


def bilinear(file: str) -> np.ndarray:
    """Return the matrix that a settings file names."""
    attention = {"beta": 1.0, "bilinear": file}
    equation = settings_from_dict(SETTINGS | {"attention": attention}).single_equation()
    return np.asarray(equation.terms[0].bilinear)


def tensors(header: dict[str, Any] | bytes, data: bytes = SMALL.tobytes()) -> bytes:
    """Return a file of tensors, written by hand: length, header, raw numbers."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(kind: str, shape: list[int], *offsets: Any) -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": [*offsets]}


def one(kind: str, shape: list[int], *offsets: Any) -> bytes:
    return tensors({"a": tensor(kind, shape, *offsets)})


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(array), allow_pickle=True)
    return file.getvalue()


def npy_with_header(text: str, data: bytes = bytes(64)) -> bytes:
    header = text.ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def npz(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return file.getvalue()


def test_each_type_of_real_numbers_is_read_beside_the_others(tmp_path) -> None:
    written = {
        "F64": SMALL.astype("<f8"),
        "F32": SMALL.astype("<f4"),
        "F16": SMALL.astype("<f2"),
        # The upper half of each F32.
        "BF16": (SMALL.astype("<f4").view("<u4") >> 16).astype("<u2"),
        "I8": np.ones((2, 2), "i1"),
    }
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for kind, values in written.items():
        header[kind] = tensor(kind, [2, 2], len(data), len(data) + values.nbytes)
        data += values.tobytes()
    path = tmp_path / "all.safetensors"
    path.write_bytes(tensors(header, data))
    for kind, digits in (("F64", 0), ("F32", 24), ("F16", 11), ("BF16", 7)):
        rtol = 2.0**-digits if digits else 0.0
        np.testing.assert_allclose(bilinear(f"{path}:{kind}"), SMALL, rtol, atol=0.0)
    # 0.1 has the bits 0x3dcccccd, of which BF16 keeps 0x3dcc.
    assert bilinear(f"{path}:BF16")[0, 0] == 0.099609375
    with pytest.raises(SettingsError, match="type I8, which holds no real numbers"):
        bilinear(f"{path}:I8")
    with pytest.raises(SettingsError, match=r"has no array 'F32x' .did you mean 'F32'"):
        bilinear(f"{path}:F32x")
    # One alone needs no name.
    path.write_bytes(tensors({"only": tensor("F64", [2, 2], 0, 32)}))
    np.testing.assert_array_equal(bilinear(str(path)), SMALL)


def write_beside_tensors(path: Path) -> None:
    huge = 10**9
    header = {
        "huge": tensor("F32", [huge // 4, 1], 0, huge),
        "small": tensor("F64", [2, 2], huge, huge + 32),
    }
    path.write_bytes(tensors(header, b""))
    os.truncate(path, path.stat().st_size + huge)
    with path.open("ab") as file:
        file.write(SMALL.tobytes())


def write_beside_members(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("small.npy", npy(SMALL))
        with archive.open("huge.npy", "w") as file:
            for _ in range(20):
                file.write(bytes(8 * 10**6))


@pytest.mark.parametrize(
    ("write", "end"),
    [(write_beside_tensors, "safetensors"), (write_beside_members, "npz")],
)
def test_a_small_matrix_is_read_alone(write, end, tmp_path) -> None:
    """A gigabyte beside it costs nothing."""
    write(tmp_path / f"model.{end}")
    tracemalloc.start()
    try:
        found = bilinear(f"{tmp_path}/model.{end}:small")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(found, SMALL)
    assert most < 5e6


ANY, UNREAD = "bilinear", "cannot be read"
FLOATS = "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999, 99999999)}"
OBJECTS = npy(np.array([[Evil()]], dtype=object))
WRONG: dict[str, tuple[bytes, str]] = {
    "empty.npy": (b"", ANY),
    "garbage.npy": (b"\x93NUMPY garbage", ANY),
    "cut.npy": (npy(SMALL)[:-9], ANY),
    "objects.npy": (OBJECTS, ANY),
    "pickled.npy": (pickle.dumps(Evil()), ANY),
    "code.npy": (npy_with_header("__import__('os').mkdir('executed')"), ANY),
    "brackets.npy": (npy_with_header("(" * 90), ANY),
    "huge.npy": (npy_with_header(FLOATS), ANY),
    "complex.npy": (npy(SMALL * 1j), ANY),
    "texts.npy": (npy([["a"]]), ANY),
    "one_axis.npy": (npy([1.0, 1.0]), ANY),
    "three_axes.npy": (npy(np.ones((2, 2, 2))), ANY),
    "nothing.npy": (npy(np.empty((0, 2))), ANY),
    "not_finite.npy": (npy(np.full((2, 2), np.nan)), ANY),
    "no_archive.npz": (b"PK\x03\x04 garbage", ANY),
    "no_array.npz": (npz(a=b"hello"), ANY),
    "objects.npz": (npz(a=OBJECTS), ANY),
    "claims.npz": (npz(a=npy_with_header(FLOATS)), UNREAD),
    "flipped.npz": (npz(a=npy(np.eye(2))).replace(b"\xf0?", b"\xf1?", 1), ANY),
    "cut.npz": (npz(a=npy(SMALL))[:-20], ANY),
    "out.safetensors": (one("F64", [2, 3], 0, 48), UNREAD),
    "far.safetensors": (one("F64", [10**9] * 2, 0, 8 * 10**18), UNREAD),
    "shape.safetensors": (one("F64", [2, 1], 0, 32), "32 bytes where"),
    "backwards.safetensors": (one("F64", [2, 2], 32, 0), UNREAD),
    "negative.safetensors": (one("F64", [-2, -2], 0, 32), UNREAD),
    "broken.safetensors": (one("F64", [2, 2], 0, 32.5), UNREAD),
    "float8.safetensors": (one("F8_E4M3", [8, 4], 0, 32), "be one of F64"),
    "offsets.safetensors": (
        tensors(b'{"a": {"dtype": "F64", "shape": [2]}}'),
        "data_offsets",
    ),
    "number.safetensors": (tensors({"a": 3}), UNREAD),
    "list.safetensors": (tensors(b"[1, 2]"), "no table of tensors"),
    "no_json.safetensors": (tensors(b"{'a': 1}"), UNREAD),
    "deep.safetensors": (tensors(b"[" * 100_000), UNREAD),
    "empty.safetensors": (b"", UNREAD),
    **{
        f"length {n}.safetensors": (struct.pack("<Q", n) + b"{}" + bytes(90), UNREAD)
        for n in (0, 7, 10**9, 2**63, 2**64 - 1)
    },
}


@pytest.mark.parametrize("name", WRONG)
def test_a_matrix_file_that_holds_none_is_a_line(name, tmp_path, monkeypatch) -> None:
    """Nothing in it is executed, and no size that it claims is believed."""
    monkeypatch.chdir(tmp_path)
    data, words = WRONG[name]
    Path(name).write_bytes(data)
    with pytest.raises(SettingsError, match=words) as caught:
        bilinear(name)
    said = str(caught.value)
    assert said.startswith("[attention] bilinear")
    assert len(said) < 600
    assert "\n" not in said
    assert not Path("executed").exists()


LOGITS, VALUES = np.array([[0.1, 0.7], [1 / 3, 0.2]]), np.array([[0.0, 1.0], [-1.0, 0]])
BIASED = {"directions": [[1.0, 0.0]], "weights": [0.5], "activation": "silu"}
BIASED |= {"output_bias": [0.0, 2.0]}


def read_twice(**tables):
    """Settings with these tables, and those of their record."""
    found = settings_from_dict(SETTINGS | tables)
    return found, settings_from_dict(json.loads(found.to_json()))


def test_matrices_in_settings(tmp_path):
    np.savez(tmp_path / "head.npz", D=LOGITS, V=VALUES)
    np.save(tmp_path / "V.npy", VALUES)
    expected = Attention(2.0, bilinear=LOGITS, value=VALUES)
    for logits, sent in (
        (LOGITS.tolist(), VALUES.tolist()),
        (f"{tmp_path}/head.npz:D", f"{tmp_path}/V.npy"),
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
