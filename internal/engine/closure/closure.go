package closure

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Source is what the caller knows of the server.
type Source struct {
	// Load reads a table.
	Load func(schema.Name) (*schema.Table, error)
	// Collation returns the default collation of a character set; "" if there is none.
	Collation func(charset string) string
}

// Closure is a group of statements, completed by what foreign keys need.
type Closure struct {
	// Members are the tables: first the tables of the given statements, in their order.
	Members []Member
	// Problems are columns that cannot get the type that they need. The statements are incomplete then.
	Problems []Problem
}

// Member is a table of the group with its statement.
type Member struct {
	// Table is nil if there is no such table.
	Table *schema.Table
	Alter *ddl.Alter
	Given bool
	// Needs are the columns whose definitions were added to the statement.
	Needs []Need
}

// Need is a column that needs another type.
type Need struct {
	Column string
	// From and To are its types, for people.
	From, To string
	// Definition is its own definition with the new type.
	Definition string
	// Key is the foreign key whose other column gets that type. Other is that column, in OtherTable.
	Key        schema.ForeignKey
	Other      string
	OtherTable schema.Name
}

// Problem is a column that cannot get the type that it needs.
type Problem struct {
	Table          schema.Name
	What, Why, Fix string
}

// Complete reports whether the given statements need no other.
func (c *Closure) Complete() bool {
	return len(c.Problems) == 0 && !slices.ContainsFunc(c.Members, func(m Member) bool { return len(m.Needs) > 0 })
}

// SelfReferring reports whether a table has a foreign key to itself.
func (c *Closure) SelfReferring() bool {
	return slices.ContainsFunc(c.Members, func(m Member) bool {
		return m.Table != nil && slices.ContainsFunc(m.Table.ForeignKeys, func(fk schema.ForeignKey) bool { return fk.Child == fk.Parent })
	})
}

// Bytes is the size of all tables with their indexes, as the server estimates it.
func (c *Closure) Bytes() (bytes int64) {
	for _, m := range c.Members {
		if m.Table != nil {
			bytes += m.Table.DataBytes + m.Table.IndexBytes
		}
	}
	return bytes
}

// MayNeed reports whether a statement may change the type of a column.
func MayNeed(a *ddl.Alter) bool {
	return len(a.Modified) > 0 || a.ConvertsCharset || len(a.Unknown) > 0
}

// Of completes statements on different tables. Its error is one of Load, or of a statement that cannot be read again.
func Of(alters []*ddl.Alter, source Source) (*Closure, error) {
	f := finder{Source: source, decided: map[end]kind{}}
	for _, a := range alters {
		t, err := source.Load(a.Table)
		if err != nil && !errors.Is(err, schema.ErrNotFound) && !errors.Is(err, schema.ErrNotBaseTable) {
			return nil, err
		}
		f.members = append(f.members, &member{Member: Member{Table: t, Alter: a, Given: true}, given: readGiven(a)})
	}
	for _, m := range slices.Clone(f.members) {
		f.begin(m)
	}
	for len(f.queue) > 0 {
		next := f.queue[0]
		f.queue = f.queue[1:]
		if err := f.follow(next); err != nil {
			return nil, err
		}
	}
	c := &Closure{Problems: f.problems}
	for _, m := range f.members {
		if len(m.Needs) > 0 {
			alter, err := m.given.with(m.Table.Name, m.Needs)
			if err != nil {
				return nil, fmt.Errorf("complete the statement on %s: %w", m.Table.Name, err)
			}
			m.Alter = alter
		}
		if m.Given || len(m.Needs) > 0 {
			c.Members = append(c.Members, m.Member)
		}
	}
	return c, nil
}

// finder follows foreign keys.
type finder struct {
	Source
	members  []*member
	decided  map[end]kind
	queue    []end
	problems []Problem
	// conflicts are the foreign keys of problems with two types.
	conflicts []schema.ForeignKey
}

// member is a table that was loaded.
type member struct {
	Member
	given given
}

// end is a column of a foreign key, in lower case.
type end struct {
	table  schema.Name
	column string
}

func endOf(table schema.Name, column string) end { return end{table, strings.ToLower(column)} }

// begin takes the columns whose types a given statement decides.
func (f *finder) begin(m *member) {
	if m.Table == nil {
		return
	}
	for _, c := range m.Table.Columns {
		if !slices.ContainsFunc(f.pairs(m, c.Name), f.remains) {
			continue
		}
		if k, decided := m.given.kind(m.Table, c, f.Collation); decided {
			if k.unclear != "" {
				f.problem(m, fmt.Sprintf("Midstream does not read the new type of column %s, of a foreign key", c.Name), k.unclear,
					"Write the type with its length, and CHARACTER SET and COLLATE of a string")
				continue
			}
			f.decide(endOf(m.Table.Name, c.Name), k)
		}
	}
}

// pair is a foreign key with the two ends of one of its columns.
type pair struct {
	schema.ForeignKey
	here, there    end
	source, column string // of here and there, with their spelling
}

// pairs are the foreign keys of a table's column, in both directions.
func (f *finder) pairs(m *member, column string) (all []pair) {
	t := m.Table
	here := endOf(t.Name, column)
	for _, fk := range t.Relations() {
		for i := range min(len(fk.Columns), len(fk.ParentColumns)) {
			child, parent := endOf(fk.Child, fk.Columns[i]), endOf(fk.Parent, fk.ParentColumns[i])
			if child == here {
				all = append(all, pair{fk, child, parent, fk.Columns[i], fk.ParentColumns[i]})
			}
			if parent == here {
				all = append(all, pair{fk, parent, child, fk.ParentColumns[i], fk.Columns[i]})
			}
		}
	}
	return all
}

// remains reports whether no statement drops a foreign key.
func (f *finder) remains(p pair) bool {
	at := slices.IndexFunc(f.members, func(m *member) bool { return m.Table != nil && m.Table.Name == p.Child })
	return at < 0 || !f.members[at].given.drops(p.Constraint)
}

func (f *finder) decide(e end, k kind) {
	f.decided[e] = k
	f.queue = append(f.queue, e)
}

func (f *finder) problem(m *member, what, why, fix string) {
	p := Problem{Table: m.Table.Name, What: what, Why: why, Fix: fix}
	if !slices.Contains(f.problems, p) {
		f.problems = append(f.problems, p)
	}
}

// load returns the member of a table. It is nil if there is no such table.
func (f *finder) load(name schema.Name) (*member, error) {
	for _, m := range f.members {
		if m.Table != nil && m.Table.Name == name {
			return m, nil
		}
	}
	t, err := f.Load(name)
	switch {
	case errors.Is(err, schema.ErrNotFound):
		return nil, nil //nolint:nilnil // the plan reports it
	case err != nil:
		return nil, err
	}
	m := &member{Member: Member{Table: t}, given: readGiven(nil)}
	f.members = append(f.members, m)
	return m, nil
}

// follow has the other columns of a column's foreign keys get its type.
func (f *finder) follow(from end) error {
	m, err := f.load(from.table)
	if err != nil || m == nil {
		return err
	}
	for _, p := range f.pairs(m, from.column) {
		if !f.remains(p) {
			continue
		}
		other, err := f.load(p.there.table)
		if err != nil {
			return err
		}
		if other != nil {
			f.give(other, p, f.decided[from])
		}
	}
	return nil
}

// give has a column get a type.
func (f *finder) give(m *member, p pair, k kind) {
	c, exists := m.Table.Column(p.column)
	if !exists || m.given.dropsColumn(c.Name) {
		return // the plan refuses that
	}
	by := fmt.Sprintf("foreign key %s of %s", p.Constraint, p.Child)
	if has, decided := f.decided[p.there]; decided {
		if has.agrees(k) || slices.ContainsFunc(f.conflicts, p.Is) {
			return
		}
		f.conflicts = append(f.conflicts, p.ForeignKey)
		if _, own := m.given.kind(m.Table, c, f.Collation); own {
			f.problem(m, fmt.Sprintf("column %s gets the type %s, and %s needs %s", c.Name, has, by, k),
				"both columns of a foreign key must have the same type", "Give both columns the same type, or drop the foreign key first")
			return
		}
		f.problem(m, fmt.Sprintf("column %s would need two types: %s, and %s by %s", c.Name, has, k, by),
			"it is in several foreign keys, or is referred to by several", "Give all columns of these foreign keys the same type, or drop a foreign key first")
		return
	}
	was := kindOf(c)
	if was.agrees(k) {
		f.decided[p.there] = k
		return
	}
	f.decided[p.there] = k
	what := fmt.Sprintf("column %s needs the type %s by %s, and cannot get it", c.Name, k, by)
	definition, refused := as(c, k)
	switch {
	case slices.Contains(m.given.altered, strings.ToLower(c.Name)):
		f.problem(m, what, "the statement has an ALTER COLUMN for it", "Write a MODIFY with its complete definition instead")
	case m.Table.Partitioned:
		f.problem(m, what, "its table has partitions, and InnoDB has no foreign keys there", "Drop the foreign key first")
	case refused != "":
		f.problem(m, what, refused, "Change it in a statement of its own in the group, or drop the foreign key first")
	default:
		to := k
		if was.class == k.class { // its length is its own
			to.text = was.text
		}
		m.Needs = append(m.Needs, Need{Column: c.Name, From: was.String(), To: to.String(), Definition: definition, Key: p.ForeignKey,
			Other: p.source, OtherTable: p.here.table})
		f.queue = append(f.queue, p.there)
	}
}
