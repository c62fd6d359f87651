package verify

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// The server computes the values of computed columns when a row of the shadow is written: generated
// columns and expressions in DEFAULT. Verify compares them with the values that the server computes
// from the rows of the source at the time of the comparison. It uses the INSERT of a sync into a
// temporary table with the shadow's definitions of these columns and of all columns that they are
// computed from. So it finds a value that was computed from another state of the row, or with other
// settings of the session.
const computedStage = "midstream_computed"

func (s *Spec) computedName() string { return s.Sync.Shadow.Temporary(computedStage).Quoted() }

// createComputed returns the statement that makes the temporary table.
func (s *Spec) createComputed() string {
	var parts []string
	for _, c := range s.Sources {
		definition := c.Definition // without a sync it has its default
		if s.Sync.Gives(c.Name) {
			definition = c.Bare()
		}
		parts = append(parts, schema.Quote(c.Name)+" "+definition)
	}
	for i, part := range s.Sync.Key.Parts() {
		definition := part.Column.Bare()
		if part.Column.HasMembers() { // 5.7 garbles two lists of the same members in one table, in utf32, utf16 and ucs2
			definition = "BIGINT UNSIGNED NOT NULL"
		}
		parts = append(parts, schema.Quote(s.sourceKey(i))+" "+definition)
	}
	parts = append(parts, s.Sync.RowNumbers()...) // the rows are read one after the other, and no key has all of a long text
	return fmt.Sprintf("CREATE TEMPORARY TABLE %s (%s) ENGINE=InnoDB %s", s.computedName(), strings.Join(parts, ", "), s.Charset)
}

// sourceKey is the name of the column that has a part of the source's key.
func (s *Spec) sourceKey(i int) string {
	name := rowsync.KeyAlias(i)
	for slices.ContainsFunc(s.Sources, func(c schema.Column) bool { return strings.EqualFold(c.Name, name) }) {
		name += "_"
	}
	return name
}

// fillComputed returns the statements that compute the rows of the source under a condition.
func (s *Spec) fillComputed(condition string) []string {
	var columns, exprs []string
	for _, c := range s.Sync.Columns {
		if slices.ContainsFunc(s.Sources, func(source schema.Column) bool { return strings.EqualFold(source.Name, c.Shadow) }) {
			columns, exprs = append(columns, schema.Quote(c.Shadow)), append(exprs, c.Expr)
		}
	}
	for i, part := range s.Sync.Key.Parts() {
		value := schema.Quote(part.Column.Name)
		if part.Column.HasMembers() {
			value += " + 0"
		}
		columns, exprs = append(columns, schema.Quote(s.sourceKey(i))), append(exprs, value)
	}
	statements := []string{
		"DELETE FROM " + s.computedName(),
		fmt.Sprintf(
			"INSERT INTO %s (%s) SELECT %s FROM %s FORCE INDEX (%s) WHERE %s", s.computedName(),
			strings.Join(columns, ", "), strings.Join(exprs, ", "), s.Sync.Source.Quoted(),
			schema.Quote(s.Sync.SourceIndex), condition,
		),
	}
	if s.Sync.Silent {
		statements = append(statements, "UPDATE "+s.computedName()+" SET "+s.again())
	}
	return statements
}

// again returns the SET clause that computes the columns again (see rowsync.Spec.Silent).
func (s *Spec) again() string {
	key := schema.Quote(s.Sync.ShadowKey[0])
	set := []string{key + " = " + key}
	for _, c := range s.Computed {
		if c.Generated == schema.NotGenerated {
			set = append(set, schema.Quote(c.Name)+" = DEFAULT")
		}
	}
	return strings.Join(set, ", ")
}

// joinedComputed pairs the computed rows with the shadow's.
func (s *Spec) joinedComputed() string {
	var equal []string
	for _, name := range s.Sync.ShadowKey {
		i := slices.IndexFunc(s.Sources, func(c schema.Column) bool { return strings.EqualFold(c.Name, name) })
		expected, found := "expected."+schema.Quote(name), column(s.Sync.Shadow, name)
		equal = append(equal, expected+" = "+found)
		if c := s.Sources[i]; c.Charset != "" && c.Charset != "binary" {
			equal = append(equal, s.equalValues(c, expected, found))
		}
	}
	return fmt.Sprintf("%s AS expected STRAIGHT_JOIN %s FORCE INDEX (%s) ON %s", s.computedName(), s.Sync.Shadow.Quoted(),
		schema.Quote(s.Sync.ShadowIndex), strings.Join(equal, " AND "))
}

// sameComputed returns the condition that a computed column is the same in both rows.
func (s *Spec) sameComputed(c schema.Column) string {
	return s.equalValues(c, "expected."+schema.Quote(c.Name), column(s.Sync.Shadow, c.Name))
}

// differingComputed returns a query for the source's keys of rows with another computed value.
// REQUIRES: fillComputed.
func (s *Spec) differingComputed(most int) string {
	var same, keys []string
	for _, c := range s.Computed {
		same = append(same, s.sameComputed(c))
	}
	for i := range s.Sync.ShadowKey {
		keys = append(keys, s.sourceKey(i))
	}
	return fmt.Sprintf("SELECT %s FROM %s WHERE NOT (%s) LIMIT %d", strings.Join(s.Sync.Key.SelectExprsOf(keys), ", "), s.joinedComputed(),
		strings.Join(same, " AND "), most)
}

// compareComputed returns the source's keys of the rows in p that have another computed value in the shadow.
func (s *Spec) compareComputed(ctx context.Context, session *dbconn.Session, p predicate, most int) (keys []key.Key, err error) {
	if len(s.Computed) == 0 {
		return nil, nil
	}
	if err := s.compute(ctx, session, p); err != nil {
		return nil, fmt.Errorf("compute values: %w", err)
	}
	differing := s.differingComputed(most)
	if s.Sync.ByValue {
		differing = multiset{s}.differingComputed(p, most)
	}
	err = session.Rows(ctx, differing, func(rows *sql.Rows) error {
		k, err := s.Sync.ScanKey(rows)
		keys = append(keys, k)
		return err
	})
	if err == nil {
		_, err = session.Exec(ctx, "COMMIT")
	}
	return keys, err
}

// compute fills the temporary table. Its transaction is READ COMMITTED: at REPEATABLE READ an
// INSERT .. SELECT locks what it reads. REQUIRES: no transaction is open.
//
// A sync is strict, and so is this. But the old table of an undo may have rows of a lax session of the application, such as a
// letter that became a question mark. They are computed as the server has computed them then.
func (s *Spec) compute(ctx context.Context, session *dbconn.Session, p predicate) error {
	if _, err := session.Exec(ctx, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"); err != nil {
		return err
	}
	fill := func() (err error) {
		for _, statement := range s.fillComputed(p.source) {
			if _, err = session.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}
	err := fill()
	if dbconn.ValueRefused(err) {
		err = session.Laxly(ctx, fill)
	}
	return err
}

// computedDifferences reports the computed values that differ in the row of a key.
func (s *Spec) computedDifferences(ctx context.Context, session *dbconn.Session, name string, p predicate) (all []Difference, err error) {
	if len(s.Computed) == 0 || s.Sync.ByValue { // differencesOfValue counts them
		return nil, nil
	}
	if err := s.compute(ctx, session, p); err != nil {
		return nil, err
	}
	for _, c := range s.Computed {
		query := fmt.Sprintf("SELECT %s, %s FROM %s WHERE NOT (%s)", forPeople(c, "expected."+schema.Quote(c.Name)),
			forPeople(c, column(s.Sync.Shadow, c.Name)), s.joinedComputed(), s.sameComputed(c))
		err := session.Rows(ctx, query, func(rows *sql.Rows) error {
			var expected, found sql.NullString
			if err := rows.Scan(&expected, &found); err != nil {
				return err
			}
			all = append(all, Difference{Key: name, Column: c.Name, Expected: orNull(expected), Found: orNull(found)})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
