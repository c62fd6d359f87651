package migration_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/park"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
)

// TestU2_NewRowsWithoutAValueAreNotLost: the old table has a column without a default, and a row is new. Whatever the type of the
// column and the key of the row: the undo refuses the row, and does not lose it.
func TestU2_NewRowsWithoutAValueAreNotLost(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		table := b.schema + ".t"
		for _, column := range []string{"JSON", "INT", "VARCHAR(10)", "TEXT", "BLOB", "POINT", "DATE", "DECIMAL(5,2)"} {
			for _, k := range []string{"''", "'new'"} {
				b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema,
					"CREATE TABLE "+table+" (k CHAR(20) NOT NULL, v INT, c "+column+" NOT NULL, PRIMARY KEY (k))")
				b.cfg.Undo = time.Hour
				b.Cleanup(func() {
					b.exec("DROP TABLE IF EXISTS "+b.schema+".t_undo", "DROP TABLE IF EXISTS "+b.schema+".t_parked")
				})
				b.mustMigrate("DROP COLUMN c")
				_, err := b.undo(b.ctx(), planning.Undo{}, onPhase(event.PhaseVerify, func() {
					b.exec("INSERT INTO " + table + " (k, v) VALUES (" + k + ", 2)")
				}))
				if !errors.Is(err, park.ErrUnfit) {
					b.Errorf("%s, %s: the error is %v", column, k, err)
				}
				b.mustUndo(planning.Undo{Park: true})
				if n := b.value("SELECT COUNT(*) FROM " + b.schema + ".t_parked WHERE v = 2 AND k = " + k); n != "1" {
					b.Errorf("%s, %s: the row is lost", column, k)
				}
			}
		}
	})
}

// TestU4_AParkedRowHasItsKey: a row whose AUTO_INCREMENT key is 0 is parked with that key, and the redo brings it back.
func TestU4_AParkedRowHasItsKey(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		table := b.schema + ".t"
		b.exec("CREATE TABLE "+table+" (id BIGINT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL)", "INSERT INTO "+table+" VALUES (5, 5)")
		b.cfg.Undo = time.Hour
		b.Cleanup(func() {
			b.exec("DROP TABLE IF EXISTS "+b.schema+".t_undo", "DROP TABLE IF EXISTS "+b.schema+".t_parked")
		})
		b.mustMigrate("MODIFY v INT NULL")
		zeros := b.conn()
		for _, s := range []string{"SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO'", "INSERT INTO " + table + " VALUES (0, NULL)"} {
			if _, err := zeros.ExecContext(b.ctx(), s); err != nil {
				b.Fatal(err)
			}
		}
		b.mustUndo(planning.Undo{Park: true})
		const ids = "SELECT GROUP_CONCAT(id ORDER BY id) FROM "
		if got := b.value(ids + b.schema + ".t_parked"); got != "0" {
			b.Errorf("the parked row has the key %s", got)
		}
		b.mustUndo(planning.Undo{})
		if got := b.value(ids + table); got != "0,5" {
			b.Errorf("after the redo, the keys are %s", got)
		}
	})
}

// TestU5_AGeneratedColumnIsNotTheNewOneOfItsName: the change drops a generated column and adds a plain one of its name. The redo of
// its undo brings back the values of the plain one.
func TestU5_AGeneratedColumnIsNotTheNewOneOfItsName(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		table := b.schema + ".t"
		b.exec("CREATE TABLE "+table+" (id INT PRIMARY KEY, v INT, g INT AS (v + 1) STORED)", "INSERT INTO "+table+" (id, v) VALUES (1, 1), (2, 2)")
		b.cfg.Undo = time.Hour
		b.Cleanup(func() { b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_undo") })
		b.mustMigrate("DROP COLUMN g, ADD COLUMN g VARCHAR(20)")
		b.exec("UPDATE " + table + " SET g = CONCAT('kept ', id)")
		rows := func() string {
			return b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, v, g) ORDER BY id) FROM " + table)
		}
		for _, cold := range []bool{false, true} {
			b.mustUndo(planning.Undo{Cold: cold})
			if got, want := rows(), "1 1 2,2 2 3"; got != want {
				b.Errorf("cold %t: after the undo, the rows are %s, want %s", cold, got, want)
			}
			b.mustUndo(planning.Undo{Cold: cold})
			if got, want := rows(), "1 1 kept 1,2 2 kept 2"; got != want {
				b.Errorf("cold %t: after the redo, the rows are %s, want %s", cold, got, want)
			}
		}
	})
}

// TestU4_NewRowsWithoutAValueAreFoundTogether: 400 new rows have no value for a column of the old table. The undo finds all of them
// with few statements: writers that go on must not outrun it.
func TestU4_NewRowsWithoutAValueAreFoundTogether(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		table := b.schema + ".t"
		for _, change := range []string{"DROP COLUMN c", "DROP COLUMN c, MODIFY k VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL"} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema,
				"CREATE TABLE "+table+" (k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY, v INT, c INT NOT NULL)",
				"INSERT INTO "+table+" VALUES ('a', 1, 1)")
			b.cfg.Undo = time.Hour
			b.Cleanup(func() {
				b.exec("DROP TABLE IF EXISTS "+b.schema+".t_undo", "DROP TABLE IF EXISTS "+b.schema+".t_parked")
			})
			b.address = b.server.Address
			b.mustMigrate(change)
			rows := make([]string, 400)
			for i := range rows {
				rows[i] = fmt.Sprintf("('new %d', %[1]d)", i)
			}
			b.exec("INSERT INTO " + table + " (k, v) VALUES " + strings.Join(rows, ", "))
			var writes atomic.Int64
			old := []byte("`" + b.schema + "`.`t_old`")
			b.wire(fault.Rule{At: "none", Seen: func(_ int, command []byte) {
				if bytes.Contains(command, old) && (bytes.Contains(command, []byte("INSERT")) || bytes.Contains(command, []byte("DELETE"))) {
					writes.Add(1)
				}
			}})
			if _, err := b.undo(b.ctx(), planning.Undo{}); !errors.Is(err, park.ErrUnfit) || !strings.Contains(err.Error(), "some rows do not fit: 400,") {
				b.Errorf("%s: the error is %v", change, err)
			}
			if n := writes.Load(); n > 100 {
				b.Errorf("%s: %d statements write to the old table", change, n)
			}
			b.mustUndo(planning.Undo{Park: true})
			if n := b.value("SELECT COUNT(*) FROM " + b.schema + ".t_parked"); n != "400" {
				b.Errorf("%s: %s rows are parked", change, n)
			}
		}
	})
}
