"""In which order rows are held: first trajectories, by their keys, then their run, and lessons last.

Everybody keeps to it, so that nobody waits in a ring. A run is held without its key, as an UPDATE holds it: a row that
points to it, as every job does, may come meanwhile. A trajectory is held with its key, so that no job of it comes
beside who holds it. Call these inside a transaction, and read what may have changed only afterwards.
"""

from __future__ import annotations

from runs.models import Run, Trajectory


def hold_one(trajectory_id: int) -> None:
    """Hold one trajectory's row until the transaction ends."""
    list(Trajectory.objects.select_for_update().filter(pk=trajectory_id).values_list("pk", flat=True))


def hold_all(run: Run) -> None:
    """Hold every trajectory of a run until the transaction ends. One query."""
    rows = Trajectory.objects.select_for_update().filter(run=run).order_by("pk")
    list(rows.values_list("pk", flat=True))


def hold_run(run_id: int) -> Run:
    """The run's row as it is now, held until the transaction ends."""
    return Run.objects.select_for_update(no_key=True).get(pk=run_id)
