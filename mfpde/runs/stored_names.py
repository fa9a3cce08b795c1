"""The names that the parts of a stored run have, which no number of a user's may have.

A store is a zarr group: its variables, their dimensions and its groups share one name space.
"""

from __future__ import annotations

TIME = "time"
PARTICLES = "particles"
"""Group of the particle run beside a density run."""
FINAL = "final_"
"""What the names of the last state of a run begin with, if it was not saved."""
LOCK = "lock"
"""Group of a store whose one file is locked by the process that writes."""
GROUPS = (PARTICLES, LOCK)
DENSITY = "density"
ATOM_VARIABLES = ("atom_points", "atom_masses", "atom_covariances")
TRACKED_ATOMS = (
    "tracked_points",
    "tracked_masses",
    "tracked_identities",
    "tracked_forming",
    "tracked_arrived_masses",
)
VERDICT = "verdict"
COORDINATES = ("angle", "colatitude", "longitude", "polar_angle")
ATOM, AXIS, AXIS2 = "atom", "axis", "axis2"
TRACKED_ATOM, CHARACTER = "tracked_atom", "character"
DIMENSIONS = (ATOM, AXIS, AXIS2, TRACKED_ATOM, CHARACTER)
RESERVED = (
    *(TIME, DENSITY, VERDICT),
    *(*ATOM_VARIABLES, *TRACKED_ATOMS, *COORDINATES, *DIMENSIONS, *GROUPS),
)


def check_free_name(name: object) -> None:
    """Raise ``ValueError`` unless ``name`` is a word that a store has no use of its own for."""
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(
            f"diagnostic name = {name!r} must be a word of letters, digits and underscores "
            "that begins with no digit, such as 'mean_height'"
        )
    if name in RESERVED or name.startswith(FINAL):
        raise ValueError(
            f"a diagnostic named {name!r} cannot be stored: rename it, as 'my_{name}'; a "
            f"store has parts of its own named {FINAL}..., {', '.join(RESERVED)}"
        )
