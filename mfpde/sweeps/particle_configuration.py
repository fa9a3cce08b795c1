"""Configurations of the particle code of the paper's authors, as sweeps.

The code, github.com/antonioalvarezl/2026-MLP-Attention-Energy, is set by one JSON object of
keys; its defaults stand in for what is left out, as there.  The density is its limit of many
particles, with the shifted kernel exp(beta (x.y - 1)) and the same perceptron: the first seed is
``mlp_seed``, more of them are drawn from it, and directions before weights from each.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mfpde.arrays import choice, nearest, real_array, real_number, whole_number
from mfpde.settings.base import SettingsError
from mfpde.sweeps.perceptron_files import (
    Neurons,
    drawn_neurons,
    read_json,
    read_neurons,
)

DEFAULTS: Mapping[str, Any] = {
    "betas": [0.1, 0.5, 1, 2, 5, 7, 9, 12, 15, 25],
    "dt": 5e-4,
    "total_time": 20.0,
    "max_steps": 200_000,
    "save_every": 10,
    "dimension": 2,
    "attention_mode": "unnormalized",
    "ascending": False,
    "activation": "relu",
    "mass_threshold": 0.0,
    "num_mlp_inits": 1,
    "mlp_units": None,
    "mlp_scale": 0.5,
    "mlp_scale_mode": "std",
    "mlp_seed": 11,
    "gradient_MLP": True,
    "mlp_params_path": None,
}
"""The keys that mean something to a density, and the values of those that are left out."""
_CLUSTERS = "clusters are found by their basins here (mfpde.concentration)"
_STOP = "a run to infinity stops when almost no mass moves (solve.steady_state)"
_PICTURES = "it sets pictures; see mfpde plot and mfpde sweep --plot"
_STARTS = (
    "the start is the uniform density, the limit of many particles drawn at random"
)
OTHERS: Mapping[str, str] = {
    "n_particles": "a density has no particles; mfpde compare RUN.zarr --particles N has",
    "integrator": "the scheme and its order are mfpde's (solve.transport)",
    "num_point_inits": _STARTS,
    "particle_seed": _STARTS,
    "self_attention": "the term of a token with itself has no tangential part",
    "cluster_scale": _CLUSTERS,
    "convergence_window": _STOP,
    "convergence_drift_tol": _STOP,
    "convergence_spread_factor": _STOP,
    "k_max": "it sets a picture of moments",
    "results_dir": "the sweep has a folder of its own",
    "experiment_dir": "the sweep has a folder of its own",
    "plot_interval": _PICTURES,
    "output_frame_limit": _PICTURES,
    "mlp0_output_frame_limit": _PICTURES,
    "gifs": _PICTURES,
    "gif_sphere": _PICTURES,
    "gif_histogram": _PICTURES,
    "pdf_trajectory": _PICTURES,
    "sphere_html_view": _PICTURES,
    "sphere_gif_rotations": _PICTURES,
}
"""The keys that mean nothing to a density, and why."""
DRAWN = (
    "num_mlp_inits",
    "mlp_units",
    "mlp_scale",
    "mlp_scale_mode",
    "mlp_seed",
    "gradient_MLP",
)
"""The keys that say how neurons are drawn."""
GRIDS = {2: 'kind = "circle"\ncells = 512', 3: 'kind = "sphere"\nnlat = 64'}
STEADY = 1e-8
SAVES_TO_INFINITY = 100
_INFINITE = ("inf", "infty", "infinite", "infinity")


class Imported(NamedTuple):
    """A sweep file, and a line for each key that it does not hold as it was given."""

    text: str
    notes: tuple[str, ...]


def imported(path: str | Path, *, name: str) -> Imported:
    """Return the sweep file of a configuration of the particle code.

    Parameters
    ----------
    path
        A ``config.json``; its ``mlp_params_path`` is looked for beside it.
    name
        Name of the sweep's folder.

    Raises
    ------
    SettingsError
        If the file cannot be read, or a key that is needed has a value that is not allowed.
    """
    given = _read(Path(path))
    values = {**DEFAULTS, **given}
    try:
        return _Converted(values, Path(path).parent).imported(given, name)
    except SettingsError:
        raise
    except ValueError as error:
        raise SettingsError(f"{path}: {error}") from error


class _Converted:
    """The sections of a sweep file from the values of a configuration."""

    def __init__(self, values: Mapping[str, Any], beside: Path) -> None:
        self.values = values
        self.dimension = _dimension(values["dimension"])
        self.betas = _betas(values["betas"])
        self.normalized = (
            choice("attention_mode", values["attention_mode"], _MODES) == _MODES[1]
        )
        self.is_ascent = _flag("ascending", values["ascending"])
        self.step = real_number("dt", values["dt"], above=0.0)
        self.neurons = self._neurons(beside)
        self.notes: list[str] = []

    def imported(self, given: Mapping[str, Any], name: str) -> Imported:
        """Return the text, and the notes on the keys that were given."""
        sections = [
            f"[sweep]\nfolder = {json.dumps(name)}\n\n[sweep.product]\n"
            f"attention.beta = {json.dumps(self.betas)}",
            *self._cases(),
            f"[geometry]\n{GRIDS[self.dimension]}",
            f"[attention]\nnormalized = {json.dumps(self.normalized)}\n"
            'kernel = "shifted"      # exp(beta (x.y - 1)), as the code has it',
            '[equation]\ndirection = "'
            + ("ascent" if self.is_ascent else "descent")
            + '"',
            '[start]\nkind = "uniform"',
            self._solve(),
            self._concentration(),
        ]
        listed = [f"{key} = {json.dumps(value)}" for key, value in given.items()]
        unknown = [key for key in given if key not in {**DEFAULTS, **OTHERS}]
        lines = [
            f"left out: {text}: {OTHERS[key]}"
            for key, text in zip(given, listed, strict=True)
            if key in OTHERS
        ]
        known = (*DEFAULTS, *OTHERS)
        lines += [
            f"left out: {text}: no key of the particle code{nearest(key, known)}"
            for key, text in zip(given, listed, strict=True)
            if key in unknown
        ]
        lines += self._not_needed(given)
        lines += [f"changed: {note}" for note in self.notes]
        lines.append(
            f"chosen here: the grid ({GRIDS[self.dimension]!r}); refine it as you need".replace(
                "\\n", ", "
            )
        )
        # A value may hold any text, but no end of a line in a comment.
        head = ["# Made by mfpde import.", *(f"# {line}" for line in lines)]
        return Imported(
            "\n".join(head) + "\n\n" + "\n\n".join(sections) + "\n", tuple(lines)
        )

    def _not_needed(self, given: Mapping[str, Any]) -> list[str]:
        """Return a line for each key that others of this configuration leave without a use."""
        unused: dict[str, str] = {}
        if self._file:
            unused = dict.fromkeys(DRAWN, "the neurons are those of mlp_params_path")
            wanted = str(given.get("activation", "")).strip().lower()
            if wanted not in {"", *self._activations}:
                unused["activation"] = (
                    f"mlp_params_path says {' and '.join(sorted(self._activations))}"
                )
        if not self._is_endless:
            unused["max_steps"] = "total_time ends the runs"
        return [
            f"left out: {key} = {json.dumps(value)}: {unused[key]}"
            for key, value in given.items()
            if key in unused
        ]

    @property
    def _file(self) -> str:
        """The parameter file, or nothing."""
        return str(self.values["mlp_params_path"] or "")

    @property
    def _activations(self) -> set[str]:
        return {one.activation for one in self.neurons}

    @property
    def _is_endless(self) -> bool:
        total = self.values["total_time"]
        is_word = isinstance(total, str) and total.strip().lower() in _INFINITE
        return is_word or total == math.inf

    def _cases(self) -> list[str]:
        """Return the perceptrons, and the run without one that the code makes beside them."""
        return [
            '[[sweep.cases]]\nname = "no perceptron"\nperceptron = "none"',
            *(one.case() for one in self.neurons),
        ]

    def _neurons(self, beside: Path) -> list[Neurons]:
        values = self.values
        activation = str(values["activation"]).strip().lower()
        choice("activation", activation, ("relu", "gelu"))
        if self._file:
            path = Path(self._file).expanduser()
            return read_neurons(beside / path, self.dimension, activation)
        units = values["mlp_units"]
        units = (
            self.dimension
            if units is None
            else whole_number("mlp_units", units, at_least=1)
        )
        count = whole_number("num_mlp_inits", values["num_mlp_inits"], at_least=1)
        seed = whole_number("mlp_seed", values["mlp_seed"], at_least=0)
        more = np.random.default_rng(seed).integers(
            0, 2**31 - 1, size=count - 1, dtype=np.int64
        )
        return [
            drawn_neurons(
                units,
                self.dimension,
                seed=one,
                scale=scale,
                mode=str(values["mlp_scale_mode"]).strip().lower(),
                is_gradient=_flag("gradient_MLP", values["gradient_MLP"]),
                activation=activation,
            )
            for one in (seed, *map(int, more))
            for scale in _scales(values["mlp_scale"])
        ]

    def _solve(self) -> str:
        every = whole_number("save_every", self.values["save_every"], at_least=1)
        interval = every * self.step
        self.notes.append(
            f"dt = {self.step:g}: the step follows a tolerance here (solve.rtol); it turns "
            "numbers of steps into times"
        )
        if not self._is_endless:
            end = real_number("total_time", self.values["total_time"], above=0.0)
            return f"[solve]\nt_end = {end!r}\nsave_every = {min(interval, end)!r}"
        most = whole_number("max_steps", self.values["max_steps"], at_least=1)
        end = most * self.step
        first = min(interval, end / 2)
        times = np.unique(np.geomspace(first, end, SAVES_TO_INFINITY)).tolist()
        times[-1] = end
        self.notes += [
            f"total_time = inf: it runs to max_steps * dt = {end:g}, or to rest "
            f"(steady_state = {STEADY:g}), with exact atoms, which go on when a cell is too wide",
            f"save_every = {every}: {len(times)} saves between {first:g} and {end:g}, evenly "
            "in the logarithm of time",
        ]
        return (
            f'[solve]\nt_end = {end!r}\nsave_at = {[0.0, *times]}\natoms = "exact"\n'
            f"steady_state = {STEADY!r}"
        )

    def _concentration(self) -> str:
        least = real_number(
            "mass_threshold", self.values["mass_threshold"], at_least=0.0, at_most=1.0
        )
        if least == 0:
            return "[concentration]\ntrack = true"
        self.notes.append(
            f"mass_threshold = {least:g}: lighter atoms are not followed (smallest_mass)"
        )
        return f"[concentration]\ntrack = true\nsmallest_mass = {least!r}"


_MODES = ("unnormalized", "normalized")


def _read(path: Path) -> dict[str, Any]:
    data = read_json(path, "the configuration ")
    if not isinstance(data, dict):
        raise SettingsError(f"{path} must hold one JSON object of keys")
    return data


def _dimension(given: Any) -> int:
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    dimension = whole_number("dimension", given, at_least=2)
    if dimension not in GRIDS:
        raise ValueError(
            f"dimension = {dimension} has no grid of its own: 2 is the circle, 3 the sphere; "
            "densities around an axis are made by a zonal grid"
        )
    return dimension


def _betas(given: Any) -> list[float]:
    if isinstance(given, str):
        given = [float(word) for word in given.split(",") if word.strip()]
    found = real_array("betas", given)
    if found.ndim != 1 or not len(found):
        raise ValueError(f"betas = {given!r} must be numbers, one or more")
    # The same value twice is one run.
    return list(dict.fromkeys(found.tolist()))


def _scales(given: Any) -> Sequence[float]:
    """Return the scales; three numbers are first, last and step, as in the code."""
    if not isinstance(given, list):
        return [real_number("mlp_scale", given, at_least=0.0)]
    found = real_array("mlp_scale", given)
    if found.ndim != 1 or not len(found) or found.min() < 0:
        raise ValueError(f"mlp_scale = {given!r} must be numbers of at least 0")
    if len(found) != 3:
        return list(dict.fromkeys(found.tolist()))
    first, last, step = found.tolist()
    if step == 0:
        raise ValueError(f"mlp_scale = {given!r} needs a step other than 0")
    count = math.floor(abs(last - first) / abs(step) + 1e-9) + 1
    sign = 1.0 if last >= first else -1.0
    return [first + sign * step * k for k in range(count)]


def _flag(name: str, given: Any) -> bool:
    if not isinstance(given, bool):
        raise ValueError(f"{name} = {given!r} must be true or false")
    return given
