from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shop", "0002_note")]
    operations = [
        migrations.AddIndex("order", models.Index(fields=["note"], name="note")),
        # A table without rows, which Django itself alters.
        migrations.CreateModel(
            "Line",
            fields=[("id", models.AutoField(primary_key=True, serialize=False)), ("text", models.CharField(max_length=40, db_index=True))],
        ),
        migrations.AddField("line", "order", models.IntegerField(null=True, db_index=True)),
    ]
