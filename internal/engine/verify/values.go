package verify

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Rows that are followed by an index that is not unique have no partner by which they could be found. So both tables' rows are counted
// by what they hold: each row of the source counts 1, each row of the shadow counts -1, and rows that hold the same must have the sum 0.
// (A BIT_XOR of all rows would lose two equal ones.) What a row holds is a SHA2 of each long value, and each short value itself. The
// source's rows are staged, so both have the same types.

// multiset compares so.
type multiset struct{ *Spec }

// differing returns a query for the values of the index in p that have other rows in the shadow. REQUIRES: the stage is filled.
func (s multiset) differing(p predicate, most int) string {
	return s.sumsOf(s.held(p), most)
}

// held returns a query for what each row of the source and of the shadow in p holds.
func (s multiset) held(p predicate) string {
	var aliases, expected, found []string
	for i := range s.Sync.Key.Parts() {
		aliases = append(aliases, s.keyAlias(i))
	}
	for i, c := range s.Columns {
		expected = append(expected, s.text(c.Type, rowsync.ValueAlias(i)))
		found = append(found, s.text(c.Type, schema.Quote(c.Name)))
	}
	for _, c := range s.Defaulted {
		name := schema.Quote(c.Name)
		expected = append(expected, "'='")
		found = append(found, "IF("+s.equalValues(c, name, "DEFAULT("+name+")")+", '=', '!')")
	}
	return s.counted(s.stageName(), aliases, expected, "TRUE", 1) + " UNION ALL " +
		s.counted(s.shadowByKey(), s.Sync.ShadowKey, found, p.shadow, -1)
}

// heldComputed is held for the values that the server computes, and those that it computes them from. REQUIRES: fillComputed.
func (s multiset) heldComputed(p predicate) string {
	var aliases, texts []string
	for i := range s.Sync.ShadowKey {
		aliases = append(aliases, s.sourceKey(i))
	}
	for _, c := range s.Sources {
		texts = append(texts, s.text(c, schema.Quote(c.Name)))
	}
	return s.counted(s.computedName(), aliases, texts, "TRUE", 1) + " UNION ALL " +
		s.counted(s.shadowByKey(), s.Sync.ShadowKey, texts, p.shadow, -1)
}

func (s multiset) differingComputed(p predicate, most int) string {
	return s.sumsOf(s.heldComputed(p), most)
}

func (s multiset) shadowByKey() string {
	return s.Sync.Shadow.Quoted() + " FORCE INDEX (" + schema.Quote(s.Sync.ShadowIndex) + ")"
}

// counted returns a query for rows of a table: the key's columns, what they hold, and the number that each counts.
func (s multiset) counted(from string, key, texts []string, condition string, number int) string {
	exprs := s.Sync.Key.SelectExprsOf(key)
	for i := range exprs {
		exprs[i] += " AS " + rowsync.KeyAlias(i)
	}
	return fmt.Sprintf("SELECT %s, SHA2(CONCAT_WS(',', %s), 256) AS %s, %d AS %s FROM %s WHERE %s", strings.Join(exprs, ", "),
		strings.Join(texts, ", "), rowsync.ValueAlias(0), number, rowsync.ValueAlias(1), from, condition)
}

// sumsOf returns a query for the keys of rows that one table has more often than the other.
func (s multiset) sumsOf(held string, most int) string {
	var keys []string
	for i := range s.Sync.Key.Parts() {
		keys = append(keys, rowsync.KeyAlias(i))
	}
	list := strings.Join(keys, ", ")
	return fmt.Sprintf("SELECT %s FROM (%s) AS rows_held GROUP BY %[1]s, %[3]s HAVING SUM(%[4]s) <> 0 LIMIT %[5]d",
		list, held, rowsync.ValueAlias(0), rowsync.ValueAlias(1), most)
}

// text is an expression that is the same for two values of a type if they are stored alike. It has no comma if the value is short.
func (s multiset) text(c schema.Column, value string) string {
	text := "CONCAT(" + value + ")"
	switch c.DataType {
	case "tinyint", "smallint", "mediumint", "int", "integer", "bigint", "decimal", "numeric", "date", "datetime", "time", "inet4", "inet6", "uuid":
	case "timestamp":
		text = "CONCAT(UNIX_TIMESTAMP(" + value + "))" // an hour of the clock may come twice
	case "float", "double", "real":
		text = "CONCAT(" + value + " * 1e0)"
	case "enum", "set", "year", "bit":
		text = "CONCAT(CAST(" + value + " AS UNSIGNED))"
	case "json":
		text = "SHA2(CAST(CAST(" + value + " AS CHAR) AS BINARY), 256)"
	case "char":
		if c.Charset != "binary" && s.Sync.Values.Pads() {
			value = "TRIM(TRAILING ' ' FROM " + value + ")"
		}
		text = "SHA2(CAST(" + value + " AS BINARY), 256)"
	default:
		text = "SHA2(CAST(" + value + " AS BINARY), 256)"
	}
	return "COALESCE(" + text + ", '-')"
}

// differencesOfValue reports how many rows of one value only one of the tables has. REQUIRES: the stage is filled.
func (s multiset) differencesOfValue(ctx context.Context, session *dbconn.Session, name string, p predicate) (all []Difference, err error) {
	look := func(column, held string) error {
		query := fmt.Sprintf("SELECT COALESCE(SUM(IF(sum > 0, sum, 0)), 0), COALESCE(SUM(IF(sum < 0, -sum, 0)), 0) FROM "+
			"(SELECT SUM(%s) AS sum FROM (%s) AS rows_held GROUP BY %s) AS sums", rowsync.ValueAlias(1), held, rowsync.ValueAlias(0))
		err := session.Rows(ctx, query, func(rows *sql.Rows) error {
			var expected, found int64
			if err := rows.Scan(&expected, &found); err != nil || expected+found == 0 {
				return err
			}
			all = append(all, Difference{Key: name, Column: column, Expected: onlyRows(expected), Found: onlyRows(found)})
			return nil
		})
		if err == nil {
			_, err = session.Exec(ctx, "COMMIT")
		}
		return err
	}
	if err = look("", s.held(p)); err != nil || len(s.Computed) == 0 {
		return all, err
	}
	if err = s.compute(ctx, session, p); err != nil {
		return nil, err
	}
	return all, look(s.Computed[0].Name, s.heldComputed(p))
}

func onlyRows(n int64) string {
	if n == 1 {
		return "1 row only"
	}
	return fmt.Sprintf("%d rows only", n)
}
