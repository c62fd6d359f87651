package prescan

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/schema"
)

// Column pairs a column of the source with the one of the shadow that takes its values.
type Column struct {
	From schema.Column
	To   schema.Column
	// Set is the expression that gives the values; "" if From does. Reads are the source's columns that it names, and From is the
	// column that To continues; zero for a new one. Changed is the condition that the expression changes a value of From.
	Set     string
	Reads   []string
	Changed string
	// Fits means that the server refuses none of the values that From may have.
	Fits bool
	// Holds is Fits, but for NULLs and characters.
	Holds bool
	// Kept means that values are stored and compared as before. Converted means that another value
	// is stored. Neither means that only charset or collation differ.
	Kept      bool
	Converted bool
	// Losses describes how the server changes values without an error, such as "are rounded to 2
	// decimals"; "" if it changes none.
	Losses string
	// Apart is the condition for values of a key that stay apart; "" if all do.
	Apart string
}

// Spec defines what the prescan checks. It is immutable.
type Spec struct {
	Sync   *rowsync.Spec
	Source *schema.Table
	Shadow *schema.Table
	// Columns are all columns that the shadow takes from the source.
	Columns []Column
	// Old means that the shadow has an old definition: no other one is the fix of a finding.
	Old bool
	// MostOfValue is the number of rows that a value of the followed index may have, if the index is not unique.
	MostOfValue int
	// Violable means that rows of the source may violate its CHECKs (MariaDB).
	Violable bool
	// Orphans are conditions for rows without a parent by the foreign keys that the ALTER adds.
	Orphans []Orphans
}

// Orphans are the source's rows without a parent by a foreign key.
type Orphans struct {
	Constraint string
	What       string   // the problem, for people
	Columns    []string // of the foreign key
	Condition  string   // over the source's columns
}

// reads are the source's columns that the values come from.
func (c Column) reads() []string {
	if c.Set != "" {
		return c.Reads
	}
	return []string{c.From.Name}
}

// column finds what a column of the shadow is made of.
func (s *Spec) column(shadow string) (Column, bool) {
	i := slices.IndexFunc(s.Columns, func(c Column) bool { return strings.EqualFold(c.To.Name, shadow) })
	if i < 0 {
		return Column{}, false
	}
	return s.Columns[i], true
}

// expr is what a sync selects for a column of the shadow, "" if it leaves the column out.
func (s *Spec) expr(shadow string) string { return s.given(shadow).Expr }

// given is what a sync gives a column of the shadow; zero if it leaves the column out.
func (s *Spec) given(shadow string) rowsync.Column {
	for _, c := range s.Sync.Columns {
		if strings.EqualFold(c.Shadow, shadow) {
			return c
		}
	}
	return rowsync.Column{}
}

// unchanged reports whether a column of the shadow has the values that it has in the source.
func (s *Spec) unchanged(shadow string) bool {
	to, _ := s.Shadow.Column(shadow)
	if to.Generated == schema.NotGenerated {
		c, ok := s.column(shadow)
		return ok && c.Kept && c.Fits
	}
	from, ok := s.Source.Column(shadow)
	return ok && from.Definition == to.Definition && s.allUnchanged(s.Shadow.Mentioned(to.Expression))
}

// allUnchanged reports whether the columns of the shadow that an expression names have the values that it finds by these names in the
// source. A column may have taken the name of another one.
func (s *Spec) allUnchanged(columns []string) bool {
	return !slices.ContainsFunc(columns, func(name string) bool {
		c, made := s.column(name)
		return !s.unchanged(name) || made && !strings.EqualFold(c.From.Name, name)
	})
}

// keeps reports whether columns of the shadow take a value of a kept one. Only the shadow has that value: a
// stage would have the default in its place. So the sync finds the rows that such a key or CHECK refuses.
func (s *Spec) keeps(columns ...string) bool {
	return slices.ContainsFunc(s.Shadow.ComputedFrom(columns...), func(c schema.Column) bool {
		return slices.ContainsFunc(s.Sync.Kept, func(k schema.Column) bool { return k.Name == c.Name })
	})
}

// stage is a temporary table of some of the shadow's columns, with constraints of its own.
type stage struct {
	spec *Spec
	name string
	// columns has generated columns after the columns that they are computed from.
	columns []schema.Column
	checks  []string // clauses of CHECKs
	stores  bool     // rows are to be read again
	// numbered means that the stage has a primary key of its own, so that no other key becomes it.
	numbered bool
	keys     []string // definitions of indexes over expressions
}

func (s *Spec) stage(name string, columns []string, checks ...string) *stage {
	st := &stage{spec: s, name: s.Sync.Shadow.Sibling(name).Quoted(), columns: s.Shadow.ComputedFrom(columns...), checks: checks}
	taken := slices.ContainsFunc(st.columns, func(c schema.Column) bool { return s.expr(c.Name) != "" })
	if !taken { // an INSERT must name one
		c, _ := s.Shadow.Column(s.Sync.Columns[0].Shadow)
		st.columns = append(st.columns, c)
	}
	return st
}

// create returns the statements that make the stage. CREATE .. SELECT gives a column its type,
// charset and NOT NULL; generated columns and literals take the table's charset. An ALTER adds two
// kinds of columns. A default that names other columns can't be carried over (1054 on 9.7.4). A
// generated column that is NOT NULL has no default to be filled with (1364).
func (st *stage) create() []string {
	clauses := st.spec.Sync.RowNumbers()
	if st.numbered && len(clauses) == 0 {
		clauses = []string{rowsync.NumberedRows}
	}
	var computed, virtual, selected []string
	engine := "BLACKHOLE"
	if st.stores {
		engine = "InnoDB"
		for i, part := range st.spec.Sync.Key.Names() {
			selected = append(selected, st.spec.Source.Name.Quoted()+"."+schema.Quote(part)+" AS "+rowsync.KeyAlias(i))
		}
	}
	for _, c := range st.columns {
		if strings.Contains(strings.ToUpper(c.Definition), " SRID ") {
			engine = "InnoDB" // BLACKHOLE has none (1178)
		}
		switch {
		case c.Computes() && st.spec.expr(c.Name) == "":
			engine = "InnoDB" // BLACKHOLE has none (3774)
			computed = append(computed, "ADD COLUMN "+schema.Quote(c.Name)+" "+c.Definition)
			continue
		case c.Generated != schema.NotGenerated:
			engine = "InnoDB" // BLACKHOLE has none (3106)
			computed = append(computed, "ADD COLUMN "+schema.Quote(c.Name)+" "+c.Definition)
			if c.Generated == schema.Virtual && st.spec.Sync.Silent {
				virtual = append(virtual, c.Name)
			}
			continue
		case c.Computes():
			clauses = append(clauses, schema.Quote(c.Name)+" "+c.Bare())
		}
		selected = append(selected, st.spec.Shadow.Name.Quoted()+"."+schema.Quote(c.Name)+" AS "+schema.Quote(c.Name))
	}
	for _, check := range st.checks {
		clause := "CHECK (" + check + ")"
		if len(computed) > 0 { // it may name one of them
			computed = append(computed, "ADD "+clause)
		} else {
			clauses = append(clauses, clause)
		}
	}
	for _, key := range st.keys {
		engine = "InnoDB" // which has generated columns
		computed = append(computed, "ADD "+key)
	}
	defined := ""
	if len(clauses) > 0 {
		defined = " (" + strings.Join(clauses, ", ") + ")"
	}
	statements := []string{fmt.Sprintf("CREATE TEMPORARY TABLE %s%s ENGINE=%s%s SELECT %s FROM %s, %s LIMIT 0", st.name, defined, engine,
		st.spec.Shadow.Charset(), strings.Join(selected, ", "), st.spec.Source.Name.Quoted(), st.spec.Shadow.Name.Quoted())}
	if len(computed) > 0 {
		statements = append(statements, "ALTER TABLE "+st.name+" "+strings.Join(computed, ", "))
	}
	if len(virtual) > 0 {
		statements = append(statements, st.computing(virtual))
	}
	return statements
}

// computing returns a statement of MariaDB's that has the stage compute virtual columns: a temporary
// table computes them for a CHECK only. No CHECK may name a column of NOW() or RAND().
func (st *stage) computing(virtual []string) string {
	var b strings.Builder
	b.WriteString("BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; ")
	for _, name := range virtual {
		fmt.Fprintf(&b, "ALTER TABLE %s ADD CHECK (%s IS NULL OR %[2]s IS NOT NULL); ", st.name, schema.Quote(name))
	}
	return b.String() + "END"
}

// again returns the SET clause of an UPDATE that computes generated columns and defaults again, for
// a server that computes them silently when it inserts; "" if there are none.
func (s *Spec) again(columns []schema.Column) string {
	var set []string
	given, generated := "", false
	for _, c := range columns {
		switch {
		case !s.Sync.Silent:
		case c.Generated != schema.NotGenerated:
			generated = true
		case s.expr(c.Name) != "":
			given = schema.Quote(c.Name)
		case c.Computes():
			set = append(set, schema.Quote(c.Name)+" = DEFAULT")
		}
	}
	if generated && given != "" {
		set = append(set, given+" = "+given)
	}
	return strings.Join(set, ", ")
}

// Again returns the SET clause that computes the shadow's generated columns and defaults again, if
// their values are not those of the source; "" if there are none. Defaults that vary stay, and so do the values that an
// undo keeps (U5).
func (s *Spec) Again(varies func(expression string) bool) string {
	var columns []schema.Column
	for _, c := range s.Shadow.Columns {
		generated := c.Generated != schema.NotGenerated
		keeps := slices.ContainsFunc(s.Sync.Kept, func(kept schema.Column) bool { return kept.Name == c.Name })
		filled := !generated && !keeps && c.Computes() && s.expr(c.Name) == "" && !varies(c.Default)
		if filled || generated && !s.unchanged(c.Name) {
			columns = append(columns, c)
		}
	}
	key, _ := s.Shadow.Column(s.Sync.ShadowKey[0])
	return s.again(append(columns, key))
}

// sources lists the columns of the source that the stage takes.
func (st *stage) sources() []string {
	var names []string
	for _, c := range st.columns {
		if from, ok := st.spec.column(c.Name); ok {
			names = append(names, from.reads()...)
		}
	}
	return names
}

// fill returns the statement that puts the source's rows under a condition into the stage.
func (st *stage) fill(where string) string {
	var columns, exprs []string
	if st.stores {
		for i, part := range st.spec.Sync.Key.Names() {
			columns, exprs = append(columns, rowsync.KeyAlias(i)), append(exprs, schema.Quote(part))
		}
	}
	var given []rowsync.Column
	for _, c := range st.columns {
		if from := st.spec.given(c.Name); from.Expr != "" {
			columns, exprs, given = append(columns, schema.Quote(c.Name)), append(exprs, from.Expr), append(given, from)
		}
	}
	from := st.spec.from(where)
	if tried := rowsync.Trying(given); tried != "" {
		from = st.spec.from("("+where+")") + " AND " + tried
	}
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s", st.name, strings.Join(columns, ", "), strings.Join(exprs, ", "), from)
}

// from is the source's rows under a condition, read by the key.
func (s *Spec) from(where string) string {
	return fmt.Sprintf("%s FORCE INDEX (%s) WHERE %s", s.Source.Name.Quoted(), schema.Quote(s.Sync.SourceIndex), s.Sync.Of(where))
}

// keysOf returns a query for the keys of the source's rows under a condition, in the order of
// the index that it reads.
func (s *Spec) keysOf(where string) string {
	return fmt.Sprintf("SELECT %s FROM %s", strings.Join(s.Sync.Key.SelectExprs(), ", "), s.from(where))
}
