"""The commands of ``mfpde``: each is a typed function that returns an exit code.

Its signature and docstring are its help, so that their modules import what takes long when a
command is called, and not before: ``mfpde --help`` is quick.
"""

DONE = 0
BAD_SETTINGS = 2
NUMERICAL_FAILURE = 3
INTERRUPTED = 130
TERMINATED = 143

_CODES = {
    "non_finite": NUMERICAL_FAILURE,
    "step_too_small": NUMERICAL_FAILURE,
    "interrupted": INTERRUPTED,
}


def exit_code(stop_kind: str) -> int:
    """Return the exit code of a run that stopped for the reason ``stop_kind``."""
    return _CODES.get(stop_kind, DONE)
