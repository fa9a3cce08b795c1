"""The perceptrons of the particle code: drawn from a seed, or read from its parameter files.

A parameter file is JSON: an object with ``a`` (units, d), ``omega`` (units, d) and perhaps
``activation``, or several of them, in a list or under ``params`` or ``mlp_params``.  The drift is

    P_x sum_j omega_j sigma(a_j.x),

the gradient of a potential where every omega_j = w_j a_j.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, choice, real_array, whole_number
from mfpde.settings.base import SettingsError

PARALLEL = 1e-12
"""Sine of the angle up to which omega_j counts as parallel to a_j."""


class Neurons(NamedTuple):
    """A perceptron with its name; of one that settings can draw only its seed is given."""

    name: str
    activation: str
    settings: dict[str, Any]

    def case(self) -> str:
        """Return it as a case of a sweep file."""
        lines = ["[[sweep.cases]]", f"name = {json.dumps(self.name)}"]
        lines += [
            f"perceptron.{key} = {json.dumps(value)}"
            for key, value in {**self.settings, "activation": self.activation}.items()
        ]
        return "\n".join(lines)


def drawn_neurons(
    units: int,
    dimension: int,
    *,
    seed: int,
    scale: float,
    mode: str,
    is_gradient: bool,
    activation: str,
) -> Neurons:
    """Return the perceptron that the code draws from ``seed``.

    Parameters
    ----------
    units, dimension
        Number of neurons, and d.
    seed
        Seed of numpy's ``default_rng``.
    scale, mode
        Weights are normal with this standard deviation (``"std"``), or of this size
        (``"norm"``).
    is_gradient
        Whether weights are numbers, or vectors (d,).
    activation
        Name of the activation.

    Raises
    ------
    ValueError
        For another mode.
    """
    choice("mlp_scale_mode", mode, ("std", "norm"))
    whole_number("mlp_units", units, at_least=1)
    name = f"seed {seed}, scale {scale:g}"
    if mode == "std" and is_gradient:
        drawn = {"random.units": units, "random.seed": seed, "random.scale": scale}
        return Neurons(name, activation, drawn)
    generator = np.random.default_rng(seed)
    directions = generator.standard_normal((units, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    weights = generator.standard_normal((units, 1 if is_gradient else dimension))
    if mode == "norm":
        sizes = np.linalg.norm(weights, axis=1, keepdims=True)
        weights = np.where(weights >= 0, 1.0, -1.0) if is_gradient else weights / sizes
    weights = scale * (weights[:, 0] if is_gradient else weights)
    given = {"directions": directions.tolist(), "weights": weights.tolist()}
    return Neurons(name, activation, given)


def read_json(path: Path, what: str) -> Any:
    """Return what a JSON file holds.

    Raises
    ------
    SettingsError
        If it cannot be read; the message begins with ``what`` and names the file.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise SettingsError(f"{what}{path} cannot be read: {reason}") from error
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{what}{path} is not JSON: {error}") from error


def read_neurons(path: Path, dimension: int, activation: str) -> list[Neurons]:
    """Return the perceptrons of a parameter file.

    Parameters
    ----------
    path
        The file.
    dimension
        Length d of each row of ``a`` and ``omega``.
    activation
        The activation of entries that name none.

    Raises
    ------
    SettingsError
        If the file cannot be read or holds no perceptrons of this form.
    """
    data = read_json(path, "mlp_params_path: ")
    entries = data
    if isinstance(data, dict):
        activation = data.get("activation") or activation
        entries = data.get("params", data.get("mlp_params", [data]))
    if not isinstance(entries, list) or not entries:
        raise SettingsError(
            f"mlp_params_path: {path} must hold an object with 'a' and 'omega', or a list"
        )
    found = []
    for number, entry in enumerate(entries, start=1):
        try:
            found.append(_entry(entry, number, dimension, activation))
        except ValueError as error:
            raise SettingsError(
                f"mlp_params_path: {path}: entry {number}: {error}"
            ) from error
    return found


def _entry(entry: Any, number: int, dimension: int, activation: Any) -> Neurons:
    if not isinstance(entry, dict):
        raise ValueError(f"{entry!r} must be an object with 'a' and 'omega'")
    chosen = str(entry.get("activation") or activation).strip().lower()
    choice("activation", chosen, ("relu", "gelu"))
    directions = _rows("a", entry, dimension)
    omega = _rows("omega", entry, dimension)
    if directions.shape != omega.shape:
        raise ValueError(
            f"omega of shape {omega.shape} must have the shape of a, {directions.shape}"
        )
    squares = (directions**2).sum(axis=1)
    weights = (omega * directions).sum(axis=1) / np.where(squares > 0, squares, 1.0)
    rest = np.linalg.norm(omega - weights[:, np.newaxis] * directions, axis=1)
    is_gradient = bool((rest <= PARALLEL * np.linalg.norm(omega, axis=1)).all())
    given = weights if is_gradient else omega
    settings = {"directions": directions.tolist(), "weights": given.tolist()}
    return Neurons(f"perceptron {number}", chosen, settings)


def _rows(name: str, entry: dict[str, Any], dimension: int) -> FloatArray:
    if name not in entry:
        raise ValueError(f"{name!r} is missing")
    rows = np.atleast_2d(real_array(name, entry[name]))
    if rows.ndim != 2 or not len(rows) or rows.shape[1] != dimension:
        raise ValueError(f"{name} of shape {rows.shape} must be (units, {dimension})")
    return rows
