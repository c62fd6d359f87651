package ddl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// ErrNotRowChange means that a text is no DELETE or UPDATE that can be carried out in chunks.
var ErrNotRowChange = errors.New("not a DELETE or UPDATE that can be carried out in chunks")

// RowVerb is what a RowChange does.
type RowVerb string

// The verbs.
const (
	Delete RowVerb = "DELETE"
	Update RowVerb = "UPDATE"
)

// RowChange is a DELETE or an UPDATE of the rows of one table that meet a condition, in the usual dialect.
type RowChange struct {
	Verb  RowVerb
	Table schema.Name
	// Where is the condition, and Set what follows SET in an UPDATE.
	Where, Set string
	// Assigned are the parts of Set, in their order.
	Assigned []Assignment
}

// Assignment gives a column a value.
type Assignment struct{ Column, Expr string }

// Default reports whether the value is the column's default.
func (a Assignment) Default() bool { return strings.EqualFold(a.Expr, "DEFAULT") }

// String is the statement, on one line as far as its parts are.
func (c *RowChange) String() string {
	name := schema.Quote(c.Table.Table)
	if c.Table.Schema != "" {
		name = c.Table.Quoted()
	}
	if c.Verb == Update {
		return "UPDATE " + name + " SET " + c.Set + " WHERE " + c.Where
	}
	return "DELETE FROM " + name + " WHERE " + c.Where
}

// Same reports whether two statements are the same but for blanks, letter case of words and the spelling of the table.
func (c *RowChange) Same(verb RowVerb, where, set string) bool {
	plain := func(text string) (parts []string) {
		tokens, _ := token.Split(text)
		for _, t := range tokens {
			part := fmt.Sprint(t.Kind, t.Text)
			if t.Kind == token.Word {
				part = strings.ToLower(part)
			}
			parts = append(parts, part)
		}
		return parts
	}
	return c.Verb == verb && slices.Equal(plain(c.Where), plain(where)) && slices.Equal(plain(c.Set), plain(set))
}

// RowVerbOf is the verb with which a statement begins, if it is DELETE or UPDATE; otherwise "".
func RowVerbOf(text string) (verb RowVerb) {
	_ = Guess(func(d token.Dialect) error {
		resolved, _ := d.Resolve(text)
		tokens, _ := token.Split(resolved)
		for _, v := range []RowVerb{Delete, Update} {
			if len(tokens) > 0 && tokens[0].Is(string(v)) {
				verb = v
				return nil
			}
		}
		return ErrNotRowChange
	})
	return verb
}

// ParseRowChangeIn reads a DELETE or UPDATE of a server's dialect. It fails with ErrNotRowChange and the reason. The parser finds what the
// statement is; what the server makes of its expressions, only the server knows.
func ParseRowChangeIn(d token.Dialect, sql string) (*RowChange, error) {
	refused := func(why string) error { return fmt.Errorf("%w: %s", ErrNotRowChange, why) }
	text, closed := d.Resolve(sql)
	if !closed {
		return nil, refused(unclosed)
	}
	tokens, err := statement(text, ErrNotRowChange)
	if err != nil {
		return nil, err
	}
	if !tokens[0].Is("DELETE") && !tokens[0].Is("UPDATE") {
		return nil, refused("it begins with " + shorten(tokens[0].Text))
	}
	text = text[:tokens[len(tokens)-1].End] // without a final ;
	nodes, err := parse(text, mysql.ModeNone)
	switch {
	case err != nil:
		return nil, refused(err.Error())
	case len(nodes) != 1:
		return nil, refused("more than one statement")
	}
	r := rowReader{text: text, tokens: tokens}
	why := ""
	switch n := nodes[0].(type) {
	case *ast.DeleteStmt:
		why = r.deleted(n)
	case *ast.UpdateStmt:
		why = r.updated(n)
	default:
		why = fmt.Sprintf("the parser reads a %T", n)
	}
	if nested := (subqueries{}); why == "" {
		if nodes[0].Accept(&nested); nested.any {
			why = "it has a subquery, whose rows may change between two chunks; write the values themselves"
		}
	}
	if why != "" {
		return nil, refused(why)
	}
	return &r.change, nil
}

// subqueries finds out whether a statement has any.
type subqueries struct{ any bool }

// Enter is ast.Visitor's.
func (s *subqueries) Enter(n ast.Node) (ast.Node, bool) {
	if _, is := n.(*ast.SubqueryExpr); is {
		s.any = true
	}
	return n, false
}

// Leave is ast.Visitor's.
func (s *subqueries) Leave(n ast.Node) (ast.Node, bool) { return n, true }

// rowReader reads one statement: its parts by the tokens, and what it is by the parser.
type rowReader struct {
	text   string
	tokens []token.Token
	change RowChange
}

func (r *rowReader) deleted(n *ast.DeleteStmt) (why string) {
	r.change.Verb = Delete
	switch {
	case n.IsMultiTable:
		return severalTables
	case n.Quick:
		return "leave QUICK out"
	}
	return r.rest(n.TableRefs, n.Where, n.Order, n.Limit, n.With, n.IgnoreErr, n.Priority)
}

func (r *rowReader) updated(n *ast.UpdateStmt) (why string) {
	r.change.Verb = Update
	if n.MultipleTable {
		return severalTables
	}
	if why := r.rest(n.TableRefs, n.Where, n.Order, n.Limit, n.With, n.IgnoreErr, n.Priority); why != "" {
		return why
	}
	return r.assigned(n.List)
}

const severalTables = "it names several tables; write one statement for each table"

// rest reads what both statements have.
func (r *rowReader) rest(
	refs *ast.TableRefsClause, where ast.ExprNode, order *ast.OrderByClause, limit *ast.Limit, with *ast.WithClause, ignore bool,
	priority mysql.PriorityEnum,
) (why string) {
	source, is := refs.TableRefs.Left.(*ast.TableSource)
	if !is || refs.TableRefs.Right != nil {
		return severalTables
	}
	name, is := source.Source.(*ast.TableName)
	switch {
	case !is:
		return "it does not name a table"
	case source.AsName.O != "":
		return "leave the alias " + source.AsName.O + " out, and write columns without the name of the table"
	case len(name.PartitionNames) > 0:
		return "leave PARTITION out, and name the rows in WHERE"
	case len(name.IndexHints) > 0:
		return "leave the index hint out: rows are walked in the order of a unique key (--key)"
	case with != nil:
		return "leave WITH out"
	case ignore:
		return "leave IGNORE out: it would hide errors"
	case priority != mysql.NoPriority:
		return "leave LOW_PRIORITY out"
	case where == nil && r.change.Verb == Delete:
		return "it has no WHERE. To empty the table, use TRUNCATE TABLE: midstream run  \"TRUNCATE TABLE " + name.Name.O + "\""
	case where == nil:
		return "it has no WHERE. To change all rows, write WHERE TRUE; or give a column its values by an ALTER: midstream run  --set"
	case order != nil:
		return "leave ORDER BY out: rows are walked in the order of a unique key (--key)"
	case limit != nil:
		return "leave LIMIT out: the chunks limit each statement"
	}
	r.change.Table = schema.Name{Schema: name.Schema.O, Table: name.Name.O}
	at := r.find("WHERE")
	if at < 0 {
		return "no WHERE is found outside of parentheses"
	}
	r.change.Where = strings.TrimSpace(r.text[r.tokens[at].End:])
	r.text, r.tokens = r.text[:r.tokens[at].Start], r.tokens[:at]
	return ""
}

// find returns the first token outside of parentheses that is this word, or -1.
func (r *rowReader) find(word string) int {
	return slices.IndexFunc(r.tokens, func(t token.Token) bool { return t.Depth == 0 && t.Is(word) })
}

// assigned reads what follows SET. REQUIRES: rest has cut off WHERE.
func (r *rowReader) assigned(list []*ast.Assignment) (why string) {
	at := r.find("SET")
	if at < 0 {
		return "no SET is found"
	}
	r.change.Set = strings.TrimSpace(r.text[r.tokens[at].End:])
	var parts [][]token.Token
	var part []token.Token
	for _, t := range r.tokens[at+1:] {
		if t.Depth == 0 && t.Is(",") {
			parts, part = append(parts, part), nil
			continue
		}
		part = append(part, t)
	}
	parts = append(parts, part)
	if len(parts) != len(list) {
		return "its assignments cannot be told apart"
	}
	for i, part := range parts {
		equals := slices.IndexFunc(part, func(t token.Token) bool { return t.Is("=") })
		if equals < 1 || equals == len(part)-1 {
			return "its assignments cannot be told apart"
		}
		expr := r.text[part[equals].End:part[len(part)-1].End]
		r.change.Assigned = append(r.change.Assigned, Assignment{Column: list[i].Column.Name.O, Expr: strings.TrimSpace(expr)})
	}
	return ""
}
