package ddl

import (
	"cmp"
	"fmt"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// ParseStatementIn is ParseStatement for a text of a server's dialect. What it returns is of the
// usual dialect, in which strings are in single quotes, a backslash escapes, and nothing is in
// comments: every server reads the same in it, if its sql_mode lacks NO_BACKSLASH_ESCAPES.
func ParseStatementIn(d token.Dialect, sql string) (*Statement, error) {
	text, closed := d.Resolve(sql)
	if d.MariaDB {
		text = withoutWait(text)
	}
	s, err := ParseStatement(text)
	if !closed && err == nil {
		err = fmt.Errorf("%w: %s", ErrNotTaken, unclosed)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// withoutWait leaves WAIT n and NOWAIT of MariaDB out, which stand behind the name of the table and
// say how long the server waits for its lock. A run waits as its settings say.
func withoutWait(text string) string {
	tokens, _ := token.Split(text)
	if len(tokens) == 0 || !tokens[0].Is("ALTER") {
		return text
	}
	_, rest, err := alterHead(tokens)
	switch {
	case err != nil || len(rest) == 0 || rest[0].Executable != 0:
	case rest[0].Is("NOWAIT"):
		return text[:rest[0].Start] + text[rest[0].End:]
	case rest[0].Is("WAIT") && len(rest) > 1:
		return text[:rest[0].Start] + text[rest[1].End:]
	}
	return text
}

// ParseClausesIn is ParseClauses for clauses of a server's dialect.
func ParseClausesIn(d token.Dialect, table schema.Name, clauses string) (*Alter, error) {
	text, closed := d.Resolve(clauses)
	a, err := ParseClauses(table, text)
	if !closed && err == nil {
		err = fmt.Errorf("%w: %s", ErrNotAlter, unclosed)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

const unclosed = "a quote or a comment is not closed"

// Guess calls read with the dialects that a server may have which is not known yet, until one can
// be read. It returns the first error if none can.
func Guess(read func(token.Dialect) error) error {
	first := error(nil)
	for _, version := range []int{0, 1} { // with all comments that are code for some servers, and with those for all servers
		for _, d := range []token.Dialect{{}, {ANSIQuotes: true}, {NoBackslashEscapes: true}, {ANSIQuotes: true,
			NoBackslashEscapes: true}} {
			d.Version = version
			err := read(d)
			if err == nil {
				return nil
			}
			first = cmp.Or(first, err)
		}
	}
	return first
}

// Cut takes the head off an ALTER TABLE: the table that it names, and the bytes of the clauses. It
// does not read those.
func Cut(sql string) (table schema.Name, clauses string, err error) {
	tokens, _ := token.Split(sql)
	if len(tokens) == 0 {
		return table, "", fmt.Errorf("%w: it is empty", ErrNotAlter)
	}
	head, rest, err := alterHead(tokens)
	if err != nil {
		return table, "", err
	}
	if len(rest) == 0 {
		return table, "", fmt.Errorf("%w: it changes nothing", ErrNotAlter)
	}
	return head.table, strings.TrimRight(sql[max(head.end, rest[0].CommentStart):], "; \t\r\n"), nil
}
