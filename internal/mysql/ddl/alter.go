package ddl

import (
	"errors"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// ErrNotAlter means that a text is not one ALTER TABLE statement that can be carried over to
// another table.
var ErrNotAlter = errors.New("not one ALTER TABLE statement")

// Alter is one ALTER TABLE statement, in its parts. It is a plain value.
//
// Names of columns have the statement's spelling. Old names are the source's, new names are the
// altered table's.
type Alter struct {
	Table   schema.Name // Schema is "" where the statement doesn't say it
	Clauses string      // all after the table's name, byte by byte, without a final ";"

	// Parsed means that the parser read the statement and agrees with the lists of columns below.
	// If it doesn't, the lists come from a scan of the clauses' first words, and Unparsed gives the
	// reason.
	Parsed   bool
	Unparsed string
	// Doubtful means that the lists may be wrong about the columns that continue others. The scan
	// does not know a clause, the parser reads other columns, or the server may skip a part.
	Doubtful bool
	// Unknown are the first words of clauses that even the scan doesn't know.
	Unknown []string

	// Renames are CHANGE and RENAME COLUMN, also if only letter case differs.
	Renames []Rename
	// Added are columns of ADD COLUMN: they carry no data, also if the source has a column of that
	// name.
	Added []string
	// Versions means that it begins or ends the versioning of rows, or a period (MariaDB).
	Versions bool
	// AddedIfMissing are columns of ADD COLUMN IF NOT EXISTS (MariaDB).
	AddedIfMissing []string
	Dropped        []string
	// Modified are the old names of the columns that get a new definition.
	Modified []string
	// NewTypes are the first words of these definitions, in lower case.
	NewTypes []string

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
	// DroppedForeign are the names in DROP FOREIGN KEY. DroppedConstraints are the names in DROP
	// CONSTRAINT, and they may be foreign keys. ForeignIfExists are the names in DROP FOREIGN KEY IF EXISTS (MariaDB).
	DroppedForeign, DroppedConstraints, ForeignIfExists []string

	RenamesTable      bool
	RenamedTo         schema.Name // if RenamesTable; without a database, the session's
	ConvertsCharset   bool        // CONVERT TO CHARACTER SET
	OrdersRows        bool        // ORDER BY
	Engine            string      // of an ENGINE clause
	Algorithm         string      // INSTANT, INPLACE, COPY, DEFAULT
	Lock              string      // NONE, SHARED, EXCLUSIVE, DEFAULT
	SetsComment       bool        // the table's own
	SetsAutoIncrement bool

	// PartitionOps are the partition clauses: "ADD PARTITION", "DROP PARTITION",
	// "PARTITION BY", "REMOVE PARTITIONING", "EXCHANGE PARTITION", ...
	PartitionOps []string
	// TablespaceOps are "DISCARD TABLESPACE" and "IMPORT TABLESPACE".
	TablespaceOps []string
	// LoadOps are "SECONDARY_LOAD" and "SECONDARY_UNLOAD".
	LoadOps []string

	// Checks are the places in Clauses that name a CHECK constraint. On a copy of the table the
	// constraint has another name.
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

// CheckRef is a place in Clauses that names a constraint, possibly a CHECK.
type CheckRef struct {
	Name       string
	Start, End int // bytes in Clauses
}

// WithoutForeign returns the statement without the clauses that drop a foreign key, because a copy
// of the table lacks it. named reports whether a DROP CONSTRAINT drops one. The result is nil if no
// clause is left, or if the clauses can't be separated.
func (a *Alter) WithoutForeign(named func(constraint string) bool) *Alter {
	tokens, closed := token.Split(a.Clauses)
	if !closed {
		return nil
	}
	var kept []string
	for _, piece := range token.List(tokens) {
		switch {
		case slices.ContainsFunc(piece, func(t token.Token) bool { return t.Executable != 0 }):
			return nil
		case dropsForeign(words(piece), named):
			continue
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

// DropsOnlyForeign reports whether each clause drops a foreign key. named is as in WithoutForeign.
func (a *Alter) DropsOnlyForeign(named func(constraint string) bool) bool {
	return a.eachClause(func(w words, _ string) bool { return dropsForeign(w, named) })
}

// dropsForeign reports whether a clause drops a foreign key.
func dropsForeign(w words, named func(constraint string) bool) bool {
	if w.begin("DROP", "CONSTRAINT") {
		name, _ := w[2:].skip("IF EXISTS").name()
		return named(name)
	}
	return w.begin("DROP", "FOREIGN", "KEY")
}

// SameClauses reports whether two texts of clauses have the same meaning: they differ at most in
// blanks, comments and the case of words.
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

// Prefixed returns clauses with another one before them, if it is not "". PARTITION BY and REMOVE PARTITIONING end a
// statement and follow no comma.
func Prefixed(first, clauses string) string {
	if first == "" {
		return clauses
	}
	tokens, _ := token.Split(clauses)
	if w := words(tokens); w.begin("PARTITION", "BY") || w.begin("REMOVE", "PARTITIONING") {
		return first + " " + clauses
	}
	return first + ", " + clauses
}

// Mentions reports whether the clauses may refer to a column of this name.
func (a *Alter) Mentions(column string) bool {
	tokens, _ := token.Split(a.Clauses)
	return slices.ContainsFunc(tokens, func(t token.Token) bool { return canName(t) && strings.EqualFold(t.Text, column) })
}

// HasCheck reports whether the clauses have a CHECK constraint, of a column or of the table.
func (a *Alter) HasCheck() bool {
	tokens, _ := token.Split(a.Clauses)
	for i := range len(tokens) - 1 {
		if tokens[i].Is("CHECK") && tokens[i+1].Is("(") {
			return true
		}
	}
	return false
}

// Parts returns an ALTER for each of the clauses; nil if they depend on each other, or can't be
// separated.
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

// ClausesWith returns Clauses with names of constraints replaced by rename's results. It calls
// rename once for every entry of Checks, and rename returns the name unquoted.
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
