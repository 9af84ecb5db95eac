"""The machine that a run was measured on: of this installation, or of the archive that brought the run."""

from __future__ import annotations

from django.db.models import Subquery, Value
from django.db.models.functions import Coalesce

from kernels.records import from_json
from runs.models import Import, Run, Trajectory
from sol.bounds.record import Device as DeviceRecord
from sol.models import Device


def machine_of(trajectory: Trajectory) -> DeviceRecord | None:
    """What is known of a trajectory's machine. One query."""
    return machine_of_run(trajectory.run_id, trajectory.device)


def machine_of_run(run_id: int, name: str) -> DeviceRecord | None:
    """What is known of a machine that a run names; None for no name, or where its peaks are not known. One query."""
    if not name:
        return None
    brought = Import.objects.filter(run=run_id).values("digest")[:1]
    row = Device.objects.filter(name=name, elsewhere=Coalesce(Subquery(brought), Value(""))).first()
    return from_json(row.record, DeviceRecord) if row is not None else None


def place_of(run: Run) -> str:
    """Where a run was measured: here, or at the installation of its archive; one without a name may be any other's."""
    origin = run.imported
    return "here" if origin is None else origin.place or origin.where
