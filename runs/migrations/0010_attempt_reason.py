from django.db import migrations, models

from kernels.harness.correctness import reason_of


def fill(apps, schema_editor):
    """Old attempts get the reason of their evaluation's record; before there was one, the failed checks tell it."""
    Attempt = apps.get_model("runs", "Attempt")
    rows = Attempt.objects.filter(outcome="incorrect", reason="", evaluation__isnull=False)
    for pk, record in rows.values_list("pk", "evaluation__record").iterator():
        if record.get("outcome") != "incorrect":
            continue
        failed = [check["name"] for check in record["checks"] if not check["passed"] and check.get("done", True)]
        reason = record.get("reason") or reason_of(failed).value
        Attempt.objects.filter(pk=pk).update(reason=reason)


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0009_feedback'),
    ]

    operations = [
        migrations.AddField(
            model_name='attempt',
            name='reason',
            field=models.CharField(blank=True, choices=[('output_kind', 'output kind'), ('shape', 'shape'), ('dtype', 'dtype'), ('inputs_changed', 'inputs changed'), ('parameters_changed', 'parameters changed'), ('not_written', 'not written'), ('not_finite', 'not finite'), ('all_zero', 'all zero'), ('stale', 'stale'), ('non_deterministic', 'non deterministic'), ('values', 'values'), ('timed_outputs', 'timed outputs'), ('strides', 'strides'), ('repeats', 'repeats'), ('no_kernel', 'no kernel'), ('unfinished', 'unfinished'), ('clock', 'clock'), ('processes', 'processes')], default='', max_length=20),
            preserve_default=False,
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.CheckConstraint(condition=models.Q(('reason', ''), ('outcome', 'incorrect'), _connector='OR'), name='reason_of_incorrect_alone'),
        ),
    ]
