package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/cutover"
	"midstream/internal/engine/park"
	"midstream/internal/mysql/dbconn"
)

// ErrOutrun means that rows which the old table refuses are written faster than they can be set apart. Nothing has happened.
var ErrOutrun = fmt.Errorf("%w, and they are written faster than they can be set apart", park.ErrUnfit)

const (
	lookEvery = 5 * time.Second
	// looks is the number of looks by which an undo is judged: they are a minute apart.
	looks = 13
	// mostUnready is the number of these looks at which the undo may be too far behind to swap.
	mostUnready = looks * 2 / 3
	// few looks are told apart from others by more than swing keys: several batches.
	few, swing = 4, 3000
	// mostOverruns is the number of attempts, within a minute or more, whose work is too much for the lock.
	mostOverruns = 6
)

// look is what is seen of an undo at one moment.
type look struct {
	tries   uint64 // to sync rows that do not fit
	rows    int64  // copied or compared
	backlog int
	delay   time.Duration // of the capture
	ready   bool          // for the swap
}

// pace finds out whether an undo catches up. The zero value is ready.
//
// A batch of keys leaves the backlog at once, so its length swings, and a look may find it ready that was not and will not be.
// So pace compares the halves of a minute.
type pace struct{ seen []look }

// outrun takes a look, and reports whether the undo has gained nothing for a minute because of rows that do not fit.
func (p *pace) outrun(now look, wait time.Duration) bool {
	p.seen = append(p.seen[max(0, len(p.seen)-looks+1):], now)
	if len(p.seen) < looks {
		return false
	}
	first, middle, unready := p.seen[0], p.seen[looks/2], 0
	for _, l := range p.seen {
		if !l.ready {
			unready++
		}
	}
	apart := first.tries < middle.tries && middle.tries < now.tries
	return apart && first.rows == now.rows && unready > mostUnready && !p.gains(wait)
}

// gains reports whether the second half of the looks is better than the first, or the peak of the backlog is over. A gain by which
// it would take the most of a day is none.
func (p *pace) gains(wait time.Duration) bool {
	sum := func(of func(look) float64, from, to int) (sum float64) {
		for _, l := range p.seen[from:to] {
			sum += of(l)
		}
		return sum
	}
	less := func(of func(look) float64) bool { return sum(of, looks/2+1, looks) < 0.999*sum(of, 0, looks/2) }
	backlog := func(l look) float64 { return float64(l.backlog) }
	peak, late := 0.0, true
	for i, l := range p.seen {
		late = late && l.delay >= wait
		if i+few <= looks {
			peak = max(peak, sum(backlog, i, i+few))
		}
	}
	return less(backlog) || late && less(func(l look) float64 { return l.delay.Seconds() }) ||
		sum(backlog, looks-few, looks)+few*swing < peak
}

// look looks at the undo.
func (f *Follower) look() look {
	now := look{tries: f.deps.Unfit.Tries(), rows: f.deps.Rows(), backlog: f.deps.Backlog.Due(), delay: f.deps.Delay()}
	now.ready = now.backlog <= f.reach() && now.delay < f.wait()
	return now
}

// CaughtUp reports whether the backlog is small, capture is hardly behind, and no prepared XA transaction has changed the source.
func (f *Follower) CaughtUp() bool {
	return f.deps.Backlog.Len() <= f.reach() && f.deps.Delay() < f.wait() && f.deps.Undecided() == 0
}

func (f *Follower) wait() time.Duration { return f.deps.Control.Settings().Lock.Wait }

// reach is the number of keys in the backlog at which the run asks for the lock. A row that does not fit costs several
// statements: if the last changes were too many for the lock, fewer of them must do.
func (f *Follower) reach() int { return f.deps.CatchUp >> f.overruns.Load() }

// Watch fails with ErrOutrun once the undo does not catch up for a minute because of rows that do not fit, whatever it waits for.
// An undo that follows is held again instead. It begins when the changes of the past are received, and ends with ctx.
func (f *Follower) Watch(ctx context.Context) error {
	if f.deps.Lot == nil {
		return nil
	}
	for f.deps.Fence(ctx) != nil {
		if dbconn.Sleep(ctx, lookEvery) != nil {
			return nil
		}
	}
	for p := (pace{}); dbconn.Sleep(ctx, lookEvery) == nil; {
		if f.waits.Load() || f.deps.Control.Settings().When.Hold {
			p = pace{}
		} else if p.outrun(f.look(), f.wait()) {
			if err := f.again(ctx, f.outrun()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Follower) outrun() error { return fmt.Errorf("%w: %d so far", ErrOutrun, f.deps.Unfit.Len()) }

// Undone takes the error of an attempt.
func (f *Follower) Undone(err error) {
	if f.deps.Unfit.Len() > 0 && (errors.Is(err, cutover.ErrOverrun) || errors.Is(err, cutover.ErrNotDrained)) {
		if f.overruns.Add(1) == 1 {
			f.overran, f.tries = time.Now(), f.deps.Unfit.Tries()
		}
	}
}

// overrun reports whether rows that do not fit were too many for the lock again and again, for a minute, and more were written.
func (f *Follower) overrun() bool {
	return f.overruns.Load() >= mostOverruns && time.Since(f.overran) > time.Minute && f.deps.Unfit.Tries() > f.tries
}
