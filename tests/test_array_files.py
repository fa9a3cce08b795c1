"""Matrices in files: one is read, whatever else is in the file, and what it claims is checked."""

import json
import os
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mfpde.settings.base import SettingsError
from mfpde.settings.settings import settings_from_dict

SETTINGS = {
    "geometry": {"kind": "circle", "cells": 64},
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


def tensors(path: Path, header: dict[str, Any] | bytes, data: bytes = b"") -> Path:
    """Write a file of tensors by hand: length, header, raw numbers."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def described(kind: str, shape: list[int], begin: int, end: int) -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}


def upper_halves(values: np.ndarray) -> np.ndarray:
    """Return numbers as BF16: the upper half of each F32."""
    return (values.astype("<f4").view("<u4") >> 16).astype("<u2")


def test_each_type_of_real_numbers_is_read_beside_the_others(tmp_path) -> None:
    written = {
        "F64": SMALL.astype("<f8"),
        "F32": SMALL.astype("<f4"),
        "F16": SMALL.astype("<f2"),
        "BF16": upper_halves(SMALL),
        "I8": np.ones((2, 2), "i1"),
    }
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for kind, values in written.items():
        end = len(data) + values.nbytes
        header[kind] = described(kind, [2, 2], len(data), end)
        data += values.tobytes()
    path = tensors(tmp_path / "all.safetensors", header, data)
    for kind, digits in {
        "F64": 0.0,
        "F32": 2**-24,
        "F16": 2**-11,
        "BF16": 2**-7,
    }.items():
        found = bilinear(f"{path}:{kind}")
        np.testing.assert_allclose(found, SMALL, rtol=digits, atol=0.0)
    assert bilinear(f"{path}:F32")[1, 0] == np.float32(1 / 3)
    # 0.1 has the bits 0x3dcccccd, of which BF16 keeps 0x3dcc.
    assert bilinear(f"{path}:BF16")[0, 0] == 0.099609375
    with pytest.raises(SettingsError, match="type I8, which holds no real numbers"):
        bilinear(f"{path}:I8")
    with pytest.raises(SettingsError, match=r"has no array 'F32x' .did you mean 'F32'"):
        bilinear(f"{path}:F32x")


def test_a_tensor_alone_needs_no_name(tmp_path) -> None:
    header = {"only": described("F64", [2, 2], 0, 32)}
    path = tensors(tmp_path / "one.safetensors", header, SMALL.tobytes())
    np.testing.assert_array_equal(bilinear(str(path)), SMALL)


def beside_tensors(folder: Path) -> str:
    huge = 10**9
    header = {
        "huge": described("F32", [huge // 4, 1], 0, huge),
        "small": described("F64", [2, 2], huge, huge + 32),
    }
    path = tensors(folder / "model.safetensors", header)
    with path.open("r+b") as file:
        os.truncate(path, path.stat().st_size + huge)
        file.seek(0, os.SEEK_END)
        file.write(SMALL.tobytes())
    return f"{path}:small"


def beside_members(folder: Path) -> str:
    path = folder / "weights.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("huge.npy", "w") as file:
            shape = (2 * 10**7, 1)
            about = {"descr": "<f8", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, about)
            for _ in range(20):
                file.write(bytes(8 * 10**6))
        with archive.open("small.npy", "w") as file:
            np.lib.format.write_array(file, SMALL)
    return f"{path}:small"


@pytest.mark.parametrize("beside", [beside_tensors, beside_members])
def test_a_small_matrix_is_read_alone(beside, tmp_path) -> None:
    """A gigabyte beside it costs nothing."""
    place = beside(tmp_path)
    tracemalloc.start()
    try:
        found = bilinear(place)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(found, SMALL)
    assert most < 5e6


HEADERS = {
    "out of the file": ({"a": described("F64", [2, 3], 0, 48)}, "cannot be read"),
    "far out": (
        {"a": described("F64", [10**9, 10**9], 0, 8 * 10**18)},
        "cannot be read",
    ),
    "other shape": ({"a": described("F64", [2, 1], 0, 32)}, "32 bytes where F64 takes"),
    "backwards": ({"a": described("F64", [2, 2], 32, 0)}, "cannot be read"),
    "negative": ({"a": described("F64", [-2, -2], 0, 32)}, "cannot be read"),
    "broken": ({"a": described("F64", [2, 2], 0, 32.5)}, "cannot be read"),
    "no offsets": ({"a": {"dtype": "F64", "shape": [2, 2]}}, "data_offsets"),
    "a number": ({"a": 3}, "cannot be read"),
    "a list": (b"[1, 2]", "no table of tensors"),
    "no JSON": (b"{'a': 1}", "cannot be read"),
    "too deep": (b"[" * 100_000, "cannot be read"),
    "float8": ({"a": described("F8_E4M3", [8, 4], 0, 32)}, "must be one of F64, F32"),
}


@pytest.mark.parametrize(("header", "words"), HEADERS.values(), ids=HEADERS)
def test_a_damaged_header_of_tensors_is_a_line(header, words, tmp_path) -> None:
    path = tensors(tmp_path / "a.safetensors", header, SMALL.tobytes())
    with pytest.raises(SettingsError, match=words) as caught:
        bilinear(f"{path}:a")
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("length", [0, 7, 10**9, 2**63, 2**64 - 1])
def test_a_header_longer_than_the_file_is_not_read(length, tmp_path) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(struct.pack("<Q", length) + b"{}" + bytes(90))
    with pytest.raises(SettingsError, match="cannot be read"):
        bilinear(f"{path}:a")


def test_an_archive_that_claims_more_than_it_holds_is_not_read(tmp_path) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive, archive.open("a.npy", "w") as file:
        about = {"descr": "<f8", "fortran_order": False, "shape": (10**5, 10**5)}
        np.lib.format.write_array_header_1_0(file, about)
        file.write(bytes(64))
    with pytest.raises(SettingsError, match="cannot be read"):
        bilinear(f"{path}:a")
