package migration_test

import (
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/lab/mysqltest"
)

// TestU3_AnUndoBecomesColdInItsMidst: an undo has synced and waits for its release. Another session does what the keys in the
// binlog do not show. The undo begins again by all rows and comes to its end; a follower, or one with --lazy, ends instead,
// and names the command that takes the change back.
func TestU3_AnUndoBecomesColdInItsMidst(t *testing.T) {
	mysqltest.Seldom(t)
	for _, v := range inTurn(t, versions) { // a statement in STATEMENT format ends other runs
		t.Run(v, func(t *testing.T) {
			b := setup(t, v)
			for name, statements := range notByKeys() {
				for _, lazy := range []bool{false, true} {
					b.numbered(50)
					b.natively("DROP COLUMN u", "--undo=1h", "--method=shadow").mustEnd()
					sockets := "--control-dir=" + filepath.Join(b.TempDir(), "sockets")
					flags := []string{"--hold", sockets}
					if lazy {
						flags = append(flags, "--lazy")
					}
					undo := b.undoing(flags...)
					undo.await(phaseLine(event.PhaseHold))
					conn := b.conn()
					for _, s := range statements {
						if _, err := conn.ExecContext(b.ctx(), strings.ReplaceAll(s, "%s", b.schema)); err != nil {
							b.Fatalf("%s: %v", s, err)
						}
					}
					const rows = "SELECT GROUP_CONCAT(CONCAT_WS(' ', id, v) ORDER BY id) FROM "
					want := b.value(rows + b.schema + ".t")
					if lazy {
						code, last := undo.wait()
						var named []string // flags of the command that it names
						if strings.Contains(last, " --cold "+b.schema+".t") {
							named = []string{"--cold"}
						} else if !strings.Contains(last, b.schema+".t takes the change back") {
							b.Errorf("%s: a lazy undo: exit code %d: %s", name, code, last)
						}
						if code == 0 {
							b.Errorf("%s: a lazy undo has come to its end", name)
						}
						b.undoing(named...).mustEnd()
					} else {
						undo.await("begins again, by all rows")
						b.releasing(sockets).mustEnd()
						undo.mustEnd()
					}
					if got := b.value(rows + b.schema + ".t"); got != want {
						b.Errorf("%s, lazy %t: the rows are %s, want %s", name, lazy, got, want)
					}
					b.undoing("--end").mustEnd()
					b.exec("DROP TABLE "+b.schema+".t", "DROP TABLE "+b.schema+".t_undone", "DROP TABLE "+b.schema+".digits")
				}
			}
		})
	}
}
