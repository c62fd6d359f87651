package differ

import (
	"context"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// anything are values of which some do not fit into a column.
var anything = []string{
	"NULL", "0", "1", "7", "-1", "300", "70000", "2147483648", "1e20", "'a'", "''", "'a longer text than some'", "REPEAT('x', 70)",
	"'é'", "'2020-02-29'", "'2021-12-31 10:11:12.5'", "'12:34:56'", "2020", `'{"a": 1}'`, "b'101'", "ST_GeomFromText('POINT(1 2)')",
}

// write has the application write to the table, and follows whose kept values each row has.
func (u *undoCase) write(ctx context.Context, s *scene) {
	keys, err := u.keys(ctx, s)
	if err != nil {
		return
	}
	text, verb := u.statement(s, keys)
	before, _ := u.keys(ctx, s)
	failed := u.app.exec(ctx, text)
	u.did("%s: %v", text, failed)
	after, _ := u.keys(ctx, s)
	if now, err := u.read(ctx, u.tables[0]); err == nil {
		s.last = now.rows
	}
	removed := slices.DeleteFunc(slices.Clone(before), func(k string) bool { return slices.Contains(after, k) })
	added := slices.DeleteFunc(slices.Clone(after), func(k string) bool { return slices.Contains(before, k) })
	var owners []int
	if failed == nil && verb == "REPLACE" { // perhaps of a row by the same one
		for _, k := range after {
			s.again[k] = true
		}
	}
	for _, k := range removed {
		s.again[k] = true
		owners = append(owners, s.owners[k]...)
		s.gone[k] = append(s.gone[k], s.owners[k]...)
		delete(s.owners, k)
	}
	switch {
	case len(added) > 0 && verb == "UPDATE":
		s.moved = true
		s.vague = s.vague || len(added) > 1
	case len(added) > 0 && len(owners) > 0: // the binlog may have it as an UPDATE
		s.moved = true
		owners = append(owners, 0)
	case len(owners) > 0 && verb == "REPLACE": // of a row that was there; the binlog may have an UPDATE of another one
		s.moved = true
		for _, k := range after {
			s.owners[k] = slices.Concat(s.owners[k], owners)
		}
	default:
		owners = []int{0}
	}
	for _, k := range added { // the value that the key had comes back
		s.owners[k] = slices.Concat(owners, s.gone[k], u.former(ctx, s, k))
	}
}

// former are the rows of before_it with the key of a row of the table.
func (u *undoCase) former(ctx context.Context, s *scene, k string) (rows []int) {
	if s.vague {
		return nil
	}
	found, err := u.joined(ctx, s, u.tables[0].Quoted(), textOfAs(s.present, "n."))
	if err != nil {
		s.vague = true
	}
	for _, f := range found {
		if f.text == k {
			rows = append(rows, f.row)
		}
	}
	return rows
}

// rows are the rows of the table after the last write.
func (s *scene) rows(context.Context) []string { return s.last }

// statement is a random write.
func (u *undoCase) statement(s *scene, keys []string) (text, verb string) {
	var names, exprs, sets, moves []string
	for _, c := range s.columns {
		isKey := slices.Contains(s.present, c.Name)
		if !isKey && u.in(5) {
			continue
		}
		values := anything
		if k, known := s.kinds[c.Name]; known && (isKey || !u.in(5)) {
			values = k.values
		}
		expr := values[u.rand.IntN(len(values))]
		if u.in(7) && !isKey && c.Nullable {
			expr = "NULL"
		}
		names, exprs = append(names, schema.Quote(c.Name)), append(exprs, expr)
		if isKey {
			moves = append(moves, schema.Quote(c.Name)+" = "+expr)
		} else {
			sets = append(sets, schema.Quote(c.Name)+" = "+expr)
		}
	}
	where := " LIMIT 1"
	if len(keys) > 0 && len(s.present) > 0 {
		where = " WHERE " + textOf(s.present) + " = '" + keys[u.rand.IntN(len(keys))] + "'"
	}
	if n := len(sets); n > 2 {
		u.rand.Shuffle(n, func(i, j int) { sets[i], sets[j] = sets[j], sets[i] })
		sets = sets[:1+u.rand.IntN(2)]
	}
	insert := " INTO t (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(exprs, ", ") + ")"
	switch n := u.rand.IntN(20); {
	case n < 6:
		return "INSERT" + insert, "INSERT"
	case n < 8:
		return "REPLACE" + insert, "REPLACE"
	case n < 9 && len(sets) > 0:
		return "INSERT" + insert + " ON DUPLICATE KEY UPDATE " + strings.Join(sets, ", "), "INSERT"
	case n < 12:
		return "DELETE FROM t" + where, "DELETE"
	case n < 14 && len(moves) > 0:
		return "UPDATE t SET " + strings.Join(append(moves[:1], sets...), ", ") + where, "UPDATE"
	case n < 15 && len(sets) > 0:
		return "UPDATE t SET " + strings.Join(sets, ", "), "UPDATE"
	case len(sets) > 0:
		return "UPDATE t SET " + strings.Join(sets, ", ") + where, "UPDATE"
	}
	return "DELETE FROM t" + where, "DELETE"
}
