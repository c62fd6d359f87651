package ddl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	"github.com/pingcap/tidb/pkg/parser/types"

	"midstream/internal/mysql/schema"
)

// Named lists the names in a statement, apart from the columns that it adds, drops, changes and
// renames. It leaves out foreign keys and the expressions of keys, checks and generated columns.
type Named struct {
	Altered []string // columns of ALTER COLUMN
	After   []string // columns of AFTER
	First   []string // the old names of columns that get another definition with FIRST
	// KeyColumns are columns that are parts of an added index.
	KeyColumns []string
	// AddedKeys are indexes that get a name when they are added.
	AddedKeys   []string
	DroppedKeys []string // by DROP INDEX; never "PRIMARY"
	RenamedKeys []Rename
	AlteredKeys []string // by ALTER INDEX
}

// named notes what a clause names.
func (c *columns) named(spec *ast.AlterTableSpec) {
	n := &c.names
	if spec.Position != nil && spec.Position.Tp == ast.ColumnPositionAfter {
		n.After = append(n.After, spec.Position.RelativeColumn.Name.O)
	}
	if spec.Position != nil && spec.Position.Tp == ast.ColumnPositionFirst {
		switch spec.Tp {
		case ast.AlterTableModifyColumn:
			n.First = append(n.First, spec.NewColumns[0].Name.Name.O)
		case ast.AlterTableChangeColumn:
			n.First = append(n.First, spec.OldColumnName.Name.O)
		}
	}
	switch spec.Tp {
	case ast.AlterTableAddColumns:
		for _, k := range spec.NewConstraints {
			c.key(k)
		}
	case ast.AlterTableAddConstraint:
		c.key(spec.Constraint)
	case ast.AlterTableAlterColumn:
		n.Altered = append(n.Altered, spec.NewColumns[0].Name.Name.O)
	case ast.AlterTableDropIndex:
		n.DroppedKeys = append(n.DroppedKeys, spec.Name)
	case ast.AlterTableRenameIndex:
		n.RenamedKeys = append(n.RenamedKeys, Rename{Old: spec.FromKey.O, New: spec.ToKey.O})
	case ast.AlterTableIndexInvisible:
		n.AlteredKeys = append(n.AlteredKeys, spec.IndexName.O)
	}
}

// key notes the name and the columns of an index that is added.
func (c *columns) key(k *ast.Constraint) {
	switch k.Tp {
	case ast.ConstraintIndex, ast.ConstraintKey, ast.ConstraintFulltext:
		if k.Name != "" {
			c.names.AddedKeys = append(c.names.AddedKeys, k.Name)
		}
	case ast.ConstraintPrimaryKey, ast.ConstraintUniq, ast.ConstraintUniqKey, ast.ConstraintUniqIndex:
		// If a unique key has both names, the parser uses the constraint's, and the server the
		// index's. The scan finds the right one.
	default:
		return
	}
	for _, part := range k.Keys {
		if part.Column != nil {
			c.names.KeyColumns = append(c.names.KeyColumns, part.Column.Name.O)
		}
	}
}

// take takes over what the parser alone reads.
func (a *Alter) take(c columns) {
	a.Named, a.Defined = c.names, c.defined
	for _, k := range a.Keys {
		if k.Unique && !k.Primary && k.Name != "" {
			a.Named.AddedKeys = append(a.Named.AddedKeys, k.Name)
		}
	}
	a.Named.DroppedKeys = slices.DeleteFunc(a.Named.DroppedKeys, func(name string) bool { return isPrimary(name) })
}

// defined reads the definition of a column. Charset and Collation are "" unless the type or the
// definition has them.
func defined(def *ast.ColumnDef) schema.Column {
	tp := def.Tp
	c := schema.Column{
		Name: def.Name.Name.O, DataType: types.TypeToStr(tp.GetType(), tp.GetCharset()),
		Charset: tp.GetCharset(), Collation: tp.GetCollate(), Members: tp.GetElems(),
		Unsigned: mysql.HasUnsignedFlag(tp.GetFlag()) || mysql.HasZerofillFlag(tp.GetFlag()), Nullable: true,
	}
	c.Type = c.DataType
	length, decimals := tp.GetFlen(), max(tp.GetDecimal(), 0)
	switch c.DataType {
	case "decimal":
		c.Precision, c.Scale = orElse(length, 10), decimals
	case "float", "double":
		if tp.GetDecimal() != types.UnspecifiedLength {
			c.Precision, c.Scale = length, decimals
			c.Type = fmt.Sprintf("%s(%d,%d)", c.DataType, length, decimals)
		}
	case "bit":
		c.Precision = length
	case "datetime", "timestamp", "time":
		c.Fraction = decimals
	case "char", "binary":
		c.Length = int64(orElse(length, 1))
	case "varchar", "varbinary":
		c.Length = int64(length)
	}
	for _, o := range def.Options {
		switch o.Tp {
		case ast.ColumnOptionNotNull, ast.ColumnOptionPrimaryKey:
			c.Nullable = false
		case ast.ColumnOptionDefaultValue:
			var b strings.Builder
			if o.Expr.Restore(format.NewRestoreCtx(format.DefaultRestoreFlags|format.RestoreStringWithoutCharset, &b)) != nil {
				b.WriteByte('?')
			}
			c.Default = b.String()
		case ast.ColumnOptionAutoIncrement:
			c.AutoIncrement = true
		case ast.ColumnOptionCollate:
			c.Collation = o.StrValue
		case ast.ColumnOptionGenerated:
			c.Generated = schema.Virtual
			if o.Stored {
				c.Generated = schema.Stored
			}
		}
	}
	if c.AutoIncrement {
		c.Nullable = false
	}
	return c
}

func orElse(n, otherwise int) int {
	if n == types.UnspecifiedLength {
		return otherwise
	}
	return n
}
