package plan

import (
	"strings"
	"testing"

	"midstream/internal/mysql/schema"
)

// TestU3_NamesForAnUndoAreOfOneTable: two tables with long names and one beginning have different tables of a run and of an undo.
func TestU3_NamesForAnUndoAreOfOneTable(t *testing.T) {
	all := func(table string) (names []string) {
		source := schema.Name{Schema: "s", Table: table}
		run := NamesOf(source)
		tables := append([]schema.Name{
			run.Shadow, run.State, LogOf(source), UndoOf(source), UndoneOf(source), KeptOf(source), MergedOf(source),
		}, SinceNames(source)...)
		for _, n := range append(tables, ParkedNames(source)...) {
			names = append(names, n.Table)
			if n.Table <= table || len([]rune(n.Table)) > maxName || fileLength(n.Table) > fileLimit(table) {
				t.Errorf("%q: the name %q is not possible", table, n.Table)
			}
		}
		return names
	}
	if got := UndoOf(schema.Name{Table: "orders"}).Table; got != "orders_undo" {
		t.Errorf("the undo table of orders is %s", got)
	}
	seen := map[string]string{}
	for _, table := range []string{
		"orders", strings.Repeat("p", 63) + "a", strings.Repeat("p", 63) + "b", strings.Repeat("l", 60), strings.Repeat("l", 64),
		strings.Repeat("é", 48), strings.Repeat("é", 47) + "e", strings.Repeat("~", 63) + "a", strings.Repeat("~", 64),
	} {
		for _, name := range all(table) {
			if other, taken := seen[name]; taken {
				t.Errorf("%s is a name for %s and for %s", name, other, table)
			}
			seen[name] = table
		}
	}
}
