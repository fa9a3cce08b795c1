"""Runs to one time, and Bessel spectra."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp
from scipy.special import gamma, ive

import mfpde
from validation.zonal_cases import uniform_masses

Array = NDArray[np.float64]

ascent = partial(mfpde.MeanFieldEquation, direction="ascent")
descent = partial(mfpde.MeanFieldEquation, direction="descent")


def solve_to(time: float, equation: Any, start: Any, **options: Any) -> mfpde.Density:
    """The density at ``time``, in steps that nothing else but the solver chooses."""
    run = mfpde.solve(equation, start, t_end=time, save_at=[time], **options)
    return run.final.density


def atoms_alone(grid: Any, points: ArrayLike, masses: Any = None) -> mfpde.Measure:
    """Atoms, equal ones without ``masses``, and no density beside them."""
    empty = mfpde.Density(grid, np.zeros(grid.shape))
    return mfpde.Measure(empty, mfpde.Atoms(points, masses))


def bessel_spectrum(beta: float, dimension: int, degrees: ArrayLike) -> Array:
    """e^-beta Gamma(d/2) (2/beta)^(d/2-1) I_(l+d/2-1)(beta): lambda_l of the shifted kernel."""
    order = dimension / 2 - 1
    scale = gamma(dimension / 2) * (2 / beta) ** order
    return np.asarray(scale * ive(np.asarray(degrees) + order, beta))


def integrate(rate: Callable[[Array], Any], start: ArrayLike, times: Any) -> Array:
    """Solve x' = rate(x), x of any shape, until one time or at several, to 12 digits."""
    begin, asked = np.asarray(start, dtype=np.float64), np.atleast_1d(times)
    path = solve_ivp(
        lambda _, x: np.ravel(rate(x.reshape(begin.shape))),
        (0, asked[-1]),
        begin.ravel(),
        t_eval=asked,
        method="DOP853",
        rtol=1e-12,
        atol=1e-13,
    )
    states = path.y.T.reshape(-1, *begin.shape)
    return states if np.ndim(times) else states[-1]


def zonal_error(
    time: float, equation: Any, grid: mfpde.Zonal, origins: Callable[..., Array]
) -> float:
    """Sum of errors of the cell masses at ``time``, from uniform, faces from ``origins``."""
    end = solve_to(time, equation, mfpde.uniform(grid))
    exact = uniform_masses(grid.dimension, origins(grid.face_angles, time))
    return float(np.abs(end.masses - exact).sum())
