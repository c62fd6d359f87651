package migration_test

import (
	"errors"
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
)

// TestL9_ANullForAMomentStops: a column becomes TIMESTAMP NOT NULL, and a NULL arrives during the run, or is found by the copy.
// It ends the run. Every server's own ALTER writes the time of the ALTER for it, and MariaDB's INSERT does so too.
func TestL9_ANullForAMomentStops(t *testing.T) {
	sideBySide(t)
	for _, from := range []string{"DATETIME", "DATE", "TIMESTAMP NULL", "TIMESTAMP(6) NULL", "VARCHAR(30)", "BIGINT", "TIME", "YEAR"} {
		for _, during := range []bool{true, false} {
			name := from + ", in the copy"
			if during {
				name = from + ", during the run"
			}
			t.Run(name, func(t *testing.T) {
				onEach(t, func(b *bench) {
					b.cfg.NoPrescan = true
					b.exec("CREATE TABLE " + b.schema + ".t (id INT PRIMARY KEY, a " + from + ")")
					insert := func() { b.exec("INSERT INTO " + b.schema + ".t VALUES (41, NULL)") }
					listener := func(event.Event) {}
					if during {
						listener = onPhase(event.PhaseCatchUp, insert)
					} else {
						insert()
					}
					_, err := b.migrate(b.ctx(), "MODIFY a TIMESTAMP(3) NOT NULL DEFAULT '2001-01-01 00:00:00'", listener)
					if !dbconn.ValueRefused(err) || !errors.Is(err, rowsync.ErrRefused) || !strings.Contains(err.Error(), "row with key (41)") {
						b.Errorf("the error is %v; the table has %s", err, b.value("SELECT a FROM "+b.schema+".t"))
					}
				})
			})
		}
	}
}
