package migration_test

import (
	"fmt"
	"testing"
	"time"

	"midstream/internal/engine/event"
)

// TestPrimaryKeyMadeLonger: the followed key is only a part of the shadow's primary key, whose
// other columns change. The rows of a key must be replaced, and not doubled.
func TestPrimaryKeyMadeLonger(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(2000)
		b.cfg.RowCopy.MaxRows = 200
		change := func() {
			b.exec("UPDATE "+b.schema+".t SET v = v + 1 WHERE id % 3 = 0", "UPDATE "+b.schema+".t SET v = v + 1 WHERE id % 3 < 2",
				"UPDATE "+b.schema+".t SET id = -id, v = 9 WHERE id % 500 = 7", "DELETE FROM "+b.schema+".t WHERE id % 500 = 8")
		}
		b.mustMigrate(
			"DROP PRIMARY KEY, ADD PRIMARY KEY (id, v), DROP INDEX u", onPhase(event.PhaseCopy, change),
			onPhase(event.PhaseCatchUp, change),
		)
		b.equal()
	})
}

// TestL2_KeysMoveWhileTheirSyncIsHeldUp: keys move to copied rows and to new ones, are swapped and
// rotated, while a sync of them waits for a lock, is stopped by another session, and is tried
// again. No row stays under its old key.
func TestL2_KeysMoveWhileTheirSyncIsHeldUp(t *testing.T) {
	onEach(t, func(b *bench) {
		b.numbered(2000)
		b.mustMigrate("ADD COLUMN added INT", onPhase(event.PhaseCatchUp, func() {
			holder := b.feeder()
			holder.exec(
				"SET SESSION innodb_lock_wait_timeout = 100", "BEGIN",
				"SELECT COUNT(*) FROM t_shadow WHERE id BETWEEN 100 AND 120 FOR UPDATE",
			)
			f := b.feeder()
			f.exec(
				"BEGIN",
				"UPDATE t SET id = 0 WHERE id = 100",
				"UPDATE t SET id = 100 WHERE id = 101",
				"UPDATE t SET id = 101 WHERE id = 102",
				"UPDATE t SET id = 102 WHERE id = 0",
				"COMMIT", // a ring
				"UPDATE t SET id = -1 WHERE id = 103",
				"UPDATE t SET id = 103 WHERE id = 1500",
				"UPDATE t SET id = 9000 WHERE id = 104",
				"DELETE FROM t WHERE id = 105",
				"INSERT INTO t VALUES (9001, 105, 105)",
			)
			for range 2 {
				b.stopSync()
			}
			f.exec("UPDATE t SET id = 105 WHERE id = 9001", "UPDATE t SET id = 9002 WHERE id = -1")
			holder.exec("ROLLBACK")
		}))
		b.equal()
		if got := b.value("SELECT COUNT(*) FROM " + b.schema + ".t"); got != "2000" {
			b.Errorf("the table has %s rows, want 2000", got)
		}
	})
}

// stopSync stops a statement that waits to write into the shadow, as an operator would.
func (b *bench) stopSync() {
	b.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		id := b.value(
			"SELECT MAX(processlist_id) FROM performance_schema.threads WHERE processlist_command = 'Query' AND processlist_id <> CONNECTION_ID()" +
				" AND (processlist_info LIKE 'DELETE `" + b.schema + "`.`t_shadow`%' OR processlist_info LIKE 'INSERT INTO `" + b.schema + "`.`t_shadow`%')",
		)
		if id != "" {
			b.exec("KILL QUERY " + id)
			return
		}
	}
	b.Error("no sync waits for the lock")
}

// TestAfterTheSwap: what uses the table by its name works with the new one, and what the server
// keeps for a table is unchanged.
func TestAfterTheSwap(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(500)
		user := fmt.Sprintf("'u%s'@'%%'", b.schema[max(0, len(b.schema)-8):])
		b.exec("CREATE VIEW "+b.schema+".w AS SELECT id, v FROM "+b.schema+".t", "CREATE USER "+user,
			"GRANT SELECT, UPDATE (v) ON "+b.schema+".t TO "+user)
		b.Cleanup(func() { b.exec("DROP USER " + user) })
		grants := func() string {
			return b.value(
				"SELECT CONCAT_WS(' ', (SELECT GROUP_CONCAT(table_priv, column_priv) FROM mysql.tables_priv WHERE db = '" + b.schema +
					"' AND table_name = 't'), (SELECT GROUP_CONCAT(column_name, column_priv) FROM mysql.columns_priv WHERE db = '" + b.schema + "' AND table_name = 't'))",
			)
		}
		b.exec("ALTER TABLE "+b.schema+".t MODIFY id INT AUTO_INCREMENT", "INSERT INTO "+b.schema+".t (id, v) VALUES (70000, 1)",
			"DELETE FROM "+b.schema+".t WHERE id = 70000")
		was := grants()
		b.mustMigrate("ADD COLUMN added INT, ADD INDEX v (v)")
		if got := grants(); got != was || was == "" {
			b.Errorf("privileges are %q and were %q", got, was)
		}
		if got := b.value("SELECT COUNT(*) FROM " + b.schema + ".w"); got != "500" {
			b.Errorf("the view has %s rows", got)
		}
		b.exec("INSERT INTO " + b.schema + ".t (v) VALUES (5)")
		if got := b.value("SELECT MAX(id) FROM " + b.schema + ".t"); got != "70001" {
			b.Errorf("the next number is %s", got)
		}
		if got := b.value(
			"SELECT n_rows > 400 FROM mysql.innodb_table_stats WHERE database_name = '" + b.schema + "' AND table_name = 't'",
		); got != "1" {
			b.Errorf("statistics are missing: %q", got)
		}
	})
}
