package migration_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"midstream/internal/event"
	"midstream/internal/fault"
	"midstream/internal/mysqltest"
	"midstream/internal/sandbox"
)

// TestL5_Failover: the server of a run that was stopped is gone, and a replica has taken its
// place, with what the run had made. Its GTIDs tell what is to be read there, and the run goes on.
// As long as it still follows the other server, nothing is done there.
func TestL5_Failover(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) { failover(t, version) })
	}
}

func failover(t *testing.T, version string) {
	t.Parallel()
	settings := func(id string) map[string]string {
		s := map[string]string{"server_id": id, "log_replica_updates": "ON", "gtid_mode": "ON", "enforce_gtid_consistency": "ON"}
		if version == "8.0" {
			delete(s, "log_replica_updates")
			s["log_slave_updates"] = "ON"
		}
		return s
	}
	primary := mysqltest.Own(t, version, sandbox.Options{Settings: settings("11")})
	replica := mysqltest.Own(t, version, sandbox.Options{Settings: settings("12")})
	b := on(t, version, primary)
	other := &bench{T: t, version: version, server: replica, address: replica.Address, db: replica.Open(t, ""), schema: b.schema, told: newTold()}
	other.replicate(primary)
	b.numbered(9999)
	b.exec("ALTER TABLE " + b.schema + ".t COMMENT 'altered before the run'") // is read again, and passed over
	b.killedInCopy()
	other.follow(b, "all")
	if code, last := other.child(clauses, "", nil, "--source-replicates").wait(); code != 11 || !strings.Contains(last, "replicated to this one") {
		t.Errorf("while its server is replicated: exit code %d, %s", code, last)
	}
	other.behind(b, func() {
		if code, last := other.child(clauses, "", nil, "--source-replicates").wait(); code != 11 || !strings.Contains(last, "not applied yet") {
			t.Errorf("while it has unapplied transactions: exit code %d, %s", code, last)
		}
	})

	// The run goes on, its server is replaced, and it goes on there.
	wire := b.wire(fault.Rule{Nth: 1 << 30})
	stop := func() {}
	c := b.child(clauses, phaseLine(event.PhaseVerify), func(*child) { stop() }, append(slowly, "--reconnect=1m")...)
	b.address = primary.Address
	c.await(phaseLine(event.PhaseCopy))
	b.exec("SET GLOBAL super_read_only = ON")
	other.value("SELECT WAIT_FOR_EXECUTED_GTID_SET('" + b.value("SELECT @@gtid_executed") + "', 30)")
	other.exec("STOP "+other.word("REPLICA"), "RESET "+other.word("REPLICA")+" ALL")
	stop = other.writer(other.db)
	wire.LeadTo(replica.Address)
	c.mustEnd()
	if !c.heard("changes are read from") || c.heard("begun anew") {
		c.log("note")
		t.Error("it did not go on with what was done")
	}
	other.equal()
	other.exec("DROP DATABASE " + b.schema)
	b.exec("SET GLOBAL read_only = OFF")

	b.anew("UPDATE "+b.schema+".t_midstream SET state = JSON_SET(state, '$.ServerUUID', 'another') WHERE id = 2", "")
	b.killedInCopy()
	b.anew("UPDATE "+b.schema+".t_midstream SET state = JSON_SET(state, '$.ServerUUID', 'another', '$.GTIDs', '') WHERE id = 2", "begun anew: it ran on the server another")
	b.killedInCopy()
	b.anew("UPDATE "+b.schema+".t_midstream SET state = JSON_SET(state, '$.ServerUUID', 'another', '$.Executed', CONCAT(@@server_uuid, ':1-99999999')) WHERE id = 2", "lacks transactions")
	b.killedInCopy()
	b.anew("RESET "+b.resetWord(), "its binlogs were reset")
}

// behind does something while the server has received, and can't apply, what its primary did, and
// receives nothing more.
func (b *bench) behind(primary *bench, do func()) {
	b.Helper()
	holder := b.conn()
	hold := func(statement string) {
		if _, err := holder.ExecContext(b.ctx(), statement); err != nil {
			b.Fatal(err)
		}
	}
	hold("LOCK TABLES " + b.schema + ".digits READ")
	primary.exec("INSERT INTO " + b.schema + ".digits VALUES (77)")
	executed := primary.value("SELECT @@GLOBAL.gtid_executed")
	for b.value("SELECT GTID_SUBSET('"+executed+"', received_transaction_set) FROM performance_schema.replication_connection_status") == "0" {
		time.Sleep(20 * time.Millisecond)
	}
	b.exec("STOP " + b.word("REPLICA") + " IO_THREAD")
	do()
	hold("UNLOCK TABLES")
	b.exec("START " + b.word("REPLICA"))
}

const clauses = "ADD COLUMN added INT"

// killedInCopy starts a run, beside a writer, and kills it while it copies; the writer goes on
// for a while.
func (b *bench) killedInCopy() {
	b.Helper()
	writer := b.writer(b.db)
	c := b.child(clauses, "", nil, slowly...)
	c.await(phaseLine(event.PhaseCopy))
	time.Sleep(300 * time.Millisecond)
	c.kill()
	c.wait()
	time.Sleep(200 * time.Millisecond)
	writer()
}

// anew does something to what a stopped run left, and has the run come to its end: begun anew for
// the reason, or gone on with where there is none.
func (b *bench) anew(statement, reason string) {
	b.Helper()
	b.exec(statement)
	if reason == "" {
		reason = "going on with an earlier run"
	}
	c := b.child(clauses, "", nil)
	c.mustEnd()
	if !c.heard(reason) {
		c.log("note")
		b.Errorf("after %s it did not say: %s", statement, reason)
	}
	b.equal()
	b.exec("DROP TABLE "+b.schema+".t", "RENAME TABLE "+b.schema+".t_old TO "+b.schema+".t", "ALTER TABLE "+b.schema+".t COMMENT ''")
}

// resetWord is what RESET calls the binlogs.
func (b *bench) resetWord() string {
	if b.version == "8.0" {
		return "MASTER"
	}
	return "BINARY LOGS AND GTIDS"
}

// word is the server's word for a replica.
func (b *bench) word(word string) string {
	if b.version == "8.0" {
		return strings.NewReplacer("REPLICA", "SLAVE", "SOURCE", "MASTER").Replace(word)
	}
	return word
}

// replicate has the server follow another one from its very beginning.
func (b *bench) replicate(primary *mysqltest.Instance) {
	b.Helper()
	host, port, _ := strings.Cut(primary.Address, ":")
	s := "SOURCE_HOST='" + host + "', SOURCE_PORT=" + port + ", SOURCE_USER='" + primary.User + "', SOURCE_PASSWORD='" + primary.Password + "', SOURCE_AUTO_POSITION=1"
	statement := "CHANGE REPLICATION SOURCE TO " + s + ", GET_SOURCE_PUBLIC_KEY=1"
	if b.version == "8.0" {
		statement = "CHANGE MASTER TO " + b.word(s) + ", GET_MASTER_PUBLIC_KEY=1"
	}
	b.exec(statement, "START "+b.word("REPLICA"))
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

// replication tells why a replica stands still.
func (b *bench) replication() string {
	var text sql.NullString
	b.db.QueryRow("SELECT CONCAT_WS(' / ', (SELECT GROUP_CONCAT(last_error_message) FROM performance_schema.replication_connection_status)," +
		" (SELECT GROUP_CONCAT(last_error_message) FROM performance_schema.replication_applier_status_by_worker))").Scan(&text)
	return text.String
}
