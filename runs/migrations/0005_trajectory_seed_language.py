from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0004_run_baselines'),
    ]

    operations = [
        migrations.AddField(
            model_name='trajectory',
            name='seed_language',
            field=models.CharField(choices=[('mu', 'mu'), ('py', 'py'), ('cu', 'cu'), ('cpp', 'cpp')], default='mu', max_length=10),
        ),
    ]
