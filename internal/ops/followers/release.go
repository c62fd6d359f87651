package followers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// ErrHeld means that the follower is held again, and follows on.
var ErrHeld = errors.New("the undo was not made")

// ErrUnfit means that the old definition refuses rows: the follower is held again, and follows on.
var ErrUnfit = errors.New("some rows do not fit")

// Advice is what to do about an undo of a table that was not made.
func Advice(err error, table schema.Name) string {
	if errors.Is(err, ErrUnfit) {
		return "change the rows that are listed and give the same command again, or add --park: it copies them to a table of their own and " +
			"goes back without them. If they lack a value for a column without a default, this prints the commands that give it: " +
			"midstream undo  --plan " + table.Argument()
	}
	return "give the same command again once the cause is removed"
}

// Release has a follower take the change back, and returns its result when it has ended. show is called with its events.
// With parks, it copies the rows that the old definition refuses to a table of their own; otherwise Release fails with
// ErrUnfit if there are any, and before that, show has got a finding for each reason. It fails with ErrHeld if the follower
// is held again for another reason, with a *socket.Problem if it is paused, and with socket.ErrKilled if its process ends
// without a result.
func Release(ctx context.Context, run *socket.Client, parks bool, show event.Listener) (*record.Result, error) {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	listens, ended := make(chan struct{}, 1), make(chan struct{})
	var failed error // once ended is closed
	var result *record.Result
	unfit, released, why := false, false, ""
	began := time.Now().Truncate(time.Millisecond)
	go func() {
		defer close(ended)
		failed = run.Events(ctx, func(line []byte) {
			select {
			case listens <- struct{}{}: // from here on no event is missed
			default:
			}
			e, r, err := record.Read(line)
			if err != nil { // another version's
				return
			}
			if r != nil { // its duration is that of this undo, and not of the process that has followed the table for days
				r.ElapsedMS = record.MSOf(time.Since(began))
				result = r
				return
			}
			switch e := e.(type) {
			case event.Finding:
				unfit = true
			case event.Note:
				why = e.Text
			case event.PhaseEntered:
				switch {
				case e.Phase != event.PhaseHold:
					released = released || e.Phase == event.PhaseCatchUp
				case unfit:
					leave(ErrUnfit)
				case released:
					leave(fmt.Errorf("%w: %s", ErrHeld, why))
				}
			}
			if e != nil && show != nil && !record.At(line).Before(began) { // the first ones are what the process has reported last
				show(e)
			}
		})
	}()
	select {
	case <-listens:
	case <-ended:
		return nil, orKilled(failed)
	}
	if err := run.Call(ctx, http.MethodPost, "undo", socket.UndoCommand{Park: parks}, &socket.Answer{}); err != nil {
		if why := context.Cause(ctx); errors.Is(why, ErrUnfit) || errors.Is(why, ErrHeld) { // it was faster than the answer
			err = why
		}
		leave(nil)
		<-ended
		return nil, err
	}
	if <-ended; failed != nil || result == nil {
		return nil, orKilled(failed)
	}
	return result, nil
}

// orKilled is the error of a follower that ends without a result.
func orKilled(err error) error {
	if err == nil {
		return fmt.Errorf("%w. Run the same command again to resume it", socket.ErrKilled)
	}
	return err
}
