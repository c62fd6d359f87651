package verify

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/schema"
)

// Column is a column of the shadow with a value from the source.
type Column struct {
	Name   string // in the shadow
	Source string // its value, over the source's columns
	Type   schema.Column
	// Exact means that the value is stored as the source's is. Text means that the source's value
	// is a text, or bytes.
	Exact, Text bool
}

// Spec defines which columns are compared with which expressions. It is immutable.
type Spec struct {
	Sync    *rowsync.Spec
	Columns []Column // the key's among them
	// Defaulted are the shadow's columns that every row has the default of.
	Defaulted []schema.Column
	// Staged means that the ALTER converts a value: the source's rows are converted before they are
	// compared.
	Staged bool
	// Computed are the shadow's columns with values that the server computes. Sources are these
	// columns, the key's columns, and all columns that they are computed from, in the order of the
	// shadow. Charset has the options of the shadow that a definition relies on.
	Computed, Sources []schema.Column
	Charset           string
	// Uncompared are the columns that cannot be compared, each with its reason.
	Uncompared []string
	// Modern means that the server joins by a hash table if no index serves (MySQL 8.0.20 and
	// later). It also means that the server compares strings by their bytes with a collation
	// (8.0.17).
	Modern bool
}

// Setup returns the statements that make a session fit for comparing by this spec.
func (s *Spec) Setup() []string {
	setup := s.Sync.Values.Setup()
	if !s.Staged {
		// Both tables are read in their state at one moment. (INSERT..SELECT into the stage would
		// lock the rows that it reads.)
		setup = append(setup, repeatableRead)
	}
	if s.hashed() {
		setup = append(setup, "SET SESSION optimizer_switch = 'block_nested_loop=on,derived_merge=on'",
			fmt.Sprintf("SET SESSION join_buffer_size = %d", hashMemory))
	}
	return slices.Concat(setup, s.StageSetup(), rowsync.Setup)
}

// hashMemory is the maximum memory in bytes that a join uses on the server for the rows of a range.
// The rest goes to disk.
const hashMemory = 64 << 20

// hashed reports whether a hash table joins the rows of a range. That takes 18 ms for 10,000 rows
// of shop.orders on MySQL 9.7.4, and a look-up for each row takes 38 ms. The same range must hold
// the same rows in both tables; the value of a member is a number here and a text there.
func (s *Spec) hashed() bool {
	return s.Modern && !s.Sync.KeyChanged && !rowsync.Numbered(s.Sync.Key)
}

// repeatableRead has all statements of a transaction read one view.
const repeatableRead = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"

func column(table schema.Name, name string) string { return table.Quoted() + "." + schema.Quote(name) }

// rows returns a query for the source's rows under a condition: the unchanged key, and the values
// that the columns of the shadow should have, by their aliases.
func (s *Spec) rows(condition string) string {
	var exprs []string
	for i, part := range s.Sync.Key.Parts() {
		value := schema.Quote(part.Column.Name)
		if s.Staged {
			value = part.Column.InKey(value)
		}
		if !s.Staged || s.stagedKey(i) == "" {
			exprs = append(exprs, value+" AS "+rowsync.KeyAlias(i))
		}
	}
	for i, c := range s.Columns {
		value := c.Source
		switch {
		case s.Staged:
			value = s.stagedValue(c)
		case c.Type.HasMembers() && !s.isKey(c.Name):
			// MySQL 8.0.12 loses the number at the end of a derived table.
			value += " + 0"
		}
		exprs = append(exprs, value+" AS "+rowsync.ValueAlias(i))
	}
	return fmt.Sprintf("SELECT %s FROM %s FORCE INDEX (%s) WHERE %s",
		strings.Join(exprs, ", "), s.Sync.Source.Quoted(), schema.Quote(s.Sync.SourceIndex), condition)
}

// compared lists all columns that are compared, with their values in what joined returns.
func (s *Spec) compared() []Column {
	var all []Column
	for i, c := range s.Columns {
		all = append(all, Column{Name: c.Name, Source: rowsync.ValueAlias(i), Type: c.Type})
	}
	for _, c := range s.Defaulted {
		all = append(all, Column{Name: c.Name, Source: "DEFAULT(" + column(s.Sync.Shadow, c.Name) + ")", Type: c})
	}
	return all
}

// joined returns the source's rows in p, each with the shadow's row of its key or with NULLs.
// REQUIRES: the stage is filled, if there is one.
func (s *Spec) joined(p predicate) string {
	left := "(" + s.rows(p.source) + ")"
	if s.Staged {
		left = s.stageName()
	}
	return fmt.Sprintf("%s AS expected LEFT JOIN %s FORCE INDEX (%s) ON %s",
		left, s.Sync.Shadow.Quoted(), schema.Quote(s.Sync.ShadowIndex), s.sameKey(p))
}

// differing returns a query for the source's keys in p with rows that are not in the shadow, or
// have another value there. (IS NULL would find the date 0000-00-00 of a NOT NULL column too.)
// REQUIRES: as joined.
func (s *Spec) differing(p predicate, most int) string {
	var keys, same []string
	for i := range s.Sync.Key.Names() {
		keys = append(keys, s.keyAlias(i))
	}
	for _, c := range s.compared() {
		same = append(same, s.same(c))
	}
	return fmt.Sprintf("SELECT %s FROM %s WHERE %s <=> NULL OR NOT (%s) LIMIT %d",
		strings.Join(s.Sync.Key.SelectExprsOf(keys), ", "), s.joined(p),
		column(s.Sync.Shadow, s.Sync.ShadowKey[0]), strings.Join(same, " AND "), most)
}

// sameKey returns the condition that finds the shadow's row of a source's row. It compares the
// value, and also the bytes, because two keys of the source may be equal under the shadow's
// collation. The server reads all rows of a range if it can put them into a hash table. Other rows
// it looks up in the index.
func (s *Spec) sameKey(p predicate) string {
	var equal []string
	hashed := p.isRange && s.hashed()
	if hashed {
		equal = append(equal, p.shadow)
	}
	for _, name := range s.Sync.ShadowKey {
		for i, c := range s.Columns {
			if !strings.EqualFold(c.Name, name) {
				continue
			}
			key := column(s.Sync.Shadow, name)
			if hashed {
				equal = append(equal, rowsync.ValueAlias(i)+" = COALESCE("+key+")") // no index serves it
			} else {
				equal = append(equal, rowsync.ValueAlias(i)+s.collate(c.Type)+" = "+key)
			}
			if c.Type.HasMembers() && s.Staged { // two of them may have one text
				equal = append(equal, s.equalValues(c.Type, rowsync.ValueAlias(i), key))
			}
			if c.Type.Charset != "" && c.Type.Charset != "binary" && !c.Type.HasMembers() {
				equal = append(equal, s.equalValues(c.Type, rowsync.ValueAlias(i), key))
			}
		}
	}
	return strings.Join(equal, " AND ")
}

// collate makes the source's key compare like the shadow's, if the ALTER changes only the
// collation. (Staged values already have the shadow's collation.)
func (s *Spec) collate(c schema.Column) string {
	if s.Staged || !s.Sync.KeyChanged || c.Charset == "" || c.Charset == "binary" {
		return ""
	}
	return " COLLATE " + c.Collation
}

// counts returns a query for the numbers of rows that the source and the shadow have in p.
func (s *Spec) counts(p predicate) string {
	return fmt.Sprintf("SELECT (SELECT COUNT(*) FROM %s FORCE INDEX (%s) WHERE %s), (SELECT COUNT(*) FROM %s FORCE INDEX (%s) WHERE %s)",
		s.Sync.Source.Quoted(), schema.Quote(s.Sync.SourceIndex), p.source,
		s.Sync.Shadow.Quoted(), schema.Quote(s.Sync.ShadowIndex), s.Sync.OfShadow(p.shadow))
}

// surplus returns a query for the keys of the shadow's rows under a condition that the source
// has no row for. REQUIRES: the key's values are the same in both.
func (s *Spec) surplus(condition string, most int) string {
	var exprs, keys, same []string
	for i, name := range s.Sync.ShadowKey {
		exprs = append(exprs, schema.Quote(name)+" AS "+rowsync.KeyAlias(i))
		keys = append(keys, rowsync.KeyAlias(i))
	}
	for i, part := range s.Sync.Key.Parts() {
		key := column(s.Sync.Source, part.Column.Name)
		same = append(same, rowsync.KeyAlias(i)+" = "+key)
		if part.Column.Charset != "" && part.Column.Charset != "binary" && !part.Column.HasMembers() {
			same = append(same, s.equalValues(part.Column, rowsync.KeyAlias(i), key))
		}
	}
	return fmt.Sprintf(
		"SELECT %s FROM (SELECT %s FROM %s FORCE INDEX (%s) WHERE %s) AS found LEFT JOIN %s FORCE INDEX (%s) ON %s WHERE %s <=> NULL LIMIT %d",
		strings.Join(s.Sync.Key.SelectExprsOf(keys), ", "), strings.Join(exprs, ", "), s.Sync.Shadow.Quoted(),
		schema.Quote(s.Sync.ShadowIndex), s.Sync.OfShadow(condition), s.Sync.Source.Quoted(), schema.Quote(s.Sync.SourceIndex),
		s.Sync.Of(strings.Join(same, " AND ")), column(s.Sync.Source, s.Sync.Key.Names()[0]), most,
	)
}

// repeated returns a query for the keys under a condition that the shadow has more than once: no unique key keeps it from that.
func (s *Spec) repeated(condition string, most int) string {
	var exprs, keys []string
	for i, name := range s.Sync.ShadowKey {
		exprs = append(exprs, schema.Quote(name)+" AS "+rowsync.KeyAlias(i))
		keys = append(keys, rowsync.KeyAlias(i))
	}
	found := fmt.Sprintf("SELECT %s FROM %s FORCE INDEX (%s) WHERE %s", strings.Join(exprs, ", "), s.Sync.Shadow.Quoted(),
		schema.Quote(s.Sync.ShadowIndex), s.Sync.OfShadow(condition))
	return fmt.Sprintf("SELECT %s FROM (%s) AS found GROUP BY %s HAVING COUNT(*) > 1 LIMIT %d",
		strings.Join(s.Sync.Key.SelectExprsOf(keys), ", "), found, strings.Join(keys, ", "), most)
}

// same returns the condition that a column's value in joined is the shadow's. A member that is
// a part of the key has found its row as the text that it is.
func (s *Spec) same(c Column) string {
	found := column(s.Sync.Shadow, c.Name)
	if c.Type.HasMembers() && !s.Staged && s.isKey(c.Name) {
		return c.Source + " <=> " + found
	}
	return s.equalValues(c.Type, c.Source, found)
}

func (s *Spec) isKey(name string) bool {
	return slices.ContainsFunc(s.Sync.ShadowKey, func(k string) bool { return strings.EqualFold(k, name) })
}

// equalValues returns the condition that two values of a type are stored alike; it is
// never NULL.
func (s *Spec) equalValues(c schema.Column, a, b string) string {
	if c.DataType == "char" && c.Charset != "binary" && s.Sync.Values.Pads() { // to a length that the ALTER may change
		a, b = "TRIM(TRAILING ' ' FROM "+a+")", "TRIM(TRAILING ' ' FROM "+b+")"
	}
	bytes := func(v string) string { return "CAST(" + v + " AS BINARY)" }
	if s.Modern && c.Charset == "utf8mb4" {
		bytes = func(v string) string { return v + " COLLATE utf8mb4_0900_bin" }
	}
	switch c.DataType {
	case "tinyint", "smallint", "mediumint", "int", "integer", "bigint", "bit", "decimal", "numeric",
		"date", "datetime", "timestamp", "time", "binary", "varbinary", "inet4", "inet6", "uuid":
		return a + " <=> " + b
	case "float", "double", "real":
		// 0 and -0 are equal but not stored alike. Times 1e0 a FLOAT is a DOUBLE. Its text is
		// exact; the FLOAT's own text has six digits.
		return fmt.Sprintf("%[1]s <=> %[2]s AND (%[1]s <> 0 OR CONCAT(%[1]s * 1e0) <=> CONCAT(%[2]s * 1e0))", a, b)
	case "enum", "set", "year": // MariaDB 10.11 and 11.8 find that a constant YEAR <=> the same one in an index is false
		return fmt.Sprintf("CAST(%s AS UNSIGNED) <=> CAST(%s AS UNSIGNED)", a, b)
	case "json":
		return bytes("CAST("+a+" AS CHAR)") + " <=> " + bytes("CAST("+b+" AS CHAR)")
	}
	return bytes(a) + " <=> " + bytes(b)
}
