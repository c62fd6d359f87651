from django.db import migrations, models


class Migration(migrations.Migration):
    operations = [
        migrations.CreateModel(
            "Order",
            fields=[("id", models.BigAutoField(primary_key=True, serialize=False)), ("number", models.CharField(max_length=20))],
            options={"db_table": "orders"},
        )
    ]
