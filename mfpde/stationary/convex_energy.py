r"""The energy E[mu] = (1/2) iint K dmu dmu + int V dmu that descent minimises, where it is convex.

K is a sum of kernels A W(x.By) with symmetric matrices |B|_2 <= 1: of x.y, B = 1; of a head of
attention with a symmetric D and V = a D, in the shifted form with c = beta |D|_2,

    (a / beta) e^{beta x.Dy - c} = a |D|_2 e^{c (x.By - 1)} / c,    B = D / |D|_2,

the kernel W of inverse temperature c, A = a |D|_2.  Along a great arc x.By = b.gamma with b = By,
|b| <= 1, so that what holds for W along great arcs bounds it (``ridge_fields.py``).

E is convex if K is positive semidefinite on measures of mass 0.  With D = R^2, R symmetric,
e^{beta x.Dy} is e^{beta u.v} at u = Rx and v = Ry, a series of powers of u.v with positive
coefficients: positive semidefinite, for every D >= 0 and a >= 0.  An eigenvalue of D below 0
makes sinh(beta x.Dy), the odd part, negative on some measures.  Kernels of x.y together must have
no negative eigenvalue from degree 1 on (Funk-Hecke).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import FloatArray, refuse
from mfpde.equation import MeanFieldEquation
from mfpde.stationary.ridge_fields import (
    NEGLIGIBLE,
    ROUNDING,
    KernelRidges,
    NeuronRidges,
    RidgeField,
)
from mfpde.terms import Attention, Perceptron, PointMasses
from mfpde.terms.kernels import Kernel


@dataclass(frozen=True, eq=False)
class PairKernel:
    """The kernel ``amplitude`` times the mean over i of W(x.B_i y), W = ``profile``.

    ``matrices`` (k, d, d) are the B_i, symmetric and |B_i|_2 <= 1.
    """

    profile: Kernel
    amplitude: float
    matrices: FloatArray

    def vectors(self, points: FloatArray) -> FloatArray:
        """The vectors B_i y (n, k, d) of ``points`` y (n, d)."""
        return np.asarray(np.einsum("kij,nj->nki", self.matrices, points))

    def matrix(self, points: FloatArray, others: FloatArray) -> FloatArray:
        """The kernel (n, m) between ``points`` (n, d) and ``others`` (m, d)."""
        cosines = np.einsum("ni,mki->nmk", points, self.vectors(others), optimize=True)
        values = self.profile.value(cosines)
        return np.asarray(self.amplitude * values.mean(axis=2))

    def ridges(self, atoms: PointMasses, mass: float) -> KernelRidges:
        """The field of ``atoms``, which stand for a measure of mass ``mass``."""
        vectors, count = self.vectors(atoms.points), len(self.matrices)
        weights = np.repeat(self.amplitude / count * atoms.masses, count)
        flat = vectors.reshape(-1, vectors.shape[2])
        return KernelRidges(self.profile, flat, weights, self.amplitude * mass)

    def slopes(
        self, points: FloatArray, frames: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Derivatives by x, (n, k, n), and by x and y, (n, k, n, k), between ``points`` (n, d).

        They are in the tangent ``frames`` (n, k, d).
        """
        vectors = self.vectors(points)
        cosines = np.einsum("ni,mqi->nmq", points, vectors, optimize=True)
        weight = self.amplitude / len(self.matrices)
        first = weight * self.profile.slope(cosines)
        second = weight * self.profile.bend(cosines)
        inward = np.einsum("nai,mqi->namq", frames, vectors, optimize=True)
        turned = np.einsum("qij,mbj->qimb", self.matrices, frames)
        by_x = np.einsum("nmq,namq->nam", first, inward)
        # y.B x = x.B y: the slope by y is that by x with the points exchanged.
        by_both = np.einsum("nmq,namq,mbnq->namb", second, inward, inward)
        by_both += np.einsum("nmq,nai,qimb->namb", first, frames, turned, optimize=True)
        return by_x, by_both


@dataclass(frozen=True, eq=False)
class ConvexEnergy:
    """E on S^(d-1), d = ``dimension``, of ``kernels`` and of neurons with scalar weights.

    If it ``is_mirrored`` on S^1, a point stands for its mirror image (x_1, -x_2) as well.
    """

    kernels: tuple[PairKernel, ...]
    neurons: tuple[Perceptron, ...]
    dimension: int
    is_mirrored: bool = False

    def represent(self, points: FloatArray) -> FloatArray:
        """The ``points`` (n, d), or their mirror images with x_2 >= 0."""
        if not self.is_mirrored:
            return points
        return np.stack([points[:, 0], np.abs(points[:, 1])], axis=1)

    @cached_property
    def external(self) -> RidgeField:
        """The potential V."""
        return RidgeField(tuple(map(NeuronRidges, self.neurons)), self.dimension)

    @cached_property
    def curvature(self) -> float:
        """Bound of second derivatives of V."""
        return sum(NeuronRidges(layer).curvature for layer in self.neurons)

    @cached_property
    def kernel_width(self) -> float:
        """1 / sqrt(beta), the width of the narrowest kernel in radians, at most 1."""
        sharpest = max(kernel.profile.sharpness for kernel in self.kernels)
        return float(1 / np.sqrt(max(1.0, sharpest)))

    @cached_property
    def scale(self) -> float:
        """Scale that energies are compared with.

        The largest of 1, max |W'| of the kernels (e^beta if unshifted), and a hundredth of
        sum |w_j| (|a_j| + |b_j|)^2, where rounding of V alone comes near 1e-12.
        """
        pull = sum(k.amplitude * k.profile.strength for k in self.kernels)
        strength = 0.0
        for layer in self.neurons:
            reach = np.linalg.norm(layer.directions, axis=1) + np.abs(layer.biases)
            strength += float(np.abs(layer.weights) @ reach**2)
        return max(1.0, pull, strength / 100)

    @property
    def rounding(self) -> float:
        """Rounding of energies and of their gradients."""
        return ROUNDING * self.scale * max(1.0, self.curvature)

    def matrix(self, points: FloatArray, others: FloatArray) -> FloatArray:
        """The kernel K (n, m) between ``points`` (n, d) and ``others`` (m, d)."""
        parts = [kernel.matrix(points, others) for kernel in self.kernels]
        return np.asarray(np.sum(parts, axis=0))

    def first_variation(
        self, atoms: PointMasses, *, mass: float | None = None, rest: float = 0.0
    ) -> RidgeField:
        """F = A[mu] + V of ``atoms``, up to ``rest`` that of what they replace, of ``mass``."""
        mass = float(atoms.masses.sum()) if mass is None else mass
        parts = tuple(kernel.ridges(atoms, mass) for kernel in self.kernels)
        return RidgeField(parts + self.external.parts, self.dimension, rest)


def turn_neurons(
    layers: Iterable[Perceptron], frame: FloatArray, *, sign: int = 1
) -> tuple[Perceptron, ...]:
    """The acting neurons at the points ``frame`` @ y, ``frame`` (d, k), ``sign`` times their V."""
    return tuple(
        Perceptron(
            layer.directions[layer.acts] @ frame,
            sign * layer.weights[layer.acts],
            layer.activation,
            biases=layer.biases[layer.acts],
        )
        for layer in layers
        if layer.acts.any()
    )


def pair_kernels(equation: MeanFieldEquation, dimension: int) -> tuple[PairKernel, ...]:
    """The kernels K of an equation with an energy, on S^(dimension-1)."""
    kernels = []
    for term in equation.interactions:
        matrix, amplitude = np.eye(dimension), term.amplitude
        if isinstance(term, Attention) and not term.is_zonal:
            # Symmetric to the last bit: so is the matrix between points.
            matrix = (term.keys_matrix + term.keys_matrix.T) / (2 * term.size)
            amplitude *= (term.multiple or 0.0) * term.size
        kernels.append(PairKernel(term.zonal_kernel, amplitude, matrix[np.newaxis]))
    return tuple(kernels)


def convex_energy(
    equation: MeanFieldEquation, dimension: int, name: str
) -> ConvexEnergy:
    """The energy of an equation on S^(dimension-1), for the function ``name``.

    ``ValueError`` unless the flow descends E, E is convex and all terms have bounds.
    """
    diffusion = equation.diffusion
    faults = {
        "is for descent, not for direction = 'ascent': see maximize": equation.sign > 0,
        "is for attention: without it see maximize": not equation.interactions,
        f"is for E alone, without diffusion = {diffusion:g}": diffusion > 0,
    }
    refuse(name, faults)
    check_terms(equation, name, needs_bounds=True)
    check_convex(equation, dimension, name)
    kernels = pair_kernels(equation, dimension)
    return ConvexEnergy(kernels, equation.perceptron_parts, dimension)


def check_terms(
    equation: MeanFieldEquation, name: str, *, needs_bounds: bool = False
) -> None:
    """Raise ``ValueError`` unless all terms have an energy, and bounds if these are needed."""
    softmax = "of unnormalised attention only: softmax attention is no gradient of E"
    potential = any(term.layer is None for term in equation.externals)
    faults = {
        f"needs an energy, {softmax}": equation.has_softmax,
        "is for perceptrons: a Potential has no bounds of derivatives": potential,
    }
    for term in equation.interactions:
        form = "value is no multiple of bilinear, or bilinear is not symmetric"
        third = f"needs a bound of the kernel's third derivative, not given by {term!r}"
        faults[f"needs an energy, not {term!r}: {form}"] = not term.has_energy
        has_third = term.zonal_kernel.third_derivative is not None
        faults[third] = needs_bounds and not has_third
    for layer in equation.perceptrons:
        given = f"is not for activation = {layer.activation.name!r}"
        needs_slopes = f"{given}: no bounds of its derivatives are known"
        faults["needs an energy: vector weights have none"] = not layer.is_gradient
        faults[needs_slopes] = needs_bounds and layer.activation.bounds is None
    refuse(name, faults)


def check_convex(equation: MeanFieldEquation, dimension: int, name: str) -> None:
    """Raise ``ValueError`` unless E is convex on S^(dimension-1) (see the head of this module).

    Eigenvalues are computed, to rounding.
    """
    for term in equation.externals:
        term.check_dimension(dimension)
    advice = "below 0; polish finds stationary atoms, of which none need be the best"
    faults = {}
    for head in equation.heads:
        head.check_dimension(dimension)
        lowest = float(np.linalg.eigvalsh(head.keys_matrix).min())
        multiple, rounding = head.multiple or 0.0, NEGLIGIBLE * head.size
        eigenvalue = f"bilinear has the eigenvalue {lowest:.4g}, {advice}"
        faults[eigenvalue] = lowest < -rounding
        faults[f"value is {multiple:.4g} times bilinear, {advice}"] = multiple < 0
    terms = [term for term in equation.interactions if term.is_zonal]
    degree = max((t.zonal_kernel.band_limit(dimension) for t in terms), default=1)
    spectrum = np.zeros(degree + 1)
    for one in terms:
        spectrum += one.amplitude * one.zonal_kernel.spectrum(dimension, degree)
    l = 1 + int(np.argmin(spectrum[1:]))
    kernel = f"the kernel's eigenvalue of degree {l} on S^{dimension - 1}"
    is_negative = bool(spectrum[l] < -NEGLIGIBLE * np.abs(spectrum).max())
    faults[f"{kernel} is {spectrum[l]:.4g}, {advice}"] = is_negative
    refuse(f"{name} needs a convex energy:", faults)
