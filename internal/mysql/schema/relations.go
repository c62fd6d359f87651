package schema

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// loadForeignKeys reads the constraints in both directions, as far as foreign reads them.
func (t *Table) loadForeignKeys(ctx context.Context, q Querier, foreign reading) error {
	all, err := foreign(ctx, q, t.Name)
	for _, fk := range all {
		if fk.Child == t.Name {
			t.ForeignKeys = append(t.ForeignKeys, fk)
		}
		if fk.Parent == t.Name {
			t.ReferencedBy = append(t.ReferencedBy, fk)
		}
	}
	return err
}

// ForeignKeys reads the constraints of a table, and the constraints that refer to it, each once.
// Servers before MySQL 8.0, and MariaDB, open every table to find them.
func ForeignKeys(ctx context.Context, q Querier, table Name) ([]ForeignKey, error) {
	schema, name := Literal(table.Schema), Literal(table.Table)
	return foreignKeys(ctx, q, fmt.Sprintf("constraint_schema = %[1]s AND table_name = %[2]s"+
		" OR unique_constraint_schema = %[1]s AND referenced_table_name = %[2]s", schema, name))
}

// OwnForeignKeys reads the constraints of a table, and opens no other.
func OwnForeignKeys(ctx context.Context, q Querier, table Name) ([]ForeignKey, error) {
	return foreignKeys(ctx, q, fmt.Sprintf("constraint_schema = %s AND table_name = %s", Literal(table.Schema), Literal(table.Table)))
}

// foreignKeys sends its queries as text: with arguments, each would be prepared, by a round trip of its own.
func foreignKeys(ctx context.Context, q Querier, which string) ([]ForeignKey, error) {
	rows, err := q.QueryContext(ctx, `
		SELECT constraint_name, constraint_schema, table_name, unique_constraint_schema, referenced_table_name, update_rule, delete_rule
		  FROM information_schema.referential_constraints
		 WHERE `+which+`
		 ORDER BY constraint_schema, constraint_name`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []ForeignKey
	for rows.Next() {
		var fk ForeignKey
		if err := rows.Scan(&fk.Constraint, &fk.Child.Schema, &fk.Child.Table,
			&fk.Parent.Schema, &fk.Parent.Table, &fk.OnUpdate, &fk.OnDelete); err != nil {
			return nil, err
		}
		all = append(all, fk)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for i := range all {
		if err := all[i].loadColumns(ctx, q); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// loadColumns reads the columns of a constraint, and the child's indexes that have just these.
func (f *ForeignKey) loadColumns(ctx context.Context, q Querier) error {
	schema, table := Literal(f.Child.Schema), Literal(f.Child.Table)
	rows, err := q.QueryContext(ctx, `
		SELECT column_name, referenced_column_name FROM information_schema.key_column_usage
		 WHERE constraint_schema = `+schema+` AND table_schema = `+schema+` AND table_name = `+table+`
		   AND constraint_name = `+Literal(f.Constraint)+` AND referenced_table_name IS NOT NULL
		 ORDER BY ordinal_position`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var column, parent string
		if err := rows.Scan(&column, &parent); err != nil {
			return err
		}
		f.Columns, f.ParentColumns = append(f.Columns, column), append(f.ParentColumns, parent)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	indexes, err := q.QueryContext(ctx, `
		SELECT index_name, GROUP_CONCAT(column_name ORDER BY seq_in_index SEPARATOR '\0')
		  FROM information_schema.statistics
		 WHERE table_schema = `+schema+` AND table_name = `+table+` AND non_unique = 1 AND index_type = 'BTREE'
		 GROUP BY index_name HAVING COUNT(column_name) = COUNT(*) AND COUNT(sub_part) = 0 ORDER BY index_name`)
	if err != nil {
		return err
	}
	defer indexes.Close()
	for indexes.Next() {
		var name, columns string
		if err := indexes.Scan(&name, &columns); err != nil {
			return err
		}
		if strings.EqualFold(columns, strings.Join(f.Columns, "\x00")) {
			f.Indexes = append(f.Indexes, name)
		}
	}
	return indexes.Err()
}

// ForeignKey is a constraint, seen from the table that declares it.
type ForeignKey struct {
	Constraint    string
	Child         Name
	Columns       []string
	Parent        Name
	ParentColumns []string
	OnUpdate      string // NO ACTION, RESTRICT, CASCADE, SET NULL, SET DEFAULT; "" leaves it to the server
	OnDelete      string
	// Indexes are the plain indexes of the child on Columns and no others.
	Indexes []string
}

// Is reports whether both are one constraint, by its name.
func (f ForeignKey) Is(other ForeignKey) bool {
	return f.Constraint == other.Constraint && f.Child == other.Child
}

// Equal reports whether both have the same meaning and name, and use the same indexes.
func (f ForeignKey) Equal(other ForeignKey) bool {
	return f.Is(other) && f.Parent == other.Parent && slices.Equal(f.Columns, other.Columns) &&
		slices.Equal(f.ParentColumns, other.ParentColumns) && f.OnUpdate == other.OnUpdate && f.OnDelete == other.OnDelete &&
		slices.Equal(f.Indexes, other.Indexes)
}

// Acts reports whether the server changes rows of the child when rows of the parent change.
func (f ForeignKey) Acts() bool { return ActsBy(f.OnUpdate) || ActsBy(f.OnDelete) }

// ActsBy reports whether a rule of a constraint changes rows of the child.
func ActsBy(rule string) bool { return rule != "" && rule != "RESTRICT" && rule != "NO ACTION" }

// Definition is its clause for a statement, under whatever name.
func (f ForeignKey) Definition(name string) string {
	text := fmt.Sprintf(
		"CONSTRAINT %s FOREIGN KEY (%s) REFERENCES %s (%s)", Quote(name), QuoteAll(f.Columns), f.Parent.Quoted(),
		QuoteAll(f.ParentColumns),
	)
	if f.OnDelete != "" {
		text += " ON DELETE " + f.OnDelete
	}
	if f.OnUpdate != "" {
		text += " ON UPDATE " + f.OnUpdate
	}
	return text
}
