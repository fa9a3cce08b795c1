"""The command ``python -m mfpde``, which runs the command line."""

from mfpde.commands.command_line import main

raise SystemExit(main())
