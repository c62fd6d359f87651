package differ

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestU4_ADivisionHasTheDigitsOfTheServersSetting: the test reads a table with a generated column, and the application writes to it.
// Its values are as the server's setting wants it, also if that has changed since the test began.
func TestU4_ADivisionHasTheDigitsOfTheServersSetting(t *testing.T) {
	r := newRunner(t, "9.7")
	defer r.set(r.was)
	r.set([]string{"div_precision_increment = 0"})
	b, err := r.benches[0].again()
	if err != nil {
		t.Fatal(err)
	}
	defer b.admin.Close()
	c := &Case{Columns: []Column{
		{Name: "id", Kind: kind{sql: "INT"}, Attrs: "PRIMARY KEY"},
		{Name: "third", Kind: kind{sql: "DECIMAL(30,4)"}, Attrs: "GENERATED ALWAYS AS (id / 3) STORED", Generated: true},
	}}
	app, err := b.fresh(t.Context(), c, b.tables[0].Schema)
	if err != nil {
		t.Fatal(err)
	}
	defer app.close()
	u := &undoCase{bench: b, c: c}
	read := func(query string) []string {
		rows, err := u.column(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	read("SELECT third FROM differ0.t")
	for id := range 40 { // the server has 16 caches of open tables, for sessions by turns
		text := fmt.Sprintf("INSERT INTO t (id) VALUES (%d)", 3*id+1)
		s, err := b.session(t.Context(), b.tables[0].Schema, text)
		if err != nil {
			t.Fatal(err)
		}
		s.close()
	}
	if got := read("SELECT id FROM differ0.t WHERE third NOT LIKE '%.0000'"); len(got) > 0 {
		t.Errorf("these ids have a third with more digits: %v", got)
	}
}

// TestU4_TheModelHasEmptyVectors: a session without a strict sql_mode leaves a VECTOR NOT NULL out, and the row has an empty one. The
// model has each such row too, though no INSERT..SELECT takes it, and numbers all rows.
func TestU4_TheModelHasEmptyVectors(t *testing.T) {
	r := newRunner(t, "9.7")
	b := r.benches[0]
	vector := kind{sql: "VECTOR(2)"}
	c := &Case{Columns: []Column{
		{Name: "id", Kind: kind{sql: "INT"}, Attrs: "PRIMARY KEY"},
		{Name: "v", Kind: vector, Attrs: "NOT NULL"}, {Name: "w", Kind: vector, Attrs: "NOT NULL"}, {Name: "n", Kind: vector},
	}}
	u := &undoCase{bench: b, c: c}
	app, err := b.fresh(t.Context(), c, b.tables[0].Schema)
	if err != nil {
		t.Fatal(err)
	}
	defer app.close()
	lax, err := u.emptyTwin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lax.close()
	const one = "STRING_TO_VECTOR('[1,2]')"
	for i, columns := range []string{"v, w, n", "v, w", "v", "w", "n", "v, w"} {
		text := "INSERT INTO t (id, " + columns + ") VALUES (" + string(rune('1'+i)) + strings.Repeat(", "+one, strings.Count(columns, ",")+1) + ")"
		if err := app.exec(t.Context(), text); err != nil {
			t.Fatal(text, err)
		}
	}
	names := []string{"id", "v", "w", "n"}
	if err := lax.numbered(t.Context(), "copy", names, b.tables[0]); err != nil {
		t.Fatal(err)
	}
	read := func(table string) []string {
		rows, err := u.column(t.Context(), "SELECT "+textOf(names)+" FROM "+table+" ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	if was, is := read("differ0.t"), read("differ0_twin.copy"); !slices.Equal(is, was) || len(was) != 6 {
		t.Errorf("the rows are %q, and were %q", is, was)
	}
	if n, err := u.column(t.Context(), "SELECT midstream_rn FROM differ0_twin.copy ORDER BY 1"); err != nil || strings.Join(n, "") != "123456" {
		t.Errorf("the numbers are %v (%v)", n, err)
	}
}
