r"""Cells of a central hyperplane arrangement {x : a_j.x = 0}, by deletion and restriction.

The last hyperplane cuts those cells of the others that it meets; these are the cells of the
others' traces on it.  So cells in dimension k come from cells of fewer hyperplanes and from
cells in dimension k - 1.  Each comes with a point inside, so that no linear program is needed.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray

SAME = 1e-9
"""Relative difference of numbers that are one, and the sine between hyperplanes that are."""
MOST_CELLS = 100_000

Cell = tuple[FloatArray, FloatArray]
"""Signs (+-1) of all hyperplanes, and a point inside."""


def cells_of(rows: FloatArray) -> list[Cell]:
    """Cells of the arrangement with normals ``rows`` (n, k), none of them zero.

    Parallel rows are allowed: their signs agree, or are opposite.

    Raises
    ------
    ValueError
        If there are more than 100000 cells.
    """
    count, k = rows.shape
    if count == 0:
        return [(np.empty(0), np.eye(1, k)[0])]
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    others, last = units[:-1], units[-1]
    cells = cells_of(others)
    basis = np.linalg.svd(last[np.newaxis])[2][1:].T
    traces = others @ basis
    is_new = (np.linalg.norm(traces, axis=1) > SAME).all()
    inside = cells_of(traces) if is_new else []
    cut = {signs.tobytes(): basis @ point for signs, point in inside}
    found = []
    for signs, point in cells:
        middle = cut.get(signs.tobytes())
        if middle is None:
            found.append((np.append(signs, np.sign(last @ point)), point))
            continue
        reach = 0.5 * float(np.abs(others @ middle).min(initial=1.0))
        for side in (1.0, -1.0):
            beside = middle + side * reach * last
            found.append((np.append(signs, side), beside / np.linalg.norm(beside)))
    if len(found) > MOST_CELLS:
        raise ValueError(
            f"the {count} hyperplanes of the neurons have more than {MOST_CELLS} cells"
        )
    return found
