"""``python -m mfpde`` is the command line."""

from mfpde.commands.command_line import main

raise SystemExit(main())
