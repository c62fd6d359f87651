package schema

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/schema/token"
)

// loadKeys reads the keys. The columns of information_schema.statistics depend on the server:
// functional parts came with 8.0.13, invisible keys with 8.0, and MariaDB calls them ignored.
func (t *Table) loadKeys(ctx context.Context, q Querier, create *createTable) error {
	expression, visible, err := statisticsColumns(ctx, q)
	if err != nil {
		return err
	}
	rows, err := q.QueryContext(ctx, `
		SELECT index_name, non_unique, index_type, IFNULL(column_name, ''), IFNULL(sub_part, 0),
		       IFNULL(collation, ''), `+expression+`, `+visible+`
		  FROM information_schema.statistics
		 WHERE table_schema = ? AND table_name = ?
		 ORDER BY index_name, seq_in_index`, t.Name.Schema, t.Name.Table)
	if err != nil {
		return err
	}
	defer rows.Close()
	keys := map[string]*Key{}
	for rows.Next() {
		var k Key
		var p KeyPart
		var nonUnique, prefix int64
		var order, visible string
		if err := rows.Scan(&k.Name, &nonUnique, &k.Type, &p.Column, &prefix, &order,
			&p.Expression, &visible); err != nil {
			return err
		}
		p.Prefix = int(prefix)
		p.Descending = order == "D"
		known := keys[k.Name]
		if known == nil {
			k.Unique = nonUnique == 0
			k.Visible = visible == "YES"
			k.Type = strings.ToUpper(k.Type)
			known = &k
			keys[k.Name] = known
		}
		known.Parts = append(known.Parts, p)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return t.orderKeys(keys, create)
}

// orderKeys puts the keys in the order of SHOW CREATE TABLE.
func (t *Table) orderKeys(keys map[string]*Key, create *createTable) error {
	for _, clause := range create.keys {
		k := keys[clause.name]
		if k == nil {
			return fmt.Errorf("%w: key %s is not in information_schema.statistics", errCreate, clause.name)
		}
		k.Definition = clause.definition
		if k.Computed() { // information_schema has its letters beyond ASCII garbled, and its quotes escaped
			for i, expression := range expressions(k.Definition) {
				if i < len(k.Parts) && k.Parts[i].Expression != "" {
					k.Parts[i].Expression = expression
				}
			}
		}
		if k.Type == "SPATIAL" || k.Type == "FULLTEXT" {
			for i := range k.Parts {
				k.Parts[i].Prefix = 0 // 5.7 shows an internal length
			}
		}
		t.Keys = append(t.Keys, *k)
		delete(keys, clause.name)
	}
	for name := range keys {
		return fmt.Errorf("%w: key %s is missing", errCreate, name)
	}
	return nil
}

// expressions returns the expression of each part of a key's clause, without its own parentheses;
// "" for a column.
func expressions(definition string) (list []string) {
	tokens, _ := token.Split(definition)
	begin := slices.IndexFunc(tokens, func(t token.Token) bool { return t.Is("(") })
	if begin < 0 {
		return nil
	}
	first, opened := true, 0
	for _, t := range tokens[begin+1:] {
		if first {
			list, first = append(list, ""), false
			if t.Is("(") {
				opened = t.End
				continue
			}
		}
		switch {
		case t.Is(")") && t.Depth == 0:
			return list
		case t.Is(")") && t.Depth == 1 && opened > 0:
			list[len(list)-1], opened = strings.TrimSpace(definition[opened:t.Start]), 0
		case t.Is(",") && t.Depth == 1:
			first = true
		}
	}
	return list
}

// statisticsColumns returns the expressions that read a part's expression and a
// key's visibility.
func statisticsColumns(ctx context.Context, q Querier) (expression, visible string, err error) {
	expression, visible = "''", "'YES'"
	rows, err := q.QueryContext(ctx, `
		SELECT column_name FROM information_schema.columns
		 WHERE table_schema = 'information_schema' AND table_name = 'STATISTICS'
		   AND column_name IN ('EXPRESSION', 'IS_VISIBLE', 'IGNORED')`)
	if err != nil {
		return "", "", err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return "", "", err
		}
		switch strings.ToUpper(name) {
		case "EXPRESSION":
			expression = "IFNULL(expression, '')"
		case "IS_VISIBLE":
			visible = "is_visible"
		case "IGNORED":
			visible = "IF(ignored = 'YES', 'NO', 'YES')"
		}
	}
	return expression, visible, rows.Err()
}
