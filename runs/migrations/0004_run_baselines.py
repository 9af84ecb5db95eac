from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0003_disassemble_job'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='baselines',
            field=models.CharField(blank=True, default='eager', max_length=60),
        ),
    ]
