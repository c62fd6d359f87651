package carry

import (
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// head has the places of the parts of a CREATE TRIGGER that come before its body.
type head struct {
	name, table span
	end         int // of FOR EACH ROW
}

type span struct{ from, to int } // bytes

// headOf reads the statement of a trigger as far as FOR EACH ROW.
func headOf(t schema.Trigger) (h head, ok bool) {
	tokens := tokensOf(t)
	i := 0
	to := func(keyword string) bool {
		for ; i < len(tokens); i++ {
			if tokens[i].Is(keyword) {
				i++
				return true
			}
		}
		return false
	}
	name := func() (s span) {
		if i >= len(tokens) {
			return s
		}
		s = span{tokens[i].Start, tokens[i].End}
		if i += 1; i+1 < len(tokens) && tokens[i].Is(".") {
			s.to = tokens[i+1].End
			i += 2
		}
		return s
	}
	if !to("TRIGGER") {
		return h, false
	}
	if i+2 < len(tokens) && tokens[i].Is("IF") && tokens[i+1].Is("NOT") && tokens[i+2].Is("EXISTS") {
		i += 3
	}
	h.name = name()
	if !to("ON") {
		return h, false
	}
	h.table = name()
	if i+2 >= len(tokens) || !tokens[i].Is("FOR") || !tokens[i+1].Is("EACH") || !tokens[i+2].Is("ROW") {
		return h, false
	}
	h.end = tokens[i+2].End
	return h, true
}

func tokensOf(t schema.Trigger) []token.Token {
	split := token.Split
	if strings.Contains(t.Mode, "NO_BACKSLASH_ESCAPES") {
		split = token.SplitNoEscapes
	}
	tokens, _ := split(string(t.Create))
	return tokens
}

// CanCarry returns why a trigger can't be moved; "" if it can.
func (s Set) CanCarry(t schema.Trigger) string {
	if _, ok := headOf(t); !ok {
		return "cannot read its statement"
	}
	if !strings.HasPrefix(t.Client, "utf8") && !ascii(s.Source.Schema+s.Source.Table+s.Shadow.Table+t.Name) {
		return "it was created in the charset " + t.Client + ", and the names of the table or the trigger have letters beyond ASCII"
	}
	return ""
}

func ascii(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > '~' })
}

// Uses are the columns that a trigger names as NEW's or OLD's, each once.
func Uses(t schema.Trigger) []string {
	var columns []string
	seen := map[string]bool{}
	tokens := tokensOf(t)
	for i := range tokens {
		if i+2 < len(tokens) &&
			(tokens[i].Is("NEW") || tokens[i].Is("OLD") || tokens[i].Kind == token.Quoted && (strings.EqualFold(tokens[i].Text, "NEW") || strings.EqualFold(tokens[i].Text, "OLD"))) &&
			tokens[i+1].Is(".") {
			if name := tokens[i+2].Text; !seen[strings.ToLower(name)] {
				seen[strings.ToLower(name)] = true
				columns = append(columns, name)
			}
		}
	}
	return columns
}

// Assigns reports whether a trigger may give a column of the new row a value: by SET, or as an argument of CALL.
func Assigns(t schema.Trigger, column string) bool {
	named := func(t token.Token, name string) bool { return t.Name() && strings.EqualFold(t.Text, name) }
	tokens := tokensOf(t)
	calls := slices.ContainsFunc(tokens, func(t token.Token) bool { return t.Is("CALL") })
	for i := 1; i+3 < len(tokens); i++ {
		if !named(tokens[i], "NEW") || !tokens[i+1].Is(".") || !named(tokens[i+2], column) {
			continue
		}
		if calls || (tokens[i-1].Is("SET") || tokens[i-1].Is(",")) && (tokens[i+3].Is("=") || tokens[i+3].Is(":")) {
			return true
		}
	}
	return false
}

// Tables returns the names at which a trigger's body may name tables. The server locks the tables
// among them together with the trigger's own. A Schema is "" if the body doesn't name it.
func Tables(t schema.Trigger) []schema.Name {
	h, _ := headOf(t)
	var all []schema.Name
	tokens := tokensOf(t)
	for i := range tokens {
		opens := tokens[i].Is("INTO") || tokens[i].Is("FROM") || tokens[i].Is("JOIN") || tokens[i].Is("UPDATE") || tokens[i].Is("INSERT") ||
			tokens[i].Is("REPLACE") || tokens[i].Is("TABLE") || tokens[i].Is(",") || tokens[i].Is("IGNORE")
		if !opens || tokens[i].Start < h.end || i+1 >= len(tokens) || !tokens[i+1].Name() || tokens[i+1].Is("INTO") {
			continue
		}
		name := schema.Name{Table: tokens[i+1].Text}
		if i+3 < len(tokens) && tokens[i+2].Is(".") {
			name = schema.Name{Schema: tokens[i+1].Text, Table: tokens[i+3].Text}
		}
		all = append(all, name)
	}
	return all
}
