package ddl

import (
	"fmt"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"

	"midstream/internal/schema"
)

// parseWritten returns the tables that a DML statement writes to; Schema is "" where
// the statement doesn't say it. Where it doesn't say which of several tables it
// updates, all of them are returned.
//
// Which sql_mode the session had is not known: where the text has double quotes they
// are taken for strings first, then for names.
func parseWritten(sql string, noEscapes bool) ([]schema.Name, error) {
	var mode mysql.SQLMode
	if noEscapes {
		mode = mysql.ModeNoBackslashEscapes
	}
	nodes, err := parse(sql, mode)
	if err != nil && strings.Contains(sql, `"`) {
		nodes, err = parse(sql, mode|mysql.ModeANSIQuotes)
	}
	if err != nil {
		return nil, err
	}
	var written []schema.Name
	for _, node := range nodes {
		switch s := node.(type) {
		case *ast.InsertStmt:
			written = append(written, sources(s.Table).names()...)
		case *ast.UpdateStmt:
			written = append(written, updated(sources(s.TableRefs), s.List)...)
		case *ast.DeleteStmt:
			written = append(written, deleted(s)...)
		case *ast.LoadDataStmt:
			written = append(written, nameOf(s.Table))
		default:
			return nil, fmt.Errorf("%T is not expected in the binlog", node)
		}
	}
	return written, nil
}

// source is a table that a statement names, and its alias or name.
type source struct {
	name  schema.Name
	alias string
}

type sourceList []source

func (l sourceList) names() []schema.Name {
	var names []schema.Name
	for _, s := range l {
		names = append(names, s.name)
	}
	return names
}

// find returns the tables that a qualifier may mean.
func (l sourceList) find(qualifier schema.Name) []schema.Name {
	var names []schema.Name
	for _, s := range l {
		if strings.EqualFold(s.alias, qualifier.Table) &&
			(qualifier.Schema == "" || s.name.Schema == "" || strings.EqualFold(s.name.Schema, qualifier.Schema)) {
			names = append(names, s.name)
		}
	}
	return names
}

func sources(refs *ast.TableRefsClause) sourceList {
	if refs == nil || refs.TableRefs == nil {
		return nil
	}
	return joined(refs.TableRefs)
}

// joined walks a join; derived tables can't be written to and are left out.
func joined(node ast.ResultSetNode) sourceList {
	switch n := node.(type) {
	case *ast.Join:
		var list sourceList
		if n.Left != nil {
			list = joined(n.Left)
		}
		if n.Right != nil {
			list = append(list, joined(n.Right)...)
		}
		return list
	case *ast.TableSource:
		t, ok := n.Source.(*ast.TableName)
		if !ok {
			return joined(n.Source)
		}
		s := source{name: nameOf(t), alias: n.AsName.O}
		if s.alias == "" {
			s.alias = t.Name.O
		}
		return sourceList{s}
	}
	return nil
}

func nameOf(t *ast.TableName) schema.Name {
	return schema.Name{Schema: t.Schema.O, Table: t.Name.O}
}

func updated(from sourceList, list []*ast.Assignment) []schema.Name {
	var written []schema.Name
	for _, a := range list {
		if a.Column.Table.O == "" {
			return from.names()
		}
		written = append(written, from.find(schema.Name{Schema: a.Column.Schema.O, Table: a.Column.Table.O})...)
	}
	return written
}

func deleted(s *ast.DeleteStmt) []schema.Name {
	from := sources(s.TableRefs)
	if !s.IsMultiTable || s.Tables == nil {
		return from.names()
	}
	var written []schema.Name
	for _, t := range s.Tables.Tables {
		found := from.find(nameOf(t))
		if len(found) == 0 {
			found = []schema.Name{nameOf(t)}
		}
		written = append(written, found...)
	}
	return written
}
