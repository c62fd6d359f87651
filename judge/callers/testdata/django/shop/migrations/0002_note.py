from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]
    operations = [migrations.AddField("order", "note", models.CharField(max_length=40, null=True, default="it's 100% new"))]
