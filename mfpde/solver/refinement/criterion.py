r"""Two criteria by which a grid is too coarse for a density.

- **Coarse-to-fine distance**: the density's W1 distance to its form on the 2:1 coarsened
  grid, h sum_i |m_i - m'_i| / 2 (exact on the circle up to a rotation of the whole,
  an upper bound on the sphere).  It is 2e-5 where the strip of analyticity is three cells
  wide on 1024 cells, and falls as h^2 at a jump, so that a jump ends the refinement itself.
- **A forming core** narrower than 4 cells where the flow contracts.  A core narrower than
  1.2 cells is an atom: no grid resolves it, and it does not count in the distance either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.atoms import atoms_of_state
from mfpde.detection.coarse import coarse_differences
from mfpde.measures.measure import Density, Measure
from mfpde.solver.refinement.cores import Core, contracting_cores
from mfpde.transport import Flow, State, Transport

DEFAULT_TOLERANCE = 1e-4
NARROWEST_CELLS = 4.0
ATOM_CELLS = 1.2
AROUND_ATOM_CELLS = 8.0


@dataclass(frozen=True)
class RefinementCriterion:
    """The criterion by which a state needs a finer grid.

    Attributes
    ----------
    tolerance
        Largest coarse-to-fine distance, in radians.
    """

    tolerance: float = DEFAULT_TOLERANCE

    def reason(self, transport: Transport, state: State, flow: Flow) -> str | None:
        """Say why ``state`` needs a finer grid than its own; None if it does not."""
        cores = contracting_cores(transport, state, flow, widest=NARROWEST_CELLS)
        forming = [
            core
            for core in cores
            if core.width >= ATOM_CELLS and not _is_absorbed(core, transport, state)
        ]
        if forming:
            core = min(forming, key=lambda c: c.width)
            return (
                f"a core of mass {core.mass:.3g} that forms is {core.width:.2g} cells wide "
                f"(limit {NARROWEST_CELLS:g})"
            )
        distance = coarse_to_fine(transport, state, cores)
        if distance > self.tolerance:
            return (
                f"coarse-to-fine W1 distance {distance:.1e} above the tolerance "
                f"{self.tolerance:g}"
            )
        return None


def coarse_to_fine(transport: Transport, state: State, atoms: list[Core]) -> float:
    """W1 distance of a state's density to its 2:1 coarsened form, away from ``atoms``.

    Cells near the exact atoms are left out too; the distance is NaN on odd grids.
    """
    geometry = transport.grid.geometry
    density = Density(geometry, state.masses / geometry.areas)
    missed = coarse_differences(Measure(density)).ravel()
    centres = [*atoms_of_state(state).points, *(core.centre for core in atoms)]
    for centre in centres:
        near = geometry.cells_within(centre, AROUND_ATOM_CELLS * geometry.spacing)
        missed[near] = 0.0
    return float(geometry.spacing * missed.sum() / 2)


def _is_absorbed(core: Core, transport: Transport, state: State) -> bool:
    """Whether an exact atom lies within 8 cells of a core, and so will absorb it."""
    points = atoms_of_state(state).points
    reach = AROUND_ATOM_CELLS * transport.grid.geometry.spacing
    return bool((points @ core.centre > np.cos(reach)).any())
