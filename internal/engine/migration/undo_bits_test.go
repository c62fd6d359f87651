package migration_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/planning"
	"midstream/internal/lab/mysqltest"
)

// TestU4_BitsThatBecameTextsComeBack: the server's ALTER writes a BIT into a BLOB or TEXT as its bytes, and reads a number from
// there. It refuses JSON of bytes, and a BINARY with the zeros that it has added itself. An undo does the opposite of what the
// change has done, so that no row is refused, and none gets another value.
func TestU4_BitsThatBecameTextsComeBack(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.cfg.Undo = time.Hour
		var columns, changes, first, fresh, was, came []string
		for i, c := range []struct{ before, after, first, fresh, was, came string }{
			{"BIT(7)", "BLOB", "b'101'", "X'07'", "? = b'101'", "? = b'111'"},
			{"BIT(7)", "MEDIUMTEXT CHARACTER SET utf16", "b'101'", "X'0007'", "? = b'101'", "? = b'111'"},
			{"BIT(7)", "VARCHAR(9) CHARACTER SET utf16", "b'101'", "'7'", "? = b'101'", "? = b'111'"},
			{"BLOB", "BIT(7)", "'5'", "b'111'", "? = '5'", "? = '7'"},
			{"TEXT CHARACTER SET utf16", "BIT(7)", "'5'", "b'111'", "? = '5'", "? = '7'"},
			{"CHAR(9) CHARACTER SET utf16", "BIT(7)", "'5'", "b'111'", "? = '5'", "? = '7'"},
			{"BINARY(2)", "BINARY(4)", "X'6100'", "'b'", "? = X'6100'", "? = X'6200'"},
			{"JSON", "BLOB", `'{"a": 5}'`, `'{"a": 7}'`, "JSON_EXTRACT(?, '$.a') = 5", "JSON_EXTRACT(?, '$.a') = 7"},
		} {
			name := fmt.Sprintf("c%d", i)
			columns, changes = append(columns, name+" "+c.before), append(changes, "MODIFY "+name+" "+c.after)
			first, fresh = append(first, c.first), append(fresh, c.fresh)
			was, came = append(was, strings.Replace(c.was, "?", name, 1)), append(came, strings.Replace(c.came, "?", name, 1))
		}
		table := b.schema + ".t"
		for _, cold := range []bool{false, true} {
			b.exec("CREATE TABLE "+table+" (id INT PRIMARY KEY, v INT, "+strings.Join(columns, ", ")+")",
				fmt.Sprintf("INSERT INTO %s VALUES (1, 1, %s), (2, 1, %[2]s)", table, strings.Join(first, ", ")))
			b.mustMigrate(strings.Join(changes, ", "))
			b.exec("UPDATE "+table+" SET v = 9 WHERE id = 2", fmt.Sprintf("INSERT INTO %s VALUES (4, 9, %s)", table, strings.Join(fresh, ", ")))
			for _, v := range []string{"8", "7", "6"} {
				b.mustUndo(planning.Undo{Cold: cold})
				b.exec("UPDATE " + table + " SET v = " + v + " WHERE id <> 1")
			}
			for i := range was {
				first := b.value("SELECT GROUP_CONCAT(id ORDER BY id) FROM " + table + " WHERE " + was[i])
				fresh := b.value("SELECT GROUP_CONCAT(id) FROM " + table + " WHERE " + came[i])
				if first != "1,2" || fresh != "4" {
					b.Errorf("%s: rows %s are as before, and rows %s as those that came", columns[i], first, fresh)
				}
			}
			b.exec("DROP TABLE "+table, "DROP TABLE "+table+"_undone", "DROP TABLE "+table+"_undo")
		}
	})
}
