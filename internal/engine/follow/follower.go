package follow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"midstream/internal/engine/backlog"
	"midstream/internal/engine/event"
	"midstream/internal/engine/key"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/park"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
)

// ErrOver means that the time of the undo is over. The undo itself is still possible.
var ErrOver = errors.New("the time of the undo is over, so no process follows the table any longer")

// Deps are what a follower works with.
type Deps struct {
	Control *operator.Control
	Backlog *backlog.Backlog
	Unfit   *rowsync.Unfit
	Lot     *park.Lot // nil: the run is no undo
	// CatchUp is the number of keys in the backlog at which the run asks for the lock.
	CatchUp int
	// Delay is how far the capture is behind, and Undecided the number of prepared XA transactions.
	Delay     func() time.Duration
	Undecided func() int
	Rows      func() int64 // copied and compared so far
	// Fence returns when every change that was committed before is in the backlog.
	Fence func(ctx context.Context) error
	// Due reports whether the tables must be compared again. Compare does that.
	Due     func() bool
	Compare func(ctx context.Context) error
	// Left is the rest of the time of the undo.
	Left func(ctx context.Context) (time.Duration, error)
	Emit event.Listener
}

// Follower is a run that may be held. If it is no undo, it only compares the tables again. Only the story's goroutine uses
// it, but for Watch.
type Follower struct {
	deps Deps
	// own means that the undo began held: it is to follow.
	own bool
	// asked is when the rest of the time was read last, and ends when the time is over as far as that is known: it may be
	// extended.
	asked, ends time.Time
	// tried are the unfit rows that were tried again since the release.
	tried map[key.Key]bool
	// waits means that an operator, a window or a pause holds the run.
	waits atomic.Bool
	// overruns are attempts whose changes were too many for the lock. The first was at overran, after tries of unfit rows.
	overruns atomic.Int32
	overran  time.Time
	tries    uint64
	// stop ends the comparison that is under way, and compared gets its error; nil if there is none.
	stop     context.CancelFunc
	compared chan error
}

// New returns a follower.
func New(deps Deps) *Follower {
	return &Follower{deps: deps, own: deps.Lot != nil && deps.Control.Settings().When.Hold}
}

const (
	// syncEvery is the least time between two syncs of a row.
	syncEvery = time.Minute
	// askEvery is the time between two questions for the rest of the time.
	askEvery = 10 * time.Second
	// tryFor bounds the time in which rows that were refused are tried again.
	tryFor = time.Minute
)

// Meanwhile does what is due while the undo is held. Call it again and again.
func (f *Follower) Meanwhile(ctx context.Context) error {
	f.tried = nil
	f.waits.Store(true)
	f.overruns.Store(0)
	if f.deps.Lot == nil {
		if f.deps.Due() {
			return f.deps.Compare(ctx)
		}
		return nil
	}
	if err := f.over(ctx); err != nil {
		return err
	}
	if f.compared == nil && f.deps.Due() {
		comparing, stop := context.WithCancel(ctx)
		compared := make(chan error, 1)
		f.stop, f.compared = stop, compared
		f.deps.Backlog.Rest(0) // keys that rest cannot be compared
		go func() { compared <- f.deps.Compare(comparing) }()
	}
	if f.compared == nil {
		f.deps.Backlog.Rest(syncEvery)
		return nil
	}
	select {
	case err := <-f.compared:
		f.stop()
		f.compared = nil
		return err
	default:
		return nil
	}
}

// over fails with ErrOver if the time of the undo is over.
func (f *Follower) over(ctx context.Context) error {
	if !f.own || time.Since(f.asked) < askEvery && time.Now().Before(f.ends) {
		return nil
	}
	left, err := f.deps.Left(ctx)
	if err != nil {
		return err
	}
	f.asked = time.Now()
	f.ends = f.asked.Add(left)
	if left <= 0 {
		return ErrOver
	}
	return nil
}

// Released ends what a follower does while it is held: all changes are applied at once from now on. Its error is that of
// a comparison that has found the tables to differ, or ErrOutrun. Call it again and again until the swap.
func (f *Follower) Released(ctx context.Context) error {
	f.deps.Backlog.Rest(0)
	f.waits.Store(false)
	if f.overrun() {
		if err := f.again(ctx, f.outrun()); err != nil {
			return err
		}
	}
	if f.compared == nil {
		return nil
	}
	f.stop()
	err := <-f.compared
	f.compared = nil
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return err
}

// Fits reports whether the old table takes all rows, or the other rows are to be parked (U4). Otherwise it fails with
// park.ErrUnfit, but an undo that follows is held again, and follows on.
func (f *Follower) Fits(ctx context.Context) (bool, error) {
	rows, err := f.refused(ctx)
	if err == nil && len(rows) > 0 {
		err = f.deps.Lot.Prepare(ctx, rows, f.deps.Control.Settings().When.Park)
		if errors.Is(err, park.ErrUnfit) {
			for _, finding := range f.deps.Lot.Findings(rows) {
				f.deps.Emit(finding)
			}
		}
	}
	if err == nil {
		err = f.deps.Lot.Orphans(ctx, f.deps.Control.Settings().Lock.Work)
		if finding, is := park.Orphaned(err); is {
			f.deps.Emit(finding)
		}
	}
	if err == nil {
		return true, nil
	}
	if errors.Is(err, park.ErrUnfit) || errors.Is(err, park.ErrSlow) {
		err = f.again(ctx, err)
	}
	return false, err
}

// refused are the rows that the old table refuses. Those that are duplicates are tried again once after a release: the other
// row may be gone. If all were tried again before each attempt, an undo that parks them would never come to its swap.
func (f *Follower) refused(ctx context.Context) ([]rowsync.UnfitRow, error) {
	rows := f.deps.Unfit.Rows()
	var keys []key.Key
	for _, r := range rows {
		if !f.tried[r.Key] && (dbconn.Duplicate(r.Cause) || errors.Is(r.Cause, rowsync.ErrDuplicate)) {
			keys = append(keys, r.Key)
		}
	}
	if len(keys) == 0 {
		return rows, nil
	}
	if f.tried == nil {
		f.tried = map[key.Key]bool{}
	}
	for _, k := range keys {
		f.tried[k] = true
		f.deps.Backlog.Add(k)
	}
	if err := f.deps.Fence(ctx); err != nil {
		return nil, err
	}
	// A row that changes all the time may be pending again each time.
	for began := time.Now(); len(keys) > 0 && time.Since(began) < tryFor; {
		keys = slices.Collect(maps.Keys(f.deps.Backlog.Pending(keys)))
		if err := dbconn.Sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return f.deps.Unfit.Rows(), nil
}

// again holds an undo that follows once more, because of an error. Another undo fails with it.
func (f *Follower) again(ctx context.Context, err error) error {
	if !f.own {
		return err
	}
	held := f.deps.Control.Hold(ctx)
	var already *operator.NotNow
	if held != nil && !errors.As(held, &already) {
		return held
	}
	if f.deps.Control.Settings().When.Hold { // else it was too late for that
		f.deps.Emit(event.Note{Text: fmt.Sprintf("%v. The undo is held again, and follows on", err), At: time.Now()})
	}
	return nil
}
