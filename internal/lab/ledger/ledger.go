package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Ledger writes to one table and remembers what it must hold. All methods are safe
// for concurrent use, but Create, Seed and Start are called in this order.
type Ledger struct {
	db      *sql.DB
	table   string // as given
	layout  *layout
	opts    Options
	writing atomic.Pointer[writing] // replaced when columns got new names

	nonces atomic.Uint32
	order  atomic.Uint64 // of the commits of hot transactions
	hot    hotPlaces
	gate   gate

	mu      sync.Mutex // guards what follows
	book    *book      // nil until seeded
	held    *area
	areas   []*area // of the writers
	meters  []*meter
	aside   *meter // of held transactions
	since   time.Time
	running bool
	stop    chan struct{}
	done    chan struct{}
	err     error // first failure of a writer
	xids    int
}

// New makes a ledger of a table, "database.table". It says what is wrong with the
// options or the profile; nothing is sent to the server.
func New(db *sql.DB, table string, profile Profile, opts Options) (*Ledger, error) {
	opts = opts.WithDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	layout, err := newLayout(profile)
	if err != nil {
		return nil, err
	}
	l := &Ledger{db: db, table: table, layout: layout, opts: opts, since: time.Now()}
	l.hot.places = map[Slot]uint64{}
	l.aside = newMeter(l.since)
	l.writing.Store(newWriting(layout, table, nil))
	return l, nil
}

// Table is the table's name as it was given to New.
func (l *Ledger) Table() string { return l.table }

// CreateTable returns the CREATE TABLE statement.
func (l *Ledger) CreateTable() string { return l.layout.createTable(quoteTable(l.table)) }

// Create creates the table, which must not be there.
func (l *Ledger) Create(ctx context.Context) error {
	if _, err := l.db.ExecContext(ctx, l.CreateTable()); err != nil {
		return fmt.Errorf("create %s: %w", l.table, err)
	}
	return nil
}

// prepare maps the slots of a table of so many rows to the writers.
func (l *Ledger) prepare(rows int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.book != nil {
		return fmt.Errorf("ledger of %s: seeded already", l.table)
	}
	l.book = newBook(l.layout, l.opts, rows)
	l.held = newArea(l.book, held)
	for i := range l.opts.Writers {
		l.areas = append(l.areas, newArea(l.book, owner(i)))
	}
	return nil
}

// Start starts the writers. They stop at Stop, at the end of ctx (both let the
// transaction in hand end), or at the first failure. A ledger that was not seeded
// takes the table to be empty.
func (l *Ledger) Start(ctx context.Context) error {
	if l.book == nil {
		if err := l.prepare(0); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running {
		return fmt.Errorf("ledger of %s: started already", l.table)
	}
	for len(l.meters) < l.opts.Writers {
		l.meters = append(l.meters, nil)
	}
	l.since = time.Now()
	l.aside.reset(l.since)
	l.running, l.err = true, nil
	l.stop, l.done = make(chan struct{}), make(chan struct{})
	var writers sync.WaitGroup
	for i := range l.opts.Writers {
		l.meters[i] = newMeter(l.since)
		w := l.newWriter(ctx, i)
		writers.Go(w.run)
	}
	stop, done := l.stop, l.done
	release := context.AfterFunc(ctx, func() { l.halt(stop) })
	go func() {
		writers.Wait()
		release()
		close(done)
	}()
	return nil
}

// halt tells the writers of one Start to stop.
func (l *Ledger) halt(stop chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-stop:
	default:
		close(stop)
	}
}

// fail notes a writer's failure, which stops all of them.
func (l *Ledger) fail(err error) {
	l.mu.Lock()
	if l.err == nil {
		l.err = err
	}
	stop := l.stop
	l.mu.Unlock()
	l.halt(stop)
}

// Stop lets every writer end its transaction, waits for them, and returns the first
// failure: an answer that contradicts the ledger, or an error that an application
// would not live with. A stopped ledger can be started again.
func (l *Ledger) Stop() error {
	l.mu.Lock()
	stop, done, running := l.stop, l.done, l.running
	l.mu.Unlock()
	if !running {
		return l.Err()
	}
	l.halt(stop)
	<-done
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = false
	return l.err
}

// Done is closed once all writers have ended, by Stop or by a failure. It is nil
// before Start.
func (l *Ledger) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done
}

// Err returns the first failure of a writer so far.
func (l *Ledger) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Pause keeps writers from beginning transactions, and returns once none is open.
// Held transactions go on.
func (l *Ledger) Pause(ctx context.Context) error { return l.gate.close(ctx) }

// Resume lets the writers go on.
func (l *Ledger) Resume() { l.gate.open() }

// Stats returns a copy of what was counted since Start or ResetStats.
func (l *Ledger) Stats() Stats {
	l.mu.Lock()
	since, meters := l.since, append([]*meter{l.aside}, l.meters...)
	l.mu.Unlock()
	m := newMeter(since)
	sum := m.stats
	for _, one := range meters {
		if one != nil {
			one.addTo(&sum)
		}
	}
	sum.Elapsed = time.Since(since)
	return sum
}

// ResetStats begins to count anew. A statement that is running counts where it ends.
func (l *Ledger) ResetStats() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = time.Now()
	for _, m := range append([]*meter{l.aside}, l.meters...) {
		if m != nil {
			m.reset(l.since)
		}
	}
}

// clock is the start of counting.
func (l *Ledger) clock() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.since
}

// nonce returns a number that no row has had.
func (l *Ledger) nonce() uint32 { return l.nonces.Add(1) &^ seedNonce }

// rename makes statements use the new names of columns. It returns false if the one
// that failed did already, or if there are none.
func (l *Ledger) rename(from *writing) bool {
	if len(l.opts.Renamed) == 0 || from.renamed {
		return false
	}
	to := newWriting(l.layout, l.table, l.opts.Renamed)
	to.renamed = true
	l.writing.Store(to)
	return true
}

// Held returns the first held slot at or above a place, the last one below it if there
// is none above, which has a row or has none.
func (l *Ledger) Held(place Slot, present bool) (Slot, error) {
	if l.book == nil {
		return 0, fmt.Errorf("ledger of %s: not seeded", l.table)
	}
	l.held.mu.Lock()
	defer l.held.mu.Unlock()
	slot, ok := l.held.near(place, func(s Slot) bool { return l.book.get(s).present == present })
	if !ok {
		return 0, errNoRoom
	}
	return slot, nil
}

// Key returns the condition that finds the row of a slot, as SQL.
func (l *Ledger) Key(slot Slot) string {
	return string(l.writing.Load().appendKey(nil, slot, &row{}))
}

// Begin begins a transaction on held slots, in a session of its own, which the end of
// the transaction closes.
func (l *Ledger) Begin(ctx context.Context) (*Tx, error) {
	if l.book == nil {
		return nil, fmt.Errorf("ledger of %s: not seeded", l.table)
	}
	s, err := l.connect(ctx, l.aside, "REPEATABLE READ")
	if err != nil {
		return nil, err
	}
	t := l.newTx(ctx, s, l.held, rand.New(rand.NewPCG(l.opts.Seed, uint64(l.nonce()))), false)
	t.alone = true
	return t, nil
}

// Transact runs a transaction on held slots: it commits if f returns nil, else it rolls
// back. It returns ErrUndone if the server rolled it back.
func (l *Ledger) Transact(ctx context.Context, f func(*Tx) error) error {
	t, err := l.Begin(ctx)
	if err != nil {
		return err
	}
	if err := f(t); err != nil {
		return t.settle(err)
	}
	return t.Commit()
}

// Do runs one operation on random held rows. It returns ErrUndone if the server
// rolled it back.
func (l *Ledger) Do(ctx context.Context, op Op) error {
	kind, ok := operations[op]
	if !ok || op == OpHot {
		return fmt.Errorf("ledger: no operation %q on held rows", op)
	}
	t, err := l.Begin(ctx)
	if err != nil {
		return err
	}
	defer t.session.close()
	t.alone = false // an operation may take two transactions
	if err := l.perform(t, op, kind); err != nil {
		return fmt.Errorf("ledger: %s on held rows: %w", op, err)
	}
	return nil
}
