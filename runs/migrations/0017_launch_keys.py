from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0016_run_control'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='grid',
            name='launch_key',
            field=models.CharField(blank=True, default='', max_length=64),
        ),
        migrations.AddField(
            model_name='run',
            name='launch_key',
            field=models.CharField(blank=True, default='', max_length=64),
        ),
        migrations.AddConstraint(
            model_name='grid',
            constraint=models.UniqueConstraint(condition=models.Q(('launch_key', ''), _negated=True), fields=('owner', 'launch_key'), name='one_grid_a_form'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.UniqueConstraint(condition=models.Q(('launch_key', ''), _negated=True), fields=('owner', 'launch_key'), name='one_run_a_form'),
        ),
    ]
