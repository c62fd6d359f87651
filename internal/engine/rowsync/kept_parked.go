package rowsync

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Rows that the shadow refuses may be parked (package park), and come back later. A values table has the kept values of parked
// rows: the columns of the source's key, and then the kept columns, by their names. It outlives the side table.

// ValuesTable returns the statement that creates a values table. REQUIRES: Kept.
func (s *Spec) ValuesTable(name schema.Name, mark string) string {
	keys, values := s.valueColumns()
	var definitions []string
	for i, part := range s.Key.Parts() {
		definitions = append(definitions, keys[i]+" "+plain(part.Column))
	}
	for i, c := range s.Kept {
		definitions = append(definitions, values[i]+" "+shown(c)) // for people
	}
	return fmt.Sprintf("CREATE TABLE %s (%s, PRIMARY KEY (%s)) ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT=%s", name.Quoted(),
		strings.Join(definitions, ", "), strings.Join(keys, ", "), schema.Literal(mark))
}

// valueColumns are the columns of a values table, quoted: those of the key, and those of the values.
func (s *Spec) valueColumns() (keys, values []string) {
	names := valueNames(s)
	for i, name := range names {
		names[i] = schema.Quote(name)
	}
	return names[:len(names)-len(s.Kept)], names[len(names)-len(s.Kept):]
}

func valueNames(s *Spec) []string { return ValueColumns(s.Key.Names(), namesOf(s.Kept)) }

func namesOf(columns []schema.Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// ValueColumns are the names of the columns of a values table: those of a key, and those of kept columns. A kept column with the name of
// another one of them has another one.
func ValueColumns(key, kept []string) []string {
	names := slices.Clone(key)
	for _, name := range kept {
		for n := 0; slices.ContainsFunc(names, func(taken string) bool { return strings.EqualFold(taken, name) }); n++ {
			name = ValueAlias(n)
		}
		names = append(names, name)
	}
	return names
}

// ParkValues copies the kept values of rows, which the shadow refuses, to a values table. A row that is new has none, and
// neither has one whose key does not fit: a lax session would cut it to that of another row. The session was set up by the spec.
func (s *Spec) ParkValues(ctx context.Context, session *dbconn.Session, to schema.Name, keys []key.Key) error {
	if s.KeyChanged && len(keys) > 1 {
		for _, k := range keys {
			if err := s.ParkValues(ctx, session, to, []key.Key{k}); err != nil {
				return err
			}
		}
		return nil
	}
	p, side := predicate{spec: s, keys: keys}, s.Side.Quoted()
	if err := s.convertSource(ctx, session, p); dbconn.Unconvertible(err) { // the shadow has never had it
		return nil
	} else if err != nil {
		return err
	}
	keyColumns, valueColumns := s.valueColumns()
	values := slices.Concat(of(s.Source.Quoted(), s.Key.Names()), of(side, s.sideValues()))
	_, _, err := leniently(ctx, session, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s FORCE INDEX (%s)%s WHERE (%s) AND %s.%s = 0",
		to.Quoted(), strings.Join(slices.Concat(keyColumns, valueColumns), ", "), strings.Join(values, ", "), s.Source.Quoted(),
		schema.Quote(s.SourceIndex), p.with("STRAIGHT_JOIN", side), p.on(s.Key.Names()), side, sideNew))
	return err
}

// Parked is a values table, by its name and its mark. No table has no name.
type Parked struct {
	Table schema.Name
	Mark  string
}

// Has reports whether the table is there, with its mark, and whether these are its columns.
func (p Parked) Has(ctx context.Context, session *dbconn.Session, columns []string) (has, fits bool, err error) {
	if has, err = schema.HasComment(ctx, session.Rows, p.Table, p.Mark); err != nil || !has {
		return false, false, err
	}
	found, err := columnsOf(ctx, session, p.Table, "column_name")
	return true, slices.EqualFunc(found, columns, strings.EqualFold), err
}

// columnsOf reads something of each column of a table, in their order.
func columnsOf(ctx context.Context, session *dbconn.Session, table schema.Name, what string) (all []string, err error) {
	query := fmt.Sprintf("SELECT %s FROM information_schema.columns WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
		what, schema.Literal(table.Schema), schema.Literal(table.Table))
	err = session.Rows(ctx, query, func(rows *sql.Rows) error {
		var one string
		err := rows.Scan(&one)
		all = append(all, one)
		return err
	})
	return all, err
}

// takeValues copies the values that a values table has of rows which the shadow lacks to the side table. Nothing was synced yet. A
// table that is gone has none, and one without the mark is another one. One with other columns has no complete rows.
func (s *Spec) takeValues(ctx context.Context, session *dbconn.Session, parked Parked) error {
	from := parked.Table
	keyColumns, valueColumns := s.valueColumns()
	if _, fits, err := parked.Has(ctx, session, valueNames(s)); err != nil || !fits {
		return err
	}
	aliases := slices.Clone(keyColumns)
	for i, column := range valueColumns {
		aliases = append(aliases, number(s.Kept[i], column)+" AS "+ValueAlias(i))
	}
	var keys []string
	for i, expr := range s.keyExprList() {
		keys = append(keys, expr+" AS "+KeyAlias(i))
	}
	values := strings.Join(s.sideValues(), ", ")
	_, _, err := leniently(ctx, session, fmt.Sprintf("INSERT INTO %s (%s, %s, %s) SELECT %[2]s, %[3]s, 0 FROM (SELECT %[5]s, %[3]s"+
		" FROM (SELECT %[6]s FROM %[7]s) parked) taken WHERE NOT EXISTS (SELECT 1 FROM %[8]s FORCE INDEX (%[9]s) WHERE %[10]s)"+
		" ON DUPLICATE KEY UPDATE %[1]s.%[4]s = %[1]s.%[4]s",
		s.Side.Quoted(), strings.Join(s.sideKeys(), ", "), values, sideNew, strings.Join(keys, ", "), strings.Join(aliases, ", "), from.Quoted(),
		s.Shadow.Quoted(), schema.Quote(s.ShadowIndex), equals(of(s.Shadow.Quoted(), s.ShadowKey), of("taken", s.sideKeys()))))
	if err != nil {
		return fmt.Errorf("take the values of dropped columns of rows that were parked from %s: %w", from, err)
	}
	return nil
}
