package migration_test

import (
	"testing"
	"time"

	"midstream/internal/fault"
	"midstream/internal/mysqltest"
	"midstream/internal/sandbox"
)

// onUnseeing runs a test on servers that show nobody's connection attributes, beside other tests. Without
// performance_schema a server before 8.0.13 is refused.
func onUnseeing(t *testing.T, test func(b *bench)) {
	t.Parallel()
	for _, version := range versions {
		for name, value := range map[string]string{"performance_schema": "OFF", "performance_schema_session_connect_attrs_size": "0"} {
			if version == "8.0" && value == "OFF" {
				continue
			}
			t.Run(name+"/"+version, func(t *testing.T) {
				t.Parallel()
				test(on(t, version, mysqltest.Own(t, version, sandbox.Options{Settings: map[string]string{name: value}})))
			})
		}
	}
}

// late has a statement wait on the server, whose client gets no answer, for half a second.
func (b *bench) late(statement string, then func()) *fault.Proxy {
	backup := b.conn()
	return b.wire(fault.Rule{At: statement, Deaf: true, Call: func() {
		if _, err := backup.ExecContext(b.ctx(), "LOCK INSTANCE FOR BACKUP"); err != nil {
			b.Error(err)
		}
		time.AfterFunc(500*time.Millisecond, func() { backup.ExecContext(b.ctx(), "UNLOCK INSTANCE") })
		then()
	}})
}

// TestL7_UnseenSwapIsAwaited: the RENAME is done after its connection is lost, on a server where the
// session that does it can't be found by its attributes.
func TestL7_UnseenSwapIsAwaited(t *testing.T) {
	onUnseeing(t, func(b *bench) {
		b.numbered(1000)
		w := b.late("RENAME TABLE `"+b.schema+"`", func() {})
		b.mustMigrate("ADD INDEX (v)")
		if got := b.indexes(); got != "1" || !bent(w) || b.tables() != "digits,t,t_old" {
			b.Errorf("%s indexes, tables %s", got, b.tables())
		}
	})
}

// TestL7_UnseenSwapOfAnEarlierRun: the RENAME of a killed run is done while the same command is given
// again.
func TestL7_UnseenSwapOfAnEarlierRun(t *testing.T) {
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
		if !again.heard("can't be found") {
			b.Error("it did not say that sessions can't be found")
		}
		if got := b.indexes(); got != "1" {
			b.Errorf("%s indexes were added", got)
		}
		b.hasTables("digits,t")
	})
}
