from alembic import op

revision = "8"
down_revision = "7"


def upgrade():
    op.create_index("note", "orders", ["note"])
    op.execute("ALTER TABLE orders ADD INDEX note_city (note, city)")
