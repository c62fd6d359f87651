package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

// undoNames are names that a shell, a format or a parser could take for something else, or that leave no room for _undone.
var undoNames = []string{
	"a.b", "it's \"q\" `b`", "100%s %d ?", "Orders_OLD", "--list", "`", "line\nbreak", strings.Repeat("Ä1234567", 8), strings.Repeat("x", 59),
}

// doneOn gives verbs, with their arguments, to the program, and returns what it prints. Each of them must succeed.
func doneOn(t *testing.T, i *mysqltest.Instance) func(args ...string) (stdout string) {
	return func(args ...string) string {
		t.Helper()
		code, stdout, stderr := midstream(t, append(flagsTo(t, i), args...)...)
		if code != exit.Done {
			t.Fatalf("%q: exit code %d\n%s\n%s", args, code, stdout, stderr)
		}
		return stdout
	}
}

// TestL9_OddNamesAreUndone: a change of a table of any name is taken back, taken again and given up. The commands that
// are printed work.
func TestL9_OddNamesAreUndone(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	for _, table := range mysqltest.HalfInTurn(t, undoNames...) {
		t.Run(fmt.Sprint(slices.Index(undoNames, table)), func(t *testing.T) {
			sideBySide(t)
			name, query := oddTable(t, i, table)
			const rows = "SELECT GROUP_CONCAT(COALESCE(`?`, '-') ORDER BY id) FROM "
			spellings := [][]string{shellWords(t, name.Argument()), {name.Quoted()}}
			with := doneOn(t, i)
			with("run", "--undo=1h", "--method=shadow", "ALTER TABLE "+name.Quoted()+" ADD COLUMN `new%s ?` INT, DROP COLUMN `%d`")
			write := func(id int) {
				if _, err := i.Open(t, name.Schema).Exec("UPDATE "+name.Quoted()+" SET `?` = ? WHERE id = ?", fmt.Sprint("%", id), id); err != nil {
					t.Fatal(err)
				}
			}
			for id, want := range []string{"%1,?,-", "%1,%2,-", "%1,%2,%3"} {
				write(id + 1)
				for _, spelling := range spellings {
					contains(t, with(append([]string{"undo", "--list", "--quiet"}, spelling...)...), " open ", " lazy - ")
				}
				with(append([]string{"undo", "--extend=1h"}, spellings[id%2]...)...)
				with(append([]string{"undo"}, spellings[id%2]...)...)
				if got := query(rows + name.Quoted()); got != want {
					t.Errorf("undo %d: the rows are %s, want %s", id+1, got, want)
				}
			}
			if got := query("SELECT GROUP_CONCAT(`%d` ORDER BY id) FROM " + name.Quoted()); got != "1,2,3" {
				t.Errorf("the values of the dropped column are %s", got)
			}
			contains(t, with("undo", "--list", "--json", name.Quoted()), `"state":"open"`)
			with(append([]string{"undo", "--end"}, spellings[0]...)...)
			with(append([]string{"cleanup", "--old", "--yes"}, spellings[0]...)...)
			if n := query("SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = DATABASE()"); n != table {
				t.Errorf("the tables are %s", n)
			}
		})
	}
}

// TestL9_OddNamesOfStatementsAreUndone: DROP, TRUNCATE and RENAME of such tables.
func TestL9_OddNamesOfStatementsAreUndone(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	for _, table := range mysqltest.InTurn(t, undoNames...) {
		t.Run(fmt.Sprint(slices.Index(undoNames, table)), func(t *testing.T) {
			sideBySide(t)
			name, query := oddTable(t, i, table)
			other := schema.Name{Schema: name.Schema, Table: "`1.2%s"}
			with := doneOn(t, i)
			argument := shellWords(t, name.Argument())
			for _, statement := range []string{"DROP TABLE " + name.Quoted(), "TRUNCATE " + name.Quoted(), "RENAME TABLE " + name.Quoted() + " TO " + other.Quoted()} {
				with("run", "--undo=1h", statement)
				with(append([]string{"undo", "--extend=1h"}, argument...)...)
				for range 3 {
					with(append([]string{"undo"}, argument...)...)
				}
				if got := query("SELECT COUNT(*) FROM " + name.Quoted()); got != "3" {
					t.Errorf("%s: %s rows", statement, got)
				}
				with(append([]string{"undo", "--end"}, argument...)...)
				if n := query("SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = DATABASE()"); n != table {
					t.Errorf("%s: the tables are %s", statement, n)
				}
			}
		})
	}
}
