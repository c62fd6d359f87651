package verify

import (
	"fmt"
	"strings"

	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// StageSetup returns the part of Setup that a session for syncs needs in addition.
func (s *Spec) StageSetup() []string {
	var setup []string
	if s.Staged {
		setup = append(setup, dbconn.Lenient(s.createStage())...)
	}
	if len(s.Computed) > 0 {
		setup = append(setup, dbconn.Lenient(s.createComputed())...)
	}
	return setup
}

// stage is the temporary table that rows to be converted go through.
const stage = "midstream_verify"

func (s *Spec) stageName() string { return s.Sync.Shadow.Temporary(stage).Quoted() }

// createStage returns the statement that creates the stage. The stage has the types of the source's
// key, unless the shadow's key is the same, and all columns that are compared. If it would be wider
// than a table may be, texts are staged as TEXT.
func (s *Spec) createStage() string {
	var columns []string
	defined := s.Sync.RowNumbers()
	add := func(table schema.Name, c schema.Column, alias string) {
		columns = append(columns, column(table, c.Name)+" AS "+alias)
		if c.Computes() {
			defined = append(defined, alias+" "+c.Bare())
		}
	}
	for i, part := range s.Sync.Key.Parts() {
		alias := rowsync.KeyAlias(i)
		switch {
		case s.stagedKey(i) != "":
		case part.Column.HasMembers(): // its number: 5.7 does not read a text of several members in utf16
			columns = append(columns, column(s.Sync.Source, part.Column.Name)+" AS "+alias)
			defined = append(defined, alias+" BIGINT UNSIGNED")
		default:
			add(s.Sync.Source, part.Column, alias)
		}
	}
	for i, c := range s.Columns {
		alias := rowsync.ValueAlias(i)
		if kind := s.stagedType(c); kind != "" {
			columns = append(columns, column(s.Sync.Shadow, c.Name)+" AS "+alias)
			defined = append(defined, alias+" "+kind)
			continue
		}
		add(s.Sync.Shadow, c.Type, alias)
	}
	definitions := ""
	if len(defined) > 0 {
		definitions = " (" + strings.Join(defined, ", ") + ")"
	}
	return fmt.Sprintf("CREATE TEMPORARY TABLE %s%s SELECT %s FROM %s, %s LIMIT 0",
		s.stageName(), definitions, strings.Join(columns, ", "), s.Sync.Source.Quoted(), s.Sync.Shadow.Quoted())
}

// fill returns the statements that put the source's rows under a condition into the stage.
func (s *Spec) fill(condition string) []string {
	var columns []string // as rows lists them
	for i := range s.Sync.Key.Names() {
		if s.stagedKey(i) == "" {
			columns = append(columns, rowsync.KeyAlias(i))
		}
	}
	for i := range s.Columns {
		columns = append(columns, rowsync.ValueAlias(i))
	}
	return []string{"DELETE FROM " + s.stageName(),
		fmt.Sprintf("INSERT INTO %s (%s) %s", s.stageName(), strings.Join(columns, ", "), s.rows(condition))}
}

// keyAlias is the name of a part of the source's key in what rows returns.
func (s *Spec) keyAlias(part int) string {
	if s.Staged {
		if alias := s.stagedKey(part); alias != "" {
			return alias
		}
	}
	return rowsync.KeyAlias(part)
}

// stagedKey is the alias of the staged column that has a part of the source's key, or "" if that
// part needs a column of its own. It saves columns, because a table may already have the maximum
// number of columns.
func (s *Spec) stagedKey(part int) string {
	for i, c := range s.Columns {
		if c.Exact && !c.Type.HasMembers() && !s.Sync.KeyChanged && strings.EqualFold(c.Name, s.Sync.ShadowKey[part]) {
			return rowsync.ValueAlias(i)
		}
	}
	return ""
}

// widest is the width of a stage, in bytes, above which texts go to TEXT. The server's own limit is
// 65,535 bytes.
const widest = 60_000

// stagedType is the type of a staged column if it differs from the shadow's, or "".
func (s *Spec) stagedType(c Column) string {
	switch {
	case s.isKey(c.Name):
	case c.Type.HasMembers() && c.Exact:
		// The number, because its text may be another member's.
		return "BIGINT UNSIGNED"
	case s.staysText(c) && c.Type.Charset == "binary":
		return "LONGBLOB"
	case s.staysText(c):
		return "LONGTEXT CHARACTER SET " + c.Type.Charset + " COLLATE " + c.Type.Collation
	}
	return ""
}

// stagedValue is the expression that is staged for a column.
func (s *Spec) stagedValue(c Column) string {
	switch {
	case s.isKey(c.Name):
	case c.Type.HasMembers() && c.Exact:
		return c.Type.InKey(c.Source)
	case s.staysText(c) && !c.Exact:
		// The shadow's type cuts blanks beyond its length.
		return fmt.Sprintf("LEFT(%s, %d)", c.Source, c.Type.Length)
	}
	return c.Source
}

// staysText reports whether a column of a text or of bytes is staged without its limit of length.
func (s *Spec) staysText(c Column) bool {
	is := c.Type.DataType == "varchar" || c.Type.DataType == "varbinary"
	return is && c.Text && s.width() > widest
}

// width is about the most bytes that a row of the stage has.
func (s *Spec) width() int64 {
	var sum int64
	for _, c := range s.Columns {
		sum += width(c.Type)
	}
	for _, part := range s.Sync.Key.Parts() {
		sum += width(part.Column)
	}
	return sum
}

func width(c schema.Column) int64 {
	switch c.DataType {
	case "char", "varchar":
		return 4*c.Length + 2
	case "binary", "varbinary":
		return c.Length + 2
	}
	return 16
}
