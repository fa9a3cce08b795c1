"""Atoms followed in time: the identity of each from save to save, and its fate.

The atoms of a save are matched with those that the flow carries there (``matching``).  Births,
merges and deaths form a tree as it grows (``tracker``), merges of exact atoms as the solver
tells them, and the tree of a run with the paths between (``paths``, ``track``).
"""

from mfpde.tracking.matching import FlowBetween, SeenAtoms
from mfpde.tracking.paths import Junction, Path
from mfpde.tracking.track import Track
from mfpde.tracking.tracker import Concentration, OpenPath, Tracker, TrackerMemory

__all__ = [
    "Concentration",
    "FlowBetween",
    "Junction",
    "OpenPath",
    "Path",
    "SeenAtoms",
    "Track",
    "Tracker",
    "TrackerMemory",
]
