"""For Alembic's env.py: ALTER TABLE goes through midstream (docs/callers.md).

    import midstream_alembic
    midstream_alembic.install()          # before context.run_migrations(); flags=["--lock-give-up=2h"] and so on
"""

import os
import re
import signal
import subprocess
import threading

from alembic.ddl import mysql

# The statements that midstream runs, and not one that only drops a foreign key: the server changes its dictionary.
# The group is the table's name.
ALTERS = re.compile(
    r"\s*(?:ALTER\s+TABLE|CREATE\s+(?:UNIQUE\s+|FULLTEXT\s+|SPATIAL\s+)?INDEX\s+\S+\s+ON|DROP\s+INDEX\s+\S+\s+ON)"
    r"\s+((?:`(?:[^`]|``)+`|[\w$]+)(?:\.(?:`(?:[^`]|``)+`|[\w$]+))?)"
    r"(?!\s+DROP\s+FOREIGN\s+KEY\s+\S+\s*;?\s*$)(?=\s|$)",
    re.IGNORECASE,
)
SETTINGS = {"program": "midstream", "flags": [], "min_rows": 1000}


def include_name(name, kind, parents):
    """For context.configure(include_name=...): autogenerate would drop the tables that runs and undos keep."""
    return kind != "table" or not re.search("_(shadow|midstream|capture|old|undo|undone|parked(_values)?)[0-9]*$", name or "")


class Failed(SystemExit):
    """Midstream's exit code becomes that of alembic; the version is not recorded."""


def install(**settings):
    """Let midstream alter tables of at least min_rows rows. Alembic takes the last implementation of a dialect."""
    SETTINGS.update(settings)
    for name, parent in {"mysql": mysql.MySQLImpl, "mariadb": mysql.MariaDBImpl}.items():
        type("Midstream" + parent.__name__, (Mixin, parent), {"__dialect__": name})


class Mixin:
    def _exec(self, construct, *args, **kwargs):
        if self.as_sql:
            return super()._exec(construct, *args, **kwargs)
        statement = construct if isinstance(construct, str) else str(construct.compile(dialect=self.dialect))
        found = ALTERS.match(statement)
        if not found or not self.large(found[1]):
            return super()._exec(construct, *args, **kwargs)
        # The driver takes %% for %, and midstream is not the driver.
        if not isinstance(construct, str):
            statement = statement.replace("%%", "%")
        # As the server's own DDL, this ends a transaction. The run may take hours, and then the version is recorded.
        self.connection.exec_driver_sql("COMMIT")
        self.connection.exec_driver_sql("SET SESSION wait_timeout = 31536000")
        self.connection.exec_driver_sql("COMMIT")
        code = run(statement.strip(), self.connection.engine.url)
        if code:
            raise Failed(code)

    def large(self, table):
        rows = int(SETTINGS["min_rows"])
        query = f"SELECT COUNT(*) FROM (SELECT 1 FROM {table} LIMIT {rows}) AS some"
        return self.connection.exec_driver_sql(query).scalar() >= rows


def run(statement, url):
    flags = {
        "defaults-file": url.query.get("read_default_file"),
        "host": url.host,
        "socket": url.query.get("unix_socket"),
        "port": url.port,
        "user": url.username,
        "database": url.database,
        "ssl-ca": url.query.get("ssl_ca"),
    }
    line = [SETTINGS["program"], "run", *(f"--{name}={value}" for name, value in flags.items() if value), *SETTINGS["flags"], statement]
    password = {"MYSQL_PWD": str(url.password)} if url.password else {}
    return wait(subprocess.Popen(line, env={**os.environ, **password}))


def wait(child):
    """Wait for midstream. SIGTERM and SIGHUP go on to it, and Ctrl-C reaches it from the terminal: it keeps its work, and ends."""
    if threading.current_thread() is not threading.main_thread():
        return child.wait()
    handlers = {signal.SIGTERM: lambda *_: child.terminate(), signal.SIGHUP: lambda *_: child.terminate(), signal.SIGINT: signal.SIG_IGN}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        return child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
