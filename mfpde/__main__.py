"""``python -m mfpde`` is the command line."""

from mfpde.cli import main

raise SystemExit(main())
