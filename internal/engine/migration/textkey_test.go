package migration_test

import (
	"fmt"
	"strings"
	"testing"

	"midstream/internal/engine/event"
)

// TestL11_AKeyBecomesTheTextOfTheServersAlter: the key that a run follows becomes another type, and an INSERT .. SELECT makes another
// value of it than the ALTER does. Copied, changed, moved and new rows have the values of the server's own ALTER.
func TestL11_AKeyBecomesTheTextOfTheServersAlter(t *testing.T) {
	onEach(t, func(b *bench) {
		for _, key := range []struct{ from, to, values string }{
			{"FLOAT(7,2)", "VARCHAR(80)", "0 9999.99 1.5 -2.25 3.33 4.44"},
			{"DOUBLE(9,3)", "CHAR(40)", "0 9999.999 1.5 -2.25 3.333 4.444"},
			{"YEAR", "VARCHAR(9)", "0 1999 2001 2100 1901 2155"},
			{"DECIMAL(8,2) ZEROFILL", "VARCHAR(40)", "0 1.5 99999 2 3.25 77.7"},
			{"INT(8) ZEROFILL", "VARCHAR(40)", "0 1 99999 2 3 77"},
			{"BIGINT", "VARCHAR(40) CHARACTER SET utf32", "-9223372036854775808 1234567890123456789 0 5 -7 1234567890123456788"},
		} {
			b.keyBecomes(key.from, key.to, strings.Fields(key.values))
		}
	})
}

// keyBecomes changes a key from one type to another. Rows change, move, go and come as the run copies and follows them.
func (b *bench) keyBecomes(from, to string, values []string) {
	b.Helper()
	create := func(table string) string {
		return fmt.Sprintf("CREATE TABLE %s (k %s NOT NULL, id INT NOT NULL, n INT NOT NULL, PRIMARY KEY (k, id))", table, from)
	}
	b.exec("DROP TABLE IF EXISTS t, t_old, u", create("t"), create("u"))
	both := func(statements ...string) {
		for _, s := range statements {
			b.exec(strings.ReplaceAll(s, "@", "t"), strings.ReplaceAll(s, "@", "u"))
		}
	}
	for i, v := range values[:5] {
		both(fmt.Sprintf("INSERT INTO @ VALUES (%s, %d, 0)", v, i))
	}
	alter := fmt.Sprintf("MODIFY k %s NOT NULL, ADD COLUMN added INT", to)
	if _, err := b.migrate(b.ctx(), alter,
		onPhase(event.PhaseCopy, func() { both("UPDATE @ SET n = 1 WHERE id = 1", "UPDATE @ SET k = "+values[5]+" WHERE id = 2") }),
		onPhase(event.PhaseCatchUp, func() {
			both("UPDATE @ SET n = 2 WHERE id = 1", "UPDATE @ SET k = "+values[2]+" WHERE id = 2", "DELETE FROM @ WHERE id = 3",
				"INSERT INTO @ VALUES ("+values[5]+", 9, 9)", "UPDATE @ SET n = 3 WHERE id = 4")
		})); err != nil {
		b.Errorf("%s to %s: %v", from, to, err)
		return
	}
	b.exec("ALTER TABLE u " + alter + ", ALGORITHM=COPY")
	const all = "SELECT GROUP_CONCAT(CONCAT_WS(' ', HEX(k), k + 0, id, n) ORDER BY id) FROM "
	if got, want := b.value(all+"t"), b.value(all+"u"); got != want {
		b.Errorf("%s to %s:\n%s, want\n%s", from, to, got, want)
	}
}
