package cli

import (
	"strings"
	"testing"

	"midstream/internal/lab/mysqltest"
)

// TestU3_TheListShowsWhatTheUndoDoes: the list goes by the rule by which the undo is planned. Rows that were parked and have come back,
// or a foreign key that changes rows without a trace in the binlog, make the undo cold: the list gives that reason.
func TestU3_TheListShowsWhatTheUndoDoes(t *testing.T) {
	sideBySide(t)
	for server, prepared := range map[string][]string{
		"9.7": {"INSERT INTO t VALUES (5, 5000000000)"},
		"mariadb-10.11": {
			"CREATE TABLE p (id INT PRIMARY KEY)", "INSERT INTO p VALUES (1), (2)",
			"ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (id) REFERENCES p (id) ON DELETE CASCADE",
		},
	} {
		t.Run(server, func(t *testing.T) {
			sideBySide(t)
			i := mysqltest.Server(t, server)
			r := newFlagRig(t, i)
			database, _, _ := strings.Cut(r.name, ".")
			r.with(exitDone, "run", "--undo=1h", "--method=shadow", "ALTER TABLE t MODIFY a BIGINT")
			contains(t, r.with(exitDone, "undo", "--list", r.name), "Mode lazy: an undo syncs the rows that have changed since the swap")
			executing(t, i, database)(prepared...)
			why := "foreign keys change rows of the table without a trace in the binlog"
			if server == "9.7" {
				r.with(exitDone, "undo", "--park", r.name)
				contains(t, r.with(exitDone, "undo", "--list", r.name), "Mode lazy: the redo syncs")
				r.with(exitDone, "undo", r.name)
				why = "rows have come back that had been parked, and the old table lacks them"
			}
			contains(t, r.with(exitDone, "undo", "--list", r.name), ": revoked until ", "because "+why, "Mode cold: an undo syncs all rows", "midstream undo --cold")
			contains(t, r.with(exitDone, "undo", "--list", "--json", r.name), `"state":"revoked"`, `"mode":"cold"`)
			contains(t, r.with(exitDone, "undo", "--list", "--quiet", r.name), r.name+" revoked ", " cold -")
			contains(t, r.with(exitRefused, "undo", "--lazy", r.name), why, "midstream undo --cold "+r.name)
			contains(t, r.with(exitDone, "undo", "--park", r.name), "the undo syncs and compares all rows, and not only the changed ones: "+why)
			executing(t, i, database)("DROP TABLE IF EXISTS t_parked, t_parked2")
			r.ends(false)
		})
	}
}
