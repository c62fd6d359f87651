package park

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// ErrSlow means that the lock allows no second look for rows without a parent. Nothing has happened.
var ErrSlow = errors.New("the search for rows without a parent takes too long for the lock")

// Orphans fails with ErrUnfit if rows of the old table, which is in sync, have no parent by the foreign keys that come back:
// the server declares them without a look at the rows. Take looks again under the lock, for another session may take a parent
// away meanwhile; work is the time that the lock allows. Orphans fails with ErrSlow if that may not do.
func (l *Lot) Orphans(ctx context.Context, work time.Duration) error {
	if l == nil || len(l.foreign) == 0 {
		return nil
	}
	session, err := l.pool.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	began := time.Now()
	if err := l.orphans(ctx, session, nil); err != nil {
		return err
	}
	if took := time.Since(began); 2*took > work {
		return fmt.Errorf("%w: it took %s, and must be done again within a half of --lock-work, which is %s",
			ErrSlow, took.Round(time.Millisecond), work)
	}
	return nil
}

// orphans fails with ErrUnfit if rows have no parent. unfit are rows that only the source has.
func (l *Lot) orphans(ctx context.Context, session *dbconn.Session, unfit []rowsync.UnfitRow) error {
	for _, fk := range l.foreign {
		var found int
		query := l.withoutParent(fk, unfit)
		if query == "" {
			continue
		}
		err := session.Rows(ctx, fmt.Sprintf("SELECT COUNT(*) FROM (%s LIMIT %d) AS orphans", query, mostOrphans),
			func(r *sql.Rows) error { return r.Scan(&found) })
		if err != nil {
			return fmt.Errorf("look for rows without a parent by %s: %w", fk.Constraint, err)
		}
		if found > 0 {
			return &orphaned{constraint: fk.Constraint, rows: found, query: listed(fk)}
		}
	}
	return nil
}

// orphaned means that rows have no parent. It is an ErrUnfit.
type orphaned struct {
	constraint string
	rows       int
	query      string
}

// mostOrphans is the number up to which rows without a parent are counted.
const mostOrphans = 1000

// Error describes them in one line.
func (o *orphaned) Error() string {
	return fmt.Sprintf("%v: foreign key %s, which the change had dropped, comes back, and %d rows or more have no parent: %s",
		ErrUnfit, o.constraint, o.rows, o.query)
}

// Is reports that the rows do not fit.
func (o *orphaned) Is(target error) bool { return target == ErrUnfit }

// Orphaned is the finding of rows without a parent, if they are the error.
func Orphaned(err error) (f event.Finding, is bool) {
	var o *orphaned
	if !errors.As(err, &o) {
		return f, false
	}
	return event.Finding{
		Kind: "foreign_key", Name: o.constraint, What: "without a parent by the foreign key " + o.constraint + ", which comes back", Rows: int64(o.rows),
		AtLeast: o.rows == mostOrphans, Query: o.query, Refused: true, At: time.Now(),
	}, true
}

// listed is the query for an operator that lists the rows without a parent.
func listed(fk schema.ForeignKey) string {
	var given, same []string
	for i, c := range fk.Columns {
		given = append(given, "c."+schema.Quote(c)+" IS NOT NULL")
		same = append(same, "p."+schema.Quote(fk.ParentColumns[i])+" = c."+schema.Quote(c))
	}
	return fmt.Sprintf("SELECT c.* FROM %s c WHERE %s AND NOT EXISTS (SELECT 1 FROM %s p WHERE %s)",
		fk.Child.Quoted(), strings.Join(given, " AND "), fk.Parent.Quoted(), strings.Join(same, " AND "))
}

// withoutParent is the query for the rows of the old table that have no parent. It names each table once, without an alias:
// LOCK TABLES allows no more. So the rows to which the table itself refers are read from the source, which has the same ones
// but for those that do not fit; "" if the source lacks a column for that.
func (l *Lot) withoutParent(fk schema.ForeignKey, unfit []rowsync.UnfitRow) string {
	old, parent := l.spec.Shadow, fk.Parent
	var given, same []string
	for i, c := range fk.Columns {
		column, value := old.Quoted()+"."+schema.Quote(c), fk.Parent.Quoted()+"."+schema.Quote(fk.ParentColumns[i])
		if fk.Parent == l.source.Name {
			at := slices.IndexFunc(l.spec.Columns, func(s rowsync.Column) bool { return strings.EqualFold(s.Shadow, fk.ParentColumns[i]) })
			if at < 0 {
				return ""
			}
			value = l.spec.Columns[at].Expr
		}
		given, same = append(given, column+" IS NOT NULL"), append(same, value+" = "+column)
	}
	if fk.Parent == l.source.Name && len(unfit) > 0 {
		same = append(same, "NOT ("+rowsync.InKeys(l.spec.Key, l.spec.Key.Names(), Keys(unfit))+")")
	}
	return fmt.Sprintf("SELECT 1 FROM %s WHERE %s AND NOT EXISTS (SELECT 1 FROM %s WHERE %s)",
		old.Quoted(), strings.Join(given, " AND "), parent.Quoted(), strings.Join(same, " AND "))
}
