package ddl

import (
	"slices"
	"testing"

	"midstream/internal/mysql/schema"
)

// TestMoves: the renames of a statement that changes no row and no column; none of another statement.
func TestMoves(t *testing.T) {
	in := func(database, table string) schema.Name { return schema.Name{Schema: database, Table: table} }
	for sql, want := range map[string][]TableRename{
		"RENAME TABLE t TO x, e.x TO `y.z`":            {{From: in("d", "t"), To: in("d", "x")}, {From: in("e", "x"), To: in("d", "y.z")}},
		"ALTER TABLE t RENAME TO x":                    {{From: in("d", "t"), To: in("d", "x")}},
		"ALTER TABLE t RENAME x, COMMENT 'a'":          {{From: in("d", "t"), To: in("d", "x")}},
		"alter table e.t add index (a), rename as `x`": {{From: in("e", "t"), To: in("d", "x")}}, // the session's database, on every server
		"ALTER TABLE t RENAME = e.x":                   {{From: in("d", "t"), To: in("e", "x")}},
		"ALTER TABLE t RENAME COLUMN a TO b":           nil,
		"ALTER TABLE t RENAME INDEX a TO b":            nil,
		"ALTER TABLE t ADD COLUMN a INT, RENAME TO x":  nil,
		"ALTER TABLE t DROP COLUMN a, RENAME TO x":     nil,
		"ALTER TABLE t ENGINE=InnoDB, RENAME TO x":     nil,
		"ALTER TABLE t ADD INDEX (a)":                  nil,
		"RENAME USER a TO b":                           nil,
		"DROP TABLE t":                                 nil,
	} {
		if got := Moves(sql, "d"); !slices.Equal(got, want) {
			t.Errorf("%s: %v instead of %v", sql, got, want)
		}
	}
}
