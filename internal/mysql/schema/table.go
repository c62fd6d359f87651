package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Mark begins the comment of every table that Midstream creates. A table without it
// is not ours, whatever its name (law L8).
const Mark = "midstream "

// Marked reports whether a table's comment is one of ours.
func Marked(comment string) bool { return strings.HasPrefix(comment, Mark) }

// Table is a base table as the server described it at one moment.
type Table struct {
	Name    Name
	Columns []Column // in the order of the table
	// Keys has PRIMARY first, then the order of SHOW CREATE TABLE.
	Keys      []Key
	Engine    string // "InnoDB"
	Collation string // the table's default
	Comment   string
	Create    string // SHOW CREATE TABLE

	// AutoIncrement is the next value in SHOW CREATE TABLE; 0 if there is none.
	AutoIncrement uint64

	// Rows, DataBytes and IndexBytes are the server's estimates.
	Rows       int64
	DataBytes  int64
	IndexBytes int64

	// Options are those of SHOW CREATE TABLE, without AUTO_INCREMENT.
	Options     []Option
	Partitioned bool
	// Partitioning is PARTITION BY and the text behind it, without comments.
	Partitioning string
	ForeignKeys  []ForeignKey // declared on this table
	// ReferencedBy are the foreign keys of any table that refer to this one (self-references too).
	ReferencedBy []ForeignKey
	// Triggers are in the order of firing, event by event.
	Triggers []Trigger
	Checks   []Check

	// ForeignClauses are the clauses of ForeignKeys in SHOW CREATE TABLE.
	ForeignClauses []string
}

// HasCounter reports whether a column has AUTO_INCREMENT.
func (t *Table) HasCounter() bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.AutoIncrement })
}

// Option is an option of a table as SHOW CREATE TABLE has it: {"ROW_FORMAT", "DYNAMIC"}.
type Option struct {
	Name  string // in upper case, without DEFAULT
	Value string // with its spelling and quotes
}

// Charset returns the table's own character set and collation as table options, with a blank in front.
func (t *Table) Charset() (options string) {
	for _, o := range t.Options {
		if strings.Contains(o.Name, "CHARSET") || strings.Contains(o.Name, "COLLATE") {
			options += " " + o.Name + "=" + o.Value
		}
	}
	return options
}

// LostIn returns the options of the table that a copy of it lacks, without the comment. A run sets
// the comment.
func (t *Table) LostIn(copied *Table) []Option {
	var lost []Option
	for _, option := range t.Options {
		if option.Name != "COMMENT" && !slices.Contains(copied.Options, option) {
			lost = append(lost, option)
		}
	}
	return lost
}

// Settable returns the clause that sets options on a table again, or "". No ALTER sets the place of
// a table's files.
func Settable(options []Option) string {
	var clauses []string
	for _, o := range options {
		if o.Value != "" && !strings.HasSuffix(o.Name, " DIRECTORY") && o.Name != "TABLESPACE" {
			clauses = append(clauses, o.Name+" = "+o.Value)
		}
	}
	return strings.Join(clauses, ", ")
}

// AllChecks returns the CHECKs of the table and of its columns. MariaDB has the latter apart and
// names them after the column.
func (t *Table) AllChecks() []Check {
	all := slices.Clone(t.Checks)
	for _, c := range t.Columns {
		if c.Check != "" {
			all = append(all, Check{Name: c.Name, Clause: c.Check, Enforced: true})
		}
	}
	return all
}

// SameColumns reports whether both tables have the same columns in SHOW CREATE TABLE.
func (t *Table) SameColumns(other *Table) bool {
	return slices.EqualFunc(t.Columns, other.Columns, func(a, b Column) bool {
		return a.Name == b.Name && SameDefinition(AsSaved(a.Definition), AsSaved(b.Definition))
	})
}

// AsSaved is a definition as it comes back from JSON: bytes of a default that are no UTF-8 are lost.
func AsSaved(definition string) string { return string([]rune(definition)) }

// zeroDate is a default that has a zero for the month or the day.
var zeroDate = regexp.MustCompile(`^'\d+-(00-|\d+-00)`)

// HasZeroDates reports whether the default of a column is a date that the usual sql_mode refuses.
func (t *Table) HasZeroDates() bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool {
		return (c.DataType == "date" || c.DataType == "datetime" || c.DataType == "timestamp") && zeroDate.MatchString(c.Default)
	})
}

// nextValue is a sequence in a default, as MariaDB writes it.
var nextValue = regexp.MustCompile("nextval\\(`((?:[^`]|``)+)`\\.`((?:[^`]|``)+)`\\)")

// Sequences returns the sequences that defaults take numbers from, each once. A session that writes
// to the table uses them, and under LOCK TABLES it must lock them too (MariaDB).
func (t *Table) Sequences() []Name {
	var all []Name
	for _, c := range t.Columns {
		for _, found := range nextValue.FindAllStringSubmatch(c.Default, -1) {
			name := Name{Schema: strings.ReplaceAll(found[1], "``", "`"), Table: strings.ReplaceAll(found[2], "``", "`")}
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// Related returns the tables that foreign keys bind to this one, in either direction, each once.
func (t *Table) Related() []Name {
	var all []Name
	for _, fk := range slices.Concat(t.ForeignKeys, t.ReferencedBy) {
		for _, name := range []Name{fk.Child, fk.Parent} {
			if name != t.Name && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// Column finds a column by name, ignoring letter case as the server does.
func (t *Table) Column(name string) (Column, bool) {
	for _, c := range t.Columns {
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return Column{}, false
}

// BinlogColumns returns the number of columns in row events of the table. MariaDB adds a hidden
// column behind the others for every unique key over columns that are too long for an index. It
// holds a hash of their values.
func (t *Table) BinlogColumns() int {
	n := len(t.Columns)
	for _, k := range t.Keys {
		if k.Unique && k.Type == "HASH" {
			n++
		}
	}
	return n
}

// Key finds a key by name, ignoring letter case.
func (t *Table) Key(name string) (Key, bool) {
	for _, k := range t.Keys {
		if strings.EqualFold(k.Name, name) {
			return k, true
		}
	}
	return Key{}, false
}

// Column is one column, as information_schema.columns describes it.
type Column struct {
	Name string
	// Ordinal is the 0-based position in the table, and also in row events.
	Ordinal  int
	DataType string // lower case, no attributes: "int", "varchar", "enum"
	Type     string // lower-case full type: "int unsigned", "varchar(40)", "enum('a','b')"

	Charset   string // "" where the type has none; "binary" for BINARY, VARBINARY, BLOB
	Collation string // "" where the type has none

	Nullable      bool
	Unsigned      bool
	AutoIncrement bool
	Generated     Generated
	Invisible     bool

	// Length is in characters for a string type, and in bytes for a binary one.
	Length    int64
	Precision int // DECIMAL digits, BIT width
	Scale     int // DECIMAL scale
	// Fraction is the number of fractional digits of a temporal type, 0 to 6.
	Fraction int
	Members  []string // of ENUM and SET, in order, unquoted

	// Default is the default as in SHOW CREATE TABLE, for messages and comparison.
	Default string
	Comment string

	// Expression is a generated column's expression, as in SHOW CREATE TABLE.
	Expression string
	// Check is MariaDB's: the condition of the column's own CHECK. JSON has one too.
	Check string
	// Definition is the complete text behind the name in SHOW CREATE TABLE.
	Definition string
}

// Family groups types that compare their values with each other without a conversion: "integer"
// (with YEAR), "decimal", "float" (DOUBLE too), "bit", "string" (CHAR, VARCHAR and the TEXTs),
// "binary", "varbinary" (the BLOBs too). Every other type is a family of its own.
func (c Column) Family() string {
	switch c.DataType {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "year":
		return "integer"
	case "double", "float":
		return "float"
	case "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return "varbinary"
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		return "string"
	}
	return c.DataType
}

// Number reports whether the type is numeric, with BIT and YEAR.
func (c Column) Number() bool {
	switch c.Family() {
	case "integer", "bit", "decimal", "float":
		return true
	}
	return false
}

// Temporal reports whether the type is one of dates and times; YEAR is a number.
func (c Column) Temporal() bool {
	switch c.DataType {
	case "date", "datetime", "timestamp", "time":
		return true
	}
	return false
}

// HasMembers reports whether the values are members of a list, and numbers of them: ENUM and SET.
func (c Column) HasMembers() bool { return c.DataType == "enum" || c.DataType == "set" }

// InKey has a value of the column compare as a key does: a member of an ENUM or SET by its number. No member and the
// empty member have one text, and MySQL 8.0 and 9.7 group the values of a SET by it. An index finds an ENUM by an integer,
// and not by a sum, which is a floating point number.
func (c Column) InKey(value string) string {
	if !c.HasMembers() {
		return value
	}
	return "CAST(" + value + " AS UNSIGNED)"
}

// Fixed reports whether a number has a fixed number of decimals. FLOAT and DOUBLE have it only in
// their old form, FLOAT(7,2).
func (c Column) Fixed() bool { return c.Family() != "float" || strings.Contains(c.Type, "(") }

// GeneratedKeyName is the server's name for the column of a primary key that it adds on
// its own (sql_generate_invisible_primary_key).
const GeneratedKeyName = "my_row_id"

// GeneratedKey reports whether the server added the column by itself, for a table without a primary
// key (sql_generate_invisible_primary_key).
func (c Column) GeneratedKey() bool {
	return c.Name == GeneratedKeyName && c.Invisible && c.AutoIncrement
}

// literalDefault is a default that is no expression. (MySQL has expressions in parentheses; MariaDB
// also has functions without.)
var literalDefault = regexp.MustCompile(`(?i)^(NULL$|[-+]?[0-9.]|[bx]?'|_\w+ ?'|current_timestamp\b)`)

// Computes reports whether the default is an expression.
func (c Column) Computes() bool { return c.Default != "" && !literalDefault.MatchString(c.Default) }

// Bare returns a definition of the column's type, charset and NOT NULL, without its default: for a
// table of values alone. CREATE TABLE .. SELECT would carry defaults over. On 9.7.4 it fails with
// error 1054 if a default names another column. On MariaDB, under LOCK TABLES, it fails with 1100
// if a default takes a number from a sequence.
func (c Column) Bare() string {
	text := c.Type
	if c.Charset != "" && c.Charset != "binary" {
		text += " CHARACTER SET " + c.Charset + " COLLATE " + c.Collation
	}
	if !c.Nullable {
		text += " NOT NULL"
	}
	return text
}

// Generated is whether and how the server computes a column's value.
type Generated int

// The kinds of column by generation.
const (
	NotGenerated Generated = iota
	Virtual
	Stored
)

// Key is an index of a table.
type Key struct {
	Name    string // "PRIMARY" for the primary key
	Unique  bool
	Visible bool
	Type    string // BTREE, HASH, FULLTEXT, SPATIAL, VECTOR
	Parts   []KeyPart
	// Definition is the key's clause in SHOW CREATE TABLE, without a trailing comma.
	Definition string
}

// Computed reports whether a part of the key is an expression.
func (k Key) Computed() bool {
	return slices.ContainsFunc(k.Parts, func(p KeyPart) bool { return p.Expression != "" })
}

// IndexesVirtual reports whether the column is virtual and a part of a key.
func (t *Table) IndexesVirtual(c Column) bool {
	return c.Generated == Virtual && slices.ContainsFunc(t.Keys, func(k Key) bool {
		return slices.ContainsFunc(k.Parts, func(p KeyPart) bool { return strings.EqualFold(p.Column, c.Name) })
	})
}

// Relations are the table's foreign keys and the foreign keys that refer to it, each once.
func (t *Table) Relations() []ForeignKey {
	all := slices.Clone(t.ForeignKeys)
	for _, fk := range t.ReferencedBy {
		if fk.Child != t.Name {
			all = append(all, fk)
		}
	}
	return all
}

// Finds reports whether a visible index begins with the column: the server finds its values, and NULL, without a look at all rows.
func (t *Table) Finds(column string) bool {
	return slices.ContainsFunc(t.Keys, func(k Key) bool { return k.Visible && k.Leads([]string{column}) })
}

// Identifies reports whether the server may use the key as the table's own: no two rows have the same value of it, and none has NULL.
func (t *Table) Identifies(k Key) bool {
	return k.Unique && !slices.ContainsFunc(k.Parts, func(p KeyPart) bool {
		col, ok := t.Column(p.Column)
		return !ok || col.Nullable || p.Prefix != 0 || p.Expression != ""
	})
}

// IdentifiesRows reports whether a key of the table identifies its rows.
func (t *Table) IdentifiesRows() bool { return slices.ContainsFunc(t.Keys, t.Identifies) }

// Leads reports whether the key begins with these complete columns, in this order.
func (k Key) Leads(columns []string) bool {
	if k.Type != "BTREE" || len(k.Parts) < len(columns) {
		return false
	}
	for i, name := range columns {
		if !strings.EqualFold(k.Parts[i].Column, name) || k.Parts[i].Prefix > 0 {
			return false
		}
	}
	return true
}

// KeyPart is one part of a key.
type KeyPart struct {
	Column     string // "" where Expression is set
	Expression string // of a functional part
	// Prefix is in characters or bytes; 0 means the complete column.
	Prefix     int
	Descending bool
}

// Check is a CHECK constraint.
type Check struct {
	Name     string
	Clause   string // without the outer parentheses
	Enforced bool
}

// Of returns the value of the part, given the expression of its column.
func (p KeyPart) Of(column string) string {
	if p.Prefix > 0 {
		return fmt.Sprintf("LEFT(%s, %d)", column, p.Prefix)
	}
	return column
}
