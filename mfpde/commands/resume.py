"""``mfpde resume``: continue an interrupted run from its last state."""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.commands import exit_code
from mfpde.measures.measure import AnyMeasure
from mfpde.runs.run import Run
from mfpde.runs.stopping import reached_end
from mfpde.settings.settings import Settings, SettingsError, settings_from_dict
from mfpde.storage.store_places import stored_settings, stored_stop
from mfpde.storage.stored_runs import RunWriter, load
from mfpde.tracking import Tracker

COUNTED = ("steps", "rejected", "evaluations", "wall_seconds")
"""What adds up over the parts of a run that was resumed."""
ENDED = ("t_end", "steady_state", "non_finite", "step_too_small")


def resume(arguments: argparse.Namespace) -> int:
    """Go on to the t_end of the stored settings, appending to the store."""
    from mfpde.commands.report import conclude
    from mfpde.commands.text import complain

    settings = _settings(arguments.store)
    stop = stored_stop(arguments.store)
    if stop is not None and stop.kind in ENDED:
        raise SettingsError(
            f"{arguments.store} has already ended ({stop.message}); to go further run "
            "it anew with another t_end"
        )
    continued = _continued(load(arguments.store), settings, arguments)
    # The whole of it, with what was saved before.
    whole = load(arguments.store)
    output = settings.output.model_copy(update={"store": arguments.store})
    settings = settings.model_copy(update={"output": output})
    conclude(whole, settings, quiet=arguments.quiet)
    if continued.stop.kind == "interrupted":
        complain(f"interrupted; continue with: mfpde resume {arguments.store}")
    return exit_code(continued.stop.kind)


def _continued(earlier: Run, settings: Settings, arguments: argparse.Namespace) -> Run:
    from mfpde.solver.solve import solve

    wanted = settings.solve_arguments()
    times, t_end = wanted["save_at"], wanted["t_end"]
    ahead = times[times > earlier.times[-1]] if len(earlier.times) else times
    state, at = _latest(earlier, ahead, t_end)
    if earlier.track is not None and wanted["track"] is not None:
        wanted["track"] = Tracker.resumed(
            wanted["track"],
            settings.build_equation(),
            track=earlier.track,
            states=earlier.states,
        )
    writer = RunWriter.resumed(arguments.store, earlier.events)
    if at >= t_end:
        # It was killed after its last save, before it could say that it was done.
        ended = replace(earlier, stop=reached_end(at), events=())
        writer.finish(ended)
        return ended
    # Times may end before t_end where they were given one by one.
    ahead = ahead[ahead >= at]
    wanted["save_at"] = ahead if len(ahead) else np.array([t_end])
    steps = earlier.diagnostics.get("step", np.zeros(0))
    result = solve(
        settings.build_equation(),
        state,
        **wanted,
        start_time=at,
        first_step=float(steps[-1]) if len(steps) and steps[-1] > 0 else None,
        progress=not arguments.quiet,
        on_save=writer.save,
        on_track=writer.follow,
        on_events=writer.tell,
        on_refine=writer.refined,
    )
    result = replace(result, statistics=_of_both_parts(earlier, result.statistics, at))
    writer.finish(result)
    return result


def _of_both_parts(
    earlier: Run, later: dict[str, float | int | str], at: float
) -> dict[str, float | int | str]:
    """Return what was counted in both parts of a run together.

    A process that was killed could not say how far it had counted: then the numbers are
    those from the time ``counted_from`` on.
    """
    if "steps" not in earlier.statistics:
        return {**later, "counted_from": at}
    sums = {
        name: earlier.statistics[name] + later[name]  # type: ignore[operator]
        for name in COUNTED
        if name in earlier.statistics and name in later
    }
    kept = {n: v for n, v in earlier.statistics.items() if n == "counted_from"}
    return {**later, **sums, **kept}


def _latest(earlier: Run, ahead: FloatArray, t_end: float) -> tuple[AnyMeasure, float]:
    """Return the state to go on from and its time: the last one, if that can be.

    An interrupt in the middle of the very last save leaves the state at t_end without
    its diagnostics: then it is the last one saved.
    """
    if earlier.final_time >= t_end and len(ahead) and earlier.states:
        return earlier.states[-1], float(earlier.times[-1])
    return earlier.final, earlier.final_time


def _settings(store: str) -> Settings:
    data = stored_settings(store)
    if data is None:
        raise SettingsError(
            f"{store} was not written by `mfpde run` and has no settings: continue it "
            "with mfpde.solve(equation, run.final, start_time=run.final_time, ...)"
        )
    return settings_from_dict(data)
