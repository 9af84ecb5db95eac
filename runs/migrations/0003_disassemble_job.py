from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0002_trajectory_seed_program'),
    ]

    operations = [
        migrations.AlterField(
            model_name='job',
            name='kind',
            field=models.CharField(choices=[('peaks', 'Peaks'), ('inspect', 'Inspect'), ('prepare', 'Prepare'), ('advance', 'Advance'), ('ask', 'Ask'), ('build', 'Build'), ('evaluate', 'Evaluate'), ('cross_build', 'Cross Build'), ('disassemble', 'Disassemble')], max_length=12),
        ),
    ]
