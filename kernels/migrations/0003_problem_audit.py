from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('kernels', '0002_profile'),
    ]

    operations = [
        migrations.AddField(
            model_name='problemsize',
            name='audit',
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name='problemsize',
            name='gravest',
            field=models.CharField(blank=True, max_length=10),
        ),
        migrations.AddField(
            model_name='problemsize',
            name='flaws',
            field=models.PositiveSmallIntegerField(null=True),
        ),
    ]
