"""A Django database backend: MySQL's own, but ALTER TABLE goes through midstream (docs/callers.md).

DATABASES = {"default": {"ENGINE": "midstream_django", "NAME": "shop", ..., "OPTIONS": {"midstream": {
    "program": "midstream",   # its path
    "flags": [],              # more flags of midstream run, such as ["--lock-give-up=2h"]
    "min_rows": 1000,         # Django itself alters tables with fewer rows
}}}}
"""

import os
import re
import signal
import subprocess
import threading

from django.core.management.base import CommandError
from django.db.backends.mysql import base, schema

# The statements that midstream runs, and not one that only drops a foreign key: the server changes its dictionary.
# The group is the table's name as Django quotes it.
ALTERS = re.compile(
    r"\s*(?:ALTER\s+TABLE|CREATE\s+(?:UNIQUE\s+|FULLTEXT\s+|SPATIAL\s+)?INDEX\s+\S+\s+ON|DROP\s+INDEX\s+\S+\s+ON)"
    r"\s+(`(?:[^`]|``)+`)"
    r"(?!\s+DROP\s+FOREIGN\s+KEY\s+\S+\s*;?\s*$)(?=\s|$)",
    re.IGNORECASE,
)
SETTINGS = {"program": "midstream", "flags": [], "min_rows": 1000}


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


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    def execute(self, sql, params=()):
        found = ALTERS.match(str(sql))
        if not found or self.collect_sql or self.connection.in_atomic_block or not self.large(found[1]):
            return super().execute(sql, params)
        statement = str(sql)
        if params is not None:
            statement %= tuple(self.quote_value(value) for value in params)
        # As the server's own DDL, this ends a transaction; and a run may take longer than a connection lives.
        self.connection.close()
        self.midstream(statement)

    def large(self, table):
        rows = self.connection.midstream["min_rows"]
        with self.connection.cursor() as cursor:
            cursor.execute(f"SELECT COUNT(*) FROM (SELECT 1 FROM {table} LIMIT {int(rows)}) AS some")
            return cursor.fetchone()[0] >= rows

    def midstream(self, statement):
        server, own = self.connection.settings_dict, self.connection.midstream
        options = server["OPTIONS"]
        local = server["HOST"].startswith("/")
        flags = {
            "defaults-file": options.get("read_default_file"),
            "host": "" if local else server["HOST"],
            "socket": server["HOST"] if local else options.get("unix_socket"),
            "port": server["PORT"],
            "user": server["USER"],
            "database": server["NAME"],
            "ssl-mode": options.get("ssl_mode"),
            "ssl-ca": options.get("ssl", {}).get("ca"),
        }
        line = [own["program"], "run", *(f"--{name}={value}" for name, value in flags.items() if value), *own["flags"], statement]
        password = {"MYSQL_PWD": server["PASSWORD"]} if server["PASSWORD"] else {}
        code = wait(subprocess.Popen(line, env={**os.environ, **password}))
        if code:
            raise CommandError(f"midstream ended with {code} (docs/exit-codes.md); after its cause is gone, run migrate again", returncode=code)


class DatabaseWrapper(base.DatabaseWrapper):
    SchemaEditorClass = DatabaseSchemaEditor

    @property
    def midstream(self):
        return {**SETTINGS, **self.settings_dict["OPTIONS"].get("midstream", {})}

    def get_connection_params(self):
        params = super().get_connection_params()
        params.pop("midstream", None)
        return params
