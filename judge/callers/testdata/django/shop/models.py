from django.db import models


class Order(models.Model):
    id = models.BigAutoField(primary_key=True)
    number = models.CharField(max_length=20)
    note = models.CharField(max_length=40, null=True, default="it's 100% new")

    class Meta:
        db_table = "orders"
        indexes = [models.Index(fields=["note"], name="note")]


class Line(models.Model):
    id = models.AutoField(primary_key=True)
    text = models.CharField(max_length=40, db_index=True)
    order = models.IntegerField(null=True, db_index=True)
