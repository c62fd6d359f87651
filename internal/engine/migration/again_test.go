package migration_test

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
)

// indexes is the number of indexes on column v of table t.
func (b *bench) indexes() string {
	return b.value(
		"SELECT COUNT(*) FROM information_schema.statistics WHERE column_name = 'v' AND table_name = 't' AND table_schema = '" + b.schema + "'",
	)
}

// TestL7_ReconnectRepeatsNoSwap: a process that reconnects after its swap does not alter the table
// once more, whatever is left of its run.
func TestL7_ReconnectRepeatsNoSwap(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(1000)
		w := b.wire(fault.Rule{At: "DROP TABLE IF EXISTS `" + b.schema + "`.`t_old`", Error: 1290}) // read-only, for a moment
		c := b.child("ADD INDEX (v)", "", nil, "--drop-old", "--reconnect=10s")
		code, last := c.wait()
		if !bent(w) || !c.heard("going on in") {
			b.Error("it did not reconnect")
		}
		if got := b.indexes(); got != "1" {
			b.Errorf("%s indexes were added", got)
		}
		if code != 15 || !strings.Contains(last, `"swapped":true`) || !strings.Contains(last, b.schema+".t_old") ||
			b.tables() != "digits,t,t_old" {
			b.Errorf("exit code %d, tables %s: %s", code, b.tables(), last)
		}
		b.exec("DROP TABLE " + b.schema + ".t_old")
	})
}

// TestL7_ReconnectKnowsTheSwap: the answer of the RENAME is lost, and the server can't be reached
// for longer than the run tries. The process that reconnects finds that it has swapped.
func TestL7_ReconnectKnowsTheSwap(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(1000)
		w := b.wire(fault.Rule{At: "RENAME TABLE `" + b.schema + "`", Deaf: true})
		c := b.child("ADD INDEX (v)", "", nil, "--reconnect=60s")
		for !c.heard("going on in") && !c.ended() {
			if bent(w) {
				w.HangUp()
			}
			time.Sleep(time.Millisecond)
		}
		c.mustEnd()
		// If two sessions are cut off, the one that holds the lock may end first: then there is no
		// swap.
		if isNew(b.version) && (!c.heard("the outcome of the swap is not known") || !c.heard("stopped after its swap")) {
			b.Errorf("it did not look again:\n%s", strings.Join(c.said, "\n"))
		}
		if got := b.indexes(); got != "1" {
			b.Errorf("%s indexes were added", got)
		}
	})
}
