"""Atoms followed in time: the identity of each from save to save, and its fate.

Atoms of two saves are matched through the flow between them (``flow``, ``matching``); what
the solver reports of its own atoms comes first (``open_paths``).  Births, merges, fissions and
deaths form a tree (``tree``, ``paths``, ``track``).
"""

from mfpde.tracking.open_paths import OpenPath
from mfpde.tracking.paths import Junction, Path, SeenAtoms
from mfpde.tracking.track import Track
from mfpde.tracking.tracker import Tracker, TrackerMemory, followed
from mfpde.tracking.tree import Concentration, TreeMemory

__all__ = [
    "Concentration",
    "Junction",
    "OpenPath",
    "Path",
    "SeenAtoms",
    "Track",
    "Tracker",
    "TrackerMemory",
    "TreeMemory",
    "followed",
]
