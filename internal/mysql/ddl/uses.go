package ddl

import (
	"regexp"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// Use is how the text of a view, a routine, an event or a trigger uses a column of a table.
type Use int

// The uses.
const (
	// Unused: the text doesn't name both.
	Unused Use = iota
	// MayUse: it names the table, and a column of that name, possibly another table's.
	MayUse
	// Uses: it names the column as the table's.
	Uses
)

// UsesColumn returns how a text uses a column of a table. Names without a database belong to
// database. mode is the sql_mode that the text was written in. If the parser can't read a part,
// UsesColumn searches it for names.
func UsesColumn(text, mode, database string, t schema.Name, column string) Use {
	tokens := splitIn(mode, text)
	r := referrer{sql: text, schema: database, table: t}
	named := slices.ContainsFunc(tokens, func(tok token.Token) bool { return canName(tok) && strings.EqualFold(tok.Text, column) })
	if !named || !r.named(tokens) {
		return Unused
	}
	nodes, err := parse(text, parserMode(mode))
	if err != nil {
		return MayUse
	}
	u := usage{database: database, table: t, column: column}
	for _, node := range nodes {
		node.Accept(&u)
	}
	return u.told()
}

// splitIn lexes a text as a session with the sql_mode does.
func splitIn(mode, text string) []token.Token {
	split := token.Split
	if strings.Contains(mode, "NO_BACKSLASH_ESCAPES") {
		split = token.SplitNoEscapes
	}
	tokens, _ := split(text)
	return tokens
}

// parserMode is a sql_mode for the parser: none, if the parser does not know it.
func parserMode(mode string) mysql.SQLMode {
	known, err := mysql.GetSQLMode(mode)
	if err != nil {
		return 0
	}
	return known
}

// usage collects the references of a statement to a table and a column.
type usage struct {
	database, column string
	table            schema.Name

	names  []string // of the table, in the statement
	others bool     // another table is named
	bare   bool     // the column has no table's name
	of     []string // with one of these
}

// Enter is ast.Visitor's.
func (u *usage) Enter(n ast.Node) (ast.Node, bool) {
	switch n := n.(type) {
	case *ast.TableSource:
		if name, ok := n.Source.(*ast.TableName); ok && u.is(name) && n.AsName.O != "" {
			u.names = append(u.names, n.AsName.O)
		}
	case *ast.TableName:
		if u.is(n) {
			u.names = append(u.names, n.Name.O)
		} else {
			u.others = true
		}
	case *ast.ColumnName:
		switch {
		case !strings.EqualFold(n.Name.O, u.column):
		case n.Table.O == "":
			u.bare = true
		default:
			u.of = append(u.of, n.Table.O)
		}
	}
	return n, false
}

// Leave is ast.Visitor's.
func (u *usage) Leave(n ast.Node) (ast.Node, bool) { return n, true }

func (u *usage) is(name *ast.TableName) bool {
	database := name.Schema.O
	if database == "" {
		database = u.database
	}
	return strings.EqualFold(name.Name.O, u.table.Table) && strings.EqualFold(database, u.table.Schema)
}

func (u *usage) told() Use {
	named := slices.ContainsFunc(u.of, func(table string) bool {
		return slices.ContainsFunc(u.names, func(name string) bool { return strings.EqualFold(name, table) })
	})
	switch {
	case len(u.names) == 0:
		return Unused
	case named, u.bare && !u.others:
		return Uses
	case u.bare:
		return MayUse
	}
	return Unused
}

// NamesTable reports whether a text names a table.
func NamesTable(text, database string, t schema.Name) bool {
	r := referrer{sql: text, schema: database, table: t}
	tokens, _ := token.Split(text)
	return r.named(tokens)
}

// UsesIndex returns how a text names an index of a table, in a hint. Names without a database belong to database. If the parser can't
// read a part, UsesIndex searches it for names.
func UsesIndex(text, mode, database string, t schema.Name, index string) Use {
	tokens := splitIn(mode, text)
	r := referrer{sql: text, schema: database, table: t}
	named := slices.ContainsFunc(tokens, func(tok token.Token) bool { return canName(tok) && strings.EqualFold(tok.Text, index) })
	hints := slices.ContainsFunc(tokens, func(tok token.Token) bool { return tok.Is("INDEX") || tok.Is("KEY") })
	if !r.named(tokens) {
		return Unused
	}
	for _, comment := range hintComment.FindAllStringSubmatch(text, -1) { // the parser has other hints
		inside, _ := token.Split(comment[1])
		if slices.ContainsFunc(inside, func(tok token.Token) bool { return tok.Name() && strings.EqualFold(tok.Text, index) }) {
			return MayUse
		}
	}
	nodes, err := parse(text, parserMode(mode))
	if err != nil && named && hints {
		return MayUse
	}
	u := hinted{usage: usage{database: database, table: t}, index: index}
	for _, node := range nodes {
		node.Accept(&u)
	}
	if u.found {
		return Uses
	}
	return Unused
}

// hintComment is a comment with hints for the optimizer.
var hintComment = regexp.MustCompile(`/\*\+(.*?)\*/`)

// hinted looks for hints that name an index.
type hinted struct {
	usage
	index string
	found bool
}

// Enter is ast.Visitor's.
func (h *hinted) Enter(n ast.Node) (ast.Node, bool) {
	is := func(name ast.CIStr) bool { return strings.EqualFold(name.O, h.index) }
	if name, ok := n.(*ast.TableName); ok && h.is(name) {
		for _, hint := range name.IndexHints {
			h.found = h.found || slices.ContainsFunc(hint.IndexNames, is)
		}
	}
	return n, false
}

// ListsNoColumns reports whether a text is an INSERT or a REPLACE into a table without a list of columns.
func ListsNoColumns(text, database string, t schema.Name) bool {
	nodes, err := parse(text, 0)
	if err != nil || len(nodes) != 1 {
		return false
	}
	insert, is := nodes[0].(*ast.InsertStmt)
	if !is || len(insert.Columns) > 0 || insert.Setlist || insert.Table == nil {
		return false
	}
	source, is := insert.Table.TableRefs.Left.(*ast.TableSource)
	if !is {
		return false
	}
	name, is := source.Source.(*ast.TableName)
	u := usage{database: database, table: t}
	return is && u.is(name)
}
