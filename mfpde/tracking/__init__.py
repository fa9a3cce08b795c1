"""Atoms followed in time: the identity of each from save to save, and its fate.

Atoms of two saves are matched where the flow carries them in between (``flow``, ``matching``).
Births, merges and deaths form a tree as it grows (``tree``), those of exact atoms as the
solver tells them, and the tree of a run with the paths between (``paths``, ``track``).
"""

from mfpde.tracking.paths import Junction, Path, SeenAtoms
from mfpde.tracking.track import Track
from mfpde.tracking.tracker import Tracker, TrackerMemory, follow_atoms
from mfpde.tracking.tree import Concentration, OpenPath

__all__ = [
    "Concentration",
    "Junction",
    "OpenPath",
    "Path",
    "SeenAtoms",
    "Track",
    "Tracker",
    "TrackerMemory",
    "follow_atoms",
]
