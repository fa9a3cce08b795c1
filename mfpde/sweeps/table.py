"""The summaries of all runs of a sweep as one table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mfpde.sweeps.plan import PlannedRun
from mfpde.sweeps.records import RunRecord

if TYPE_CHECKING:
    import pandas as pd


def tabulate_runs(
    runs: Sequence[PlannedRun], records: Sequence[RunRecord]
) -> pd.DataFrame:
    """Return a line for each run: its hash, what varies, and its summary.

    Beside the settings that vary there are ``state`` (``"finished"``, ``"stopped"``,
    ``"failed"``, ``"pending"``), ``error``, and all numbers of the run, NaN where it has not
    finished; what a run has several of is a list.
    """
    import pandas as pd

    lines = [
        {
            "run": run.name,
            **{name: _write_value(value) for name, value in run.parameters.items()},
            "state": record.state,
            "error": record.error,
            "attempts": len(record.attempts),
            **record.summary,
        }
        for run, record in zip(runs, records, strict=True)
    ]
    return pd.DataFrame(lines)


def _write_value(value: Any) -> Any:
    """Return a number or a word; of what is neither its JSON."""
    return value if isinstance(value, str | int | float) else json.dumps(value)
