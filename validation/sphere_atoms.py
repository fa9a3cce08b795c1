"""Atoms that form on the sphere: density run against 4000 particles at t = 20.

Attention at beta = 8 with five ReLU neurons, from the uniform measure, in ascent, with
softmax, and in descent.  Atoms are the basins of the velocity field (mfpde.concentration) of
both; centres are compared in cells h = pi / nlat, masses absolutely.

Where neurons' kinks hold an atom at the corner of four cells, no cell centre is within half
an h: the offset is therefore shown by direction too, in widths of the ring and of the cell or
group (half of each is the atom's own cell).
"""

from __future__ import annotations

import numpy as np

import mfpde
from mfpde.arrays import FloatArray

CASES = {
    "ascent": ("ascent", False),
    "softmax": ("ascent", True),
    "descent": ("descent", False),
}


def offset(
    sphere: mfpde.Sphere, atom: FloatArray, other: FloatArray
) -> tuple[float, float]:
    """Distance along the meridian in rings, and along the ring in cells or groups."""
    theta = np.arccos(np.clip([atom[2], other[2]], -1, 1))
    phi = np.arctan2([atom[1], other[1]], [atom[0], other[0]])
    ring = int(np.argmin(np.abs(sphere.colatitudes - theta[0])))
    width = np.diff(sphere.rings.face_colatitudes)[ring]
    turn = abs((phi[0] - phi[1] + np.pi) % (2 * np.pi) - np.pi)
    angle = sphere.rings.group_sizes[ring] * sphere.longitude_step
    return abs(theta[0] - theta[1]) / width, turn / angle


def main(quick: bool = False, seed: int = 7) -> dict[str, float]:
    nlat, count = (64, 1000) if quick else (128, 4000)
    neurons = mfpde.Perceptron.random(5, 3, seed=seed)
    sphere = mfpde.Sphere(nlat)
    start = mfpde.uniform(sphere)
    worst = {"centre": 0.0, "offset": 0.0, "mass": 0.0}
    for name, (direction, normalized) in CASES.items():
        equation = mfpde.MeanFieldEquation(
            mfpde.Attention(8.0, normalized=normalized), neurons, direction=direction
        )
        run = mfpde.solve(equation, start, t_end=20.0, save_at=[20.0])
        particles = mfpde.solve_particles(
            equation, mfpde.quantized(start, count), t_end=20.0, rtol=1e-6, atol=1e-8
        )
        dense = mfpde.concentration(run.final, equation).clusters
        points = mfpde.concentration(particles.final, equation).clusters
        print(
            f"{name}: {len(dense)} atoms of the density, {len(points)} of the particles; "
            f"{run.statistics['steps']} steps, {run.statistics['wall_seconds']:.1f} s against "
            f"{particles.statistics['wall_seconds']:.1f} s"
        )
        for atom in dense:
            cosines = [atom.position @ other.position for other in points]
            other = points[int(np.argmax(cosines))]
            away = float(np.arccos(min(max(cosines), 1.0)) / sphere.spacing)
            south, east = offset(sphere, atom.position, other.position)
            print(
                f"  mass {atom.mass:.5f} against {other.mass:.5f} (in the core "
                f"{atom.core_mass:.5f}, {other.core_mass:.5f}), centres {away:.3f} h apart "
                f"({south:.3f} rings, {east:.3f} cells), z = {atom.position[2]:.3f}, "
                f"{atom.radius_in_cells:.2f} cells wide"
            )
            worst["centre"] = max(worst["centre"], away)
            worst["offset"] = max(worst["offset"], south, east)
            worst["mass"] = max(worst["mass"], abs(atom.mass - other.mass))
    return worst


if __name__ == "__main__":
    print(main())
