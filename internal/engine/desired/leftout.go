package desired

import (
	"regexp"
	"slices"
	"strings"

	"midstream/internal/mysql/schema/token"
)

// leftOutError means that a statement defines no table, as dumps of a database have them next to CREATE TABLE. It is an error only if it
// follows a table that it may drop.
type leftOutError struct {
	error
	told bool // a person should know
}

// drops reports whether the statement drops a table.
func (s *Statement) drops() bool {
	return len(s.tokens) > 1 && s.tokens[0].Is("DROP") && s.tokens[1].Is("TABLE")
}

// names reports whether the statement names the table of another one.
func (s *Statement) names(other Statement) bool {
	return slices.ContainsFunc(s.tokens, func(k token.Token) bool { return strings.EqualFold(k.Text, other.Name.Table) })
}

var (
	// objects are what CREATE and DROP name that is no table.
	objects = []string{"VIEW", "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT"}
	// before are words between CREATE and one of objects, in this order; an account follows DEFINER.
	before = regexp.MustCompile("(?is)^CREATE\\s+(OR\\s+REPLACE\\s+)?(ALGORITHM\\s*=\\s*\\w+\\s+)?" +
		"(DEFINER\\s*=\\s*\\S+(\\s*@\\s*\\S+)?\\s+)?(SQL\\s+SECURITY\\s+\\w+\\s+)?(AGGREGATE\\s+)?(VIEW|TRIGGER|PROCEDURE|FUNCTION|EVENT)\\b")
	// blockEnd is where the client's usual delimiter is back, and tableInside a statement that a block must not hold.
	blockEnd    = regexp.MustCompile(`(?im)^[ \t]*DELIMITER[ \t]+;[ \t]*\r?$`)
	tableInside = regexp.MustCompile(`(?im)^[ \t]*(CREATE|ALTER|DROP)[ \t]+TABLE\b`)
)

// leavesOut reports whether a statement of a dump is left out: a view, a routine, a trigger, an event, a setting of the session, a lock,
// or the DROP TABLE before a CREATE TABLE. told means that a person should know.
func leavesOut(tokens []token.Token) (is, told bool) {
	at := func(i int, words ...string) bool { return i < len(tokens) && slices.ContainsFunc(words, tokens[i].Is) }
	switch {
	case at(0, "SET"), at(0, "LOCK", "UNLOCK") && at(1, "TABLE", "TABLES"), at(0, "DROP") && at(1, append(objects, "TABLE")...):
		return true, false
	case at(0, "CREATE"):
		var words []string // without comments
		for _, k := range tokens[:min(len(tokens), 20)] {
			words = append(words, k.Text)
		}
		return before.MatchString(strings.NewReplacer(" @ ", "@", " = ", "=").Replace(strings.Join(words, " "))), true
	}
	return false, false
}

// block is the length of a part of a file in which the client has another delimiter; ok is false if the part has no end, or holds a table.
func block(text string) (length int, ok bool) {
	end := blockEnd.FindStringIndex(text)
	if end == nil || tableInside.MatchString(text[:end[0]]) {
		return 0, false
	}
	return end[1], true
}
