package ddl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// ErrNotTaken means that a text is not one statement of a kind that Midstream carries out.
var ErrNotTaken = errors.New("not one of the accepted statements (ALTER TABLE, CREATE INDEX, DROP INDEX, " +
	"OPTIMIZE TABLE, RENAME TABLE, DROP TABLE, TRUNCATE TABLE, CREATE TABLE)")

// Kind is what a statement does to tables.
type Kind string

// The kinds. CREATE INDEX, DROP INDEX and OPTIMIZE TABLE are KindAlter: they are read as the
// ALTER TABLE that does the same.
const (
	KindAlter    Kind = "ALTER TABLE"
	KindRename   Kind = "RENAME TABLE"
	KindTruncate Kind = "TRUNCATE TABLE"
	KindDrop     Kind = "DROP TABLE"
	KindCreate   Kind = "CREATE TABLE"
)

// Statement is one statement of any kind, taken apart. It is a plain value; the fields that are
// not its kind's are empty.
type Statement struct {
	Kind Kind
	// Alter is set for KindAlter, and then no other field is.
	Alter *Alter

	// Table is the one table of KindTruncate, KindDrop and KindCreate.
	Table   schema.Name
	Renames []TableRename // of KindRename, in their order
	// Conditional is IF EXISTS of KindDrop, and IF NOT EXISTS of KindCreate.
	Conditional bool
	// Definition is all that follows the table's name in KindCreate, byte by byte, without a
	// final ";".
	Definition string
	// Constraints are the names of foreign keys and CHECKs in Definition. They are unique in a
	// database. Parents are the tables that its foreign keys refer to. Their Schema is "" if the
	// statement has none: then it is the table's.
	Constraints []ConstraintRef
	Parents     []schema.Name
}

// TableRename is a table that gets another name.
type TableRename struct {
	From, To schema.Name
}

// ConstraintRef is a place in Definition that names a constraint.
type ConstraintRef struct {
	Name       string
	Start, End int // bytes in Definition
}

// ParseStatement reads one statement. A final ";" is allowed. It fails with ErrNotTaken. It fails
// with ErrNotAlter if the statement changes a table's shape and can't be carried out.
func ParseStatement(sql string) (*Statement, error) {
	tokens, err := statement(sql, ErrNotTaken)
	if err != nil {
		return nil, err
	}
	r := reader{sql: sql, tokens: tokens}
	switch {
	case tokens[0].Is("ALTER"):
		a, err := Parse(sql)
		return altering(a, err)
	case tokens[0].Is("CREATE"):
		return r.create()
	case tokens[0].Is("DROP"):
		return r.drop()
	case tokens[0].Is("OPTIMIZE"):
		return altering(r.optimize())
	case tokens[0].Is("RENAME"):
		return r.rename()
	case tokens[0].Is("TRUNCATE"):
		return r.truncate()
	}
	return nil, fmt.Errorf("%w: it begins with %s", ErrNotTaken, shorten(tokens[0].Text))
}

func altering(a *Alter, err error) (*Statement, error) {
	if err != nil {
		return nil, err
	}
	return &Statement{Kind: KindAlter, Alter: a}, nil
}

// names are the places of the names of all tables that the statement is about.
func (s *Statement) names() []*schema.Name {
	switch s.Kind {
	case KindAlter:
		return []*schema.Name{&s.Alter.Table}
	case KindRename:
		var all []*schema.Name
		for i := range s.Renames {
			all = append(all, &s.Renames[i].From, &s.Renames[i].To)
		}
		return all
	}
	return []*schema.Name{&s.Table}
}

// Tables returns the tables that the statement names, each once, in their order.
func (s *Statement) Tables() []schema.Name {
	var all []schema.Name
	for _, name := range s.names() {
		if !slices.Contains(all, *name) {
			all = append(all, *name)
		}
	}
	return all
}

// In gives the database to names that have none. database may be "" if all names have one. Its
// error is for the user.
func (s *Statement) In(database string) error {
	names := s.names()
	for _, name := range names {
		switch {
		case name.Schema == "" && database == "":
			return fmt.Errorf("the database of %s is missing: write database.%[1]s, or use --database", name.Table)
		case name.Schema == "":
			name.Schema = database
		case database != "" && database != name.Schema && s.Kind != KindRename:
			return fmt.Errorf("the statement names database %s, --database names %s", name.Schema, database)
		}
	}
	for i := range s.Parents {
		if s.Parents[i].Schema == "" {
			s.Parents[i].Schema = s.Table.Schema
		}
	}
	return nil
}

// DefinitionWith returns Definition with names of constraints replaced; rename is asked once for
// each of Constraints, and returns the name unquoted.
func (s *Statement) DefinitionWith(rename func(ConstraintRef) string) string {
	text, done := "", 0
	for _, ref := range s.Constraints {
		text += s.Definition[done:ref.Start] + schema.Quote(rename(ref))
		done = ref.End
	}
	return text + s.Definition[done:]
}

// Restore returns a statement of KindCreate for a table of the given name.
func (s *Statement) Restore(table schema.Name) string {
	return "CREATE TABLE " + table.Quoted() + " " + s.Definition
}

// reader reads a statement from its tokens.
type reader struct {
	sql    string
	tokens []token.Token
	at     int
}

// peek reports whether the next tokens are these keywords.
func (r *reader) peek(keywords ...string) bool { return words(r.tokens[r.at:]).begin(keywords...) }

// take skips the keywords if they are next, and reports whether they were.
func (r *reader) take(keywords ...string) bool {
	if !r.peek(keywords...) {
		return false
	}
	r.at += len(keywords)
	return true
}

func (r *reader) over() bool { return r.at >= len(r.tokens) }

// rest returns the unread text, for a message.
func (r *reader) rest() string {
	if r.over() {
		return "nothing"
	}
	return shorten(r.sql[r.tokens[r.at].Start:])
}

// name reads a table's name.
func (r *reader) name() (schema.Name, error) {
	name, n := readName(r.tokens[r.at:])
	if n == 0 {
		return name, fmt.Errorf("%w: expected a table's name, got %s", ErrNotTaken, r.rest())
	}
	r.at += n
	return name, nil
}

// end fails if something is left.
func (r *reader) end(of Kind) error {
	switch {
	case r.over():
		return nil
	case r.peek(","):
		return fmt.Errorf("%w: the statement names several tables, and a run changes one: use one statement for each table", ErrNotTaken)
	}
	return fmt.Errorf("%w: unknown %s in a %s", ErrNotTaken, r.rest(), of)
}

// cut returns the bytes of the tokens from one index to another. It fails where an executable
// comment reaches over a border: half of it would mean something else.
func (r *reader) cut(from, to int) (string, error) {
	if from >= to {
		return "", nil
	}
	start, end := r.tokens[from].CommentStart, r.tokens[to-1].CommentEnd
	if from > 0 && start < r.tokens[from-1].End || to < len(r.tokens) && end > r.tokens[to].Start {
		return "", fmt.Errorf("%w: an executable comment holds several parts of it, which cannot be separated", ErrNotTaken)
	}
	text := r.sql[start:end]
	if strings.HasSuffix(text, "--") { // with a blank, it begins a comment
		return "", fmt.Errorf("%w: the statement has the operator --", ErrNotTaken)
	}
	return text, nil
}

// rename reads RENAME TABLE a TO b [, c TO d].
func (r *reader) rename() (*Statement, error) {
	r.at++
	if !r.take("TABLE") && !r.take("TABLES") {
		return nil, fmt.Errorf("%w: it begins with RENAME %s", ErrNotTaken, r.rest())
	}
	s := &Statement{Kind: KindRename}
	for {
		from, err := r.name()
		if err != nil {
			return nil, err
		}
		if !r.take("TO") {
			return nil, fmt.Errorf("%w: expected TO, got %s", ErrNotTaken, r.rest())
		}
		to, err := r.name()
		if err != nil {
			return nil, err
		}
		s.Renames = append(s.Renames, TableRename{From: from, To: to})
		if !r.take(",") {
			return s, r.end(s.Kind)
		}
	}
}

// truncate reads TRUNCATE [TABLE] t.
func (r *reader) truncate() (*Statement, error) {
	r.at++
	r.take("TABLE")
	s := &Statement{Kind: KindTruncate}
	var err error
	if s.Table, err = r.name(); err != nil {
		return nil, err
	}
	return s, r.end(s.Kind)
}

// drop reads DROP INDEX and DROP TABLE.
func (r *reader) drop() (*Statement, error) {
	r.at++
	switch {
	case r.take("INDEX"):
		return altering(r.dropIndex())
	case r.peek("TEMPORARY"):
		return nil, fmt.Errorf("%w: a temporary table belongs to one session", ErrNotTaken)
	case !r.take("TABLE") && !r.take("TABLES"):
		return nil, fmt.Errorf("%w: it begins with DROP %s", ErrNotTaken, r.rest())
	}
	s := &Statement{Kind: KindDrop, Conditional: r.take("IF", "EXISTS")}
	var err error
	if s.Table, err = r.name(); err != nil {
		return nil, err
	}
	if !r.take("RESTRICT") { // both words do nothing
		r.take("CASCADE")
	}
	return s, r.end(s.Kind)
}

// Respell has the statement name its tables as the function spells them.
func (s *Statement) Respell(spell func(schema.Name) schema.Name) {
	for _, name := range s.names() {
		*name = spell(*name)
	}
	for i := range s.Parents {
		s.Parents[i] = spell(s.Parents[i])
	}
}
