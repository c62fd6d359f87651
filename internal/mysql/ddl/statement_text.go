package ddl

import (
	"strings"

	"midstream/internal/mysql/schema"
)

// Text returns a statement of KindRename, KindDrop or KindTruncate that does the same as s, with all databases named.
func (s *Statement) Text() string {
	if s.Kind != KindRename {
		return string(s.Kind) + " " + s.Table.Quoted()
	}
	var pairs []string
	for _, r := range s.Renames {
		pairs = append(pairs, r.From.Quoted()+" TO "+r.To.Quoted())
	}
	return string(s.Kind) + " " + strings.Join(pairs, ", ")
}

// Inverse returns the RENAME TABLE that takes a RENAME TABLE back.
func (s *Statement) Inverse() *Statement {
	inverse := &Statement{Kind: KindRename}
	for i := len(s.Renames) - 1; i >= 0; i-- {
		inverse.Renames = append(inverse.Renames, TableRename{From: s.Renames[i].To, To: s.Renames[i].From})
	}
	return inverse
}

// Renaming returns the statement that gives a table another name.
func Renaming(from, to schema.Name) *Statement {
	return &Statement{Kind: KindRename, Renames: []TableRename{{From: from, To: to}}}
}
