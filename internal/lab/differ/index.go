package differ

import (
	"fmt"
	"slices"
	"strings"
)

// index is the definition of a new index; "" if there is none to be made.
func (g *gen) index() string {
	s := g.server
	name := g.name()
	switch g.n(10) {
	case 0:
		if list := g.of(strs, texts); len(list) > 0 {
			if c := pick(g, list); fulltext(c) {
				g.indexes = append(g.indexes, name)
				return "FULLTEXT KEY " + quote(name) + " (" + quote(c.Name) + ")"
			}
		}
		return ""
	case 1:
		for _, c := range g.of(shapes) {
			if strings.Contains(c.Attrs, "NOT NULL") {
				g.indexes = append(g.indexes, name)
				return "SPATIAL KEY " + quote(name) + " (" + quote(c.Name) + ")"
			}
		}
		return ""
	case 2:
		if s.newest() {
			if expr, sql, f := g.expression(); expr != "" && f != texts && f != blobs {
				g.indexes = append(g.indexes, name)
				_ = sql
				return "KEY " + quote(name) + " ((" + expr + "))"
			}
		}
	}
	var parts []string
	for range 1 + g.n(2) {
		if p := g.part(); p != "" && !strings.Contains(strings.Join(parts, ","), p[:len(p)-1]) {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	if s.mariadb && slices.ContainsFunc(g.columns, func(c Column) bool {
		return c.Generated && strings.Contains(strings.Join(parts, ","), quote(c.Name))
	}) {
		for i := range parts { // MariaDB reads such an index wrongly: "Index t is corrupted" (1712)
			parts[i] = strings.TrimSuffix(parts[i], " DESC")
		}
	}
	g.indexes = append(g.indexes, name)
	text := "KEY " + quote(name) + " (" + strings.Join(parts, ", ") + ")"
	if g.in(5) {
		text = "UNIQUE " + text
	}
	switch {
	case g.in(12):
		text += " COMMENT 'of it''s own'"
	case g.in(12) && s.eight():
		text += " INVISIBLE"
	case g.in(12) && s.mariadb:
		text += " IGNORED"
	}
	return text
}

// fulltext says that the column's charset may have a FULLTEXT index.
func fulltext(c Column) bool {
	for _, no := range []string{"ucs2", "utf16", "utf32"} {
		if strings.Contains(c.Kind.sql, no) {
			return false
		}
	}
	return true
}

// part is a column of an index.
func (g *gen) part() string {
	c := pick(g, g.columns)
	q := quote(c.Name)
	switch c.Kind.family {
	case jsons, shapes:
		return ""
	case others:
		if strings.HasPrefix(c.Kind.sql, "VECTOR") {
			return ""
		}
	case texts, blobs:
		if strings.Contains(c.Kind.sql, "TINY") {
			return fmt.Sprintf("%s(%d)", q, 1+g.n(20))
		}
		return fmt.Sprintf("%s(%d)", q, 1+g.n(60))
	case strs, bytesOf:
		if c.Kind.size > 100 && !c.Generated || c.Kind.size > 4 && g.in(4) {
			return fmt.Sprintf("%s(%d)", q, 1+g.n(min(c.Kind.size-1, 60)))
		}
	}
	if g.server.descending() && g.in(6) {
		q += " DESC"
	}
	return q
}

// partitions is PARTITION BY of the key.
func (g *gen) partitions() string {
	q := quote(g.keyed[0])
	var whole, broken bool
	for _, c := range g.columns {
		if c.Name == g.keyed[0] {
			whole = c.Kind.family == integers
			// KEY partitions put equal values of a CHAR with a collation of MySQL 8 apart, so that a
			// primary key has a value twice (8.0.12, 9.7.4).
			broken = g.server.eight() && strings.HasPrefix(c.Kind.sql, "CHAR")
		}
	}
	if broken {
		return "PARTITION BY KEY (" + q + ") PARTITIONS 1"
	}
	if !whole {
		return "PARTITION BY KEY (" + q + ") PARTITIONS 3"
	}
	switch g.n(3) {
	case 0:
		return "PARTITION BY HASH (" + q + ") PARTITIONS 3"
	case 1:
		return "PARTITION BY KEY (" + q + ") PARTITIONS 2"
	}
	return "PARTITION BY RANGE (" + q + ") (PARTITION p0 VALUES LESS THAN (5), PARTITION p1 VALUES LESS THAN MAXVALUE)"
}

// write makes the rows and what becomes of them.
func (g *gen) write() {
	rows := g.n(11)
	var wheres []string
	for range rows {
		w := Write{Verb: "INSERT", Values: g.row()}
		g.c.Writes = append(g.c.Writes, w)
		wheres = append(wheres, g.where(w))
	}
	for s := Early; s < stages; s++ {
		if s == Held && !g.c.Hold && g.in(2) {
			continue
		}
		for range g.n(4) {
			w := Write{Stage: s, Verb: "INSERT"}
			switch {
			case len(wheres) == 0 || g.in(3):
				w.Values = g.row()
				if g.in(6) {
					w.Verb = "REPLACE"
				}
				wheres = append(wheres, g.where(w))
			case g.in(4):
				w.Verb, w.Where = "DELETE", pick(g, wheres)
			default:
				w.Verb, w.Where = "UPDATE", pick(g, wheres)
				row := g.row()
				for range 1 + g.n(2) {
					v := pick(g, row)
					if !strings.Contains(fmt.Sprint(w.Values), v.column) {
						w.Values = append(w.Values, v)
					}
				}
			}
			g.c.Writes = append(g.c.Writes, w)
		}
	}
}

// row is a value for most columns.
func (g *gen) row() (row []value) {
	for _, c := range g.columns {
		if c.Generated || g.in(9) && !strings.Contains(c.Attrs, "NOT NULL") {
			continue
		}
		expr := pick(g, c.Kind.values)
		if g.in(7) && !strings.Contains(c.Attrs, "NOT NULL") {
			expr = "NULL"
		}
		row = append(row, value{c.Name, expr})
	}
	return row
}

// where names a row by its key.
func (g *gen) where(w Write) string {
	var terms []string
	for _, v := range w.Values {
		for _, k := range g.keyed {
			if v.column == k && v.expr != "NULL" {
				terms = append(terms, quote(k)+" = "+v.expr)
			}
		}
	}
	if len(terms) == 0 {
		return " WHERE " + quote(g.keyed[0]) + " = 1"
	}
	return " WHERE " + strings.Join(terms, " AND ")
}
