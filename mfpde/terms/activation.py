"""What an activation sigma is: all that equations, certificates and theorems need of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray

ON_KINK = 1e-10
"""An argument this close to a kink of sigma lies on it."""
_STEP = 1e-4

ScalarFunction = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class ActivationBounds:
    """Bounds of the slope sigma', and of the sizes of sigma'' and so on off the kinks.

    They must hold for all arguments; nothing else is taken for granted of sigma.
    """

    least_slope: float
    largest_slope: float
    second: float
    third: float
    fourth: float

    @property
    def steepest(self) -> float:
        """Bound of |sigma'|."""
        return max(self.largest_slope, -self.least_slope)


class HigherSlopes(NamedTuple):
    """The derivatives sigma'' and sigma''' off the kinks, of one shape."""

    second: FloatArray
    third: FloatArray


@dataclass(frozen=True)
class Activation:
    """An activation ``sigma`` with its ``primitive`` Phi, both elementwise on arrays.

    Parameters
    ----------
    name
        Under which settings and stores know it, once it is registered.
    sigma, primitive
        sigma and Phi, Phi' = sigma, Phi(0) = 0.
    derivative
        sigma' away from the ``kinks``; None: by differences.
    kinks
        Arguments where sigma' jumps.
    silent_below
        Argument up to which sigma is 0; None if there is none.
    steepest_at
        Argument at which sigma' is largest, its Lipschitz constant; None if not known.
    bounds
        Bounds of derivatives, without which certificates refuse the activation.
    curvature
        sigma'' and sigma''' off the kinks; needed with bounds unless both are 0.
    log_derivative
        Log of a bound of |Phi^(k)| / k! for the order k; None if not known.

    Raises
    ------
    ValueError
        If bounds are given of an activation that is not piecewise linear, without its
        ``derivative`` and ``curvature``, or if they do not hold at some of 4000 arguments
        in [-20, 20].
    """

    name: str
    sigma: ScalarFunction
    primitive: ScalarFunction
    derivative: ScalarFunction | None = None
    kinks: tuple[float, ...] = ()
    silent_below: float | None = None
    steepest_at: float | None = None
    bounds: ActivationBounds | None = None
    curvature: Callable[[FloatArray], HigherSlopes] | None = None
    log_derivative: Callable[[int], float] | None = None

    def __post_init__(self) -> None:
        has_slopes = self.derivative is not None and (
            self.curvature is not None or self.is_piecewise_linear
        )
        if self.bounds is not None and not has_slopes:
            raise ValueError(
                f"activation {self.name!r} has bounds: it needs its derivative, and its "
                "curvature, (sigma'', sigma'''), where these are not 0"
            )
        if self.bounds is not None:
            self._check_bounds(self.bounds)

    def _check_bounds(self, bounds: ActivationBounds) -> None:
        """Raise ``ValueError`` where differences and derivatives pass their bounds."""
        z = np.linspace(-20.0, 20.0, 4001) + 1e-3
        step, kinked = np.diff(z), np.zeros(len(z) - 1, dtype=bool)
        for kink in self.kinks:
            kinked |= (z[:-1] <= kink) & (z[1:] >= kink)
        second, third = self.higher_slopes(z)
        rises = np.diff(np.asarray(self.sigma(z))) / step
        fourth = np.where(kinked, 0.0, np.diff(third) / step)
        for name, found, least, most in (
            ("slopes", rises, bounds.least_slope, bounds.largest_slope),
            ("second", second, -bounds.second, bounds.second),
            ("third", third, -bounds.third, bounds.third),
            ("fourth", fourth, -bounds.fourth, bounds.fourth),
        ):
            beyond = np.maximum(least - found, found - most)
            worst = int(np.argmax(beyond))
            if not beyond[worst] <= 1e-6 * (1 + max(abs(least), abs(most))):
                raise ValueError(
                    f"bounds of activation {self.name!r}: {name} from {least:g} to "
                    f"{most:g}, but near z = {z[worst]:.4g} it is {found[worst]:g}"
                )

    @property
    def is_piecewise_linear(self) -> bool:
        """Whether sigma'' is known to be 0 off the kinks."""
        return self.bounds is not None and self.bounds.second == 0

    def higher_slopes(self, z: FloatArray) -> HigherSlopes:
        """The derivatives sigma'' and sigma''' at ``z`` off the kinks, each of its shape."""
        if self.curvature is not None:
            return self.curvature(z)
        return HigherSlopes(np.zeros_like(z), np.zeros_like(z))

    @property
    def lipschitz(self) -> float | None:
        """Lipschitz constant of sigma; None if it is not known."""
        if self.derivative is not None and self.steepest_at is not None:
            return float(np.asarray(self.derivative(np.array(self.steepest_at))))
        return None if self.bounds is None else self.bounds.steepest

    def slopes(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Left and right derivatives of sigma at ``z``, each of the shape of ``z``.

        They differ within 1e-10 of a kink only.  Where sigma' is not known both are the
        five-point central difference of sigma with step 1e-4.
        """
        if self.derivative is None:
            near = np.asarray(self.sigma(z + _STEP) - self.sigma(z - _STEP))
            far = np.asarray(self.sigma(z + 2 * _STEP) - self.sigma(z - 2 * _STEP))
            both = (8 * near - far) / (12 * _STEP)
            return both, both
        left = right = np.asarray(self.derivative(z))
        for kink in self.kinks:
            on_kink = np.abs(z - kink) <= ON_KINK
            beside = np.full_like(z, 2 * ON_KINK)
            left = np.where(on_kink, self.derivative(kink - beside), left)
            right = np.where(on_kink, self.derivative(kink + beside), right)
        return left, right
