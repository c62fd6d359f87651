package migration_test

import (
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// onUnseeing runs a test on servers that don't show connection attributes, next to other tests.
func onUnseeing(t *testing.T, test func(b *bench)) {
	t.Parallel()
	for _, version := range inTurn(t, versions) {
		for name, value := range map[string]string{"performance_schema": "OFF", "performance_schema_session_connect_attrs_size": "0"} {
			t.Run(name+"/"+version, func(t *testing.T) {
				t.Parallel()
				test(on(t, version, mysqltest.Own(t, version, sandbox.Options{Settings: map[string]string{name: value}})))
			})
		}
	}
}

// late makes a statement wait on the server for half a second, and its client gets no answer. If
// the server has no lock for backups, the statement waits for the other session of the swap
// instead.
func (b *bench) late(statement string, then func()) *fault.Proxy {
	if b.version == "5.7" || isMariaDB(b.version) {
		return b.wire(fault.Rule{At: statement, Deaf: true, Call: then})
	}
	backup := b.conn()
	return b.wire(fault.Rule{At: statement, Deaf: true, Call: func() {
		if _, err := backup.ExecContext(b.ctx(), "LOCK INSTANCE FOR BACKUP"); err != nil {
			b.Error(err)
		}
		time.AfterFunc(500*time.Millisecond, func() { backup.ExecContext(b.ctx(), "UNLOCK INSTANCE") })
		then()
	}})
}

// TestL7_UnseenSwapIsAwaited: the RENAME is done after its connection is lost, on a server that
// does not show the RENAME's session by its attributes.
func TestL7_UnseenSwapIsAwaited(t *testing.T) {
	mysqltest.Seldom(t)
	onUnseeing(t, func(b *bench) {
		b.numbered(1000)
		w := b.late("RENAME TABLE `"+b.schema+"`", func() {})
		b.mustMigrate("ADD INDEX (v)")
		if got := b.indexes(); got != "1" || !bent(w) || b.tables() != "digits,t,t_old" {
			b.Errorf("%s indexes, tables %s", got, b.tables())
		}
	})
}

// TestL7_UnseenSwapOfAnEarlierRun: the RENAME of a killed run is done while the same command runs
// again.
func TestL7_UnseenSwapOfAnEarlierRun(t *testing.T) {
	mysqltest.Seldom(t)
	onUnseeing(t, func(b *bench) {
		b.numbered(1000)
		var c *child
		ready := make(chan struct{})
		b.late("RENAME TABLE `"+b.schema+"`", func() {
			<-ready
			c.kill()
		})
		c = b.child("ADD INDEX (v)", "", nil)
		close(ready)
		if code, last := c.wait(); code != -1 {
			b.Fatalf("exit code %d: %s", code, last)
		}
		b.address = b.server.Address
		again := b.child("ADD INDEX (v)", "", nil, "--drop-old")
		again.mustEnd()
		if !again.heard("cannot find sessions") {
			b.Error("it did not report that sessions can't be found")
		}
		if got := b.indexes(); got != "1" {
			b.Errorf("%s indexes were added", got)
		}
		b.hasTables("digits,t")
	})
}

// TestL7_NobodyIsSeen: without performance_schema, which is MariaDB's default, the processlist
// shows which session of the swap waits for which. It does not show who holds the table: requests
// are refused at once, or withdrawn, and delay no query.
func TestL7_NobodyIsSeen(t *testing.T) {
	t.Parallel()
	const version = "mariadb-10.11"
	b := on(t, version, mysqltest.Own(t, version, sandbox.Options{Settings: map[string]string{"performance_schema": "OFF"}}))
	b.numbered(1000)
	b.hurried()
	s := b.query(10)
	holder := b.conn()
	hold := func(statement string) {
		if _, err := holder.ExecContext(b.ctx(), statement); err != nil {
			b.Error(err)
		}
	}
	var asked int
	refused := make(chan struct{})
	var held sync.WaitGroup
	b.mustMigrate("ADD COLUMN added INT", onPhase(event.PhaseCatchUp, func() {
		hold("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED") // else InnoDB shows an old snapshot
		hold("BEGIN")
		hold("SELECT COUNT(*) FROM " + b.schema + ".t WHERE id = 1")
		held.Go(func() {
			<-refused
			hold("COMMIT")
		})
	}), func(e event.Event) {
		if _, is := e.(event.LockAttempt); is {
			if asked++; asked == 1 {
				close(refused)
			}
		}
	})
	held.Wait()
	s.within(b, 250*time.Millisecond)
	if asked < 2 {
		b.Errorf("the lock was asked for %d times", asked)
	}
	b.Logf("longest wait %s, %d requests", s.worst, asked)
}
