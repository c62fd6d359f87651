package migration_test

import (
	"testing"

	"midstream/internal/engine/event"
)

// TestL11_ADayThatDoesNotExistInTheKey: a session with ALLOW_INVALID_DATES has written days that do not exist into the key, and the ALTER
// makes texts of them. Rows with such keys are copied, followed and found equal, as the server's own ALTER keeps them.
func TestL11_ADayThatDoesNotExistInTheKey(t *testing.T) {
	onEach(t, func(b *bench) {
		conn := b.conn()
		exec := func(statements ...string) {
			b.Helper()
			for _, s := range append([]string{"SET SESSION sql_mode = 'ALLOW_INVALID_DATES'"}, statements...) {
				if _, err := conn.ExecContext(b.ctx(), s); err != nil {
					b.Fatalf("%s: %v", s, err)
				}
			}
		}
		for _, key := range []struct{ from, to string }{
			{"DATETIME(1)", "VARCHAR(40)"}, {"DATE", "VARCHAR(40)"}, {"DATE", "DATE"}, {"DATETIME", "CHAR(30)"}, {"DATETIME", "DATETIME(2)"},
		} {
			exec("DROP TABLE IF EXISTS t, t_old, u", "CREATE TABLE t (d "+key.from+" NOT NULL, n INT NOT NULL, PRIMARY KEY (d))",
				"INSERT INTO t VALUES ('2020-02-30', 1), ('2021-02-29', 2), ('2021-04-31', 3), ('2022-02-30', 4), ('2020-01-01', 5)")
			b.mustMigrate("MODIFY d "+key.to+" NOT NULL, ADD COLUMN added INT",
				onPhase(event.PhaseCopy, func() {
					exec("UPDATE t SET n = 10 WHERE d = '2020-02-30'", "UPDATE t SET d = '2023-02-30' WHERE d = '2021-02-29'")
				}),
				onPhase(event.PhaseCatchUp, func() {
					exec("UPDATE t SET d = '2019-11-31' WHERE d = '2020-02-30'", "DELETE FROM t WHERE d = '2021-04-31'",
						"INSERT INTO t VALUES ('2018-06-31', 6)", "UPDATE t SET n = 11 WHERE d = '2022-02-30'")
				}))
			exec("CREATE TABLE u (d "+key.from+" NOT NULL, n INT NOT NULL, PRIMARY KEY (d))",
				"INSERT INTO u VALUES ('2018-06-31', 6), ('2019-11-31', 10), ('2020-01-01', 5), ('2022-02-30', 11), ('2023-02-30', 2)",
				"ALTER TABLE u MODIFY d "+key.to+" NOT NULL")
			const all = "SELECT GROUP_CONCAT(CONCAT(d, ' ', n) ORDER BY n) FROM "
			if got, want := b.value(all+"t"), b.value(all+"u"); got != want {
				b.Errorf("%s to %s: %s, want %s", key.from, key.to, got, want)
			}
		}
	})
}
