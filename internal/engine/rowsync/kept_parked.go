package rowsync

import (
	"context"
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

// valueColumns are the columns of a values table, quoted: those of the key, and those of the values. A kept column with the name of
// another one of them has another one.
func (s *Spec) valueColumns() (keys, values []string) {
	names := slices.Clone(s.Key.Names())
	for _, name := range names {
		keys = append(keys, schema.Quote(name))
	}
	for _, c := range s.Kept {
		name := c.Name
		for n := 0; slices.ContainsFunc(names, func(taken string) bool { return strings.EqualFold(taken, name) }); n++ {
			name = ValueAlias(n)
		}
		names, values = append(names, name), append(values, schema.Quote(name))
	}
	return keys, values
}

// ParkValues copies the kept values of rows, which the shadow refuses, to a values table. A row that is new has none. The session was
// set up by the spec.
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
	return run(ctx, session, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s FORCE INDEX (%s)%s WHERE (%s) AND %s.%s = 0",
		to.Quoted(), strings.Join(slices.Concat(keyColumns, valueColumns), ", "), strings.Join(values, ", "), s.Source.Quoted(),
		schema.Quote(s.SourceIndex), p.with("STRAIGHT_JOIN", side), p.on(s.Key.Names()), side, sideNew))
}

// Parked is a values table, by its name and its mark. No table has no name.
type Parked struct {
	Table schema.Name
	Mark  string
}

// Has reports whether the table is there, with its mark.
func (p Parked) Has(ctx context.Context, session *dbconn.Session) (bool, error) {
	return schema.HasComment(ctx, session.Rows, p.Table, p.Mark)
}

// takeValues copies the values that a values table has of rows which the shadow lacks to the side table. Nothing was synced yet. A
// table that is gone has none, and one without the mark is another one.
func (s *Spec) takeValues(ctx context.Context, session *dbconn.Session, parked Parked) error {
	from := parked.Table
	if has, err := parked.Has(ctx, session); err != nil || !has {
		return err
	}
	keyColumns, valueColumns := s.valueColumns()
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
