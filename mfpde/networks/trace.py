r"""What tokens do in a network: where the residual stream u points, and how far it is moved.

On the sphere x = N(P u), P u what the norm leaves of u.  A sublayer f sends x to N(x + F(x)),
F = P (u + f) / s - x, with s = |P u| in a network whose norms stand before sublayers; where they
stand after, s is sqrt(d) times the mean gain of the norm that made u, so that F holds what the
gains deviate from it, and the biases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry.arcs import distances
from mfpde.networks.block import NetworkBlock, Norm
from mfpde.notebook import call_above


class Steps(NamedTuple):
    """How far sublayers take tokens, (layers, 2, N), attention first.

    ``total`` is |f| / |u|, ``tangential`` |P_x F|, ``radial`` x.F, and ``rotation`` the angle
    (radians) between x before and after.
    """

    total: FloatArray
    tangential: FloatArray
    radial: FloatArray
    rotation: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """What a network did to N tokens.

    Attributes
    ----------
    points, radii
        N(P u) (layers + 1, N, d) and |P u| (layers + 1, N), at the start and after each layer,
        before gain and bias.
    steps
        ``total``, ``tangential``, ``radial``, ``rotation`` of each sublayer; :class:`Steps`.
    effective_keys, sinks
        Of attention, how many tokens each looks at, e^entropy (layers, H, N), and the mean mass
        on the first token (layers, H).
    outputs
        What the network gives out (N, d), after the last gain and bias.
    """

    points: FloatArray
    radii: FloatArray
    steps: Steps
    effective_keys: FloatArray
    sinks: FloatArray
    outputs: FloatArray

    def __repr__(self) -> str:
        layers, tokens, d = self.points.shape
        return f"<Trace of {tokens} tokens in {layers - 1} layers, d = {d}>"

    def plot(self, **options: Any) -> Any:
        """The figure of the pass, as :func:`mfpde.plot_trace` makes it with these options."""
        return call_above("networks.pictures:plot_trace", self, **options)


class Stream(NamedTuple):
    """Tokens between two sublayers: u (N, d), and s; x (N, d) and |P u| (N,) before the norm."""

    u: FloatArray
    x: FloatArray
    radii: FloatArray
    scale: FloatArray


def make_stream(u: FloatArray, block: NetworkBlock, norm: Norm | None) -> Stream:
    """The stream ``u``, or what a norm makes of it."""
    centred = block.center(u)
    radii = np.linalg.norm(centred, axis=1)
    if not radii.all():
        wrong = f"token {np.argmin(radii)} has no direction"
        raise ValueError(f"{wrong}: the norm leaves nothing of entries all alike")
    x = centred / radii[:, np.newaxis]
    if norm is None:
        return Stream(u, x, radii, radii[:, np.newaxis])
    scale = np.sqrt(u.shape[1]) * norm[0].mean(keepdims=True)
    return Stream(block.normalize(u, norm), x, radii, scale)


def measure_step(before: Stream, output: FloatArray, after: Stream) -> FloatArray:
    """|f| / |u|, |P_x F|, x.F and the rotation (4, N) of a sublayer with this output f (N, d)."""
    x, moved = before.x, after.radii[:, np.newaxis] * after.x / before.scale - before.x
    radial = (moved * x).sum(axis=1)
    tangential = np.linalg.norm(moved - radial[:, np.newaxis] * x, axis=1)
    total = np.linalg.norm(output, axis=1) / np.linalg.norm(before.u, axis=1)
    return np.stack([total, tangential, radial, distances(x, after.x)])
