package migration_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/cutover"
	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// five are the servers that take turns in tests of a swap into another schema.
var five = []string{"9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8"}

// elsewhere makes another database for the new table, with a default collation of its own. Its name sorts after the table's, or before it.
func (b *bench) elsewhere(first bool) plan.Into {
	b.Helper()
	name := schema.Name{Schema: b.schema + "_z", Table: "orders"}
	if first {
		name.Schema = "a" + b.schema
	}
	b.exec("CREATE DATABASE " + name.Schema + " CHARACTER SET latin1 COLLATE latin1_bin")
	b.Cleanup(func() { b.exec("DROP DATABASE IF EXISTS " + name.Schema) })
	return plan.Into{Name: name}
}

// showsLocks reports whether the server shows for which lock a session waits. 5.7 does in the tests, and not by default.
func (b *bench) showsLocks() bool { return !isMariaDB(b.version) }

// kinds lists the tables of a database, and its views in brackets.
func (b *bench) kinds(database string) string {
	return b.value("SELECT IFNULL(GROUP_CONCAT(IF(table_type = 'VIEW', CONCAT('[', table_name, ']'), table_name) ORDER BY BINARY table_name), '')" +
		" FROM information_schema.tables WHERE table_schema = '" + database + "'")
}

// mustBeThere fails the test unless both databases have these tables and views.
func (b *bench) mustBeThere(when string, into plan.Into, here, there string) {
	b.Helper()
	if got := b.kinds(b.schema); got != here {
		b.Errorf("%s: the source's database has %s, want %s", when, got, here)
	}
	if got := b.kinds(into.Name.Schema); got != there {
		b.Errorf("%s: the other database has %s, want %s", when, got, there)
	}
}

// TestL6_AViewTakesEveryRead: writers at full speed use the old name before, during and after the swap. No statement fails, and no write is
// lost. The new table has the definition that the server's own ALTER gives it, whatever the defaults of its database are (L11).
func TestL6_AViewTakesEveryRead(t *testing.T) {
	sideBySide(t)
	onThese(t, inTurn(t, five), func(b *bench) {
		for _, first := range []bool{false, true} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
			l := b.ledger(ledger.Int(), 4000, ledger.Options{})
			b.into = b.elsewhere(first)
			b.into.View = true
			b.start(l)
			b.cfg.RowCopy.MaxRows = 500
			_, err := b.migrate(b.ctx(), alter)
			if first && !b.showsLocks() {
				if !errors.Is(err, plan.ErrRefused) || !strings.Contains(err.Error(), "sorts before") {
					b.Errorf("a name that sorts first: %v", err)
				}
				b.mustMatchLedger(l)
				continue
			}
			if err != nil {
				b.Fatal(err)
			}
			b.mustMatchLedger(l)
			b.mustBeThere("after the swap", b.into, "[t],t_old", "orders")
			b.exec("CREATE TABLE "+b.schema+".expected LIKE "+b.schema+".t_old", "ALTER TABLE "+b.schema+".expected COMMENT = '', "+alter)
			want, _ := schema.SplitAutoIncrement(b.createAt(b.schema + ".expected"))
			got, _ := schema.SplitAutoIncrement(b.createAt(b.into.Name.Quoted()))
			if want = strings.Replace(want, "`expected`", "`orders`", 1); !schema.SameDefinition(got, want) {
				b.Errorf("the new table is\n%s\nwant\n%s", got, want)
			}
			b.exec("DROP VIEW " + b.schema + ".t")
		}
	})
}

// createAt is SHOW CREATE TABLE of a table in any database.
func (b *bench) createAt(table string) (create string) {
	b.Helper()
	var name string
	if err := b.db.QueryRowContext(b.ctx(), "SHOW CREATE TABLE "+table).Scan(&name, &create); err != nil {
		b.Fatal(err)
	}
	return create
}

// TestL6_NoWriteIsLostOnTheWayToAnotherSchema: without a view, writers use the old name until it is gone, and sessions ask for the new name
// all the time.
func TestL6_NoWriteIsLostOnTheWayToAnotherSchema(t *testing.T) {
	sideBySide(t)
	onThese(t, inTurn(t, five), func(b *bench) {
		for round := range 4 {
			first := round%2 == 1
			b.crossed(1000, "")
			b.into = b.elsewhere(first)
			wait := b.crossing(4, 1000)
			for range 4 {
				go func() {
					for b.Context().Err() == nil {
						if _, err := b.db.ExecContext(b.Context(), "DO (SELECT 1 FROM "+b.into.Name.Quoted()+" LIMIT 1)"); !dbconn.NoSuchTable(err) {
							return
						}
					}
				}()
			}
			_, err := b.migrate(b.ctx(), "ADD COLUMN x INT")
			if first && !b.showsLocks() {
				if !errors.Is(err, plan.ErrRefused) {
					b.Errorf("a name that sorts first: %v", err)
				}
				b.exec("DROP TABLE " + b.schema + ".t") // the writers end
				wait()
				b.exec("DROP DATABASE " + b.into.Name.Schema)
				continue
			}
			if err != nil {
				b.exec("DROP TABLE " + b.schema + ".t")
				b.Fatal(err)
			}
			wait()
			b.mustBeThere("after the swap", b.into, "t_old", "orders")
			const rows = "SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(CONCAT_WS('|', id, u, s, w)))) FROM "
			if got, want := b.value(rows+b.into.Name.Quoted()), b.value(rows+b.schema+".t_old"); got != want {
				b.Errorf("the new table has the rows %s, and the old one %s", got, want)
			}
			b.exec("DROP DATABASE " + b.into.Name.Schema)
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}

// TestL7_AKilledRunIntoAnotherSchemaEnds: kill -9 at each step, with and without a view. The same command comes to the end, and cleanup
// removes what is left in both schemas (L8).
func TestL7_AKilledRunIntoAnotherSchemaEnds(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onThese(t, inTurn(t, five), func(b *bench) {
		source := "`" + b.schema + "`.`t`"
		for _, view := range []bool{false, true} {
			points := []string{"FROM " + source + " FORCE INDEX", "RENAME TABLE " + source, "COMMENT = 'midstream old of", "DROP TABLE IF EXISTS `" + b.schema + "`.`t_midstream`"}
			here := "t_old"
			if view {
				into := "`" + b.schema + "_z`.`orders`"
				points = slices.Concat(points, []string{"MERGE VIEW " + into, "MERGE VIEW `" + b.schema + "`.`t_view`", "DROP VIEW " + into})
				here = "[t],t_old"
			}
			for _, at := range points {
				for _, again := range []bool{true, false} {
					b.crossed(300, "")
					into := b.elsewhere(false)
					flags := []string{"--into=" + into.Name.Dotted(), "--checkpoint=100ms"}
					if view {
						flags = append(flags, "--into-view")
					}
					code, last := b.killIf(fault.Rule{At: at}, func() *child { return b.natively("ADD COLUMN x INT", flags...) })
					if code != -1 {
						b.Fatalf("%s: the run was not killed: %d: %s", at, code, last)
					}
					when := fmt.Sprintf("killed at %s, view %t, again %t", at, view, again)
					if again {
						b.natively("ADD COLUMN x INT", flags...).mustEnd()
						b.mustBeThere(when, into, strings.Replace(here, "t_old", b.oldOne(), 1), "orders")
						if got := b.value("SELECT COUNT(x IS NULL) FROM " + into.Name.Quoted()); got != "300" {
							b.Errorf("%s: the new table has %s rows", when, got)
						}
						b.clean(true)
						b.mustBeThere(when+", cleaned up", into, strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(here, "t_old"), ","), ","), "orders")
					} else {
						b.clean(false)
						here, there := b.kinds(b.schema), b.kinds(into.Name.Schema)
						if swapped := there == "orders"; !swapped && (here != "t" || there != "") || swapped && !strings.Contains(here, "t_old") {
							b.Errorf("%s: after cleanup there are %s and %s", when, here, there)
						}
					}
					b.exec("DROP DATABASE " + into.Name.Schema)
				}
			}
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}

// TestL9_AnotherTableHasTheNewName: another session takes the name during the run. The run ends before the swap and keeps its work, the
// application's table is untouched, and the same command resumes once the name is free. It drops no table of others (L8).
func TestL9_AnotherTableHasTheNewName(t *testing.T) {
	sideBySide(t)
	onThese(t, inTurn(t, five), func(b *bench) {
		for _, view := range []bool{false, true} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
			b.numbered(100)
			b.into = b.elsewhere(false)
			b.into.View = view
			taken := "CREATE TABLE " + b.into.Name.Quoted() + " (precious INT)"
			_, err := b.migrate(b.ctx(), "ADD COLUMN x INT", onPhase(event.PhaseVerify, func() { b.exec(taken) }))
			var failed *failure.Failure
			if !errors.As(err, &failed) || !errors.Is(err, cutover.ErrIntoTaken) || !failed.Kept {
				b.Fatalf("view %t: %v", view, err)
			}
			b.mustBeThere("taken", b.into, "digits,t,t_midstream,t_shadow", "orders")
			b.exec("DROP TABLE " + b.into.Name.Quoted())
			b.mustMigrate("ADD COLUMN x INT")
			if got := b.value("SELECT COUNT(*) FROM " + b.into.Name.Quoted()); got != "100" {
				b.Errorf("view %t: the new table has %s rows", view, got)
			}
			b.exec("DROP DATABASE " + b.into.Name.Schema)
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}

// TestL6_ASessionThatReadsTheNewNameHoldsTheSwap: a transaction has read the view that has the new name before an attempt. The run takes no
// lock from it, and swaps when it has ended.
func TestL6_ASessionThatReadsTheNewNameHoldsTheSwap(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onThese(t, inTurn(t, five), func(b *bench) {
		b.numbered(100)
		b.into = b.elsewhere(false)
		b.into.View = true
		reader := b.conn()
		held := make(chan struct{})
		go func() {
			defer close(held)
			for b.Context().Err() == nil {
				_, err := reader.ExecContext(b.ctx(), "START TRANSACTION")
				if err == nil {
					_, err = reader.ExecContext(b.ctx(), "DO (SELECT COUNT(*) FROM "+b.into.Name.Quoted()+")")
				}
				if err == nil {
					return
				}
			}
		}()
		r := b.background(b.ctx(), "ADD COLUMN x INT")
		select {
		case <-held: // the stand-by, or the new table itself if the reader was late
			time.Sleep(time.Second)
			_, _ = reader.ExecContext(b.ctx(), "ROLLBACK")
		case <-r.done:
			<-held
			_, _ = reader.ExecContext(b.ctx(), "ROLLBACK")
		}
		r.wait(b)
		b.mustBeThere("after the swap", b.into, "digits,[t],t_old", "orders")
		b.exec("DROP VIEW " + b.schema + ".t")
	})
}

// TestL11_AViewHasTheColumnsOfTheNewTable: names that need quotes, computed columns, defaults, and new, renamed and dropped columns.
// Rows can be written through it.
func TestL11_AViewHasTheColumnsOfTheNewTable(t *testing.T) {
	sideBySide(t)
	onThese(t, inTurn(t, five), func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".t (id INT AUTO_INCREMENT PRIMARY KEY, `a``'\"b` VARCHAR(20) NOT NULL DEFAULT 'd', ü INT, g INT AS (CHAR_LENGTH(`a``'\"b`)) VIRTUAL,"+
			" gone INT) CHARSET=utf8mb4", "INSERT INTO "+b.schema+".t (ü) VALUES (1), (2), (3)")
		b.into = b.elsewhere(false)
		b.into.View = true
		b.mustMigrate("ADD COLUMN n INT NOT NULL DEFAULT 7 FIRST, CHANGE ü o INT, DROP COLUMN gone, ADD COLUMN h INT AS (n + 1) STORED")
		b.exec("INSERT INTO "+b.schema+".t (o) VALUES (4)", "UPDATE "+b.schema+".t SET `a``'\"b` = 'xy', n = 8 WHERE id = 1", "DELETE FROM "+b.schema+".t WHERE id = 2")
		const rows = "SELECT GROUP_CONCAT(CONCAT_WS('/', n, id, `a``'\"b`, o, g, h) ORDER BY id) FROM "
		const want = "8/1/xy/1/2/9,7/3/d/3/1/8,7/4/d/4/1/8"
		for _, name := range []string{b.schema + ".t", b.into.Name.Quoted()} {
			if got := b.value(rows + name); got != want {
				b.Errorf("%s has %s, want %s", name, got, want)
			}
		}
		columns := "SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM information_schema.columns WHERE table_schema = '%s' AND table_name = '%s'"
		got, new := b.value(fmt.Sprintf(columns, b.schema, "t")), b.value(fmt.Sprintf(columns, b.into.Name.Schema, "orders"))
		if got != new {
			b.Errorf("the view has the columns %s, and the table %s", got, new)
		}
		b.exec("DROP VIEW " + b.schema + ".t")
	})
}

// clean drops what a run on table t has left.
func (b *bench) clean(old bool) {
	b.Helper()
	pool, err := b.open(b.ctx())
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	_, err = leftovers.Cleanup(b.ctx(), pool, schema.Name{Schema: b.schema, Table: "t"}, old, func([]leftovers.Table) bool { return true }, func(string) {})
	if err != nil {
		b.Error(err)
	}
}

// oldOne is the name of the old table: a killed swap in two sessions leaves a table of the first name for a while.
func (b *bench) oldOne() string {
	return b.value("SELECT table_name FROM information_schema.tables WHERE table_schema = '" + b.schema + "' AND table_name LIKE 't\\_old%'")
}
