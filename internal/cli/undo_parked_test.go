package cli

import (
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestU4_WhatBecomesOfParkedRowsIsSaid: an undo has parked rows. The list, the status and the result of the redo name their table and
// what becomes of the rows: a redo of the changes brings them back, and then the table has copies only; a redo of all rows does not.
func TestU4_WhatBecomesOfParkedRowsIsSaid(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, version := range mysqltest.InTurn(t, "9.7", "5.7", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			sideBySide(t)
			i := mysqltest.Server(t, version)
			for _, how := range []string{"", "--cold"} {
				r := newFlagRig(t, i)
				database, _, _ := strings.Cut(r.name, ".")
				exec, here := executing(t, i, database), "--history-dir="+t.TempDir()
				rows := func(table string) (ids string) {
					if err := i.Open(t, database).QueryRow("SELECT COALESCE(GROUP_CONCAT(id ORDER BY id), '') FROM " + table).Scan(&ids); err != nil {
						t.Error(err)
					}
					return ids
				}
				exec("ALTER TABLE t ADD COLUMN s VARCHAR(9) NOT NULL DEFAULT 'x'")
				r.with(exit.Done, "run", "--undo=1h", "--method=shadow", "ALTER TABLE t MODIFY a BIGINT")
				exec("INSERT INTO t VALUES (3, 5000000000, 'c'), (4, 5000000000, 'd')")
				r.with(exit.Done, "undo", "--park", here, r.name)
				listed := r.with(exit.Done, "undo", "--list", r.name)
				contains(t, listed, "Set aside "+r.name+"_parked: 2 rows, 2 of which "+r.name+" does not have, or has with other values; "+
					"the redo brings the rows of the last undo back into the table, but not if it syncs all rows (--cold)")
				_, status, _ := midstream(t, "status", here, r.name)
				contains(t, strings.Join(strings.Fields(status), " "), "(it has set aside 2 rows in "+r.name+"_parked)")
				contains(t, r.with(exit.Done, "undo", "--list", "--json", r.name), `"parked":["`+r.name+`_parked"]`)
				if how == "--cold" {
					for _, other := range []string{"3, 3, 'c'", "3, 3, 'x'"} { // other rows with this key
						exec("REPLACE INTO t VALUES (" + other + ")")
						contains(t, r.with(exit.Done, "undo", "--list", r.name), r.name+"_parked: 2 rows, 2 of which "+r.name+" does not have, or has with other values; the redo")
					}
					exec("DELETE FROM t WHERE id = 3")
					loses := "rows that the last undo or redo has parked do not come back: the redo syncs all rows"
					contains(t, r.with(exit.Done, "undo", "--plan", "--cold", r.name), loses)
					done := r.with(exit.Done, "undo", "--cold", r.name)
					contains(t, done, loses, "Set aside: "+r.name+"_parked: 2 rows, 2 of which "+r.name+" does not have, or has with other values")
					if got := rows("t"); got != "1,2" {
						t.Errorf("the rows are %s", got)
					}
					contains(t, r.with(exit.Done, "undo", "--end", r.name), "Set aside "+r.name+"_parked: 2 rows, 2 of which", "DROP TABLE `"+database+"`.`t_parked`")
					exec("DROP TABLE t_parked")
					continue
				}
				contains(t, r.with(exit.Done, "undo", "--plan", r.name), "--cold syncs and compares all rows, but the parked rows do not come back then")
				gone := "Set aside: " + r.name + "_parked: 2 rows, all of which are back in " + r.name + "; nothing needs this table: DROP TABLE `" + database + "`.`t_parked`"
				contains(t, r.with(exit.Done, "undo", r.name), gone)
				if got := rows("t"); got != "1,2,3,4" {
					t.Errorf("the rows are %s", got)
				}
				contains(t, r.with(exit.Done, "undo", "--list", r.name), strings.Replace(gone, ":", "", 1))
				for _, other := range []string{"UPDATE t SET s = 'C' WHERE id = 3", "UPDATE t SET s = 'c ' WHERE id = 3", "DELETE FROM t WHERE id = 3"} {
					exec(other) // what a collation takes for the same is another value
					contains(t, r.with(exit.Done, "undo", "--list", r.name), r.name+"_parked: 2 rows, 1 of which "+r.name+" does not have, or has with other values")
				}
				exec("DELETE FROM t_parked")
				contains(t, r.with(exit.Done, "undo", "--end", r.name), "Dropped "+r.name+"_parked, "+r.name+"_undo")
				r.with(exit.Done, "cleanup", "--old", "--yes", r.name)
			}
		})
	}
}

// TestTheListComparesParkedRowsByWhatBothTablesHave: after an undo, the table of parked rows has the definition that was undone. The list
// compares its rows with those of the table by the key and the columns of both, and says that more may be missing.
func TestTheListComparesParkedRowsByWhatBothTablesHave(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("ALTER TABLE t ADD COLUMN s CHAR(9), ADD COLUMN v VARCHAR(20)")
		r.says("run", exit.Done, "ALTER TABLE t MODIFY v TEXT", []string{"--undo=1h", "--method=shadow"})
		r.exec("INSERT INTO t (id, a, s, v) VALUES (1001, 1, 'x', REPEAT('v', 21)), (1002, 2, 'y', REPEAT('v', 21))")
		r.says("undo", exit.Done, "t", []string{"--park"})
		list, parked := []string{"--list"}, r.database+".t_parked: "
		r.says("undo", exit.Done, "t", list, parked+"2 rows, 2 of which "+r.database+".t does not have, or has with other values")
		r.exec("INSERT INTO t (id, a, s, v) VALUES (1001, 1, 'x', 'v'), (1002, 3, 'y', 'v')")
		r.says("undo", exit.Done, "t", list, parked+"2 rows, at least 1 of which "+r.database+".t does not have, or has with other values")
		r.exec("UPDATE t SET a = 2 WHERE id = 1002")
		r.says("undo", exit.Done, "t", list, parked+"2 rows; "+r.database+".t has equal rows, compared by the columns that both tables have")
		r.exec("UPDATE t SET s = 'Y' WHERE id = 1002")
		r.says("undo", exit.Done, "t", list, parked+"2 rows, at least 1 of which")
		r.exec("DELETE FROM t_parked WHERE id = 1001")
		r.says("undo", exit.Done, "t", list, parked+"1 row, which "+r.database+".t does not have")
		r.says("undo", exit.Done, "t", []string{"--end"})
		r.says("cleanup", exit.Done, "t", []string{"--old", "--yes"})
		r.exec("DROP TABLE t_parked")
	})
}

// TestU4_ATruncateKeepsParkedRowsApart: the rows that the undo of a TRUNCATE parks have keys that other rows have. The list does not take
// those for the parked ones, and says that a redo does not bring the rows back.
func TestU4_ATruncateKeepsParkedRowsApart(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		table := r.database + ".t"
		r.says("run", exit.Done, "TRUNCATE TABLE t", []string{"--undo=1h"})
		r.exec("INSERT INTO t (id, a) VALUES (1, 77)")
		r.says("undo", exit.Done, "t", []string{"--merge", "--park"})
		r.says("undo", exit.Done, "t", []string{"--list"}, "Set aside "+table+"_parked: 1 row, which "+table+" does not have, or has with other values; the redo does not bring them back")
		r.says("undo", exit.Done, "t", []string{"--end"}, "Set aside "+table+"_parked: 1 row, which "+table+" does not have")
		r.exec("DROP TABLE t_parked")
	})
}
