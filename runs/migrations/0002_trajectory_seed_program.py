from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='trajectory',
            name='seed_program',
            field=models.TextField(blank=True, default=''),
        ),
    ]
