package plan

import (
	"testing"

	"midstream/internal/mysql/schema"
)

// TestTheWarningNamesWhatTheChangeHasDone: an undo compares only the changed rows if the change may have altered values without an
// error. Its reason does not speak of rounding if a text became shorter.
func TestTheWarningNamesWhatTheChangeHasDone(t *testing.T) {
	long := schema.Column{Type: "varchar(40)", DataType: "varchar", Length: 40, Charset: "utf8mb4"}
	short := schema.Column{Type: "varchar(20)", DataType: "varchar", Length: 20, Charset: "utf8mb4"}
	fine := schema.Column{Type: "decimal(10,4)", DataType: "decimal", Precision: 10, Scale: 4}
	for _, c := range []struct {
		from, to schema.Column
		want     string
	}{{long, short, "cut"}, {fine, schema.Column{Type: "int", DataType: "int"}, "rounded"}, {fine, short, "converted"}} {
		if got := done(c.from, c.to); got != c.want {
			t.Errorf("%s to %s: %s instead of %s", c.from.Type, c.to.Type, got, c.want)
		}
	}
}
