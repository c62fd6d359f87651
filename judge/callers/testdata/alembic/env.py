import os

import midstream_alembic
from alembic import context
from sqlalchemy import MetaData, create_engine

midstream_alembic.install()
if context.is_offline_mode():
    context.configure(url=os.environ["DB_URL"], literal_binds=True)
    with context.begin_transaction():
        context.run_migrations()
else:
    engine, tables = create_engine(os.environ["DB_URL"]), MetaData()
    tables.reflect(engine, only=["orders"])
    with engine.connect() as connection:
        context.configure(connection=connection, target_metadata=tables, include_name=midstream_alembic.include_name)
        with context.begin_transaction():
            context.run_migrations()
