package cli

const connectingLong = "Midstream connects as MySQL's client programs do: flags, then the groups [client] and [midstream] of option\n" +
	"files (/etc/my.cnf, /etc/mysql/my.cnf, ~/.my.cnf), then MYSQL_PWD, MYSQL_HOST, MYSQL_TCP_PORT and\n" +
	"MYSQL_UNIX_PORT. As with mysql, no host and localhost mean the socket, even if a port is given;\n" +
	"where there is no socket, TCP.\n\n" +
	"The group [midstream] may have every other flag too, by its name (drop-old, lock-wait=1s); the command\n" +
	"line takes precedence. A name that no verb knows is an error, unless it begins with loose-."

const swapLong = "Before the swap a run waits, without limit, for sessions that block it: sessions that hold a lock on the\n" +
	"table and, unless --old-snapshots=ignore, transactions that began before the rows were copied. It names\n" +
	"them, and applies changes while it waits. KILL a session, or stop the run with Ctrl-C, to end the waiting.\n\n" +
	"Then it asks for the lock, for as long as --lock-wait: new queries wait as long, and no longer. If it does not\n" +
	"get the lock, it withdraws the request and tries again later (--lock-backoff). Under the lock it works for --lock-work at most.\n\n" +
	"--max-load, --critical-load, --throttle-file and similar flags delay the copying of rows. A statement that the\n" +
	"server runs itself waits only for its lock, for --cutover-window and for a hold.\n\n" +
	"Names of CHECK constraints that you chose are lost on MySQL, because they are unique in a database:\n" +
	"the new table has orders_chk_1 and so on. The plan lists the new names."

const rehearsalLong = "With --rehearse a run does everything but the swap, on the real table and under its real load, reports the\n" +
	"result, and drops the new table. The table itself is not changed in any way. --rehearse-lock takes the\n" +
	"lock of the cut-over too, and gives it back. --on-replica does so on a replica, and spares the primary: what it\n" +
	"writes does not come into the replica's binlog, so that there are no errant GTIDs. A rehearsal never resumes\n" +
	"a stopped run; a run resumes what a rehearsal of the same ALTER has left, and compares it."

const environmentLong = "  MYSQL_PWD, MYSQL_HOST, MYSQL_TCP_PORT and MYSQL_UNIX_PORT\n" +
	"                    work as with mysql (midstream help connecting).\n" +
	"  NO_COLOR          has no colors on a terminal.\n" +
	"  XDG_RUNTIME_DIR   in its folder midstream are the sockets by which runs are\n" +
	"                    controlled (--control-dir).\n" +
	"  XDG_STATE_HOME    in its folder midstream/runs are the histories of runs\n" +
	"                    (--history-dir).\n" +
	"  MIDSTREAM_CACHE   is where demo keeps the servers that it has fetched."

// toLong explains --to.
const toLong = "a *.sql file, or a folder of such files,\n" +
	"with only CREATE TABLE statements. The server makes each as an empty, marked table next to the real\n" +
	"one, for a moment, and the two are compared as the server shows them. The differences become one ALTER for each\n" +
	"table, with a plan of its own; they run one after the other, and the first failure ends the run. All refusals\n" +
	"come before the first ALTER. A table that has its definition already is unchanged, so\n" +
	"a second run does nothing. A missing table is created as written, after the ALTERs. Tables that\n" +
	"the files don't have are listed and not touched.\n\n" +
	"Names alone never decide that a column is renamed. If columns of a table would go and others come, each\n" +
	"new one needs an option: --map old=new, or --map =new if it is new; with several tables --map old=table.new\n" +
	"and --map =table.new. Renames of an earlier run may stay on the command line. An index that is the same\n" +
	"but for its name is renamed.\n\n" +
	"Not compared: the next AUTO_INCREMENT value, the order of indexes, the names of CHECK constraints,\n" +
	"whether a column's charset is written down, triggers, the KEY_BLOCK_SIZE of an index, and\n" +
	"an index that only a foreign key needs. Foreign\n" +
	"keys, and options such as TABLESPACE and DATA DIRECTORY, are compared, and refused if they differ.\n" +
	"Partitions are a part of the definition.\n" +
	"Servers before 8.0.16 ignore CHECK; a note reports it."
