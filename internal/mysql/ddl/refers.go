package ddl

import (
	"strings"
	"unicode/utf8"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// Effect is what a statement does to one table.
type Effect int

// The effects, from least to most.
const (
	// None: neither its rows nor its structure, nor what refers to it, change.
	None Effect = iota
	// Writes: a statement in the binlog changes rows as text. The text can't show the changed
	// table. A view has another name than its table, and a trigger or a stored function writes to
	// tables that the statement does not name.
	Writes
	// Fires: a trigger comes that fires for its rows.
	Fires
	// Points: a foreign key of another table comes that refers to it. Its rows and its structure stay.
	Points
	// Changes: its structure, its name or its existence changes.
	Changes
	// Unknown: the statement can't be read and may have to do with the table.
	Unknown
)

// String names the effect.
func (e Effect) String() string {
	return [...]string{"none", "writes", "fires", "points", "changes", "unknown"}[e]
}

// Refers returns the effect of a statement in the binlog on a table. It compares names without
// letter case. A call of a function that the binlog holds on its own is Unknown.
func Refers(sql, defaultSchema string, t schema.Name) Effect {
	r := referrer{sql: sql, schema: defaultSchema, table: t}
	tokens, closed := token.Split(sql)
	effect := r.read(tokens, closed)
	if effect == Unknown && strings.Contains(sql, `\`) { // the session may have had NO_BACKSLASH_ESCAPES
		tokens, closed = token.SplitNoEscapes(sql)
		effect = r.read(tokens, closed)
	}
	return effect
}

// referrer reads one statement.
type referrer struct {
	sql    string
	tokens words
	schema string // the default one
	table  schema.Name
}

func (r referrer) read(tokens []token.Token, closed bool) Effect {
	if len(tokens) == 0 {
		return None
	}
	r.tokens = tokens
	if r.tokens.at(0, writing...) { // even if the rest is unreadable
		return Writes
	}
	if !closed || tokens[len(tokens)-1].Unclosed {
		return r.unread()
	}
	return r.effect()
}

// verbs that have to do with no table's rows or structure.
var harmless = []string{"BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "XA", "SET", "USE", "FLUSH",
	"ANALYZE", "OPTIMIZE", "REPAIR", "CHECK", "CHECKSUM", "GRANT", "REVOKE", "INSTALL", "UNINSTALL", "SHOW", "DESCRIBE",
	"DESC", "EXPLAIN", "LOCK", "UNLOCK", "RESET", "PURGE", "CHANGE", "STOP", "KILL", "HELP", "CACHE", "CLONE", "SHUTDOWN",
	"RESTART", "END"}

// writing are the verbs that change rows.
var writing = []string{"INSERT", "REPLACE", "UPDATE", "DELETE", "LOAD", "WITH"}

func (r *referrer) effect() Effect {
	w := r.tokens
	switch {
	case w.at(0, harmless...):
		return None
	case w.at(0, "ALTER"):
		return r.alter(w[1:])
	case w.at(0, "CREATE"):
		return r.create(w[1:])
	case w.at(0, "DROP"):
		return r.drop(w[1:])
	case w.at(0, "RENAME"):
		if w.at(1, "TABLE", "TABLES") {
			return r.changesIf(r.named(w[2:]))
		}
		return None
	case w.at(0, "TRUNCATE"):
		return r.changesIf(r.named(w[1:].skip("TABLE")))
	case w.at(0, "SELECT", "DO", "CALL", "VALUES", "TABLE", "("):
		// It is in the binlog only because it writes, through a routine.
		return Unknown
	}
	return r.unread()
}

func (r *referrer) changesIf(refers bool) Effect {
	if refers {
		return Changes
	}
	return None
}

// unread returns the answer for a statement that can't be read.
func (r *referrer) unread() Effect {
	if r.named(r.tokens) || r.mayName() {
		return Unknown
	}
	return None
}

// named reports whether the table's name is among the tokens as a name.
func (r *referrer) named(tokens []token.Token) bool {
	for i, t := range tokens {
		if !r.isName(t, r.table.Table) {
			continue
		}
		qualified := i >= 2 && tokens[i-1].Is(".") && canName(tokens[i-2])
		switch {
		case qualified && r.isName(tokens[i-2], r.table.Schema):
			return true
		case !qualified && (i == 0 || !tokens[i-1].Is(".")) && strings.EqualFold(r.schema, r.table.Schema):
			return true
		}
	}
	return false
}

// canName reports whether the token can be a name; with ANSI_QUOTES a "string" can.
func canName(t token.Token) bool { return t.Name() || t.Kind == token.String }

func (r *referrer) isName(t token.Token, name string) bool {
	return canName(t) && (strings.EqualFold(t.Text, name) || r.garbled(t.Text, name))
}

// garbled reports whether text may be name in another charset than UTF-8: the binlog has the
// statement as the client sent it.
func (r *referrer) garbled(text, name string) bool {
	if ascii(name) || utf8.ValidString(text) {
		return false
	}
	// The ASCII letters must agree in their order.
	letters := func(s string) string {
		return strings.Map(func(c rune) rune {
			if c >= utf8.RuneSelf {
				return -1
			}
			return c
		}, strings.ToLower(s))
	}
	return letters(strings.ToValidUTF8(text, "")) == letters(name)
}

// mayName reports whether the statement isn't UTF-8 and the name isn't ASCII.
func (r *referrer) mayName() bool {
	return !ascii(r.table.Table) && !utf8.ValidString(r.sql)
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c >= utf8.RuneSelf })
}

// target reports whether the name at the head of tokens is the table's.
func (r *referrer) target(w words) bool {
	n := min(len(w), 1)
	if len(w) > 2 && w[1].Is(".") {
		n = 3
	}
	return r.named(w[:n])
}

func (r *referrer) alter(w words) Effect {
	for len(w) > 0 && w.at(0, "ONLINE", "IGNORE") {
		w = w[1:]
	}
	if !w.at(0, "TABLE") {
		return None // a schema's defaults, a user, a view, a routine
	}
	if w = w[1:].skip("IF EXISTS"); r.target(w) {
		return Changes
	}
	for i := range w {
		switch {
		case w.at(i, "RENAME") && !w.at(i+1, "COLUMN", "INDEX", "KEY") && r.target(w[i+1:].skip("TO", "AS", "=")),
			w.at(i, "WITH") && w.at(i+1, "TABLE") && r.target(w[i+2:]): // EXCHANGE PARTITION
			return Changes
		}
	}
	if r.referenced(w) {
		return Points
	}
	return None
}

// referenced reports whether the statement declares a foreign key that refers to the table. The
// name of the statement's table is at the head of w. A bare name in the key belongs to that table's
// schema.
func (r *referrer) referenced(w words) bool {
	in := *r
	if name, _ := readName(w); name.Schema != "" {
		in.schema = name.Schema
	}
	for i := range w {
		if w.at(i, "REFERENCES") && (in.target(w[i+1:]) || r.target(w[i+1:])) {
			return true
		}
	}
	return false
}

func (r *referrer) create(w words) Effect {
	replaces := w.begin("OR", "REPLACE")
	w = w.skip("OR REPLACE")
	switch {
	case w.at(0, "TABLE"):
		bare := w[1:].skip("IF NOT EXISTS")
		if r.target(bare) {
			// With IF NOT EXISTS it did nothing, or a DROP came before it.
			return r.changesIf(replaces || !w[1:].begin("IF", "NOT", "EXISTS"))
		}
		if w.filled() {
			return Writes
		}
		if r.referenced(bare) {
			return Points
		}
		return None
	case w.at(0, "INDEX", "UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR", "ONLINE", "OFFLINE"):
		return r.changesIf(r.onTable(w))
	}
	w = w.skipDefiner()
	if w.at(0, "TRIGGER") && r.onTable(w) {
		return Fires
	}
	return None
}

// filled reports whether a CREATE TABLE takes rows from a query. In the ROW format the binlog has
// such a table and its rows apart from each other.
func (w words) filled() bool {
	for i := range w {
		if w.at(i, "SELECT") || w.at(i, "VALUES") && w.at(i+1, "ROW") {
			return true
		}
	}
	return false
}

// skipDefiner cuts DEFINER = user@host and its kin before TRIGGER, VIEW, PROCEDURE.
func (w words) skipDefiner() words {
	for i := range w {
		if w.at(i, "TRIGGER", "VIEW", "PROCEDURE", "FUNCTION", "EVENT", "AGGREGATE") {
			return w[i:]
		}
	}
	return w
}

// onTable reports whether the name behind the first ON is the table's.
func (r *referrer) onTable(w words) bool {
	i := w.find("ON")
	return i >= 0 && r.target(w[i+1:])
}

func (r *referrer) drop(w words) Effect {
	switch {
	case w.at(0, "TEMPORARY"):
		return None
	case w.at(0, "TABLE", "TABLES"):
		return r.changesIf(r.named(w[1:]))
	case w.at(0, "INDEX"), w.at(0, "ONLINE", "OFFLINE") && w.at(1, "INDEX"):
		return r.changesIf(r.onTable(w))
	case w.at(0, "DATABASE", "SCHEMA"):
		w = w[1:].skip("IF EXISTS")
		return r.changesIf(len(w) > 0 && r.isName(w[0], r.table.Schema))
	}
	return None
}
