package park

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/key"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// ErrUnfit means that the old table refuses rows of the table. Both are as they were, and the undo stays open.
var ErrUnfit = errors.New("the old definition refuses some rows")

// mostListed is the number of keys with which a reason is listed.
const mostListed = 20

// Lot takes the rows that the old table refuses. It is for one goroutine.
type Lot struct {
	pool   *dbconn.Pool
	source *schema.Table
	spec   *rowsync.Spec
	wished bool
	table  schema.Name
}

// New returns a lot of an undo. wished means that rows may be parked.
func New(pool *dbconn.Pool, source *schema.Table, spec *rowsync.Spec, wished bool) *Lot {
	return &Lot{pool: pool, source: source, spec: spec, wished: wished}
}

// Table is the table that the rows are copied to; no name if there is none.
func (l *Lot) Table() schema.Name { return l.table }

// Prepare creates the table for the rows, or fails with ErrUnfit if they are not to be parked, as it was wished at the
// beginning or is wished now.
func (l *Lot) Prepare(ctx context.Context, rows []rowsync.UnfitRow, wished bool) error {
	switch {
	case !l.wished && !wished:
		return l.refused(rows)
	case l.table != (schema.Name{}):
		return nil
	}
	session, err := l.pool.Session(ctx, l.pool.Defining()...)
	if err != nil {
		return err
	}
	defer session.Close()
	mark := schema.Literal(schema.MarkFor(checkpoint.ParkedKind, l.source.Name))
	for _, name := range plan.ParkedNames(l.source.Name) {
		_, err = session.Exec(ctx, "CREATE TABLE "+name.Quoted()+" LIKE "+l.source.Name.Quoted())
		if dbconn.TableExists(err) {
			continue
		}
		if err == nil {
			l.table = name
			_, err = session.Exec(ctx, "ALTER TABLE "+name.Quoted()+" COMMENT = "+mark)
		}
		break
	}
	if err != nil {
		return fmt.Errorf("create a table for rows that the old definition refuses: %w", err)
	}
	return nil
}

// Take copies the rows to the table, in place of those that an attempt before has copied. The session has the lock. It
// fails with ErrUnfit if there are rows and no table.
func (l *Lot) Take(ctx context.Context, session *dbconn.Session, rows []rowsync.UnfitRow) error {
	if l.table == (schema.Name{}) {
		if len(rows) > 0 {
			return l.refused(rows)
		}
		return nil
	}
	var columns []string
	for _, c := range l.source.Columns {
		if c.Generated == schema.NotGenerated {
			columns = append(columns, c.Name)
		}
	}
	statements := []string{"DELETE FROM " + l.table.Quoted()}
	if len(rows) > 0 {
		statements = append(statements, rowsync.Lenient(l.spec.Park(l.table, columns, Keys(rows)))...) // as they are
	}
	for _, statement := range append(statements, "COMMIT") {
		if _, err := session.Exec(ctx, statement); err != nil {
			return fmt.Errorf("copy the rows that the old definition refuses to %s: %w", l.table, err)
		}
	}
	return nil
}

// refused is the error for rows that the old table refuses.
func (l *Lot) refused(rows []rowsync.UnfitRow) error {
	return fmt.Errorf("%w: %d, the first with key (%s): %s", ErrUnfit, len(rows), l.spec.Key.Format(rows[0].Key), dbconn.Message(rows[0].Cause))
}

// Keys are the keys of rows.
func Keys(rows []rowsync.UnfitRow) []key.Key {
	keys := make([]key.Key, len(rows))
	for i, r := range rows {
		keys[i] = r.Key
	}
	return keys
}

// Findings groups rows by the server's reason.
func (l *Lot) Findings(rows []rowsync.UnfitRow) []event.Finding {
	var all []event.Finding
	places, keys := map[string]int{}, map[string][]key.Key{}
	for _, r := range rows {
		reason := reasonOf(dbconn.Number(r.Cause), dbconn.Message(r.Cause))
		at, there := places[reason]
		if !there {
			at = len(all)
			places[reason] = at
			all = append(all, event.Finding{Kind: "unfit", What: "refused: " + dbconn.Message(r.Cause), Refused: true, At: time.Now()})
		}
		all[at].Rows++
		if len(all[at].Keys) < mostListed {
			all[at].Keys = append(all[at].Keys, l.spec.Key.Format(r.Key))
			keys[reason] = append(keys[reason], r.Key)
		}
	}
	for reason, at := range places {
		all[at].Query = "SELECT * FROM " + l.source.Name.Quoted() + " WHERE " + rowsync.InKeys(l.spec.Key, l.spec.Key.Names(), keys[reason])
	}
	return all
}

// reasonOf is the same for rows that are refused by the same rule of the same column or key: the number of the server's
// error, and the name in its text. The value in the text does not count.
func reasonOf(number uint16, message string) string {
	text, _, _ := strings.Cut(message, " at row ")
	for _, of := range []string{" for key ", " for column "} {
		if at := strings.LastIndex(text, of); at >= 0 {
			return fmt.Sprint(number, text[at:])
		}
	}
	text, _, _ = strings.Cut(text, ": '")
	return fmt.Sprint(number, text)
}

// Parked lists the rows that are parked.
func (l *Lot) Parked(rows []rowsync.UnfitRow) event.Parked {
	e := event.Parked{Table: l.table.Dotted(), Rows: len(rows), At: time.Now()}
	for _, r := range rows[:min(len(rows), mostListed)] {
		e.Keys = append(e.Keys, l.spec.Key.Format(r.Key))
	}
	return e
}

// Watched returns an empty list of unfit rows that emits its first one.
func Watched(spec *rowsync.Spec, emit event.Listener) *rowsync.Unfit {
	return rowsync.NewUnfit(func(r rowsync.UnfitRow) {
		emit(event.UnfitFound{Key: spec.Key.Format(r.Key), Cause: dbconn.Message(r.Cause), At: time.Now()})
	})
}

// Orphans fails with ErrUnfit if rows of the old table, which is in sync, have no parent by the foreign keys that come back:
// the server declares them without a look at the rows.
func (l *Lot) Orphans(ctx context.Context, old schema.Name, back *plan.Back) error {
	if back == nil || len(back.Foreign) == 0 {
		return nil
	}
	session, err := l.pool.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	for _, fk := range back.Foreign {
		var found int
		query := orphans(old, fk, l.source.Name)
		err := session.Rows(ctx, "SELECT COUNT(*) FROM ("+query+" LIMIT 1000) AS orphans", func(r *sql.Rows) error { return r.Scan(&found) })
		if err != nil {
			return fmt.Errorf("look for rows without a parent by %s: %w", fk.Constraint, err)
		}
		if found > 0 {
			return fmt.Errorf("%w: foreign key %s, which the change had dropped, comes back, and %d rows or more have no parent: %s",
				ErrUnfit, fk.Constraint, found, strings.ReplaceAll(query, old.Quoted(), l.source.Name.Quoted()))
		}
	}
	return nil
}

// orphans is the query for the rows of the old table that have no parent. source is the table's name.
func orphans(old schema.Name, fk schema.ForeignKey, source schema.Name) string {
	parent := fk.Parent
	if parent == source {
		parent = old
	}
	var given, same []string
	for i, c := range fk.Columns {
		given = append(given, "c."+schema.Quote(c)+" IS NOT NULL")
		same = append(same, "p."+schema.Quote(fk.ParentColumns[i])+" = c."+schema.Quote(c))
	}
	return fmt.Sprintf("SELECT 1 FROM %s c WHERE %s AND NOT EXISTS (SELECT 1 FROM %s p WHERE %s)",
		old.Quoted(), strings.Join(given, " AND "), parent.Quoted(), strings.Join(same, " AND "))
}
