"""Devices that archives brought belong to them: each archive gets its own, with the bounds of its run's problems."""

from django.db import migrations


def give_to_archives(apps, editor):
    Device = apps.get_model("sol", "Device")
    Bound = apps.get_model("sol", "Bound")
    Import = apps.get_model("runs", "Import")
    Trajectory = apps.get_model("runs", "Trajectory")
    brought = {row.name: row for row in Device.objects.filter(kind="elsewhere", elsewhere="")}
    for one in Import.objects.filter(run__isnull=False):
        of_run = Trajectory.objects.filter(run=one.run_id)
        for name in set(of_run.values_list("device", flat=True)) & brought.keys():
            shared = brought[name]
            own = Device.objects.create(
                name=name, kind=shared.record["kind"], record=shared.record, elsewhere=one.digest
            )
            bounds = list(Bound.objects.filter(device=shared, problem__in=of_run.values("problem")))
            for bound in bounds:
                bound.pk, bound.device = None, own
            Bound.objects.bulk_create(bounds)
    Device.objects.filter(pk__in=[row.pk for row in brought.values()]).delete()


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0025_contender_facets'),
        ('sol', '0003_devices_of_archives'),
    ]

    operations = [
        migrations.RunPython(give_to_archives, migrations.RunPython.noop),
    ]
