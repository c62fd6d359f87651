package leftovers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Parked is a table with rows that undos of a source have set aside.
type Parked struct {
	Table schema.Name
	// Rows are its rows, at most mostParked. Apart are those that the source does not have with the same values; nil: not known.
	Rows  int64
	Apart *int64
	// Missing are those that the source does not have, by the key and the columns that both have, if the two have other definitions. More
	// may be missing. It is nil if that is not known.
	Missing *int64
	// Values means that it has values of dropped columns of such rows, and not the rows.
	Values bool
}

// Copies reports whether the source has all of the rows.
func (p Parked) Copies() bool { return !p.Values && p.Apart != nil && *p.Apart == 0 }

// ParkedNames are the names of the tables of rows that were set aside, as database.table.
func (u *Undoable) ParkedNames() []string {
	names := []string{}
	for _, p := range u.Parked {
		names = append(names, p.Table.Dotted())
	}
	return names
}

// mostParked is up to how many rows are counted and compared.
const mostParked = 100_000

// ParkedOf lists the tables with rows that undos of a source have set aside. It writes nothing.
func ParkedOf(ctx context.Context, pool *dbconn.Pool, source schema.Name) ([]Parked, error) {
	there, err := New(pool, source, plan.Undoing).List(ctx)
	if err != nil {
		return nil, err
	}
	var all []Parked
	for name, t := range there {
		if t.comment != schema.MarkFor(checkpoint.ParkedKind, source) {
			continue
		}
		p := Parked{Table: name, Values: slices.Contains(plan.ValuesNames(source), name)}
		p.Rows, err = facts.Count(ctx, pool.DB(), name, mostParked)
		if dbconn.NoSuchTable(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("count the rows of %s: %w", name, err)
		}
		if !p.Values && p.Rows < mostParked {
			p.Apart, p.Missing = compareParked(ctx, pool, source, name)
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Parked) int { return strings.Compare(a.Table.Dotted(), b.Table.Dotted()) })
	return all, nil
}

// compareParked counts the rows of a table of parked rows that the source does not have, or, if the two have other columns, those that it
// does not have by the columns of both; nil for what is not known.
func compareParked(ctx context.Context, pool *dbconn.Pool, source, parked schema.Name) (apart, missing *int64) {
	table, err := schema.Load(ctx, pool.DB(), source)
	if err != nil {
		return nil, nil
	}
	aside, err := schema.Load(ctx, pool.DB(), parked)
	if err != nil {
		return nil, nil
	}
	primary, keyed := table.Key("PRIMARY")
	if !keyed {
		return nil, nil
	}
	without := func(equal []string) *int64 {
		if len(equal) == 0 {
			return nil
		}
		var n int64
		err := pool.DB().QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(*) FROM %s AS a WHERE NOT EXISTS (SELECT 1 FROM %s AS b WHERE %s)",
			parked.Quoted(), source.Quoted(), strings.Join(equal, " AND "))).Scan(&n)
		if err != nil {
			return nil
		}
		return &n
	}
	if apart = without(sameRow(table, aside)); apart == nil {
		missing = without(sameShared(table, aside, primary))
	}
	return apart, missing
}

// sameRow are the conditions that a row b of the table is the row a of the other one; none if the two have other columns.
func sameRow(table, aside *schema.Table) (equal []string) {
	if len(aside.Columns) != len(table.Columns) {
		return nil
	}
	for _, c := range aside.Columns {
		now, there := table.Column(c.Name)
		if !there || now.Type != c.Type || now.Collation != c.Collation {
			return nil
		}
		equal = append(equal, sameValue(c)...)
	}
	return equal
}

// sameValue are the conditions that the rows a and b have the same value in a column.
func sameValue(c schema.Column) []string {
	a, b := "a."+schema.Quote(c.Name), "b."+schema.Quote(c.Name)
	if c.Charset == "" || c.Charset == "binary" {
		return []string{a + " <=> " + b}
	}
	return []string{a + " <=> " + b, fmt.Sprintf("CAST(%s AS BINARY) <=> CAST(%s AS BINARY)", a, b)} // letter case and blanks count
}

// sameShared are the conditions that a row b of the table may be the row a of the other one: both have the same key, and the same values
// in the columns that both tables have in one type, or as integers. They are none if the keys cannot be compared.
func sameShared(table, aside *schema.Table, primary schema.Key) []string {
	equal := sameKey(table, aside, primary)
	if len(equal) == 0 {
		return nil
	}
	integer := func(c schema.Column) bool { return strings.HasSuffix(c.DataType, "int") }
	for _, c := range aside.Columns {
		now, there := table.Column(c.Name)
		if there && (now.Type == c.Type && now.Collation == c.Collation || integer(now) && integer(c)) {
			equal = append(equal, sameValue(c)...)
		}
	}
	return equal
}

// sameKey are the conditions that a row b of the table has the key of the row a of the other one; none if the keys cannot be compared.
func sameKey(table, aside *schema.Table, primary schema.Key) (equal []string) {
	for _, part := range primary.Parts {
		now, is := table.Column(part.Column)
		then, was := aside.Column(part.Column)
		if !is || !was || part.Prefix > 0 || now.Collation != then.Collation || now.DataType != then.DataType && now.Charset+then.Charset != "" {
			return nil
		}
		equal = append(equal, "a."+schema.Quote(part.Column)+" = b."+schema.Quote(part.Column))
	}
	return equal
}

// dropEmpty drops tables of parked rows that have none. REQUIRES: the source is claimed.
func dropEmpty(ctx context.Context, c *Cleaner) error {
	all, err := ParkedOf(ctx, c.pool, c.source)
	for _, p := range all {
		if p.Rows == 0 && err == nil && isParked(c.source, p.Table) {
			err = c.Drop(ctx, Table{Name: p.Table})
		}
	}
	return err
}
