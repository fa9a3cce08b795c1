r"""The interaction as a matrix: K(x.y) / beta = sum_k Lambda_k B_k(x) B_k(y) at cell centres.

B_k are real harmonics, orthonormal for the uniform probability (addition theorem: sum over
one degree of B_k(x) B_k(y) = Z_l(x, y)), Lambda_k the eigenvalues of K / beta of their degree.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mfpde.arrays import FloatArray, IntArray, read_only
from mfpde.geometry import Geometry

LARGEST_BASIS = 3000


@lru_cache(maxsize=2)
def real_harmonics(geometry: Geometry, degree: int) -> tuple[FloatArray, IntArray]:
    """Real harmonics of degree 1..``degree`` at the centres, (cells, n), and their degrees.

    Raises
    ------
    ValueError
        If there are more than 3000.
    """
    degrees = geometry.degrees(degree)
    shares = (geometry.areas / geometry.areas.sum()).ravel()
    columns, found = [], []
    for index in np.flatnonzero(degrees > 0):
        for unit in (1.0, 1.0j):
            coefficients = np.zeros(len(degrees), dtype=np.complex128)
            coefficients[index] = unit
            values = geometry.synthesis(coefficients).ravel()
            size = np.sqrt(shares @ values**2)
            if size > 1e-8:
                columns.append(values / size)
                found.append(int(degrees[index]))
        if len(columns) > LARGEST_BASIS:
            raise ValueError(
                f"geometry = {geometry!r}: the kernel has degrees up to {degree}, more than "
                f"{LARGEST_BASIS} harmonics; a smaller beta is needed"
            )
    return read_only(np.stack(columns, axis=1)), np.array(found)
