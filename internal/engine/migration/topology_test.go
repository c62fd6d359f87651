package migration_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// isMariaDB reports whether a version's name is one of MariaDB's.
func isMariaDB(version string) bool { return strings.HasPrefix(version, "mariadb") }

// isNew reports whether the server has the words and rules of MySQL 8.0.22 and later: of the
// versions here, only 9.7.
func isNew(version string) bool { return version == "9.7" }

// replicating are the settings of a server that replicates or is replicated, with GTIDs and, if the
// version has them, four workers that keep the source's order.
func replicating(version, id string) map[string]string {
	s := map[string]string{"server_id": id, "read_only": "OFF"}
	switch {
	case isMariaDB(version):
		s["log_slave_updates"], s["slave_parallel_threads"] = "ON", "4"
		return s
	case isNew(version):
		s["log_replica_updates"] = "ON"
	case version == "8.0":
		s["slave_parallel_workers"], s["slave_parallel_type"], s["slave_preserve_commit_order"] = "4", "LOGICAL_CLOCK", "ON"
		fallthrough
	default:
		s["log_slave_updates"] = "ON"
	}
	s["gtid_mode"], s["enforce_gtid_consistency"] = "ON", "ON"
	return s
}

// onReplicas runs a test with a primary and its replica, next to other tests. The versions that can
// be read from as a replica take turns.
func onReplicas(t *testing.T, test func(primary, replica *bench)) {
	t.Parallel()
	for _, version := range inTurn(t, modern()) {
		t.Run(version, func(t *testing.T) { withReplica(t, version, test) })
	}
}

// onAllReplicas is onReplicas for tests that work on every version.
func onAllReplicas(t *testing.T, test func(primary, replica *bench)) {
	t.Parallel()
	for _, version := range inTurn(t, versions) {
		t.Run(version, func(t *testing.T) { withReplica(t, version, test) })
	}
}

func withReplica(t *testing.T, version string, test func(primary, replica *bench)) {
	t.Parallel()
	servers := mysqltest.OwnAll(
		t, version, sandbox.Options{Settings: replicating(version, "11")},
		sandbox.Options{Settings: replicating(version, "12")},
	)
	first, second := servers[0], servers[1]
	primary := on(t, version, first)
	replica := &bench{
		T:       t,
		version: version,
		server:  second,
		address: second.Address,
		db:      second.Open(t, ""),
		schema:  primary.schema,
		told:    newTold(),
	}
	replica.replicate(first)
	replica.exec("SET GLOBAL read_only = ON")
	test(primary, replica)
}

// executed are the GTIDs of what the server has committed.
func (b *bench) executed() string {
	b.Helper()
	if isMariaDB(b.version) {
		return b.value("SELECT @@GLOBAL.gtid_binlog_pos")
	}
	return b.value("SELECT REPLACE(@@GLOBAL.gtid_executed, '\n', '')")
}

// catchUpWith waits until the replica has all that its primary has.
func (b *bench) catchUpWith(primary *bench) {
	b.Helper()
	wait := "WAIT_FOR_EXECUTED_GTID_SET"
	if isMariaDB(b.version) {
		wait = "MASTER_GTID_WAIT"
	}
	if got := b.value("SELECT " + wait + "('" + primary.executed() + "', 200)"); got != "0" {
		b.Fatalf("the replica does not follow: %s", b.replication())
	}
}

// received waits until the replica has received, not applied, what its primary has.
func (b *bench) received(primary *bench) {
	b.Helper()
	executed := primary.executed()
	has := func() bool {
		if isMariaDB(b.version) {
			return b.row("SHOW SLAVE STATUS")["Gtid_IO_Pos"] == executed
		}
		return b.value(
			"SELECT GTID_SUBSET('"+executed+"', received_transaction_set) FROM performance_schema.replication_connection_status",
		) == "1"
	}
	for deadline := time.Now().Add(time.Minute); !has(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("the replica does not receive: %s", b.replication())
		}
	}
}

// noErrant fails the test if the replica has committed anything of its own.
func (b *bench) noErrant(primary *bench) {
	b.Helper()
	b.catchUpWith(primary)
	query := "SELECT REPLACE(GTID_SUBTRACT(@@gtid_executed, '" + primary.executed() + "'), '\n', '')"
	if isMariaDB(b.version) { // domain-server-number
		query = "SELECT IF(@@gtid_binlog_state LIKE CONCAT('%-', @@server_id, '-%'), @@gtid_binlog_state, '')"
	}
	if got := b.value(query); got != "" {
		b.Errorf("the replica has transactions of its own: %s", got)
	}
}

// row reads the first row of a statement whose columns differ from version to version; empty if there is none.
func (b *bench) row(query string) map[string]string {
	b.Helper()
	rows, err := b.db.QueryContext(b.ctx(), query)
	if err != nil {
		b.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		b.Fatal(err)
	}
	values, targets := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	row := map[string]string{}
	if rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			b.Fatal(err)
		}
		for i, c := range columns {
			row[c] = values[i].String
		}
	}
	return row
}

// resetWord is how RESET names the binlogs.
func (b *bench) resetWord() string {
	if isNew(b.version) {
		return "BINARY LOGS AND GTIDS"
	}
	return "MASTER"
}

// word is the server's word for a replica.
func (b *bench) word(word string) string {
	if isNew(b.version) {
		return word
	}
	return strings.NewReplacer("REPLICA", "SLAVE", "SOURCE", "MASTER").Replace(word)
}

// setting is the server's name of a variable.
func (b *bench) setting(name string) string {
	if isNew(b.version) {
		return name
	}
	return strings.Replace(name, "replica", "slave", 1)
}

// replicate makes the server follow another one from its very beginning.
func (b *bench) replicate(primary *mysqltest.Instance) {
	b.Helper()
	host, port, _ := strings.Cut(primary.Address, ":")
	s := b.word(
		"SOURCE_HOST='" + host + "', SOURCE_PORT=" + port + ", SOURCE_USER='" + primary.User + "', SOURCE_PASSWORD='" + primary.Password + "'",
	)
	switch {
	case isMariaDB(b.version):
		s = "CHANGE MASTER TO " + s + ", MASTER_USE_GTID=slave_pos"
	case b.version == "5.7":
		s = "CHANGE MASTER TO " + s + ", MASTER_AUTO_POSITION=1"
	case b.version == "8.0":
		s = "CHANGE MASTER TO " + s + ", MASTER_AUTO_POSITION=1, GET_MASTER_PUBLIC_KEY=1"
	default:
		s = "CHANGE REPLICATION SOURCE TO " + s + ", SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1"
	}
	b.exec(s, "START "+b.word("REPLICA"))
}

// follow waits until the server has what its primary has.
func (b *bench) follow(primary *bench, mark string) {
	b.Helper()
	primary.exec("CREATE TABLE " + primary.schema + ".mark_" + mark + " (a INT)")
	deadline := time.Now().Add(time.Minute)
	for {
		var n int
		err := b.db.QueryRowContext(b.ctx(), "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = ?", "mark_"+mark).Scan(&n)
		if n > 0 {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("the replica does not follow (%v): %s", err, b.replication())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// replication returns why a replica has stopped.
func (b *bench) replication() string {
	status := b.row("SHOW " + b.word("REPLICA") + " STATUS")
	return strings.Join([]string{status["Last_IO_Error"], status["Last_Error"], status["Last_SQL_Error"]}, " / ")
}
