package ddl

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// Parse reads one ALTER TABLE statement. A final ";" is allowed.
//
// It fails, with ErrNotAlter, on anything but one statement of that kind, and on
// ALTER IGNORE. It does not fail on clauses that it doesn't know.
func Parse(sql string) (*Alter, error) {
	tokens, err := statement(sql, ErrNotAlter)
	if err != nil {
		return nil, err
	}
	head, rest, err := alterHead(tokens)
	if err != nil {
		return nil, err
	}
	if len(rest) == 0 {
		return nil, fmt.Errorf("%w: the statement changes nothing", ErrNotAlter)
	}
	start, end := rest[0].CommentStart, rest[len(rest)-1].CommentEnd
	if start < head.end {
		return nil, fmt.Errorf("%w: an executable comment begins before the table's name and holds clauses", ErrNotAlter)
	}
	if strings.HasSuffix(sql[start:end], "--") {
		return nil, fmt.Errorf("%w: the statement ends with the operator --", ErrNotAlter) // which begins a comment where nothing follows
	}
	a := &Alter{Table: head.table, Clauses: sql[start:end]}
	s := scan{alter: a, text: sql, base: start}
	s.clauses(rest)
	a.check(rest, sql)
	return a, nil
}

// ParseClauses reads the clauses of a statement. Its table is given separately.
func ParseClauses(table schema.Name, clauses string) (*Alter, error) {
	a, err := Parse("ALTER TABLE " + schema.Quote(table.Table) + " " + clauses)
	if err != nil {
		return nil, err
	}
	a.Table = table
	return a, nil
}

// disagree is the reason where both could read the clauses, but otherwise.
const disagree = "the parser reads other columns than the scan"

// check lets the parser read the clauses too.
func (a *Alter) check(clauses []token.Token, sql string) {
	if v := versioned(clauses); v != 0 {
		a.Unparsed = fmt.Sprintf("it has an executable comment for version %d, which the server may skip", v)
		a.Doubtful = true
		return
	}
	theirs, err := parseColumns("ALTER TABLE t " + token.Plain(sql, forParser(clauses)))
	switch {
	case len(a.Unknown) > 0:
		a.Unparsed = "unknown clause: " + a.Unknown[0]
	case err != nil:
		a.Unparsed = err.Error() // each clause begins with clear words
	case !theirs.equal(columnsOf(a)):
		a.Unparsed = disagree
	default:
		a.Parsed = true
		a.take(theirs)
	}
	a.Doubtful = len(a.Unknown) > 0 || a.Unparsed == disagree
}

// forParser leaves out what the parser does not read: INVISIBLE and VISIBLE of a column that gets another definition.
func forParser(clauses []token.Token) []token.Token {
	left := map[int]bool{}
	for _, piece := range token.List(clauses) {
		w, definition := words(piece), words(nil)
		switch {
		case w.at(0, "MODIFY"):
			_, definition = w[1:].skip("COLUMN").skip("IF EXISTS").name()
		case w.at(0, "CHANGE"):
			_, definition = w[1:].skip("COLUMN").skip("IF EXISTS").name()
			_, definition = definition.name()
		}
		for i := 1; i < len(definition); i++ {
			t := definition[i]
			left[t.Start] = t.Depth == definition[0].Depth && (t.Is("INVISIBLE") || t.Is("VISIBLE")) && !definition[i-1].Is("AFTER")
		}
	}
	return slices.DeleteFunc(slices.Clone(clauses), func(t token.Token) bool { return left[t.Start] })
}

// statement splits a text that must be one statement, and cuts a final ";". It fails with the
// given error.
func statement(sql string, refused error) ([]token.Token, error) {
	tokens, closed := token.Split(sql)
	if !closed {
		return nil, fmt.Errorf("%w: a comment is not closed", refused)
	}
	for len(tokens) > 0 && tokens[len(tokens)-1].Is(";") {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("%w: the statement is empty", refused)
	}
	unmatched := token.Unmatched(tokens)
	for i, t := range tokens {
		switch {
		case t.Unclosed:
			return nil, fmt.Errorf("%w: a quote is not closed: %s", refused, shorten(sql[t.Start:]))
		case t.Is(";"):
			return nil, fmt.Errorf("%w: more than one statement", refused)
		}
		if i == unmatched {
			break
		}
	}
	if unmatched >= 0 {
		return nil, fmt.Errorf("%w: the parentheses don't match", refused)
	}
	return tokens, nil
}

// head is the text before the clauses.
type head struct {
	table schema.Name
	end   int
}

// alterHead reads ALTER TABLE and the name. MariaDB has ONLINE and IF EXISTS too.
func alterHead(tokens []token.Token) (h head, rest []token.Token, err error) {
	if !tokens[0].Is("ALTER") {
		return h, nil, fmt.Errorf("%w: it begins with %s", ErrNotAlter, shorten(tokens[0].Text))
	}
	i := 1
	for ; i < len(tokens) && !tokens[i].Is("TABLE"); i++ {
		switch {
		case tokens[i].Is("IGNORE"):
			return h, nil, fmt.Errorf("%w that Midstream can run: IGNORE would lose rows", ErrNotAlter)
		case tokens[i].Is("ONLINE"):
		default:
			return h, nil, fmt.Errorf("%w but ALTER %s", ErrNotAlter, shorten(tokens[i].Text))
		}
	}
	i++
	if i+1 < len(tokens) && tokens[i].Is("IF") && tokens[i+1].Is("EXISTS") {
		i += 2
	}
	name, n := readName(tokens[min(i, len(tokens)):])
	if n == 0 {
		return h, nil, fmt.Errorf("%w: no table's name follows ALTER TABLE", ErrNotAlter)
	}
	return head{table: name, end: tokens[i+n-1].End}, tokens[i+n:], nil
}

// readName reads table or schema.table at the head of tokens, and how many tokens
// it takes; 0 if there is no name.
func readName(tokens []token.Token) (name schema.Name, n int) {
	if len(tokens) == 0 || !tokens[0].Name() || tokens[0].Text == "" {
		return name, 0
	}
	if len(tokens) > 2 && tokens[1].Is(".") && tokens[2].Name() {
		return schema.Name{Schema: tokens[0].Text, Table: tokens[2].Text}, 3
	}
	return schema.Name{Table: tokens[0].Text}, 1
}

// versioned returns the version of an executable comment among the tokens that not
// every supported server executes, or 0.
func versioned(tokens []token.Token) int {
	for _, t := range tokens {
		if t.Executable > token.ExecutedByAll {
			return t.Executable
		}
	}
	return 0
}
