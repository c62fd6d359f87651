package park

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
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
var ErrUnfit = errors.New("some rows do not fit")

// mostListed is the number of keys with which a reason is listed.
const mostListed = 20

// Lot takes the rows that the old table refuses. It is for one goroutine, except for Keeps.
type Lot struct {
	pool   *dbconn.Pool
	source *schema.Table
	spec   *rowsync.Spec
	wished bool
	// foreign are the foreign keys that the change had dropped and that come back.
	foreign []schema.ForeignKey
	table   schema.Name
	// values is the table with the values that dropped columns had in these rows; no name if there are none.
	values schema.Name
	// parked are the tries of the rows that the table has; unseen means that rows may change without a try.
	parked map[key.Key]uint64
	unseen bool
	// keeps means that the mark of the table says that its rows are no longer in the table of the user.
	keeps atomic.Bool
	// valued means that the table of values has some for the rows without which the undo goes back.
	valued atomic.Bool
}

// New returns a lot of an undo.
func New(pool *dbconn.Pool, p *plan.Plan, spec *rowsync.Spec) *Lot {
	return &Lot{
		pool: pool, source: p.Source, spec: spec, wished: p.Back.Park, foreign: p.Back.Foreign,
		parked: map[key.Key]uint64{}, unseen: len(p.Acting) > 0, // the binlog does not show what cascades change
	}
}

// Tables are the tables that the rows, and the values that dropped columns had in them, are copied to.
func (l *Lot) Tables() (tables []schema.Name) {
	for _, name := range []schema.Name{l.table, l.values} {
		if name != (schema.Name{}) {
			tables = append(tables, name)
		}
	}
	return tables
}

// Keeps reports whether the undo goes back without the rows that the table has. There may be no lot.
func (l *Lot) Keeps() bool { return l != nil && l.keeps.Load() }

// Prepare creates the table for the rows, and copies them, so that Take has little to do under the lock. It fails with
// ErrUnfit if they are not to be parked, as it was wished at the beginning or is wished now.
func (l *Lot) Prepare(ctx context.Context, rows []rowsync.UnfitRow, wished bool) error {
	if !l.wished && !wished {
		return l.refused(rows)
	}
	if err := l.ready(ctx); err != nil || l.unseen {
		return err
	}
	session, err := l.pool.Session(ctx, l.spec.Setup()...)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := l.leave(ctx, session, rows); err != nil {
		return err
	}
	for part := range slices.Chunk(rows, atOnce) {
		err := l.copy(ctx, session, part)
		if dbconn.Duplicate(err) {
			return l.empty(ctx, session)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// empty removes all rows from the table: one of them has a unique value that another one has taken over. Under the lock, Take copies all
// rows as they are at one moment.
func (l *Lot) empty(ctx context.Context, session *dbconn.Session) error {
	clear(l.parked)
	err := run(ctx, session, "ROLLBACK")
	for _, table := range l.Tables() {
		err = cmp.Or(err, run(ctx, session, "DELETE FROM "+table.Quoted()))
	}
	return cmp.Or(err, run(ctx, session, "COMMIT"))
}

// ready has the table be there, with the mark that says that it goes with the run.
func (l *Lot) ready(ctx context.Context) error {
	session, err := l.pool.Session(ctx, l.pool.Defining()...)
	if err != nil {
		return err
	}
	defer session.Close()
	if l.table == (schema.Name{}) {
		err = l.create(ctx, session)
	} else if l.Keeps() { // an attempt has failed since
		for _, name := range l.Tables() {
			err = cmp.Or(err, l.mark(ctx, session, name, checkpoint.ParkingKind))
		}
	}
	l.keeps.Store(false)
	l.valued.Store(false)
	return err
}

// Values is the name of the table with the values that dropped columns had in the rows without which the undo goes back; "" if
// there are none. There may be no lot.
func (l *Lot) Values() string {
	if l == nil || !l.valued.Load() {
		return ""
	}
	return l.values.Table
}

// atOnce is the number of rows that are copied in one transaction.
const atOnce = 500

// create creates the tables, with names that are free.
func (l *Lot) create(ctx context.Context, session *dbconn.Session) (err error) {
	for i, name := range plan.ParkedNames(l.source.Name) {
		if err = l.createAs(ctx, session, name, plan.ValuesNames(l.source.Name)[i]); !dbconn.TableExists(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("create a table for rows that the old definition refuses: %w", err)
	}
	return nil
}

// createAs creates the tables. Until the swap their marks say that they go with the run. Other tables may have the names.
func (l *Lot) createAs(ctx context.Context, session *dbconn.Session, name, values schema.Name) error {
	if err := errors.Join(l.dropStopped(ctx, session, name), l.dropStopped(ctx, session, values)); err != nil {
		return err
	}
	if len(l.spec.Kept) > 0 {
		if err := run(ctx, session, l.spec.ValuesTable(values, schema.MarkFor(checkpoint.ParkingKind, l.source.Name))); err != nil {
			return err
		}
	}
	if err := run(ctx, session, "CREATE TABLE "+name.Quoted()+" LIKE "+l.source.Name.Quoted()); err != nil {
		if failed := l.dropStopped(ctx, session, values); failed != nil {
			return failed
		}
		return err
	}
	l.table = name
	if len(l.spec.Kept) > 0 {
		l.values = values
	}
	return l.mark(ctx, session, name, checkpoint.ParkingKind)
}

// dropStopped drops a table of this name that an undo has left which was stopped before its swap.
func (l *Lot) dropStopped(ctx context.Context, session *dbconn.Session, name schema.Name) error {
	stopped, err := schema.HasComment(ctx, session.Rows, name, schema.MarkFor(checkpoint.ParkingKind, l.source.Name))
	if err == nil && stopped {
		_, err = session.Exec(ctx, "DROP TABLE IF EXISTS "+name.Quoted())
	}
	return err
}

// mark gives a table a mark. MariaDB may copy the table for it, and computes the rows anew: a strict session has an error for some.
func (l *Lot) mark(ctx context.Context, session *dbconn.Session, table schema.Name, kind string) error {
	alter := "ALTER TABLE " + table.Quoted() + " COMMENT = " + schema.Literal(schema.MarkFor(kind, l.source.Name))
	if err := session.Laxly(ctx, func() error { return run(ctx, session, alter) }); err != nil {
		return fmt.Errorf("mark %s: %w", table, err)
	}
	return nil
}

// Take copies the rows to the table that have changed since Prepare has copied them, and has the table outlive the run. The
// session has the lock. It fails with ErrUnfit if there are rows and no table, or if other rows have no parent.
func (l *Lot) Take(ctx context.Context, session *dbconn.Session, rows []rowsync.UnfitRow) error {
	if err := l.orphans(ctx, session, rows); err != nil {
		return err
	}
	if l.table == (schema.Name{}) {
		if len(rows) > 0 {
			return l.refused(rows)
		}
		return nil
	}
	if err := l.leave(ctx, session, rows); err != nil {
		return err
	}
	if err := l.copy(ctx, session, rows); err != nil || len(rows) == 0 {
		return err
	}
	if err := l.keepValues(ctx, session); err != nil {
		return err
	}
	l.keeps.Store(true)
	return l.mark(ctx, session, l.table, checkpoint.ParkedKind)
}

// leave removes from the table what it has of rows that are not among these: they fit by now, or have another key, or no longer exist.
// It comes before a copy: the collation may hold such a key equal to that of a row.
func (l *Lot) leave(ctx context.Context, session *dbconn.Session, rows []rowsync.UnfitRow) error {
	gone := map[key.Key]bool{}
	for k := range l.parked {
		gone[k] = true
	}
	for _, r := range rows {
		delete(gone, r.Key)
	}
	if len(gone) == 0 {
		return nil
	}
	err := l.exec(ctx, session, func() error { return l.delete(ctx, session, slices.Collect(maps.Keys(gone))) })
	if err == nil {
		maps.DeleteFunc(l.parked, func(k key.Key, _ uint64) bool { return gone[k] })
	}
	return err
}

// keepValues has the table of values outlive the run, if it has any.
func (l *Lot) keepValues(ctx context.Context, session *dbconn.Session) error {
	if l.values == (schema.Name{}) {
		return nil
	}
	has := false
	err := session.Rows(ctx, "SELECT 1 FROM "+l.values.Quoted()+" LIMIT 1", func(*sql.Rows) error { has = true; return nil })
	if err == nil && has {
		err = l.mark(ctx, session, l.values, checkpoint.ParkedKind)
	}
	l.valued.Store(err == nil && has)
	return err
}

// copy copies rows to the table that have changed since they were copied last.
func (l *Lot) copy(ctx context.Context, session *dbconn.Session, rows []rowsync.UnfitRow) error {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r rowsync.UnfitRow) bool { return !l.unseen && l.parked[r.Key] == r.Try })
	if len(rows) == 0 {
		return nil
	}
	var columns []string
	for _, c := range l.source.Columns {
		if c.Generated == schema.NotGenerated {
			columns = append(columns, c.Name)
		}
	}
	err := l.exec(ctx, session, func() error {
		if err := l.delete(ctx, session, Keys(rows)); err != nil {
			return err
		}
		err := session.Laxly(ctx, func() error { return run(ctx, session, l.spec.Park(l.table, columns, Keys(rows))) }) // as they are
		if err == nil && l.values != (schema.Name{}) {
			err = l.spec.ParkValues(ctx, session, l.values, Keys(rows))
		}
		return err
	})
	if err != nil {
		if dbconn.ValueRefused(err) { // such as an empty VECTOR, which only a lax session has written
			err = fmt.Errorf("%w: no other table takes one of them: %w", ErrUnfit, err)
		}
		return err
	}
	for _, r := range rows {
		l.parked[r.Key] = r.Try
	}
	return nil
}

func (l *Lot) delete(ctx context.Context, session *dbconn.Session, keys []key.Key) error {
	for _, table := range l.Tables() {
		err := run(ctx, session, "DELETE FROM "+table.Quoted()+" WHERE "+rowsync.InKeys(l.spec.Key, l.spec.Key.Names(), keys))
		if err != nil {
			return err
		}
	}
	return nil
}

// exec does work on the table in a transaction.
func (l *Lot) exec(ctx context.Context, session *dbconn.Session, work func() error) error {
	err := work()
	if err == nil {
		err = run(ctx, session, "COMMIT")
	}
	if err != nil {
		return fmt.Errorf("copy the rows that the old definition refuses to %s: %w", l.table, err)
	}
	return nil
}

func run(ctx context.Context, session *dbconn.Session, statement string) error {
	_, err := session.Exec(ctx, statement)
	return err
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
		if more := all[at].Rows; more > int64(len(keys[reason])) {
			all[at].Query += fmt.Sprintf(" /* %d of %d rows */", len(keys[reason]), more)
		}
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
	if l.valued.Load() {
		e.Values = l.values.Dotted()
	}
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
