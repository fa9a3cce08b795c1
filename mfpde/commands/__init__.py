"""The commands of ``mfpde``: each is a typed function that returns an exit code.

Its signature and docstring are its help.  Nothing is imported that takes long before a command
is called: ``mfpde --help`` is quick, and names of the package are found where they are used.
"""

DONE = 0
BAD_SETTINGS = 2
NUMERICAL_FAILURE = 3
INTERRUPTED = 130
TERMINATED = 143


def exit_code(stop_kind: str) -> int:
    """Return the exit code of a run that stopped for the reason ``stop_kind``."""
    failed = stop_kind in ("non_finite", "step_too_small")
    return {"interrupted": INTERRUPTED}.get(stop_kind, failed * NUMERICAL_FAILURE)
