package rowchange

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// walker walks the rows in the order of the key.
type walker struct {
	*Change
	session *dbconn.Session

	windows, changes rowsync.Sizer
	room             func(ctx context.Context, rows int) (room int, wrote func(rows int), err error)
	limit            int // rows of a chunk after a failed one; 0 for no limit
	window           key.Key
	windowRows       int // 0: there is no window
	saved            time.Time
	definition       string         // of the source, as the session shows it
	identity         facts.Identity // of the source; nil if the account may not see it
	identified       time.Time      // when it was last read
}

// The bounds of a window of rows that are read at once, and of a chunk of rows that are changed at once.
const (
	leastWindow, firstWindow, mostWindow = 100, 1_000, 100_000
	leastChunk, firstChunk, mostChunk    = 10, 100, 5_000
	// mostBytes bounds a chunk by the average length of a row.
	mostBytes = 16 << 20
)

// saveEvery is the time after which a checkpoint is written although no row has matched.
const saveEvery = time.Second

func newWalker(ctx context.Context, c *Change) (*walker, error) {
	setup := append(c.plan.setup(c.pool), "SET SESSION innodb_lock_wait_timeout = 1")
	session, err := c.pool.Session(ctx, setup...)
	if err != nil {
		return nil, err
	}
	most := mostChunk
	if t := c.plan.Source; t.Rows > 0 && t.DataBytes > t.Rows {
		most = int(max(1, min(int64(most), mostBytes/(t.DataBytes/t.Rows))))
	}
	w := &walker{
		Change: c, session: session, saved: time.Now(), room: c.brakes.Room(1, c.brakes.CopyMayBegin),
		windows: rowsync.Sizer{Least: leastWindow, First: firstWindow, Most: mostWindow},
		changes: rowsync.Sizer{Least: min(leastChunk, most), First: min(firstChunk, most), Most: most},
	}
	if err = w.begin(ctx); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// errAltered means that the table is another one than that of the plan.
var errAltered = errors.New("the table was altered, renamed or dropped since the plan was made")

// begin reads the definition of the table. REQUIRES: the session has nothing else to do yet.
func (w *walker) begin(ctx context.Context) (err error) {
	if w.definition, err = w.define(ctx, w.session); err != nil {
		return err
	}
	planned, err := w.pool.Session(ctx) // shows it as the plan has it
	if err != nil {
		return err
	}
	defer planned.Close()
	now, err := w.define(ctx, planned)
	was, _ := schema.SplitAutoIncrement(w.plan.Source.Create)
	if err == nil && !schema.SameDefinition(was, now) {
		err = errAltered
	}
	if err == nil {
		w.identity, err = facts.ReadIdentity(ctx, w.pool.DB(), w.plan.Source.Name)
		w.identified = time.Now()
	}
	return err
}

// identifyEvery is the time after which the table is identified again. InnoDB's list of tables is not free.
const identifyEvery = time.Second

// sameTable fails if another table has the name now, as far as the account may see that.
func (w *walker) sameTable(ctx context.Context) error {
	w.identified = time.Now()
	if w.identity == nil {
		return nil
	}
	now, err := facts.ReadIdentity(ctx, w.pool.DB(), w.plan.Source.Name)
	if err == nil && now != nil && !slices.Equal(now, w.identity) {
		err = errAltered
	}
	return err
}

// define returns the definition of the table.
func (w *walker) define(ctx context.Context, session *dbconn.Session) (definition string, err error) {
	err = session.Patiently(ctx, func() error {
		return session.Rows(ctx, "SHOW CREATE TABLE "+w.plan.Source.Name.Quoted(), func(r *sql.Rows) error {
			var name string
			err := r.Scan(&name, &definition)
			definition, _ = schema.SplitAutoIncrement(definition)
			return err
		})
	})
	if dbconn.NoSuchTable(err) {
		err = errAltered
	}
	return definition, err
}

// unaltered fails if the table is not as it was when the walk began: the archive would lack a new column, and rows could be in another
// order. In a transaction that has used the table, it stays so until the end.
func (w *walker) unaltered(ctx context.Context) error {
	now, err := w.define(ctx, w.session)
	if err == nil && !schema.SameDefinition(w.definition, now) {
		err = errAltered
	}
	return err
}

func (w *walker) close() { w.session.Close() }

// condition is what rows of the statement meet. The server computes it for each row: no index of its own may find the rows, because then
// other rows would be locked, too.
func (p *Plan) condition() string { return "IF((" + p.Statement.Where + "), 1, 0)" }

// run changes all rows from the frontier on.
func (w *walker) run(ctx context.Context) error {
	var took time.Duration
	stuck := patience{}
	for !w.standingAt().ended {
		if err := w.mayRead(ctx, took); err != nil {
			return err
		}
		began := time.Now()
		keys, next, err := w.chunk(ctx, began)
		if err != nil {
			return fmt.Errorf("find the next rows: %w", err)
		}
		if len(keys) == 0 {
			took = time.Since(began)
			if err := w.pass(ctx, next); err != nil {
				return err
			}
			continue
		}
		room, wrote, err := w.room(ctx, len(keys))
		if err != nil {
			return err
		}
		if room < len(keys) {
			next, keys = step{to: keys[room]}, keys[:room]
		}
		changed, err := w.commit(ctx, keys, next)
		wrote(int(changed))
		took = time.Since(began)
		if err == nil {
			if w.limit = 2 * w.limit; w.limit > mostChunk {
				w.limit = 0
			}
			if w.limit == 0 {
				stuck = patience{}
			}
			w.emit(event.ChunkCopied{Rows: changed, Elapsed: took, At: time.Now()})
			continue
		}
		if err := w.again(ctx, err, keys, &stuck); err != nil {
			return err
		}
	}
	return nil
}

// step is where a chunk ends.
type step struct {
	to   key.Key
	ends bool // no rows are behind it
	// walked is the number of rows of the window that ends with the chunk; 0 if it goes on.
	walked int
}

// chunk finds the keys of the next rows that match, and where their chunk ends. It locks no row.
func (w *walker) chunk(ctx context.Context, began time.Time) (keys []key.Key, next step, err error) {
	at := w.standingAt()
	target := w.brakes.Chunk()
	fresh := w.windowRows == 0
	if fresh {
		w.windowRows = w.windows.Rows(target)
		if w.window, err = rowsync.Bound(ctx, w.session, w.plan.spec, key.Range{From: at.frontier}, w.windowRows); err != nil {
			w.windowRows = 0
			return nil, step{}, err
		}
	}
	limit := w.changes.Rows(target)
	if w.limit > 0 {
		limit = min(limit, w.limit)
	}
	w.mu.Lock()
	w.rows = limit
	w.mu.Unlock()
	names := w.plan.Key.Columns()
	order := make([]string, len(names))
	for i, part := range w.plan.Key.Parts {
		order[i] = schema.Quote(names[i])
		if part.Descending {
			order[i] += " DESC"
		}
	}
	query := fmt.Sprintf("SELECT %s FROM %s FORCE INDEX (%s) WHERE (%s) AND %s ORDER BY %s LIMIT %d",
		strings.Join(w.plan.spec.Key.SelectExprs(), ", "), w.plan.Source.Name.Quoted(), schema.Quote(w.plan.Key.Name),
		rowsync.InRange(w.plan.spec.Key, names, key.Range{From: at.frontier, To: w.window}), w.plan.condition(), strings.Join(order, ", "), limit+1)
	err = w.session.Patiently(ctx, func() error {
		keys = nil
		return w.session.Rows(ctx, query, func(r *sql.Rows) error {
			k, err := w.plan.spec.ScanKey(r)
			keys = append(keys, k)
			return err
		})
	})
	if err != nil {
		return nil, step{}, err
	}
	if len(keys) > limit {
		return keys[:limit], step{to: keys[limit]}, nil
	}
	if fresh {
		w.windows.Took(int64(w.windowRows), time.Since(began))
	}
	return keys, step{to: w.window, ends: w.window == "", walked: w.windowRows}, nil
}

// after is the position behind a chunk.
func (w *walker) after(next step, matched int, changed int64) position {
	at := w.standingAt()
	at.frontier, at.ended = next.to, next.ends
	at.done.Walked += int64(next.walked)
	if next.ends && w.plan.Source.Rows > 0 && next.walked > 0 {
		at.done.Walked = max(at.done.Walked-int64(next.walked), min(at.done.Walked, w.plan.Source.Rows)) // the last window has fewer rows
	}
	at.done.Matched += int64(matched)
	at.done.Rows += changed
	if w.plan.restName() != "" {
		at.done.Archived += changed
	}
	return at
}

// moved records that everything before a position is done.
func (w *walker) moved(at position, next step) {
	w.mu.Lock()
	w.at = at
	w.mu.Unlock()
	if next.walked > 0 {
		w.windowRows = 0
	}
}

// pass goes on behind a range without rows that match.
func (w *walker) pass(ctx context.Context, next step) error {
	at := w.after(next, 0, 0)
	if at.ended {
		if err := w.unaltered(ctx); err != nil {
			return err
		}
	}
	if at.ended || time.Since(w.identified) > identifyEvery {
		if err := w.sameTable(ctx); err != nil {
			return err
		}
	}
	if at.ended || time.Since(w.saved) > saveEvery {
		if err := w.session.Patiently(ctx, func() error { return w.store.Save(ctx, w.session, w.checkpoint(at)) }); err != nil {
			return err
		}
		w.saved = time.Now()
	}
	w.moved(at, next)
	return nil
}

// commit changes the rows and writes the checkpoint, in one transaction. It ends whatever ctx does, because a chunk is short.
func (w *walker) commit(ctx context.Context, keys []key.Key, next step) (changed int64, err error) {
	w.flying.Add(1)
	defer w.flying.Add(-1)
	ctx = context.WithoutCancel(ctx)
	began := time.Now()
	if _, err := w.session.Exec(ctx, "START TRANSACTION"); err != nil {
		return 0, err
	}
	at := position{}
	if changed, err = w.change(ctx, keys); err == nil {
		err = w.unaltered(ctx)
	}
	if err == nil {
		at = w.after(next, len(keys), changed)
	}
	if err == nil && (at.ended || time.Since(w.identified) > identifyEvery) {
		err = w.sameTable(ctx)
	}
	if err == nil {
		err = w.store.Save(ctx, w.session, w.checkpoint(at))
	}
	if err == nil {
		_, err = w.session.Exec(ctx, "COMMIT")
	}
	if err != nil {
		if !w.session.Lost() {
			if _, failed := w.session.Exec(ctx, "ROLLBACK"); failed != nil {
				err = errors.Join(failed, err)
			}
		}
		return 0, err
	}
	w.saved = time.Now()
	w.changes.Took(int64(len(keys)), time.Since(began))
	w.moved(at, next)
	return changed, nil
}

// errArchive means that the archive did not take the rows that were deleted.
var errArchive = errors.New("the number of rows in the archive differs from the number of deleted rows")

// change deletes or updates the rows that still match.
func (w *walker) change(ctx context.Context, keys []key.Key) (changed int64, err error) {
	p := w.plan
	source, codec, names := p.Source.Name.Quoted(), p.spec.Key, p.Key.Columns()
	where := " WHERE " + rowsync.InKeys(codec, names, keys) + " AND " + p.condition()
	if p.Statement.Verb == ddl.Update {
		return w.exec(ctx, "UPDATE "+source+" SET "+p.Statement.Set+where)
	}
	if p.restName() == "" {
		return w.exec(ctx, "DELETE FROM "+source+where)
	}
	var locked []key.Key
	query := "SELECT " + strings.Join(codec.SelectExprs(), ", ") + " FROM " + source + where + " FOR UPDATE"
	err = w.session.Rows(ctx, query, func(r *sql.Rows) error {
		k, err := p.spec.ScanKey(r)
		locked = append(locked, k)
		return err
	})
	if err != nil || len(locked) == 0 {
		return 0, err
	}
	columns, where := strings.Join(p.archived(), ", "), " WHERE "+rowsync.InKeys(codec, names, locked)
	var archived int64
	err = w.session.Laxly(ctx, func() (err error) {
		archived, err = w.exec(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %[2]s FROM %[3]s%[4]s", p.restName(), columns, source, where))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("copy rows to %s: %w", p.Options.Rest, err)
	}
	if changed, err = w.exec(ctx, "DELETE FROM "+source+where); err != nil {
		return 0, err
	}
	if n := int64(len(locked)); archived != n || changed != n {
		return 0, fmt.Errorf("%w: %d rows matched, %d were copied and %d deleted", errArchive, n, archived, changed)
	}
	return changed, nil
}

func (w *walker) exec(ctx context.Context, statement string) (rows int64, err error) {
	result, err := w.session.Exec(ctx, statement)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// patience is how long a chunk has been tried.
type patience struct {
	since, told time.Time
	tries       int
}

// tellEvery is the time between two notes about a chunk that does not get its locks.
const tellEvery = 30 * time.Second

// again decides what follows a failed chunk: it is tried again with fewer rows, so that a row which another transaction has locked, or
// which the server refuses, is alone in the end.
func (w *walker) again(ctx context.Context, err error, keys []key.Key, stuck *patience) error {
	first := w.plan.spec.Key.Format(keys[0])
	contended := dbconn.Contended(err)
	switch {
	case w.session.Lost() || dbconn.ConnectionLost(err) || dbconn.Number(err) == 0:
		return err
	case !contended && len(keys) == 1:
		return fmt.Errorf("row %s: %w", first, err)
	}
	w.retries.Add(1)
	w.emit(event.Retry{What: "chunk", Cause: err.Error(), At: time.Now()})
	w.limit = max(1, len(keys)/4)
	if !contended {
		return nil
	}
	if stuck.tries++; stuck.since.IsZero() {
		stuck.since, stuck.told = time.Now(), time.Now().Add(5*time.Second-tellEvery)
	}
	if time.Since(stuck.told) > tellEvery {
		stuck.told = time.Now()
		w.note(fmt.Sprintf("waiting for %s since row %s is locked by another transaction (%s)", time.Since(stuck.since).Round(time.Second), first, dbconn.Message(err)))
	}
	wait := min(time.Second, time.Duration(stuck.tries)*50*time.Millisecond)
	return dbconn.Sleep(ctx, wait)
}

// recount counts the rows that match now, window by window.
func (w *walker) recount(ctx context.Context) (match int64, err error) {
	var from key.Key
	var took time.Duration
	for {
		if err := w.mayRead(ctx, took); err != nil {
			return 0, err
		}
		began := time.Now()
		rows := w.windows.Rows(w.brakes.Chunk())
		to, err := rowsync.Bound(ctx, w.session, w.plan.spec, key.Range{From: from}, rows)
		if err != nil {
			return 0, fmt.Errorf("count the rows that match: %w", err)
		}
		query := fmt.Sprintf("SELECT COUNT(*) FROM %s FORCE INDEX (%s) WHERE (%s) AND %s", w.plan.Source.Name.Quoted(), schema.Quote(w.plan.Key.Name),
			rowsync.InRange(w.plan.spec.Key, w.plan.Key.Columns(), key.Range{From: from, To: to}), w.plan.condition())
		err = w.session.Patiently(ctx, func() error {
			return w.session.Rows(ctx, query, func(r *sql.Rows) error {
				var n int64
				err := r.Scan(&n)
				match += n
				return err
			})
		})
		if err != nil {
			return 0, fmt.Errorf("count the rows that match: %w", err)
		}
		took = time.Since(began)
		w.windows.Took(int64(rows), took)
		w.mu.Lock()
		w.counted += int64(rows)
		w.mu.Unlock()
		if to == "" {
			return match, nil
		}
		from = to
	}
}
