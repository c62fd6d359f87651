package ddl

import (
	"errors"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// ErrNotAlter says that a text is not one ALTER TABLE statement that can be carried
// over to another table.
var ErrNotAlter = errors.New("not one ALTER TABLE statement")

// Alter is one ALTER TABLE statement, taken apart. It is a plain value.
//
// Names of columns are as the statement spells them. Old names are the source's,
// new ones those of the altered table.
type Alter struct {
	Table   schema.Name // Schema is "" where the statement doesn't say it
	Clauses string      // all after the table's name, byte by byte, without a final ";"

	// Parsed says that the parser read the statement and agrees with the lists of
	// columns below. Where it doesn't they come from a scan of the clauses' first words,
	// and Unparsed says why.
	Parsed   bool
	Unparsed string
	// Doubtful says that the lists may be wrong about which column continues which: the scan does
	// not know a clause, the parser reads other columns, or the server may skip a part.
	Doubtful bool
	// Unknown are the first words of clauses that even the scan doesn't know.
	Unknown []string

	Renames        []Rename // CHANGE and RENAME COLUMN; also where only letter case differs
	Added          []string // by ADD COLUMN: they carry no data, whatever the source has under the name
	Versions       bool     // it begins or ends the versioning of rows, or a period (MariaDB)
	AddedIfMissing []string // by ADD COLUMN IF NOT EXISTS (MariaDB)
	Dropped        []string
	Modified       []string // old names of the columns that get a new definition
	NewTypes       []string // the first word of each of those definitions, in lower case

	// Numbered are the new names of the columns that are given AUTO_INCREMENT.
	Numbered []string
	// Defined are the columns that are added or get a new definition, as it reads them, and
	// Named is what else it names. Only the parser reads them: they are empty where Parsed is
	// false.
	Defined []schema.Column
	Named   Named

	Keys        []NewKey
	DroppedKeys []string // by DROP INDEX and DROP CONSTRAINT; "PRIMARY" for the primary key
	HiddenKeys  []string // made invisible

	AddsPrimaryKey  bool
	DropsPrimaryKey bool
	AddsForeignKey  bool
	DropsForeignKey bool
	// DroppedForeign are the names that follow DROP FOREIGN KEY, and DroppedConstraints those that
	// follow DROP CONSTRAINT, which may be a foreign key's.
	DroppedForeign, DroppedConstraints []string

	RenamesTable      bool
	ConvertsCharset   bool   // CONVERT TO CHARACTER SET
	OrdersRows        bool   // ORDER BY
	Engine            string // of an ENGINE clause
	Algorithm         string // INSTANT, INPLACE, COPY, DEFAULT
	Lock              string // NONE, SHARED, EXCLUSIVE, DEFAULT
	SetsComment       bool   // the table's own
	SetsAutoIncrement bool

	// PartitionOps are the partition clauses: "ADD PARTITION", "DROP PARTITION",
	// "PARTITION BY", "REMOVE PARTITIONING", "EXCHANGE PARTITION", ...
	PartitionOps []string
	// TablespaceOps are "DISCARD TABLESPACE" and "IMPORT TABLESPACE".
	TablespaceOps []string
	// LoadOps are "SECONDARY_LOAD" and "SECONDARY_UNLOAD".
	LoadOps []string

	// Checks are the places in Clauses that name a CHECK constraint, which has another
	// name on a copy of the table.
	Checks []CheckRef
}

// Rename is a column that keeps its data under another name.
type Rename struct {
	Old string
	New string
}

// NewKey is a key that the statement adds.
type NewKey struct {
	Name    string // "" where the server chooses
	Primary bool
	Unique  bool
	Columns []string // new names; "" for an expression
}

// CheckRef is a place in Clauses that names a constraint, which may be a CHECK.
type CheckRef struct {
	Name       string
	Start, End int // bytes in Clauses
	Adds       bool
}

// WithoutForeign returns the statement without the clauses that drop a foreign key, which a copy of
// the table lacks: named says of DROP CONSTRAINT whether it is one. It is nil where nothing is
// left, or the clauses can't be told apart.
func (a *Alter) WithoutForeign(named func(constraint string) bool) *Alter {
	tokens, closed := token.Split(a.Clauses)
	if !closed {
		return nil
	}
	var kept []string
	for _, piece := range token.List(tokens) {
		w := words(piece)
		switch {
		case slices.ContainsFunc(piece, func(t token.Token) bool { return t.Executable != 0 }):
			return nil
		case w.begin("DROP", "FOREIGN", "KEY"):
			continue
		case w.begin("DROP", "CONSTRAINT"):
			if name, _ := words(piece[2:]).skip("IF EXISTS").name(); named(name) {
				continue
			}
		}
		kept = append(kept, a.Clauses[piece[0].Start:piece[len(piece)-1].End])
	}
	if len(kept) == 0 {
		return nil
	}
	without, err := ParseClauses(a.Table, strings.Join(kept, ", "))
	if err != nil {
		return nil
	}
	return without
}

// SameClauses says that two texts of clauses say the same: they differ in blanks, comments and the
// case of words at most.
func SameClauses(a, b string) bool {
	as, closed := token.Split(a)
	bs, alsoClosed := token.Split(b)
	if !closed || !alsoClosed {
		return a == b
	}
	return slices.EqualFunc(as, bs, func(a, b token.Token) bool {
		same := a.Text == b.Text || a.Kind != token.String && strings.EqualFold(a.Text, b.Text)
		return same && a.Kind == b.Kind && a.Executable == b.Executable
	})
}

// Prefixed returns clauses with another one before them. PARTITION BY and REMOVE PARTITIONING, which
// end a statement, follow no comma.
func Prefixed(first, clauses string) string {
	tokens, _ := token.Split(clauses)
	if w := words(tokens); w.begin("PARTITION", "BY") || w.begin("REMOVE", "PARTITIONING") {
		return first + " " + clauses
	}
	return first + ", " + clauses
}

// Mentions says that a column of this name may be meant somewhere in the clauses.
func (a *Alter) Mentions(column string) bool {
	tokens, _ := token.Split(a.Clauses)
	return slices.ContainsFunc(tokens, func(t token.Token) bool { return canName(t) && strings.EqualFold(t.Text, column) })
}

// HasCheck says that the clauses have a CHECK constraint, of a column or of the table.
func (a *Alter) HasCheck() bool {
	tokens, _ := token.Split(a.Clauses)
	for i := range len(tokens) - 1 {
		if tokens[i].Is("CHECK") && tokens[i+1].Is("(") {
			return true
		}
	}
	return false
}

// Parts returns an ALTER for each of the clauses; nil where they don't stand for themselves, or can't
// be told apart.
func (a *Alter) Parts() []*Alter {
	tokens, closed := token.Split(a.Clauses)
	if !closed || !a.Parsed || a.OrdersRows || a.RenamesTable || len(a.PartitionOps)+len(a.TablespaceOps)+len(a.LoadOps) > 0 ||
		a.Algorithm != "" || a.Lock != "" {
		return nil
	}
	var parts []*Alter
	for _, piece := range token.List(tokens) {
		part, err := ParseClauses(a.Table, a.Clauses[piece[0].CommentStart:piece[len(piece)-1].CommentEnd])
		if err != nil || !part.Parsed {
			return nil
		}
		parts = append(parts, part)
	}
	return parts
}

// Restore returns the statement for a table of the given name.
func (a *Alter) Restore(table schema.Name) string {
	return "ALTER TABLE " + table.Quoted() + " " + a.Clauses
}

// ClausesWith returns Clauses with names of constraints replaced as rename says; it
// is asked once for every entry of Checks and returns the name unquoted.
func (a *Alter) ClausesWith(rename func(CheckRef) string) string {
	text, done := "", 0
	for _, ref := range a.Checks {
		name := rename(ref)
		if name == ref.Name {
			continue
		}
		text += a.Clauses[done:ref.Start] + schema.Quote(name)
		done = ref.End
	}
	return text + a.Clauses[done:]
}
