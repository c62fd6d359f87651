package ptosc

import (
	"slices"
	"testing"
)

// TestForeignKeysOfTheCopy: the names that pt-online-schema-change gives to the foreign keys of its copy lead back to the table's own.
func TestForeignKeysOfTheCopy(t *testing.T) {
	own := []string{"fk", "_one", "__two", "we`ird"}
	for _, c := range []struct {
		clauses, want string
		notes         int
	}{
		{"DROP FOREIGN KEY _fk", "DROP FOREIGN KEY `fk`", 1},
		{"drop foreign key `_FK`, ADD COLUMN a INT", "drop foreign key `fk`, ADD COLUMN a INT", 1},
		{"DROP FOREIGN KEY fk", "DROP FOREIGN KEY fk", 0},
		{"DROP FOREIGN KEY __one,DROP CONSTRAINT two", "DROP FOREIGN KEY `_one`,DROP CONSTRAINT `__two`", 2},
		{"DROP FOREIGN KEY `_we``ird`", "DROP FOREIGN KEY `we``ird`", 1},
		{"ADD COLUMN c VARCHAR(99) DEFAULT 'DROP FOREIGN KEY _fk' COMMENT '_fk'", "ADD COLUMN c VARCHAR(99) DEFAULT 'DROP FOREIGN KEY _fk' COMMENT '_fk'", 0},
		{"DROP COLUMN _fk, DROP KEY _fk", "DROP COLUMN _fk, DROP KEY _fk", 0},
		{"DROP FOREIGN KEY nosuch", "DROP FOREIGN KEY nosuch", 0},
	} {
		got, notes := withOwn(c.clauses, slices.Clone(own))
		if got != c.want || len(notes) != c.notes {
			t.Errorf("%s: %s with notes %q, want %s with %d", c.clauses, got, notes, c.want, c.notes)
		}
	}
}
