package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/backlog"
	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/park"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
)

// ErrOver means that the time of the undo is over. The undo itself is still possible.
var ErrOver = errors.New("the time of the undo is over, so the undo follows the table no longer")

// Deps are what a follower works with.
type Deps struct {
	Control *operator.Control
	Backlog *backlog.Backlog
	Unfit   *rowsync.Unfit
	Lot     *park.Lot // nil: the run is no undo
	// Fence returns when every change that was committed before is in the backlog.
	Fence func(ctx context.Context) error
	// Due reports whether the tables must be compared again. Compare does that.
	Due     func() bool
	Compare func(ctx context.Context) error
	// Orphans fails if rows have no parent by foreign keys that come back.
	Orphans func(ctx context.Context) error
	// Left is the rest of the time of the undo.
	Left func(ctx context.Context) (time.Duration, error)
	Emit event.Listener
}

// Follower is a run that may be held. If it is no undo, it only compares the tables again. Only the story's goroutine uses
// it.
type Follower struct {
	deps Deps
	// own means that the undo began held: it is to follow.
	own bool
	// within means that it began within the time of the undo. asked is when the rest was read last, and ends when the time
	// is over as far as that is known: it may be extended.
	within      bool
	asked, ends time.Time
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
)

// Meanwhile does what is due while the undo is held. Call it again and again.
func (f *Follower) Meanwhile(ctx context.Context) error {
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

// over fails with ErrOver if the time of the undo has ended since the follower began.
func (f *Follower) over(ctx context.Context) error {
	if !f.own || time.Since(f.asked) < askEvery && !(f.within && time.Now().After(f.ends)) {
		return nil
	}
	left, err := f.deps.Left(ctx)
	if err != nil {
		return err
	}
	f.asked = time.Now()
	f.ends = f.asked.Add(left)
	if f.within && left <= 0 {
		return ErrOver
	}
	f.within = left > 0
	return nil
}

// Released ends what a follower does while it is held: all changes are applied at once from now on. Its error is that of
// a comparison that has found the tables to differ.
func (f *Follower) Released() error {
	f.deps.Backlog.Rest(0)
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
// park.ErrUnfit, but an undo that follows is held again, and follows on. Rows that were refused once are tried again:
// another row may have been in their way.
func (f *Follower) Fits(ctx context.Context) (bool, error) {
	fits, err := f.fits(ctx)
	if fits {
		err = f.deps.Orphans(ctx)
	}
	return fits && err == nil, err
}

func (f *Follower) fits(ctx context.Context) (bool, error) {
	rows := f.deps.Unfit.Rows()
	if len(rows) == 0 {
		return true, nil
	}
	keys := park.Keys(rows)
	for _, k := range keys {
		f.deps.Backlog.Add(k)
	}
	if err := f.deps.Fence(ctx); err != nil {
		return false, err
	}
	for len(f.deps.Backlog.Pending(keys)) > 0 {
		if err := dbconn.Sleep(ctx, 20*time.Millisecond); err != nil {
			return false, err
		}
	}
	if rows = f.deps.Unfit.Rows(); len(rows) == 0 {
		return true, nil
	}
	for _, finding := range f.deps.Lot.Findings(rows) {
		f.deps.Emit(finding)
	}
	err := f.deps.Lot.Prepare(ctx, rows, f.deps.Control.Settings().When.Park)
	if err == nil || !f.own || !errors.Is(err, park.ErrUnfit) {
		return err == nil, err
	}
	held := f.deps.Control.Hold(ctx)
	var already *operator.NotNow
	if held != nil && !errors.As(held, &already) {
		return false, held
	}
	f.deps.Emit(event.Note{Text: fmt.Sprintf("%v. The undo is held again, and follows on", err), At: time.Now()})
	return false, nil
}
