package ddl

import "fmt"

// create reads CREATE INDEX and CREATE TABLE.
func (r *reader) create() (*Statement, error) {
	r.at++
	switch {
	case r.peek("INDEX"), r.peek("UNIQUE"), r.peek("FULLTEXT"), r.peek("SPATIAL"):
		return altering(r.createIndex())
	case r.peek("TEMPORARY"):
		return nil, fmt.Errorf("%w: a temporary table belongs to one session", ErrNotTaken)
	case !r.take("TABLE"):
		return nil, fmt.Errorf("%w: it begins with CREATE %s", ErrNotTaken, r.rest())
	}
	s := &Statement{Kind: KindCreate, Conditional: r.take("IF", "NOT", "EXISTS")}
	var err error
	if s.Table, err = r.name(); err != nil {
		return nil, err
	}
	if r.over() {
		return nil, fmt.Errorf("%w: expected a definition after the table's name", ErrNotTaken)
	}
	if r.selects() {
		return nil, fmt.Errorf("%w: CREATE TABLE ... SELECT locks the rows that it reads until it ends", ErrNotTaken)
	}
	if s.Definition, err = r.cut(r.at, len(r.tokens)); err != nil {
		return nil, err
	}
	r.constraints(s)
	return s, nil
}

// selects reports whether the definition takes rows from a query.
func (r *reader) selects() bool {
	for i, t := range r.tokens[r.at:] {
		outside := t.Depth == 0 || i == 1 && r.tokens[r.at].Is("(")
		if t.Is("SELECT") || outside && words(r.tokens[r.at+i:]).at(0, "AS", "TABLE", "VALUES", "WITH") {
			return true
		}
	}
	return false
}

// constraints records the foreign keys in the definition, and the names that are unique in a
// database.
func (r *reader) constraints(s *Statement) {
	base := r.tokens[r.at].CommentStart
	for i, t := range r.tokens {
		w := words(r.tokens[i:])
		switch {
		case i < r.at:
		case t.Is("REFERENCES"):
			if parent, n := readName(w[1:]); n > 0 {
				s.Parents = append(s.Parents, parent)
			}
		case t.Is("CONSTRAINT") && w.at(2, "CHECK", "FOREIGN") && w[1].Name():
			s.Constraints = append(s.Constraints, ConstraintRef{Name: w[1].Text, Start: w[1].Start - base, End: w[1].End - base})
		}
	}
}

// createIndex reads CREATE [UNIQUE | FULLTEXT | SPATIAL] INDEX name [USING type] ON table
// (parts) options, and returns the ALTER TABLE ... ADD INDEX that does the same.
func (r *reader) createIndex() (*Alter, error) {
	kind := r.at
	if !r.peek("INDEX") {
		r.at++
	}
	if !r.take("INDEX") {
		return nil, fmt.Errorf("%w: it begins with CREATE %s %s", ErrNotTaken, r.tokens[kind].Text, r.rest())
	}
	on := r.at
	for on < len(r.tokens) && !r.tokens[on].Is("ON") {
		on++
	}
	if on == r.at || on == len(r.tokens) {
		return nil, fmt.Errorf("%w: expected a name and ON after CREATE INDEX", ErrNotTaken)
	}
	head, err := r.cut(kind, on)
	if err != nil {
		return nil, err
	}
	return r.onTable(on, "ADD "+head, true)
}

// dropIndex reads DROP INDEX name ON table options.
func (r *reader) dropIndex() (*Alter, error) {
	on := r.at + 1
	if on >= len(r.tokens) || !r.tokens[r.at].Name() || !r.tokens[on].Is("ON") {
		return nil, fmt.Errorf("%w: expected a name and ON after DROP INDEX", ErrNotTaken)
	}
	clause := "DROP PRIMARY KEY"
	if !isPrimary(r.tokens[r.at].Text) {
		name, err := r.cut(r.at, on)
		if err != nil {
			return nil, err
		}
		clause = "DROP INDEX " + name
	}
	return r.onTable(on, clause, false)
}

// onTable reads ON table and the text after it. It returns the ALTER TABLE with a first clause that
// begins with the given text. parts means that the index's parts must follow. In an ALTER,
// ALGORITHM and LOCK are clauses of their own.
func (r *reader) onTable(on int, clause string, parts bool) (*Alter, error) {
	r.at = on + 1
	table, err := r.name()
	if err != nil {
		return nil, err
	}
	if parts && !r.peek("(") {
		return nil, fmt.Errorf("%w: expected the index's columns, got %s", ErrNotTaken, r.rest())
	}
	after := r.at
	starts := []int{}
	for i := after; i < len(r.tokens); i++ {
		if t := r.tokens[i]; t.Depth == 0 && (t.Is("ALGORITHM") || t.Is("LOCK")) && !r.tokens[i-1].Is("PARSER") {
			starts = append(starts, i)
		}
	}
	for i := after; i < len(r.tokens); i++ {
		if t := r.tokens[i]; t.Depth == 0 && t.Is(",") {
			return nil, fmt.Errorf("%w: unexpected comma after the table's name", ErrNotTaken)
		}
	}
	starts = append(starts, len(r.tokens))
	rest, err := r.cut(after, starts[0])
	if err == nil && rest != "" && !parts {
		err = fmt.Errorf("%w: unexpected %s after the table's name", ErrNotTaken, r.rest())
	}
	if err != nil {
		return nil, err
	}
	if rest != "" {
		clause += " " + rest
	}
	for i, start := range starts[:len(starts)-1] {
		option, err := r.cut(start, starts[i+1])
		if err != nil {
			return nil, err
		}
		clause += ", " + option
	}
	return ParseClauses(table, clause)
}

// optimize reads OPTIMIZE TABLE t. InnoDB carries it out by building the table again.
func (r *reader) optimize() (*Alter, error) {
	r.at++
	if r.peek("NO_WRITE_TO_BINLOG") || r.peek("LOCAL") {
		return nil, fmt.Errorf("%w: with %s the statement would not reach replicas, and Midstream's changes must reach them",
			ErrNotTaken, r.tokens[r.at].Text)
	}
	if !r.take("TABLE") && !r.take("TABLES") {
		return nil, fmt.Errorf("%w: it begins with OPTIMIZE %s", ErrNotTaken, r.rest())
	}
	table, err := r.name()
	if err == nil {
		err = r.end("OPTIMIZE TABLE")
	}
	if err != nil {
		return nil, err
	}
	return ParseClauses(table, "FORCE")
}
