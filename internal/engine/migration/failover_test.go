package migration_test

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// TestL5_Failover: the server of a stopped run is gone, and a replica has taken its place, with the
// run's tables. Its GTIDs show what must be read there, and the run resumes. As long as it still
// follows the other server, the run does nothing there.
func TestL5_Failover(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	for _, version := range inTurn(t, versions) {
		t.Run(version, func(t *testing.T) { failover(t, version) })
	}
}

func failover(t *testing.T, version string) {
	t.Parallel()
	primary := mysqltest.Own(t, version, sandbox.Options{Settings: replicating(version, "11")})
	replica := mysqltest.Own(t, version, sandbox.Options{Settings: replicating(version, "12")})
	b := on(t, version, primary)
	other := &bench{
		T:       t,
		version: version,
		server:  replica,
		address: replica.Address,
		db:      replica.Open(t, ""),
		schema:  b.schema,
		told:    newTold(),
	}
	other.replicate(primary)
	b.numbered(9999)
	b.exec("ALTER TABLE " + b.schema + ".t COMMENT 'altered before the run'") // read again, and ignored
	b.killedInCopy()
	other.follow(b, "all")
	if code, last := other.child(
		clauses,
		"",
		nil,
		"--source-replicates",
	).wait(); code != 11 ||
		!strings.Contains(last, "replicated to this one") {
		t.Errorf("while its server is replicated: exit code %d, %s", code, last)
	}
	other.behind(b, func() {
		if code, last := other.child(
			clauses,
			"",
			nil,
			"--source-replicates",
		).wait(); code != 11 ||
			!strings.Contains(last, "not applied yet") {
			t.Errorf("while it has unapplied transactions: exit code %d, %s", code, last)
		}
	})

	// The run resumes, its server is replaced, and it resumes there.
	wire := b.wire(fault.Rule{Nth: 1 << 30})
	stop := func() {}
	c := b.child(clauses, phaseLine(event.PhaseVerify), func(*child) { stop() }, append(slowly, "--reconnect=1m")...)
	b.address = primary.Address
	c.await(phaseLine(event.PhaseCopy))
	b.noMoreWrites()
	other.catchUpWith(b)
	other.exec("STOP "+other.word("REPLICA"), "RESET "+other.word("REPLICA")+" ALL")
	stop = other.writer(other.db)
	wire.LeadTo(replica.Address)
	c.mustEnd()
	if !c.heard("changes are read from") || c.heard("run starts again") {
		c.log("note")
		t.Error("it did not resume")
	}
	other.equal()
	other.exec("DROP DATABASE " + b.schema)
	b.exec("SET GLOBAL read_only = OFF")

	b.anew("UPDATE "+b.schema+".t_midstream SET state = JSON_SET(state, '$.ServerUUID', 'another') WHERE id = 2", "")
	b.killedInCopy()
	b.anew(
		"UPDATE "+b.schema+".t_midstream SET state = JSON_SET(state, '$.ServerUUID', 'another', '$.GTIDs', '') WHERE id = 2",
		"does not use the work of an earlier run: it ran on the server another",
	)
	b.killedInCopy()
	b.anew(
		"UPDATE "+b.schema+".t_midstream SET state = JSON_SET(state, '$.ServerUUID', 'another', '$.Executed', "+b.executedLater()+") WHERE id = 2",
		"lacks transactions",
	)
	b.killedInCopy()
	b.anew("RESET "+b.resetWord(), "its binlogs were reset")
}

// noMoreWrites makes the server refuse writes.
func (b *bench) noMoreWrites() {
	b.Helper()
	// Administrators may still write there: runs notice that, and end.
	if isMariaDB(b.version) {
		b.exec("SET GLOBAL read_only = ON")
		time.Sleep(time.Second)
		return
	}
	b.exec("SET GLOBAL super_read_only = ON")
}

// behind does something while the server has received, but can't apply, what its primary did, and
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
	b.received(primary)
	b.exec("STOP " + b.word("REPLICA") + " IO_THREAD")
	do()
	hold("UNLOCK TABLES")
	b.exec("START " + b.word("REPLICA"))
}

// executedLater is an expression for a set of GTIDs that the server does not have.
func (b *bench) executedLater() string {
	if isMariaDB(b.version) {
		return "CONCAT('0-', @@server_id, '-99999999')"
	}
	return "CONCAT(@@server_uuid, ':1-99999999')"
}

const clauses = "ADD COLUMN added INT"

// killedInCopy starts a run, with a concurrent writer, and kills it while it copies. The writer
// continues for a while.
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

// anew does something to what a stopped run left, and lets the run finish. The run must begin again
// for the given reason, or resume if there is none.
func (b *bench) anew(statement, reason string) {
	b.Helper()
	b.exec(statement)
	if reason == "" {
		reason = "resuming an earlier run"
	}
	c := b.child(clauses, "", nil)
	c.mustEnd()
	if !c.heard(reason) {
		c.log("note")
		b.Errorf("after %s it did not print: %s", statement, reason)
	}
	b.equal()
	b.exec("DROP TABLE "+b.schema+".t", "RENAME TABLE "+b.schema+".t_old TO "+b.schema+".t", "ALTER TABLE "+b.schema+".t COMMENT ''")
}
