package migration_test

import (
	"path/filepath"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/lab/mysqltest"
)

// TestU4_AWarmUndoParksRowsOfOtherSpellings: an undo follows, while sessions write keys that only the collation holds equal. It parks the
// rows that do not fit once it is released, and loses no other row.
func TestU4_AWarmUndoParksRowsOfOtherSpellings(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		sockets := "--control-dir=" + filepath.Join(b.TempDir(), "sockets")
		for _, c := range respelled {
			b.respelling(c.before, c.after, c.filter)
			follower := b.undoing("--hold", "--park", sockets)
			follower.await(phaseLine(event.PhaseHold))
			wait := b.spelling(2)
			b.releasing(sockets).mustEnd()
			follower.mustEnd()
			if writes := wait(); writes < leastWrites {
				b.Errorf("%s: only %d writes", c.name, writes)
			}
			left := "TRUE"
			if c.filter != "" {
				left = "NOT (s = 0 AND v = 1)"
			}
			both := "SELECT k, v, s FROM " + b.schema + ".t UNION ALL SELECT k, v, s FROM " + b.schema + ".t_parked"
			if got, want := b.spelled(both, left), b.spelled("SELECT k, v, s FROM "+b.schema+".t_undone", "TRUE"); got != want {
				b.Errorf("%s: the rows are %s, and should be %s", c.name, got, want)
			}
		}
	})
}
