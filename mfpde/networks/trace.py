r"""What tokens do in a network: where the residual stream u points, and how far it is moved.

On the sphere x = N(P u), P u what the norm leaves of u.  A sublayer f sends x to N(x + F(x)),
F = P (u + f) / s - x, with s = |P u| in a network whose norms stand before sublayers; where they
stand after, s is sqrt(d) times the mean gain of the norm that made u, so that F holds what the
gains deviate from it, and the biases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry.arcs import distances
from mfpde.networks.block import NetworkBlock, Norm


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


class Stream(NamedTuple):
    """Tokens between two sublayers: u (N, d), and s (N,); x and |P u| (N,) before the norm."""

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
        return Stream(u, x, radii, radii)
    scale = np.full(len(u), np.sqrt(u.shape[1]) * norm[0].mean())
    return Stream(block.normalize(u, norm), x, radii, scale)


def measure_steps(stream: Stream, outputs: FloatArray) -> Steps:
    """The steps of streams (2 layers + 1, N, ...) by the outputs (2 layers, N, d)."""
    u, x, radii, scale = stream
    moved = (radii[1:] / scale[:-1])[..., np.newaxis] * x[1:] - x[:-1]
    radial = (moved * x[:-1]).sum(axis=2)
    tangential = np.linalg.norm(moved - radial[..., np.newaxis] * x[:-1], axis=2)
    total = np.linalg.norm(outputs, axis=2) / np.linalg.norm(u[:-1], axis=2)
    steps = total, tangential, radial, distances(x[:-1], x[1:])
    return Steps(*(one.reshape(-1, 2, len(one[0])) for one in steps))
