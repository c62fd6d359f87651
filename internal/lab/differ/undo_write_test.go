package differ

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// anything are values of which some do not fit into a column.
var anything = []string{
	"NULL", "0", "1", "7", "-1", "300", "70000", "2147483648", "1e20", "'a'", "''", "'a longer text than some'", "REPEAT('x', 70)",
	"'é'", "'2020-02-29'", "'2021-12-31 10:11:12.5'", "'12:34:56'", "2020", `'{"a": 1}'`, "b'101'", "ST_GeomFromText('POINT(1 2)')",
}

// The columns of a case that an undo has something to keep for, and that gives it rows to park.
const (
	keptColumn = "kept0"
	wideColumn = "wide0"
)

// keeping is the case with two more columns: the ALTER drops one, whose values are of one row each, and gives the other a type of more
// values.
func (c *Case) keeping() *Case {
	with := *c
	with.Columns = append(slices.Clone(c.Columns),
		Column{Name: wideColumn, Kind: kind{sql: "SMALLINT", family: integers, values: []string{"1", "2", "NULL"}}},
		Column{Name: keptColumn, Kind: kind{sql: "VARCHAR(20)", family: strs, values: []string{"'a'", "'b'", "'c'"}}, Attrs: "NOT NULL DEFAULT 'none'"})
	with.Writes = nil
	for i, w := range c.Writes {
		if w.Verb != "DELETE" {
			w.Values = append(slices.Clone(w.Values), value{keptColumn, fmt.Sprintf("'value %d'", i)})
		}
		with.Writes = append(with.Writes, w)
	}
	with.Clauses = append([]string{"MODIFY " + wideColumn + " INT", "DROP COLUMN " + keptColumn}, c.Clauses...)
	return &with
}

// write has the application write to the table.
func (u *undoCase) write(ctx context.Context, s *scene) {
	keys, err := u.keys(ctx, s)
	if err != nil {
		return
	}
	if len(keys) > 1 && len(s.present) == 1 && u.in(6) {
		u.swap(ctx, s, keys)
		return
	}
	wide := slices.ContainsFunc(s.columns, func(c schema.Column) bool { return c.Name == wideColumn && c.DataType == "int" })
	if wide && len(keys) > 0 && len(s.present) > 0 && u.in(5) { // a value that the former definition refuses
		u.track(ctx, s, "UPDATE t SET "+wideColumn+" = 70000 WHERE "+textOf(s.present)+" = '"+keys[u.rand.IntN(len(keys))]+"'", "UPDATE")
		return
	}
	text, verb := u.statement(s, keys)
	u.track(ctx, s, text, verb)
}

// track runs a statement, and follows whose kept values each row has. It reports whether the server has taken it.
func (u *undoCase) track(ctx context.Context, s *scene, text, verb string) bool {
	before, _ := u.keys(ctx, s)
	had := u.formers(ctx, s)
	failed := u.app.exec(ctx, text)
	u.did("%s: %v", text, failed)
	after, _ := u.keys(ctx, s)
	if now, err := u.read(ctx, u.tables[0]); err == nil {
		s.last = now.rows
	}
	removed := slices.DeleteFunc(slices.Clone(before), func(k string) bool { return slices.Contains(after, k) })
	added := slices.DeleteFunc(slices.Clone(after), func(k string) bool { return slices.Contains(before, k) })
	var owners, passed []int
	if failed == nil && verb == "REPLACE" { // perhaps of a row by the same one
		for _, k := range after {
			s.again[k] = true
		}
	}
	moves := len(added) > 0 && verb == "UPDATE"
	for _, k := range removed {
		s.again[k] = true
		owners, passed = append(owners, s.owners[k]...), slices.Concat(passed, s.passed[k], had[k])
		delete(s.passed, k)
		s.gone[k] = s.owners[k]
		if moves && !slices.Contains(s.owners[k], 0) && !s.texty { // the values of a new row stay where they are
			delete(s.gone, k)
			s.emptied[k] = true
		}
		delete(s.owners, k)
	}
	uncertain := true
	switch {
	case moves:
		s.moved = true
		s.vague = s.vague || len(added) > 1
		uncertain = slices.Contains(owners, 0) || s.texty
	case len(added) > 0 && len(owners) > 0: // the binlog may have it as an UPDATE
		s.moved = true
		owners = append(owners, 0)
	case len(owners) > 0 && verb == "REPLACE": // of a row that was there; the binlog may have an UPDATE of another one
		s.moved = true
		for _, k := range after {
			s.owners[k] = slices.Concat(s.owners[k], owners)
		}
	default:
		owners = nil
	}
	for _, k := range added { // the value that the key had comes back
		list := slices.Clone(owners)
		if uncertain && !s.emptied[k] {
			back, is := s.gone[k]
			list = append(list, back...)
			if !is || s.texty {
				list = append(list, u.formers(ctx, s)[k]...)
			}
		}
		if len(list) == 0 || s.texty && uncertain {
			list = append(list, 0)
		}
		s.owners[k] = list
		if moves {
			s.passed[k] = passed
		}
		if !moves || !uncertain {
			delete(s.emptied, k) // should the row be deleted, its values stay there
		}
	}
	return failed == nil
}

// swap has two rows change their keys, or goes a part of that way: a row has the key of the other one then, which is elsewhere.
func (u *undoCase) swap(ctx context.Context, s *scene, keys []string) {
	k, known := s.kinds[s.present[0]]
	if !known {
		return
	}
	u.rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	name := schema.Quote(s.present[0])
	at := func(key string) string { return " WHERE " + textOf(s.present) + " = '" + key + "'" }
	steps, whole := 1+u.rand.IntN(4), u.in(3)
	for i, key := range keys[:2] {
		text := fmt.Sprintf("SELECT %s INTO @key%d FROM t%s", name, i, at(key))
		if err := u.app.exec(ctx, text); err != nil {
			u.did("%s: %v", text, err)
			return
		}
	}
	free := fmt.Sprintf("SET @free = %s", k.values[u.rand.IntN(len(k.values))])
	if err := u.app.exec(ctx, free); err != nil {
		u.did("%s: %v", free, err)
		return
	}
	u.did("%s, @key0 of %s, @key1 of %s; in one transaction %v", free, keys[0], keys[1], whole)
	texts := []string{
		"UPDATE t SET " + name + " = @free" + at(keys[0]), "UPDATE t SET " + name + " = @key0" + at(keys[1]),
		"UPDATE t SET " + name + " = @key1 WHERE " + name + " = @free",
	}
	if !whole {
		for _, text := range texts[:min(steps, len(texts))] {
			if !u.track(ctx, s, text, "UPDATE") {
				return
			}
		}
		return
	}
	before, _ := u.keys(ctx, s)
	had := u.formers(ctx, s)
	failed := u.app.exec(ctx, "BEGIN")
	for _, text := range texts {
		if failed == nil {
			failed = u.app.exec(ctx, text)
			u.did("%s: %v", text, failed)
		}
	}
	if failed != nil {
		_ = u.app.exec(ctx, "ROLLBACK")
		return
	}
	_ = u.app.exec(ctx, "COMMIT")
	after, _ := u.keys(ctx, s)
	if now, err := u.read(ctx, u.tables[0]); err == nil {
		s.last = now.rows
	}
	slices.Sort(before)
	slices.Sort(after)
	s.vague = s.vague || !slices.Equal(before, after)
	s.moved = true
	a, b := keys[0], keys[1]
	s.owners[a], s.owners[b] = s.owners[b], s.owners[a]
	s.passed[a], s.passed[b] = slices.Concat(s.passed[b], had[b]), slices.Concat(s.passed[a], had[a])
	s.again[a], s.again[b] = true, true
	if slices.Contains(slices.Concat(s.owners[a], s.owners[b]), 0) { // the key of a new row may be one whose values wait for their row
		waiting := append(u.waiting(ctx, s), 0)
		s.owners[a], s.owners[b] = append(s.owners[a], waiting...), append(s.owners[b], waiting...)
	}
}

// waiting are the rows of before_it with the key that a swap passes through.
func (u *undoCase) waiting(ctx context.Context, s *scene) (list []int) {
	if len(s.key) != 1 || s.native {
		return nil
	}
	rows, err := u.app.conn.QueryContext(ctx, "SELECT midstream_rn FROM "+u.tables[1].Sibling("before_it").Quoted()+" WHERE "+schema.Quote(s.key[0])+" = @free")
	if err != nil { // the server cannot compare the keys
		s.vague = true
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var row int
		if err := rows.Scan(&row); err != nil {
			s.vague = true
		}
		list = append(list, row)
	}
	if rows.Err() != nil {
		s.vague = true
	}
	return list
}

// mend has most rows fit the former definition: they get values of the columns' former types.
func (u *undoCase) mend(ctx context.Context, s *scene) {
	keys, err := u.keys(ctx, s)
	if err != nil || len(s.present) == 0 {
		return
	}
	for _, key := range keys {
		var sets []string
		for _, c := range s.columns {
			if k, known := s.kinds[c.Name]; known && !slices.Contains(s.present, c.Name) {
				sets = append(sets, schema.Quote(c.Name)+" = "+k.values[u.rand.IntN(len(k.values))])
			}
		}
		if len(sets) > 0 && !u.in(4) {
			u.track(ctx, s, "UPDATE t SET "+strings.Join(sets, ", ")+" WHERE "+textOf(s.present)+" = '"+key+"'", "UPDATE")
		}
	}
}

// formers are the rows of before_it with the keys of rows of the table.
func (u *undoCase) formers(ctx context.Context, s *scene) map[string][]int {
	if s.vague || s.native {
		return nil
	}
	found, err := u.joined(ctx, s, u.tables[0].Quoted(), textOfAs(s.present, "n."))
	if err != nil {
		s.vague = true
	}
	rows := map[string][]int{}
	for _, f := range found {
		rows[f.text] = append(rows[f.text], f.row)
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
