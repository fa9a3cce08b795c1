"""Atoms followed in time: the identity of each from save to save, and its fate.

Atoms of two saves are matched where the flow carries them in between (``flow``, ``matching``).
Births, merges, fissions and deaths form a tree as it grows (``tree``), those of exact atoms as
the solver tells them, and the tree of a run with the paths between (``paths``, ``track``).
"""

from mfpde.tracking.paths import Junction, Path, SeenAtoms
from mfpde.tracking.settings import Concentration
from mfpde.tracking.track import Track
from mfpde.tracking.tracker import Tracker, TrackerMemory, follow_atoms
from mfpde.tracking.tree import OpenPaths

__all__ = [
    "Concentration",
    "Junction",
    "OpenPaths",
    "Path",
    "SeenAtoms",
    "Track",
    "Tracker",
    "TrackerMemory",
    "follow_atoms",
]
