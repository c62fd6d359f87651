package ddl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// Moved is a query, and the same query with another table in the place of one.
type Moved struct {
	Here, There string
	// Names are those that the table has in the query: its name, and its aliases.
	Names []string
}

// ErrNoQuery means that a text is no single SELECT, INSERT, REPLACE, UPDATE or DELETE that the parser can read.
var ErrNoQuery = errors.New("it is no query that the parser can read")

// Move puts a table in the place of another in a query. Names without a database belong to database. mode is the sql_mode that the
// query was written in. Names is empty if the query does not name the table. Both texts are the parser's.
func Move(sql, mode, database string, from, to schema.Name) (Moved, error) {
	nodes, err := parse(sql, parserMode(mode))
	if err != nil || len(nodes) != 1 {
		return Moved{}, fmt.Errorf("%w: %w", ErrNoQuery, err)
	}
	switch nodes[0].(type) {
	case *ast.SelectStmt, *ast.SetOprStmt, *ast.InsertStmt, *ast.UpdateStmt, *ast.DeleteStmt:
	default:
		return Moved{}, ErrNoQuery
	}
	names := usage{database: database, table: from}
	nodes[0].Accept(&names)
	if len(names.names) == 0 {
		return Moved{}, nil
	}
	moved := Moved{Names: names.names}
	if moved.Here, err = restored(nodes[0]); err != nil {
		return Moved{}, err
	}
	nodes[0].Accept(&mover{usage: usage{database: database, table: from}, to: to})
	moved.There, err = restored(nodes[0])
	return moved, err
}

// restored is the text of a query.
func restored(node ast.Node) (string, error) {
	var b strings.Builder
	const flags = format.RestoreStringSingleQuotes | format.RestoreKeyWordUppercase | format.RestoreNameBackQuotes |
		format.RestoreSpacesAroundBinaryOperation | format.RestoreStringWithoutDefaultCharset
	if err := node.Restore(format.NewRestoreCtx(flags, &b)); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoQuery, err)
	}
	return b.String(), nil
}

// mover gives a table another name, also where columns and hints have it.
type mover struct {
	usage
	to schema.Name
}

// Enter is ast.Visitor's.
func (m *mover) Enter(n ast.Node) (ast.Node, bool) {
	switch n := n.(type) {
	case *ast.TableName:
		if m.is(n) {
			n.Schema, n.Name = ast.NewCIStr(m.to.Schema), ast.NewCIStr(m.to.Table)
		}
	case *ast.ColumnName:
		n.Table = m.moved(n.Schema, n.Table)
	case *ast.SelectField:
		if n.WildCard != nil {
			n.WildCard.Table = m.moved(n.WildCard.Schema, n.WildCard.Table)
		}
	case *ast.TableOptimizerHint:
		for i, table := range n.Tables {
			if strings.EqualFold(table.TableName.O, m.table.Table) {
				n.Tables[i].TableName = ast.NewCIStr(m.to.Table)
			}
		}
	}
	return n, false
}

// Leave is ast.Visitor's.
func (m *mover) Leave(n ast.Node) (ast.Node, bool) { return n, true }

// moved is the table that a column is named with, after the move. A column with an alias that is the table's name is moved too, which the
// server then refuses: such a query is not judged.
func (m *mover) moved(database, table ast.CIStr) ast.CIStr {
	if strings.EqualFold(table.O, m.table.Table) && (database.O == "" || strings.EqualFold(database.O, m.table.Schema)) {
		return ast.NewCIStr(m.to.Table)
	}
	return table
}

// queryWords begin the statements that Move reads.
var queryWords = []string{"SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH", "TABLE"}

// MayQuery reports whether a text, which may be cut or which the parser cannot read, seems to be a query that names a table. Names
// without a database belong to database.
func MayQuery(sql, mode, database string, table schema.Name) bool {
	tokens := splitIn(mode, sql)
	first := slices.IndexFunc(tokens, func(t token.Token) bool { return !t.Is("(") })
	if first < 0 || !slices.ContainsFunc(queryWords, func(word string) bool { return tokens[first].Is(word) }) {
		return false
	}
	r := referrer{sql: sql, schema: database, table: table}
	return r.named(tokens)
}
