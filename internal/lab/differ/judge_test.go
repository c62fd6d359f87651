package differ

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"midstream/internal/engine/failure"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/oracle"
)

// TestL11_AComputedColumnOfAKeptDate: the run keeps a day that does not exist, where a server that is not strict makes it
// 0000-00-00. A generated column of that date is what the server computes of the kept date in its own sql_mode.
// Other servers refuse to compute it in a strict session, so that the run refuses the row.
func TestL11_AComputedColumnOfAKeptDate(t *testing.T) {
	const version = "9.7"
	r := newRunner(t, version)
	c := &Case{
		Version:  version,
		Settings: []string{"sql_mode = ''"},
		Mode:     "ALLOW_INVALID_DATES",
		Columns: []Column{
			{Name: "id", Kind: kind{sql: "INT"}, Attrs: "NOT NULL"},
			{Name: "day", Kind: kind{sql: "DATE"}, Attrs: "NOT NULL"},
			{Name: "n", Kind: kind{sql: "INT"}},
			{Name: "copy", Kind: kind{sql: "DATE"}, Attrs: "GENERATED ALWAYS AS (DATE(`day`)) STORED", Generated: true},
		},
		Keys:    []string{"PRIMARY KEY (`id`)"},
		Clauses: []string{"MODIFY `n` BIGINT"},
		Writes: []Write{
			{Stage: Before, Verb: "INSERT", Values: []value{{"id", "1"}, {"day", "'2020-02-29'"}}},
			{Stage: Before, Verb: "INSERT", Values: []value{{"id", "2"}, {"day", "'2020-02-30'"}}},
			{Stage: Early, Verb: "INSERT", Values: []value{{"id", "3"}, {"day", "'2020-02-31'"}}},
		},
	}
	r.set(c.Settings)
	got := r.benches[0].Try(context.Background(), c)
	if got.Outcome != OnlyDone || got.Kind != "dates are kept" {
		t.Errorf("%s: %s: %s", got.Outcome, got.Kind, got.Text)
	}
	// The dates of another column are no such difference.
	differs, err := r.benches[0].keepsDates(context.Background(), c, []done{{"UPDATE t SET day = '2020-01-01' WHERE id = 2", 0}})
	if err != nil || differs {
		t.Errorf("another date: %t, %v", differs, err)
	}
}

// TestL11_AnIndexThatTheServerCallsCorrupt: MariaDB reports one index of such a table as corrupt after its own ALTER too.
// Other damage, or the same damage of other rows, is a difference.
func TestL11_AnIndexThatTheServerCallsCorrupt(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "mariadb-10.11", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			r := newRunner(t, version)
			b := r.benches[0]
			c := &Case{
				Version: version,
				Columns: []Column{
					{Name: "id", Kind: kind{sql: "VARCHAR(10)"}, Attrs: "NOT NULL"},
					{Name: "n", Kind: kind{sql: "INT"}},
					{Name: "upper", Kind: kind{sql: "VARCHAR(700)"}, Attrs: "GENERATED ALWAYS AS (UPPER(`id`)) VIRTUAL", Generated: true},
				},
				Keys:    []string{"PRIMARY KEY (`id`)", "KEY `long` (`n`, `upper`(52))"},
				Clauses: []string{"ADD KEY `short` (`upper`(1))"},
				Writes: []Write{
					{Stage: Before, Verb: "INSERT", Values: []value{{"id", "'abc'"}}},
					{Stage: Early, Verb: "INSERT", Values: []value{{"id", "'bcd'"}}},
				},
			}
			if got := b.Try(t.Context(), c); got.Outcome != Equal {
				t.Errorf("%s: %s: %s", got.Outcome, got.Kind, got.Text)
			}
			c.Keys = append(c.Keys, "KEY `short` (`upper`(1))")
			c.Writes[1].Stage = Before
			for i, rows := range []int{2, 1} {
				c.Writes = c.Writes[:rows]
				app, err := b.fresh(t.Context(), c, b.tables[i].Schema)
				if err != nil {
					t.Fatal(err)
				}
				app.close()
			}
			differences, err := oracle.Differences(t.Context(), b.admin, b.tables[0], b.tables[1])
			if err != nil || !slices.ContainsFunc(differences, func(d string) bool { return strings.HasPrefix(d, "check: ") }) {
				t.Errorf("the damage of another row: %q, %v", differences, err)
			}
		})
	}
}

// TestL11_ANumberOfAFailedInsertion: MySQL 8.0 and later count the number of an insertion that has failed when they open the table
// again, which a run has them do and the twin does not. A counter that no such moment explains is a difference.
func TestL11_ANumberOfAFailedInsertion(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "8.0", "9.7") {
		t.Run(version, func(t *testing.T) {
			r := newRunner(t, version)
			b := r.benches[0]
			c := &Case{
				Version: version,
				Columns: []Column{
					{Name: "id", Kind: kind{sql: "INT"}, Attrs: "NOT NULL AUTO_INCREMENT"},
					{Name: "u", Kind: kind{sql: "INT"}},
				},
				Keys:    []string{"PRIMARY KEY (`id`)", "UNIQUE KEY `u` (`u`)"},
				Clauses: []string{"DROP INDEX `u`"},
				Writes: []Write{
					{Stage: Before, Verb: "INSERT", Values: []value{{"id", "15"}, {"u", "1"}}},
					{Stage: Before, Verb: "INSERT", Values: []value{{"id", "16"}, {"u", "1"}}},
					{Stage: Early, Verb: "INSERT", Values: []value{{"u", "2"}}},
				},
			}
			if got := b.Try(t.Context(), c); got.Outcome != Equal {
				t.Errorf("%s: %s: %s", got.Outcome, got.Kind, got.Text)
			}
			if _, err := b.admin.ExecContext(t.Context(), "ALTER TABLE "+b.tables[0].Quoted()+" AUTO_INCREMENT = 19"); err != nil {
				t.Fatal(err)
			}
			if is, err := b.reopened(t.Context(), c, []done{{"INSERT INTO t (u) VALUES (2)", 0}}); is || err != nil {
				t.Errorf("another counter: %t, %v", is, err)
			}
		})
	}
}

// TestL11_AnEmptyTextAsANumber: MariaDB's ALTER reads an empty text of a column that becomes TEXT as 0, and its own UPDATE refuses
// the row afterwards, as a run does. Rows that the server's UPDATE takes are no such refusal.
func TestL11_AnEmptyTextAsANumber(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "mariadb-10.11", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			r := newRunner(t, version)
			b := r.benches[0]
			c := &Case{
				Version: version,
				Columns: []Column{
					{Name: "id", Kind: kind{sql: "INT"}, Attrs: "NOT NULL"},
					{Name: "s", Kind: kind{sql: "SET('y','')", family: sets}},
					{Name: "n", Kind: kind{sql: "INT"}, Attrs: "GENERATED ALWAYS AS (`s` + 0) VIRTUAL", Generated: true},
				},
				Keys:    []string{"PRIMARY KEY (`id`)", "CHECK (`n` <> 77)"},
				Clauses: []string{"MODIFY `s` TEXT"},
				Writes:  []Write{{Stage: Before, Verb: "INSERT", Values: []value{{"id", "1"}, {"s", "''"}}}},
			}
			got := b.Try(t.Context(), c)
			if got.Outcome != OnlyUs || !strings.HasPrefix(got.Kind, "rows that the server's own UPDATE refuses") {
				t.Errorf("%s: %s: %s", got.Outcome, got.Kind, got.Text)
			}
			c.Writes = nil
			if refused, err := b.unwritable(t.Context(), c, nil, failure.ErrUnfit); refused || err != nil {
				t.Errorf("no row: %t, %v", refused, err)
			}
		})
	}
}

// TestL11_ReasonsOfAServersRefusal: a value of a generated column that reads a renamed column is the old table's, and a NULL for a
// TIMESTAMP may be one of a column whose type only the table has.
func TestL11_ReasonsOfAServersRefusal(t *testing.T) {
	c := &Case{
		Columns: []Column{
			{Name: "at", Kind: kind{sql: "TIMESTAMP"}},
			{Name: "n", Kind: kind{sql: "TEXT"}},
			{Name: "upper", Kind: kind{sql: "TEXT"}, Attrs: "GENERATED ALWAYS AS (UPPER(`n`)) VIRTUAL", Generated: true},
		},
		Clauses: []string{"ADD PRIMARY KEY (`n`)"},
	}
	theirs := &mysql.MySQLError{Number: 1366, Message: "Incorrect string value for column 'upper' at row 1"}
	if c.oldComputed(theirs) {
		t.Error("no clause redefines what the column reads")
	}
	null := fmt.Errorf("%w: 1 row with NULL in column n, which becomes NOT NULL", failure.ErrUnfit)
	if !c.refusesNull(null) || c.refusesNull(fmt.Errorf("%w: 1 row too long for column n", failure.ErrUnfit)) {
		t.Error("a NULL, or no NULL, in a table with a TIMESTAMP")
	}
	c.Clauses = []string{`RENAME COLUMN "n" TO "at"`, `RENAME COLUMN "at" TO "n"`}
	if !c.oldComputed(theirs) {
		t.Error("the column reads a renamed column")
	}
	c.Columns = c.Columns[1:]
	if c.refusesNull(null) {
		t.Error("a NULL in a table without a TIMESTAMP")
	}
}
