package soak

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// mode is the sql_mode in which digests can be parsed: they have a blank between a function and its arguments.
const mode = "IGNORE_SPACE"

// statement is one kind of statement, as the server counts it.
type statement struct {
	checkpoint.NamedBy
	errors int64
}

var (
	// lists are what digests have in the place of lists of values.
	lists = strings.NewReplacer("(...)", "(?)", "?, ...", "?", "/* , ... */", "")
	// prepared begins the digests of prepared statements (MySQL 9).
	prepared = regexp.MustCompile(`^(?i:PREPARE|EXECUTE)\s+`)
	// quiet begin statements that read and write no rows for an application.
	quiet = []string{"ALTER", "DROP", "SHOW", "EXPLAIN", "DESC", "DESCRIBE", "ANALYZE", "OPTIMIZE", "CHECK", "DEALLOCATE", "SET", "GRANT", "REVOKE"}
)

// names returns how a statement names what is dropped; "" if it does not. limit is the size in bytes of the longest digest; 0 if texts are
// complete. cut means that the text may be cut, so that nothing is known of its rest.
func (d Drop) names(s statement, limit int) (how string, cut bool) {
	text := lists.Replace(prepared.ReplaceAllString(strings.TrimSpace(s.Text), ""))
	tokens, _ := token.Split(text)
	if len(tokens) == 0 || slices.ContainsFunc(quiet, func(word string) bool { return tokens[0].Is(word) }) {
		return "", false
	}
	if tokens[0].Is("CREATE") && !slices.ContainsFunc(tokens, func(t token.Token) bool { return t.Is("SELECT") }) {
		return "", false // another table of that name, or an index
	}
	if slices.ContainsFunc(tokens, func(t token.Token) bool { return t.Kind == token.Quoted && schema.Reserved(t.Text) }) {
		return "", false // a run's own comparison, of any table
	}
	cut = limit > 0 && stored(tokens) >= limit-largest
	for _, c := range d.Columns {
		named := slices.ContainsFunc(tokens, func(t token.Token) bool { return strings.EqualFold(t.Text, c) })
		switch ddl.UsesColumn(text, mode, s.Database, d.Table, c) {
		case ddl.Uses:
			return "names column " + c, false
		case ddl.MayUse:
			return fmt.Sprintf("names %s and a column %s, which may be another table's", d.Table, c), false
		}
		if cut && named {
			return fmt.Sprintf("names a column %s, and the server has cut its text", c), false
		}
	}
	for _, i := range d.Indexes {
		if ddl.UsesIndex(text, mode, s.Database, d.Table, i) != ddl.Unused {
			return "names index " + i, false
		}
	}
	if len(d.Columns) > 0 && s.errors > 0 && ddl.ListsNoColumns(text, s.Database, d.Table) {
		return "has no list of columns, and fails while a column is invisible", false
	}
	if cut && ddl.NamesTable(text, s.Database, d.Table) {
		return fmt.Sprintf("names %s, and the server has cut its text", d.Table), false
	}
	return "", cut
}

// largest is what the server stores of a name of 64 bytes: less room than that may have cut the text.
const largest = 64 + 4

// stored is the size in bytes of a digest as the server stores it: two for each word, and the text of names.
func stored(tokens []token.Token) (size int) {
	for _, t := range tokens {
		if size += 2; t.Kind == token.Quoted {
			size += 2 + len(t.Text)
		}
	}
	return size
}
