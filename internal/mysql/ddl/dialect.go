package ddl

import (
	"cmp"
	"fmt"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// ParseStatementIn is ParseStatement for a text in a server's dialect. It returns the statement in
// the usual dialect: strings are in single quotes, a backslash escapes, and comments hold no code.
// Every server reads that dialect the same way, if its sql_mode lacks NO_BACKSLASH_ESCAPES.
func ParseStatementIn(d token.Dialect, sql string) (*Statement, error) {
	text, closed := d.Resolve(sql)
	switch {
	case d.MariaDB:
		text = withoutWait(text)
	case d.Version > anyServer:
		if word := foreignHead(text); word != "" {
			return nil, fmt.Errorf("%w: MySQL does not take %s here", ErrNotTaken, word)
		}
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

// anyServer is the version of a dialect whose server is not known yet (see Guess).
const anyServer = 1

// foreignHead returns the words of MariaDB's before the name of an ALTER TABLE, or "".
func foreignHead(text string) string {
	tokens, _ := token.Split(text)
	is := func(i int, word string) bool { return i < len(tokens) && tokens[i].Is(word) }
	switch {
	case !is(0, "ALTER"):
	case is(1, "ONLINE"):
		return "ONLINE"
	case is(1, "TABLE") && is(2, "IF") && is(3, "EXISTS"):
		return "IF EXISTS"
	}
	return ""
}

// withoutWait leaves out WAIT n and NOWAIT of MariaDB. They come after the name of the table and
// define how long the server waits for its lock. A run's settings define its own waits.
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

// Guess calls read with each dialect that an unknown server may have, until read succeeds. It
// returns the first error if none succeeds.
func Guess(read func(token.Dialect) error) error {
	first := error(nil)
	// With comments that are code for some servers, and with comments that are code for all
	// servers.
	for _, version := range []int{0, anyServer} {
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

// Cut takes the head off an ALTER TABLE: it returns the table's name, and the bytes of the clauses.
// It does not read the clauses.
func Cut(sql string) (table schema.Name, clauses string, err error) {
	tokens, _ := token.Split(sql)
	if len(tokens) == 0 {
		return table, "", fmt.Errorf("%w: the statement is empty", ErrNotAlter)
	}
	head, rest, err := alterHead(tokens)
	if err != nil {
		return table, "", err
	}
	if len(rest) == 0 {
		return table, "", fmt.Errorf("%w: the statement changes nothing", ErrNotAlter)
	}
	return head.table, strings.TrimRight(sql[max(head.end, rest[0].CommentStart):], "; \t\r\n"), nil
}
