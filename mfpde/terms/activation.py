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


class Strip(NamedTuple):
    """The strip |Im z| <= ``half_width``, in which sigma is analytic and |sigma'| bounded.

    With r and M for the two, |Phi^(k+2)| <= k! M / r^k on the real line (Cauchy).
    """

    half_width: float
    largest_slope: float


@dataclass(frozen=True)
class ActivationBounds:
    """Bounds of the slope sigma', and of the size of sigma'' off the kinks.

    They must hold for all arguments; nothing else is taken for granted of sigma.
    """

    least_slope: float
    largest_slope: float
    second: float

    @property
    def steepest(self) -> float:
        """Bound of |sigma'|."""
        return max(self.largest_slope, -self.least_slope)


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
    bounds
        Bounds of derivatives, without which certificates refuse the activation.
    strip
        Where sigma is analytic; None if that is not known.

    Raises
    ------
    ValueError
        If bounds are given without ``derivative``, or if they do not hold at some of 4000
        arguments in [-20, 20].
    """

    name: str
    sigma: ScalarFunction
    primitive: ScalarFunction
    derivative: ScalarFunction | None = None
    kinks: tuple[float, ...] = ()
    silent_below: float | None = None
    bounds: ActivationBounds | None = None
    strip: Strip | None = None

    def __post_init__(self) -> None:
        if self.bounds is None:
            return
        if self.derivative is None:
            raise ValueError(
                f"activation {self.name!r} has bounds: it needs its derivative"
            )
        self._check_bounds(self.bounds, self.derivative)

    def _check_bounds(
        self, bounds: ActivationBounds, derivative: ScalarFunction
    ) -> None:
        """Raise ``ValueError`` where differences pass their bounds."""
        z = np.linspace(-20.0, 20.0, 4001) + 1e-3
        step, kinked = np.diff(z), np.zeros(len(z) - 1, dtype=bool)
        for kink in self.kinks:
            kinked |= (z[:-1] <= kink) & (z[1:] >= kink)
        rises = np.diff(np.asarray(self.sigma(z))) / step
        bends = np.where(kinked, 0.0, np.diff(np.asarray(derivative(z))) / step)
        for name, found, least, most in (
            ("slopes", rises, bounds.least_slope, bounds.largest_slope),
            ("second", bends, -bounds.second, bounds.second),
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

    @property
    def lipschitz(self) -> float | None:
        """Lipschitz constant of sigma; None if it is not known."""
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
