import sqlalchemy as sa
from alembic import op

revision = "7"
down_revision = None


def upgrade():
    # A transaction that has read the table: the helper ends it, or the swap would wait for it.
    assert op.get_bind().execute(sa.text("SELECT COUNT(*) FROM orders")).scalar() > 0
    op.add_column("orders", sa.Column("note", sa.String(40), server_default=sa.text("'it''s 100% new'"), comment="50% : note"))
