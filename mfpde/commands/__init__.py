"""The commands of ``mfpde``: each is a typed function that returns an exit code.

Its signature and docstring are its help.  Nothing is imported that takes long before a command
is called: ``mfpde --help`` is quick, and names of the package are found where they are used.
"""

DONE = 0
BAD_SETTINGS = 2
NUMERICAL_FAILURE = 3
INTERRUPTED = 130
TERMINATED = 143
