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

// If the ALTER changes a key column's type, charset, collation or members, the literal of a source
// key does not find the shadow's row. WHERE name = 5 compares as numbers, and an ENUM's number
// means another member. The keys then go through two temporary tables. The first has the source's
// column types and takes the literals. The second has the shadow's types and takes the keys from
// the first by INSERT..SELECT, which converts a value as the sync of its row does. The second one
// is joined with the shadow's rows.
const (
	sourceKeys = "midstream_source_keys"
	shadowKeys = "midstream_shadow_keys"
)

// Settings returns the statements that give a session the settings for syncs by this spec, after syncs by another one.
func (s *Spec) Settings() []string {
	checked := []string{"SET SESSION foreign_key_checks = DEFAULT"}
	if s.Unchecked || s.Marks {
		checked = nil
	}
	return slices.Concat(checked, settings(s), Setup)
}

// settings are those of both.
func settings(s *Spec) []string {
	var set []string
	if s.Unchecked || s.Marks {
		set = append(set, "SET SESSION foreign_key_checks = 0")
	}
	return append(set, sessionValues(s).Setup()...)
}

// Setup returns the statements that make a session fit for syncs by this spec. The temporary tables come before the transactions:
// 5.7 creates none in a transaction (gtid_mode).
func (s *Spec) Setup() []string {
	setup := append(settings(s), s.keptSetup()...)
	if !s.KeyChanged {
		return append(setup, Setup...)
	}
	numbers := ""
	if s.RequiresKeys {
		numbers = " (" + strings.Join(s.RowNumbers(), ", ") + ")"
	}
	create := func(temporary string, table schema.Name, columns []string) string {
		return fmt.Sprintf("CREATE TEMPORARY TABLE %s%s SELECT %s FROM %s LIMIT 0",
			s.temporary(temporary), numbers, schema.QuoteAll(columns), table.Quoted())
	}
	setup = append(setup, dbconn.Lenient(create(sourceKeys, s.Source, s.Key.Names()), create(shadowKeys, s.Shadow, s.ShadowKey))...)
	return append(setup, Setup...)
}

// sessionValues are the settings of sessions. A kept date may be a zero date, whatever the sql_mode is.
func sessionValues(s *Spec) dbconn.Values {
	v := s.Values
	if slices.ContainsFunc(s.Kept, schema.Column.Temporal) {
		v.Modes = slices.DeleteFunc(slices.Clone(v.Modes), func(mode string) bool { return mode == "NO_ZERO_DATE" || mode == "NO_ZERO_IN_DATE" })
	}
	return v
}

// deleteConverted deletes the shadow's rows with the given keys of the source. A key that the source's collation holds equal to one of
// them is another one in the shadow: if the source's row has it now, the shadow may have that row already.
func (s *Syncer) deleteConverted(ctx context.Context, session *dbconn.Session, keys []key.Key) (int64, error) {
	there, err := s.spec.there(ctx, session, keys)
	if err != nil {
		return 0, err
	}
	all := slices.Concat(keys, foundRows(there))
	slices.Sort(all)
	if err := s.spec.convert(ctx, session, slices.Compact(all)); err != nil {
		return 0, err
	}
	return s.remove(ctx, session, s.spec.joined())
}

// convert fills the temporary table of the shadow's types. A key that can't be
// converted has no row in the shadow, and is left out.
func (s *Spec) convert(ctx context.Context, session *dbconn.Session, keys []key.Key) error {
	for _, table := range []string{sourceKeys, shadowKeys} {
		if _, err := session.Exec(ctx, "DELETE FROM "+s.temporary(table)); err != nil {
			return err
		}
	}
	if err := s.take(ctx, session, keys); err != nil {
		return err
	}
	_, err := session.Exec(ctx, s.conversion())
	if err == nil || !dbconn.Unconvertible(err) {
		return err
	}
	return s.convertSingly(ctx, session, keys)
}

// take fills the temporary table with the source's types. The source has these values, though a
// strict session may refuse them: an ENUM that is no member, or a date that the sql_mode forbids.
func (s *Spec) take(ctx context.Context, session *dbconn.Session, keys []key.Key) error {
	rows := make([]string, len(keys))
	for i, k := range keys {
		rows[i] = "(" + strings.Join(s.Key.Literals(k), ", ") + ")"
	}
	fill := fmt.Sprintf("INSERT INTO %s (%s) VALUES %s", s.temporary(sourceKeys),
		schema.QuoteAll(s.Key.Names()), strings.Join(rows, ", "))
	_, _, err := leniently(ctx, session, fill)
	return err
}

// leniently writes or deletes existing values, though a strict session may refuse them. 5.7 computes the indexed columns of a row as
// it deletes it. laxly means that a strict session has refused it.
func leniently(ctx context.Context, session *dbconn.Session, statement string) (rows int64, laxly bool, err error) {
	rows, err = affected(session.Exec(ctx, statement))
	if !dbconn.ValueRefused(err) {
		return rows, false, err
	}
	err = session.Laxly(ctx, func() (err error) {
		rows, err = affected(session.Exec(ctx, statement))
		return err
	})
	return rows, true, err
}

// conversion fills the temporary table of the shadow's types from the other one.
func (s *Spec) conversion() string {
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s",
		s.temporary(shadowKeys), schema.QuoteAll(s.ShadowKey), s.keyExprs(), s.temporary(sourceKeys))
}

// keyExprs are the values that a sync of a row gives the columns of its key, over the source's key.
func (s *Spec) keyExprs() string { return strings.Join(s.keyExprList(), ", ") }

func (s *Spec) keyExprList() []string {
	exprs := make([]string, len(s.ShadowKey))
	for i, name := range s.ShadowKey {
		exprs[i] = schema.Quote(s.Key.Names()[i])
		for _, c := range s.Columns {
			if c.Shadow == name {
				exprs[i] = c.Expr
			}
		}
	}
	return exprs
}

func (s *Spec) convertSingly(ctx context.Context, session *dbconn.Session, keys []key.Key) error {
	for _, k := range keys {
		if _, err := session.Exec(ctx, "DELETE FROM "+s.temporary(sourceKeys)); err != nil {
			return err
		}
		if err := s.take(ctx, session, []key.Key{k}); err != nil {
			return err
		}
		_, err := session.Exec(ctx, s.conversion())
		if err != nil && !dbconn.Unconvertible(err) {
			return err
		}
	}
	return nil
}

// CountConverted returns the number of the shadow's rows with the given keys of the source.
// REQUIRES: KeyChanged.
func (s *Spec) CountConverted(ctx context.Context, session *dbconn.Session, keys []key.Key) (n int64, err error) {
	if err := s.convert(ctx, session, keys); err != nil {
		return 0, err
	}
	err = session.Rows(ctx, "SELECT COUNT(DISTINCT "+strings.Join(s.shadowKeyColumns(), ", ")+") FROM "+s.joined(),
		func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

// joined joins the converted keys with the shadow by its index, and also by the bytes: two keys of
// the source may be equal under the shadow's collation.
func (s *Spec) joined() string {
	var equal []string
	for i, column := range s.shadowKeyColumns() {
		k := "k." + schema.Quote(s.ShadowKey[i])
		equal = append(equal, column+" = "+k, fmt.Sprintf("CAST(%s AS BINARY) = CAST(%s AS BINARY)", column, k))
	}
	return fmt.Sprintf("%s AS k STRAIGHT_JOIN %s FORCE INDEX (%s) ON %s",
		s.temporary(shadowKeys), s.Shadow.Quoted(), schema.Quote(s.ShadowIndex), strings.Join(equal, " AND "))
}

func (s *Spec) shadowKeyColumns() []string {
	var columns []string
	for _, name := range s.ShadowKey {
		columns = append(columns, s.Shadow.Quoted()+"."+schema.Quote(name))
	}
	return columns
}
