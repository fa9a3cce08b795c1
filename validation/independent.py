r"""The equation written a second time, in numpy alone: a witness that shares no code.

    F(x) = (1/beta) int K(x.y) dmu(y) + sum_j w_j Phi(a_j.x + b_j),
    grad F(x) = P_x [ int K(x.y) y dmu(y) + sum_j w_j sigma(a_j.x + b_j) a_j ],
    E[mu] = (1/2 beta) iint K dmu dmu + int V dmu,     K = exp(beta (x.y - 1))

(design of the model; paper, eqs. 2.5 and 2.6; softmax: eq. 2.8, whose attention part is
(1/beta) log Z; with matrices K = exp(beta (x.Dy - |D|)), and V y for y in the pull).
``mfpde`` is not imported: particles, densities and stationary states of the package share
its kernel and its perceptrons, so that an error in these would be seen by none of them.
``validation/characteristics.py`` moves particles by it, and
``validation/figures/paper_protocol.py`` runs the paper's own protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

Array = NDArray[np.float64]

BLOCK = 4_000_000
"""Entries of a matrix of kernel values held at a time."""
NEURON_ARRAYS = ("directions", "weights", "biases")


class Problem(NamedTuple):
    """Parameters of an equation: plain numbers and arrays."""

    beta: float
    sign: int = 1
    directions: Array = np.zeros((0, 1))
    weights: Array = np.zeros(0)
    biases: Array = np.zeros(0)
    activation: str = "relu"
    normalized: bool = False
    shifted: bool = True
    bilinear: Array | None = None
    value: Array | None = None

    @property
    def largest(self) -> float:
        """The largest logit |D|_2, over beta."""
        return 1.0 if self.bilinear is None else float(np.linalg.norm(self.bilinear, 2))

    def sent(self, points: Array) -> Array:
        """V y at points (n, d); V = D if there is only D."""
        matrix = self.bilinear if self.value is None else self.value
        return points if matrix is None else np.asarray(points @ matrix.T)

    def logits(self, at: Array, points: Array) -> Array:
        """The products x.Dy (m, n)."""
        received = at if self.bilinear is None else at @ self.bilinear
        return np.asarray(received @ points.T)


def problem_of(equation: Any) -> Problem:
    """Read the parameters of an equation with one attention and at most one perceptron.

    Raises
    ------
    ValueError
        If the equation has other terms.
    """
    (attention,) = equation.interactions
    neurons = equation.externals
    if len(neurons) > 1 or not all(hasattr(term, "directions") for term in neurons):
        raise ValueError(
            f"{equation} must have one attention and at most one perceptron"
        )
    perceptron: dict[str, Any] = {}
    for term in neurons:
        perceptron = {n: np.array(getattr(term, n)) for n in NEURON_ARRAYS}
        perceptron["activation"] = term.activation.name
    return Problem(
        beta=float(attention.beta),
        sign=1 if equation.direction == "ascent" else -1,
        normalized=bool(attention.normalized),
        shifted=attention.kernel == "shifted",
        bilinear=getattr(attention, "bilinear", None),
        value=getattr(attention, "value", None),
        **perceptron,
    )


def activation_and_primitive(name: str, z: Array) -> tuple[Array, Array]:
    """Return sigma(z) and Phi(z), Phi' = sigma and Phi(0) = 0."""
    if name == "relu":
        return np.maximum(z, 0.0), np.maximum(z, 0.0) ** 2 / 2
    if name == "squared_relu":
        return np.maximum(z, 0.0) ** 2, np.maximum(z, 0.0) ** 3 / 3
    if name == "leaky_relu":
        sigma = np.where(z > 0, z, z / 100)
        return sigma, z * sigma / 2
    if name == "gelu":
        below = (1 + erf(z / np.sqrt(2))) / 2
        bell = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        return z * below, ((z**2 - 1) * below + z * bell) / 2 + 0.25
    if name == "linear":
        return z, z**2 / 2
    if name == "tanh":
        return np.tanh(z), np.log(np.cosh(z))
    raise ValueError(
        f"activation {name!r} must be relu, squared_relu, leaky_relu, gelu, linear or tanh"
    )


def potential(problem: Problem, at: Array) -> Array:
    """V (...,) at points (..., d)."""
    if not len(problem.weights):
        return np.zeros(at.shape[:-1])
    z = at @ problem.directions.T + problem.biases
    return np.asarray(
        activation_and_primitive(problem.activation, z)[1] @ problem.weights
    )


def potential_gradient(problem: Problem, at: Array) -> Array:
    """Tangential gradient of V (n, d) at points (n, d)."""
    if not len(problem.weights):
        return np.zeros_like(at)
    z = at @ problem.directions.T + problem.biases
    sigma = activation_and_primitive(problem.activation, z)[0]
    return _tangential(at, (sigma * problem.weights) @ problem.directions)


def first_variation(
    problem: Problem, points: Array, masses: Array, *, at: Array
) -> Array:
    """F (m,) at ``at`` (m, d) of atoms of ``masses`` (n,) at ``points`` (n, d)."""
    logs = np.concatenate([log for log, _ in _sums(problem, points, masses, at)])
    attention = logs if problem.normalized else np.exp(logs)
    return np.asarray(attention / problem.beta + potential(problem, at))


def gradient(problem: Problem, points: Array, masses: Array, *, at: Array) -> Array:
    """Tangential gradient of F (m, d) at ``at`` (m, d); the velocity is sign times it."""
    sent, pulls = problem.sent(points), []
    for logs, shares in _sums(problem, points, masses, at):
        pull = shares @ sent
        pulls.append(pull if problem.normalized else np.exp(logs)[:, None] * pull)
    return _tangential(at, np.concatenate(pulls)) + potential_gradient(problem, at)


def energy(problem: Problem, points: Array, masses: Array) -> float:
    """E of atoms of ``masses`` (n,) at ``points`` (n, d); the kernel is not normalised."""
    logs = [log for log, _ in _sums(problem, points, masses, points)]
    pairs = float(masses @ np.exp(np.concatenate(logs))) / (2 * problem.beta)
    return pairs + float(masses @ potential(problem, points))


def cells_of(measure: Any) -> tuple[Array, Array]:
    """Points (n, d) and masses (n,) of a measure: its cells at their centres, its atoms."""
    if hasattr(measure, "points"):
        return np.asarray(measure.points), np.asarray(measure.masses)
    density = getattr(measure, "density", measure)
    atoms = getattr(measure, "atoms", None)
    points = density.geometry.points.reshape(-1, density.geometry.dimension)
    masses = density.masses.ravel()
    if atoms is None or not len(atoms.masses):
        return points, masses
    return np.concatenate([points, atoms.points]), np.append(masses, atoms.masses)


def _sums(
    problem: Problem, points: Array, masses: Array, at: Array
) -> Iterator[tuple[Array, Array]]:
    """Yield log int K dmu (m,) and each point's share of it (m, n), for blocks of ``at``.

    In logarithms, so that it has its digits where the kernel is below the least number.
    """
    shift = problem.beta * problem.largest if problem.shifted else 0.0
    rows = max(BLOCK // max(len(points), 1), 1)
    with np.errstate(divide="ignore"):
        logs = np.log(masses) - shift
    for begin in range(0, len(at), rows):
        exponents = problem.beta * problem.logits(at[begin : begin + rows], points)
        exponents += logs
        peaks = exponents.max(axis=1, keepdims=True)
        shares = np.exp(exponents - peaks)
        totals = shares.sum(axis=1, keepdims=True)
        yield (peaks + np.log(totals))[:, 0], shares / totals


def _tangential(at: Array, vectors: Array) -> Array:
    return vectors - (vectors * at).sum(axis=-1, keepdims=True) * at
