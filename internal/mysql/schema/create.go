package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"midstream/internal/mysql/schema/token"
)

// createTable holds details that SHOW CREATE TABLE shows and information_schema doesn't, or shows
// less well.
type createTable struct {
	columns       map[string]columnClause // by name as spelt
	keys          []keyClause             // in the order of the text
	checks        []Check
	foreign       []string // verbatim
	options       []Option
	partitioning  string
	autoIncrement uint64
}

// columnClause is a column's line.
type columnClause struct {
	definition string // all after the name
	dflt       string // what follows DEFAULT, verbatim
	// expression is the source of a generated column, without the outer parentheses.
	expression string
	check      string // the column's own CHECK
	members    []string
}

// keyClause is a key's line.
type keyClause struct {
	name       string
	definition string
}

var errCreate = errors.New("SHOW CREATE TABLE gave a text that can't be read")

// parseCreate takes the server's text apart. It reads tokens, not lines: a name may
// hold a newline and a comment anything.
func parseCreate(text string) (*createTable, error) {
	tokens, closed := token.Split(text)
	body := -1
	for i, t := range tokens {
		if t.Is("(") {
			body = i + 1
			break
		}
	}
	if body < 0 || !closed {
		return nil, fmt.Errorf("%w: no body", errCreate)
	}
	c := &createTable{columns: map[string]columnClause{}}
	start := body
	for i := body; i < len(tokens); i++ {
		t := tokens[i]
		ends := t.Is(")") && t.Depth == 0
		if !ends && !(t.Is(",") && t.Depth == 1) {
			continue
		}
		if i == start {
			return nil, fmt.Errorf("%w: empty clause", errCreate)
		}
		c.clause(text, tokens[start:i], t.Start)
		start = i + 1
		if ends {
			c.tail(text, tokens[i+1:])
			return c, nil
		}
	}
	return nil, fmt.Errorf("%w: no end", errCreate)
}

// clause reads a column or a key. It ends at limit. That is past an executable comment that closes
// behind its last token.
func (c *createTable) clause(text string, tokens []token.Token, limit int) {
	verbatim := strings.TrimSpace(text[tokens[0].Start:limit])
	if tokens[0].Kind == token.Quoted {
		c.columns[tokens[0].Text] = readColumn(text, tokens, limit)
		return
	}
	words := tokens
	name := ""
	if words[0].Is("CONSTRAINT") && len(words) > 2 {
		name, words = words[1].Text, words[2:]
	}
	switch {
	case words[0].Is("FOREIGN"):
		c.foreign = append(c.foreign, verbatim)
	case words[0].Is("CHECK"):
		c.checks = append(c.checks, readCheck(text, name, words))
	case words[0].Is("PERIOD"): // of MariaDB: not a key
	case words[0].Is("PRIMARY"):
		c.keys = append(c.keys, keyClause{name: "PRIMARY", definition: verbatim})
	default:
		for _, w := range words {
			if w.Kind == token.Quoted {
				c.keys = append(c.keys, keyClause{name: w.Text, definition: verbatim})
				return
			}
		}
	}
}

func readColumn(text string, tokens []token.Token, limit int) columnClause {
	col := columnClause{definition: strings.TrimSpace(text[tokens[0].End:limit])}
	for i := 1; i < len(tokens); i++ {
		t := tokens[i]
		if t.Depth != 1 || i+1 >= len(tokens) {
			continue
		}
		switch {
		case (t.Is("ENUM") || t.Is("SET")) && i == 1:
			col.members = readMembers(tokens[i+1:])
		case t.Is("DEFAULT") && col.dflt == "":
			col.dflt = readDefault(text, tokens[i+1:])
		case t.Is("AS") && tokens[i+1].Is("("):
			col.expression = inParentheses(text, tokens[i+1:])
		case t.Is("CHECK") && tokens[i+1].Is("("):
			col.check = inParentheses(text, tokens[i+1:])
		}
	}
	return col
}

// readMembers reads ('a','b') at the head of tokens.
func readMembers(tokens []token.Token) []string {
	var members []string
	for _, t := range tokens {
		if t.Is(")") {
			break
		}
		if t.Kind == token.String {
			members = append(members, t.Text)
		}
	}
	return members
}

// readDefault returns the text of a default: a literal, b'101', _utf8mb4'x', NULL,
// CURRENT_TIMESTAMP(3) or an expression in parentheses.
func readDefault(text string, tokens []token.Token) string {
	end := tokens[0].End
	for i := 1; i < len(tokens); i++ {
		t := tokens[i]
		adjacent := t.Start == end && !t.Is(",")
		if t.Depth <= tokens[0].Depth && !adjacent && !closes(t, tokens[0]) {
			break
		}
		end = t.End
	}
	return text[tokens[0].Start:end]
}

// closes reports whether t is the parenthesis that closes open.
func closes(t, open token.Token) bool {
	return t.Is(")") && open.Is("(") && t.Depth == open.Depth
}

// inParentheses returns the text between the parenthesis at the head of tokens and its closing one.
func inParentheses(text string, tokens []token.Token) string {
	for _, t := range tokens[1:] {
		if closes(t, tokens[0]) {
			return text[tokens[0].End:t.Start]
		}
	}
	return ""
}

func readCheck(text, name string, words []token.Token) Check {
	check := Check{Name: name, Enforced: true}
	for i, w := range words {
		if w.Is("(") && check.Clause == "" {
			check.Clause = inParentheses(text, words[i:])
		}
		if w.Is("NOT") && w.Depth == 1 && i+1 < len(words) && words[i+1].Is("ENFORCED") {
			check.Enforced = false
		}
	}
	return check
}

// tail reads the text behind the body: options, then partitions.
func (c *createTable) tail(text string, tokens []token.Token) {
	for len(tokens) > 0 {
		if len(tokens) > 1 && tokens[0].Is("PARTITION") && tokens[1].Is("BY") {
			c.partitioning = token.Plain(text, tokens)
			return
		}
		n := optionLength(tokens)
		name, value := readOption(text, tokens[:n])
		if name == "AUTO_INCREMENT" {
			c.autoIncrement, _ = strconv.ParseUint(value, 10, 64)
		} else {
			c.options = append(c.options, Option{Name: name, Value: value})
		}
		tokens = tokens[n:]
	}
}

// optionLength returns how many tokens the option at the head of tokens has. An option is
// NAME=value; the name may have two words, and the value may be a list in parentheses. Or it is
// TABLESPACE `name`, STORAGE DISK or START TRANSACTION.
func optionLength(tokens []token.Token) int {
	if tokens[0].Is("TABLESPACE") || tokens[0].Is("STORAGE") || tokens[0].Is("START") {
		return min(2, len(tokens))
	}
	for i, t := range tokens {
		if !t.Is("=") {
			continue
		}
		end := min(i+2, len(tokens))
		if end > i+1 && tokens[i+1].Is("(") {
			for end < len(tokens) && !closes(tokens[end-1], tokens[i+1]) {
				end++
			}
		}
		return end
	}
	return len(tokens)
}

// readOption reads the name, in upper case and without DEFAULT, and the value with its spelling.
func readOption(text string, tokens []token.Token) (name, value string) {
	var words []string
	for i, t := range tokens {
		if t.Is("=") {
			return strings.Join(words, " "), token.Plain(text, tokens[i+1:])
		}
		if t.Kind == token.Quoted {
			return strings.Join(words, " "), token.Plain(text, tokens[i:])
		}
		if !t.Is("DEFAULT") {
			words = append(words, strings.ToUpper(t.Text))
		}
	}
	return strings.Join(words, " "), ""
}
