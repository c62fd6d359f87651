package schema

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"midstream/internal/mysql/schema/token"
)

// loadColumns reads the columns in their order. Row events have the same order.
func (t *Table) loadColumns(ctx context.Context, q Querier, create *createTable) error {
	rows, err := q.QueryContext(ctx, `
		SELECT column_name, column_type, data_type, is_nullable, extra,
		       IFNULL(character_set_name, ''), IFNULL(collation_name, ''),
		       IFNULL(character_maximum_length, 0), IFNULL(numeric_precision, 0),
		       IFNULL(numeric_scale, 0), IFNULL(datetime_precision, 0), column_comment
		  FROM information_schema.columns
		 WHERE table_schema = ? AND table_name = ?
		 ORDER BY ordinal_position`, t.Name.Schema, t.Name.Table)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var c Column
		var nullable, extra string
		var precision, scale, fraction int64
		if err := rows.Scan(&c.Name, &c.Type, &c.DataType, &nullable, &extra, &c.Charset, &c.Collation,
			&c.Length, &precision, &scale, &fraction, &c.Comment); err != nil {
			return err
		}
		c.Ordinal = len(t.Columns)
		c.Nullable = nullable == "YES"
		c.Precision, c.Scale, c.Fraction = int(precision), int(scale), int(fraction)
		c.readExtra(extra)
		clause, ok := create.columns[c.Name]
		if !ok {
			return fmt.Errorf("%w: column %s is missing", errCreate, c.Name)
		}
		c.complete(clause)
		t.Columns = append(t.Columns, c)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if len(t.Columns) != len(create.columns) {
		// The account has privileges on some columns only.
		return fmt.Errorf("%w: %w", ErrNotFound, fewer{len(t.Columns), len(create.columns)})
	}
	return nil
}

// readExtra reads the words of information_schema's EXTRA.
func (c *Column) readExtra(extra string) {
	extra = strings.ToUpper(extra)
	c.AutoIncrement = strings.Contains(extra, "AUTO_INCREMENT")
	c.Invisible = strings.Contains(extra, "INVISIBLE")
	switch {
	case strings.Contains(extra, "VIRTUAL GENERATED"):
		c.Generated = Virtual
	case strings.Contains(extra, "STORED GENERATED"), strings.Contains(extra, "PERSISTENT GENERATED"):
		c.Generated = Stored
	}
}

// complete fills in what follows from the type and from the column's clause.
func (c *Column) complete(clause columnClause) {
	c.DataType = strings.ToLower(c.DataType)
	c.Default = clause.dflt
	c.Expression = clause.expression
	c.Members = clause.members
	c.Check = clause.check
	c.Definition = clause.definition
	tokens, _ := token.Split(c.Type)
	for i, t := range tokens {
		if t.Is("UNSIGNED") || t.Is("ZEROFILL") {
			c.Unsigned = true
		}
		// 5.7 leaves the precision of BIT and YEAR to the type's text.
		if c.DataType == "bit" && t.Is("(") && i+1 < len(tokens) {
			c.Precision, _ = strconv.Atoi(tokens[i+1].Text)
		}
	}
	switch c.DataType {
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		c.Charset, c.Collation = "binary", "binary"
	}
}
