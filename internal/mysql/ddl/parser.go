package ddl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // the parser's literals

	"midstream/internal/mysql/schema"
)

// columns is what a statement does to columns.
type columns struct {
	renames                  []Rename
	added, dropped, modified []string

	// These the parser alone reads.
	names   Named
	defined []schema.Column
}

// columnsOf returns what the scan found.
func columnsOf(a *Alter) columns {
	return columns{
		renames:  a.Renames,
		added:    slices.Concat(a.Added, a.AddedIfMissing),
		dropped:  a.Dropped,
		modified: a.Modified,
	}
}

func (c columns) equal(other columns) bool {
	same := func(a, b []string) bool {
		a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
		return slices.Equal(a, b)
	}
	return slices.Equal(c.renames, other.renames) && same(c.added, other.added) &&
		same(c.dropped, other.dropped) && same(c.modified, other.modified)
}

// parse lets the parser read a text. It answers for the parser: a panic over a text
// that it doesn't expect is an error too.
func parse(sql string, mode mysql.SQLMode) (nodes []ast.StmtNode, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the parser gives up: %v", p)
		}
	}()
	p := parser.New()
	p.SetSQLMode(mode)
	nodes, _, err = p.ParseSQL(sql)
	if err != nil {
		return nil, fmt.Errorf("the parser can't read it: %s", strings.TrimSpace(err.Error()))
	}
	return nodes, nil
}

// parseColumns lets the parser read an ALTER TABLE.
func parseColumns(sql string) (columns, error) {
	var c columns
	nodes, err := parse(sql, 0)
	if err != nil {
		return c, err
	}
	if len(nodes) != 1 {
		return c, fmt.Errorf("the parser reads %d statements", len(nodes))
	}
	alter, ok := nodes[0].(*ast.AlterTableStmt)
	if !ok {
		return c, fmt.Errorf("the parser reads a %T", nodes[0])
	}
	for _, spec := range alter.Specs {
		c.spec(spec)
	}
	return c, nil
}

func (c *columns) spec(spec *ast.AlterTableSpec) {
	c.named(spec)
	switch spec.Tp {
	case ast.AlterTableAddColumns, ast.AlterTableModifyColumn, ast.AlterTableChangeColumn:
		for _, col := range spec.NewColumns {
			c.defined = append(c.defined, defined(col))
		}
	}
	switch spec.Tp {
	case ast.AlterTableAddColumns:
		for _, col := range spec.NewColumns {
			c.added = append(c.added, col.Name.Name.O)
		}
	case ast.AlterTableDropColumn:
		c.dropped = append(c.dropped, spec.OldColumnName.Name.O)
	case ast.AlterTableModifyColumn:
		c.modified = append(c.modified, spec.NewColumns[0].Name.Name.O)
	case ast.AlterTableChangeColumn:
		c.rename(spec.OldColumnName.Name.O, spec.NewColumns[0].Name.Name.O)
		c.modified = append(c.modified, spec.OldColumnName.Name.O)
	case ast.AlterTableRenameColumn:
		c.rename(spec.OldColumnName.Name.O, spec.NewColumnName.Name.O)
	}
}

func (c *columns) rename(old, fresh string) {
	if old != fresh {
		c.renames = append(c.renames, Rename{Old: old, New: fresh})
	}
}
