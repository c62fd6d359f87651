package closure

import (
	"slices"
	"strings"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// given is what a statement does to the types of columns, by their names in lower case.
type given struct {
	alter *ddl.Alter
	// defined are the kinds of the columns that get a definition. Their collations may be "".
	defined map[string]kind
	// renamed are the places of RENAME COLUMN in the clauses.
	renamed map[string]place
	// altered are the columns of ALTER COLUMN.
	altered []string
	// converts means that all strings get charset and collation, which new definitions get otherwise.
	converts           bool
	charset, collation string
}

// place is a clause of a statement.
type place struct {
	start, end int
	to         string // the column's new name
}

// readGiven reads a statement of the user; alter may be nil.
func readGiven(alter *ddl.Alter) given {
	g := given{alter: alter, defined: map[string]kind{}, renamed: map[string]place{}}
	if alter == nil {
		return g
	}
	tokens, _ := token.Split(alter.Clauses)
	for _, piece := range token.List(tokens) {
		if len(piece) > 0 {
			g.clause(piece)
		}
	}
	return g
}

func (g *given) clause(piece []token.Token) {
	words := piece[1:]
	skip := func(keywords ...string) {
		if begin(words, keywords...) {
			words = words[len(keywords):]
		}
	}
	skip("COLUMN")
	skip("IF", "EXISTS")
	switch {
	case piece[0].Is("MODIFY"):
		if name, rest := columnName(words); len(rest) > 0 {
			g.define(name, rest)
		}
	case piece[0].Is("CHANGE"):
		name, rest := columnName(words)
		if _, rest = columnName(rest); len(rest) > 0 {
			g.define(name, rest)
		}
	case begin(piece, "RENAME", "COLUMN"):
		name, rest := columnName(words)
		if begin(rest, "TO") && len(rest) > 1 {
			to, _ := columnName(rest[1:])
			g.renamed[strings.ToLower(name)] = place{piece[0].CommentStart, piece[len(piece)-1].CommentEnd, to}
		}
	case begin(piece, "CONVERT", "TO"):
		g.converts = true
		g.options(piece[2:])
	case piece[0].Is("ALTER"):
		if name, rest := columnName(words); len(rest) > 0 {
			g.altered = append(g.altered, strings.ToLower(name))
		}
	case slices.ContainsFunc([]string{"ADD", "DROP", "RENAME", "ORDER", "PARTITION", "REMOVE"}, piece[0].Is):
	default:
		g.options(piece)
	}
}

// columnName reads a column's name, and returns what follows it.
func columnName(tokens []token.Token) (string, []token.Token) {
	if len(tokens) == 0 || !tokens[0].Name() {
		return "", nil
	}
	for len(tokens) > 2 && tokens[1].Is(".") && tokens[2].Name() {
		tokens = tokens[2:]
	}
	return tokens[0].Text, tokens[1:]
}

func (g *given) define(name string, tokens []token.Token) {
	g.defined[strings.ToLower(name)], _ = read(g.alter.Clauses, tokens)
}

// options reads the character set and the collation of the table, or of CONVERT TO.
func (g *given) options(tokens []token.Token) {
	for i := range tokens {
		if name, n := charset(tokens[i:]); n > 0 {
			g.charset = name
		} else if name, n := collation(tokens[i:]); n > 0 {
			g.collation = name
		}
	}
}

// kind returns the kind that the statement gives a column. decided is false if the statement leaves the type unchanged.
func (g *given) kind(t *schema.Table, c schema.Column, collationOf func(charset string) string) (k kind, decided bool) {
	k, decided = g.defined[strings.ToLower(c.Name)]
	if !decided {
		if k = kindOf(c); !k.collates() || !g.converts {
			return k, false
		}
	}
	if !k.collates() || k.unclear != "" {
		return k, true
	}
	if own := g.converts || k.charset == "" && k.collation == ""; own {
		k.charset, k.collation = g.charset, g.collation
	}
	if strings.EqualFold(k.charset, "DEFAULT") {
		k.unclear = "CHARACTER SET DEFAULT"
		return k, true
	}
	if k.charset == "" && k.collation == "" {
		k.collation = t.Collation
	}
	if k.collation == "" {
		k.collation = collationOf(k.charset)
	}
	if k.charset == "" {
		k.charset, _, _ = strings.Cut(k.collation, "_")
	}
	if k.collation == "" || k.charset == "binary" {
		k.unclear = "CHARACTER SET " + k.charset
	}
	return k, true
}

// drops reports whether the statement drops a foreign key of its table.
func (g *given) drops(constraint string) bool {
	same := func(name string) bool { return strings.EqualFold(name, constraint) }
	return g.alter != nil && (slices.ContainsFunc(g.alter.DroppedForeign, same) || slices.ContainsFunc(g.alter.DroppedConstraints, same))
}

// dropsColumn reports whether the statement drops a column.
func (g *given) dropsColumn(column string) bool {
	return g.alter != nil && slices.ContainsFunc(g.alter.Dropped, func(name string) bool { return strings.EqualFold(name, column) })
}

// with returns the statement with the definitions of more columns, in their order.
func (g *given) with(table schema.Name, needs []Need) (*ddl.Alter, error) {
	clauses := ""
	if g.alter != nil {
		clauses = g.alter.Clauses
	}
	var added []string
	var replaced []Need
	for _, n := range needs {
		if _, renames := g.renamed[strings.ToLower(n.Column)]; renames {
			replaced = append(replaced, n)
		} else {
			added = append(added, "MODIFY "+schema.Quote(n.Column)+" "+n.Definition)
		}
	}
	of := func(n Need) place { return g.renamed[strings.ToLower(n.Column)] }
	slices.SortFunc(replaced, func(a, b Need) int { return of(b).start - of(a).start }) // from the end
	for _, n := range replaced {
		p := of(n)
		clauses = clauses[:p.start] + "CHANGE " + schema.Quote(n.Column) + " " + schema.Quote(p.to) + " " + n.Definition + clauses[p.end:]
	}
	switch more := strings.Join(added, ", "); {
	case more == "":
	case clauses == "":
		clauses = more
	case g.alter.OrdersRows || len(g.alter.PartitionOps) > 0:
		clauses = ddl.Prefixed(more, clauses)
	default:
		clauses += ", " + more
	}
	return ddl.ParseClauses(table, clauses)
}
