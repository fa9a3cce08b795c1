"""The names that the parts of a stored run have, which no number of a user's may have.

A store is a zarr group: its variables, their dimensions and its groups share one name space.
"""

from __future__ import annotations

TIME = "time"
PARTICLES = "particles"
"""Group of the particle run beside a density run."""
LOCK = "lock"
"""Group of a store whose one file is locked by the process that writes."""
GROUPS = (PARTICLES, LOCK)
DENSITY = "density"
ATOM_VARIABLES = ("atom_points", "atom_masses", "atom_covariances")
COORDINATES = ("angle", "colatitude", "longitude", "polar_angle")
ATOM, AXIS, AXIS2 = "atom", "axis", "axis2"
DIMENSIONS = (ATOM, AXIS, AXIS2)
RESERVED = (TIME, DENSITY, *ATOM_VARIABLES, *COORDINATES, *DIMENSIONS, *GROUPS)


def check_free_name(name: object) -> None:
    """Raise ``ValueError`` unless ``name`` is a word that a store has no use of its own for."""
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(
            f"diagnostic name = {name!r} must be a word of letters, digits and underscores "
            "that begins with no digit, such as 'mean_height'"
        )
    if name in RESERVED:
        raise ValueError(
            f"a diagnostic named {name!r} cannot be stored: rename it, as 'my_{name}'; a "
            f"store has parts of its own named {', '.join(RESERVED)}"
        )
