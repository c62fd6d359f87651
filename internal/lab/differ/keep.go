package differ

import (
	"context"
	"math/rand/v2"
	"slices"

	"midstream/internal/mysql/dbconn"
)

// ownRows makes the random numbers of a case's condition others than those of its table and its ALTER.
const ownRows = 1 << 50

// WithCondition is the case in which the new table has only the rows that meet a random condition (--keep).
func (c *Case) WithCondition(seed uint64, number int) *Case {
	g := &gen{rand: rand.New(rand.NewPCG(seed, ownRows+uint64(number))), server: serverOf(c.Version), c: c, columns: c.Columns}
	d := c.clone()
	d.Keep = g.choice()
	if g.in(3) {
		d.Keep = "(" + d.Keep + ")" + pick(g, []string{" AND ", " OR ", " AND NOT "}) + "(" + g.choice() + ")"
	}
	return d
}

// choice is a condition that some rows meet, and others not.
func (g *gen) choice() string {
	var list []string
	for _, c := range g.columns {
		q := quote(c.Name)
		list = append(list, q+" IS NULL", q+" IS NOT NULL")
		switch c.Kind.family {
		case integers, bits:
			list = append(list, q+" > 3", q+" % 2 = 0", "NOT ("+q+" <=> 7)", "COALESCE("+q+", 1) < 100")
		case decimals, floats:
			list = append(list, q+" > 0.5", "ROUND("+q+") = 1", q+" / 3 < 1")
		case strs, texts:
			list = append(list, "LENGTH("+q+") > 2", "CHAR_LENGTH("+q+") % 2 = 1")
			if !g.wide(c) {
				list = append(list, q+" < 'm'", q+" LIKE 'a%'", q+" = 'a'", "UPPER("+q+") <> 'A'")
			}
		case bytesOf, blobs:
			list = append(list, "HEX("+q+") > '7'", "LENGTH("+q+") > 1")
		case dates, moments, stamps:
			list = append(list, q+" > '2020-01-01'", "YEAR("+q+") = 2020", q+" <> '2020-10-25 02:30:00'", "HOUR("+q+") < 12")
		case times:
			list = append(list, q+" > '10:00:00'", "HOUR("+q+") < 12")
		case enums, sets:
			list = append(list, q+" + 0 > 1", q+" = 1")
		case jsons:
			list = append(list, "JSON_LENGTH("+q+") > 1", "JSON_EXTRACT("+q+", '$.a') IS NULL")
		}
	}
	return pick(g, list)
}

// leaveOut deletes the rows of the twin that do not meet the condition. The session has the server's own settings and those of setup,
// but for what keeps a DELETE from rows.
func (b *bench) leaveOut(ctx context.Context, c *Case, setup []string) error {
	if c.Keep == "" {
		return nil
	}
	s, err := b.session(ctx, b.tables[1].Schema, append(slices.Clone(setup), "SET SESSION autocommit = 1, completion_type = 0, sql_safe_updates = 0,"+
		" sql_select_limit = 18446744073709551615, sql_big_selects = 1, max_join_size = 18446744073709551615")...)
	if err != nil {
		return err
	}
	defer s.close()
	return s.exec(ctx, "DELETE FROM t WHERE ("+c.Keep+") IS NOT TRUE")
}

// unreadableCondition says that a strict session of the server's cannot compute the condition for a row, with the same error: it reads
// a virtual column whose value has no place in its type. The row may have been there for a while.
func (b *bench) unreadableCondition(ctx context.Context, c *Case, log []done, ours error) (bool, error) {
	for n := len(log); n >= 0 && c.Keep != "" && rowsRefused(ours); n-- {
		app, err := b.fresh(ctx, c, b.tables[1].Schema)
		if err != nil {
			return false, err
		}
		for _, d := range log[:n] {
			_ = app.exec(ctx, d.sql) // twin compares the numbers
		}
		app.close()
		if err := b.leaveOut(ctx, c, inMode("CONCAT(@mode, ',STRICT_ALL_TABLES')")); err != nil && dbconn.Number(err) == dbconn.Number(ours) {
			return true, nil
		}
	}
	return false, nil
}
