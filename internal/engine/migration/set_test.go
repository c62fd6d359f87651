package migration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
)

// crossed makes table t for the writers of crossing.
func (b *bench) crossed(keys int, more string) {
	b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema,
		"CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, u INT, s TINYINT, w INT NOT NULL"+more+") COMMENT 'mine'")
	var rows []string
	for id := range keys {
		rows = append(rows, fmt.Sprintf("(%d, %d, %s, 0)", id, id, []string{"0", "1", "NULL"}[id%3]))
	}
	b.exec("INSERT INTO " + b.schema + ".t (id, u, s, w) VALUES " + strings.Join(rows, ", "))
}

// sameAsServer compares table t with what the server's own statements make of a copy of the old table.
func (b *bench) sameAsServer(old, columns string, statements ...string) {
	b.Helper()
	b.exec("DROP TABLE IF EXISTS "+b.schema+".expected", "CREATE TABLE "+b.schema+".expected LIKE "+b.schema+"."+old,
		"INSERT INTO "+b.schema+".expected SELECT * FROM "+b.schema+"."+old)
	for _, s := range statements {
		b.exec(fmt.Sprintf(s, b.schema+".expected"))
	}
	const rows = "SELECT CONCAT(COUNT(*), ' ', IFNULL(SUM(CRC32(CONCAT_WS('|', %s))), 0)) FROM %s"
	for _, column := range append([]string{columns}, strings.Split(columns, ", ")...) {
		want, got := b.value(fmt.Sprintf(rows, column, b.schema+".expected")), b.value(fmt.Sprintf(rows, column, b.schema+".t"))
		if column == columns && got == want {
			break
		}
		if got != want {
			b.Errorf("%s: the new table has the rows %s, and the server's own statements make %s", column, got, want)
		}
	}
	b.exec("DROP TABLE " + b.schema + ".expected")
}

// TestL6_ColumnsHaveTheValuesOfTheirExpressions: writers change the columns that the expressions read all the time. At the swap each row
// has the values that the server's own ALTER and UPDATE give it.
func TestL6_ColumnsHaveTheValuesOfTheirExpressions(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		for _, c := range []struct {
			name, more, alter string
			set               plan.Settings
			columns           string
			server            []string
		}{
			{"new columns", "", "DROP COLUMN w, ADD COLUMN x VARCHAR(40) NOT NULL FIRST, ADD COLUMN y INT", plan.Settings{"x": "CONCAT(COALESCE(u, 'none'), '-', COALESCE(s, 2) * 3)", "Y": "w % 7"},
				"id, u, IFNULL(s,9), x, y", []string{"ALTER TABLE %[1]s ADD COLUMN x VARCHAR(40) NOT NULL, ADD COLUMN y INT",
					"UPDATE %[1]s SET x = CONCAT(COALESCE(u, 'none'), '-', COALESCE(s, 2) * 3), y = w %% 7"}},
			{"an existing column", "", "DROP COLUMN w, MODIFY s VARCHAR(3) NOT NULL, MODIFY u TINYINT UNSIGNED", plan.Settings{"s": "IF(s = 1, 'yes', COALESCE(s, 'no'))", "u": "u % 256"},
				"id, u, s", []string{"UPDATE %[1]s SET u = u %% 256", "ALTER TABLE %[1]s MODIFY s VARCHAR(3), MODIFY u TINYINT UNSIGNED",
					"UPDATE %[1]s SET s = IF(s = 1, 'yes', COALESCE(s, 'no'))", "ALTER TABLE %[1]s MODIFY s VARCHAR(3) NOT NULL"}},
			{"another type of the key", "", "DROP COLUMN w, MODIFY id BIGINT, ADD COLUMN x INT NOT NULL", plan.Settings{"x": "id + COALESCE(u, 0) + w"},
				"id, u, IFNULL(s,9), x", []string{"ALTER TABLE %[1]s ADD COLUMN x INT NOT NULL", "UPDATE %[1]s SET x = id + COALESCE(u, 0) + w"}},
			{"a new unique key", ", UNIQUE KEY u (u)", "DROP COLUMN w, ADD COLUMN x VARCHAR(40), ADD UNIQUE KEY (x), ADD COLUMN g INT AS (CHAR_LENGTH(x)) STORED",
				plan.Settings{"x": "CONCAT(u, '/', id)"}, "id, u, IFNULL(s,9), IFNULL(x,'-'), IFNULL(g,0)",
				[]string{"ALTER TABLE %[1]s ADD COLUMN x VARCHAR(40), ADD COLUMN g INT AS (CHAR_LENGTH(x)) STORED", "UPDATE %[1]s SET x = CONCAT(u, '/', id)"}},
		} {
			const keys = 3000
			b.crossed(keys, c.more)
			b.set = c.set
			wait := b.crossing(4, keys)
			late := func(e event.Event) {
				if _, is := e.(event.Verified); is { // more writes between the comparison and the swap
					b.exec("UPDATE " + b.schema + ".t SET s = IF(s = 1, 0, 1), w = w + 1 WHERE id < 50")
				}
			}
			if _, err := b.migrate(b.ctx(), c.alter, late); err != nil {
				b.exec("DROP TABLE " + b.schema + ".t") // the writers end
				b.Fatalf("%s: %v", c.name, err)
			}
			if writes := wait(); writes < 50 {
				b.Errorf("%s: only %d writes", c.name, writes)
			}
			b.sameAsServer("t_old", c.columns, c.server...)
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}

// TestL6_AnotherValueThanThatOfTheExpressionIsFound: another session writes to the shadow's column. The comparison finds it.
func TestL6_AnotherValueThanThatOfTheExpressionIsFound(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		for column, clause := range map[string]string{"x": "ADD COLUMN x VARCHAR(20) NOT NULL", "v": "MODIFY v VARCHAR(20)"} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
			b.numbered(100)
			b.set = plan.Settings{column: "CONCAT('a', v)"}
			_, err := b.migrate(b.ctx(), clause, onPhase(event.PhaseVerify, func() {
				b.exec("UPDATE " + b.schema + ".t_shadow SET " + column + " = 'A7' WHERE id = 7")
			}))
			if !errors.Is(err, failure.ErrMismatch) {
				b.Errorf("with another value in column %s: %v", column, err)
			}
		}
	})
}

// TestL5_AKilledRunWithExpressionsResumes: kill -9 in the copy, before the swap and after it, next to writers. The same command comes to
// the same end; another expression is refused until the work is removed.
func TestL5_AKilledRunWithExpressionsResumes(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		const keys, alter = 2000, "DROP COLUMN w, ADD COLUMN x VARCHAR(40) NOT NULL"
		flags := []string{"--set=x=CONCAT(COALESCE(u, 0), '-', w)", "--method=shadow", "--checkpoint=100ms"}
		for _, at := range []string{"FROM `" + b.schema + "`.`t` FORCE INDEX", "RENAME TABLE `" + b.schema + "`.`t`", "DROP TABLE IF EXISTS `" + b.schema + "`.`t_midstream`"} {
			b.crossed(keys, "")
			wait := b.crossing(2, keys)
			code, last := b.killIf(fault.Rule{At: at}, func() *child { return b.natively(alter, flags...) })
			if code != -1 {
				b.Fatalf("%s: the run was not killed: %d: %s", at, code, last)
			}
			if strings.HasPrefix(at, "RENAME") {
				if code, last := b.natively(alter, "--set=x='same'", "--method=shadow").wait(); code == 0 {
					b.Errorf("another expression has resumed the run: %s", last)
				}
			}
			b.natively(alter, flags...).mustEnd()
			wait()
			there := b.tables()
			if there != "t,t_old" && there != "t,t_old2" { // a killed swap in two sessions leaves a table of the first name for a while
				b.Fatalf("%s: the tables are %s", at, there)
			}
			b.sameAsServer(strings.TrimPrefix(there, "t,"), "id, IFNULL(u,0), x",
				"ALTER TABLE %[1]s ADD COLUMN x VARCHAR(40) NOT NULL", "UPDATE %[1]s SET x = CONCAT(COALESCE(u, 0), '-', w)")
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}
