package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/soak"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// ErrTurn ends a run of midstream serve between the two acts of a drop: the second act takes its turn in the queue.
var ErrTurn = errors.New("the soak is over, and the drop takes its turn")

// Soaking is a drop in two acts, and how each of them is made.
type Soaking struct {
	Drop soak.Drop
	// For is the time between the acts, and Check the longest time between two checks.
	For, Check time.Duration
	// First makes the first act by these clauses, with this in its undo record. again means that the first act of before was taken back.
	First func(ctx context.Context, clauses string, record *checkpoint.Soak, again bool) error
	// Settle completes a first act that a run may have made before it was killed.
	Settle func(ctx context.Context, clauses string) error
	// Second drops; ends means that the record of the first act ends with that.
	Second func(ctx context.Context, ends bool) (migration.Result, error)
	// Gone ends the record of the first act if the table has nothing left of what is dropped.
	Gone func(ctx context.Context) (migration.Result, error)
	// Turn has Soak end with ErrTurn if it has waited, in the place of the second act.
	Turn bool
}

// Soak makes a drop in two acts, from where the server has it.
func (s *Session) Soak(ctx context.Context, server *Server, w Soaking) (migration.Result, error) {
	for {
		now, err := soak.Look(ctx, server.Pool, w.Drop)
		var other *soak.ErrOther
		switch {
		case errors.As(err, &other):
			return migration.Result{}, &Error{Outcome: Refused, Err: err, Left: "nothing was written by this run", Next: other.Next}
		case errors.Is(err, schema.ErrNotFound):
			return w.Second(ctx, false) // it says so
		case err != nil:
			return migration.Result{}, &Error{Outcome: Unread, Err: err}
		case now.Stage == soak.Begun:
			if err := w.Settle(ctx, now.Record.Native.Alter); err != nil {
				return migration.Result{}, err
			}
			if now, err = soak.Look(ctx, server.Pool, w.Drop); err != nil || now.Stage == soak.Begun {
				return migration.Result{}, &Error{Outcome: Refused, Err: errors.Join(errors.New("another run works on the table"), err), Left: "nothing was written by this run",
					Next: "run the same command again when it has ended"}
			}
			continue
		case now.Stage == soak.Dropped:
			return w.Gone(ctx)
		case now.Stage == soak.Soaking:
			return s.soak(ctx, server, w, now)
		}
		if err := s.firstAct(ctx, server, w, now.Back); err != nil {
			return migration.Result{}, err
		}
	}
}

// firstAct hides what is dropped.
func (s *Session) firstAct(ctx context.Context, server *Server, w Soaking, again bool) error {
	clauses, err := w.FirstClauses(ctx, server)
	if err != nil {
		return err
	}
	record := &checkpoint.Soak{Clauses: w.Drop.Clauses, Columns: w.Drop.Columns, Indexes: w.Drop.Indexes}
	if len(w.Drop.Columns) > 0 {
		if record.Failed, err = w.Drop.Failed(ctx, server.Pool.DB()); err != nil {
			return unread(err)
		}
	}
	return w.First(ctx, clauses, record, again)
}

// FirstClauses are those of the first act. It fails with *plan.Refused if no soak is possible.
func (w Soaking) FirstClauses(ctx context.Context, server *Server) (string, error) {
	return w.Drop.FirstOn(ctx, server.Pool.DB())
}

// soak watches until the drop may be made, and makes it.
func (s *Session) soak(ctx context.Context, server *Server, w Soaking, now soak.Standing) (migration.Result, error) {
	watcher := &soak.Watcher{Pool: server.Pool, Drop: w.Drop, Begun: now.Record, Seen: now.Seen}
	until, what := now.Record.Until, w.Drop.What()
	told := event.Soak{State: event.SoakBegun, What: what, Until: until}
	waits, held := false, false
	s.tell(event.PhaseEntered{Phase: event.PhaseHold, At: time.Now()})
	every := soak.Every(w.Check, now.Record.For)
	waived, err := operator.Soak{Control: s.control}.Wait(ctx, every, func(ctx context.Context) (string, error) {
		why, fresh, over, err := s.look(ctx, server, w, watcher)
		if err != nil {
			return "", err
		}
		state := event.SoakBegun
		if over {
			state = event.SoakHeld
		}
		if why != "" && (!waits || len(fresh) > 0 || over && !held) {
			told.State, told.Named, told.Doubts, told.At = state, namings(fresh), watcher.Doubts(), time.Now()
			if over && !held {
				told.Named = namings(watcher.Seen.Named)
			}
			s.tell(told)
		}
		waits, held = waits || why != "", held || over && why != ""
		return why, nil
	})
	if err != nil {
		return migration.Result{}, s.unsoaked(ctx, w, err)
	}
	told.State, told.Named, told.At = event.SoakDue, nil, time.Now()
	if waived || watcher.Seen.Released != "" {
		told.State = event.SoakReleased
	}
	if waived {
		watcher.Seen.Released = "an operator"
		if err := watcher.Save(ctx); err != nil {
			return migration.Result{}, s.unsoaked(ctx, w, err)
		}
	}
	s.tell(told)
	if waits && w.Turn {
		return migration.Result{}, &failure.Failure{Phase: event.PhaseHold, Err: ErrTurn, Left: s.left(w), Next: failure.SameCommand + ".", Kept: true}
	}
	if s.lastLook == nil {
		s.lastLook = &lastLook{}
		s.control.Ask(s.lastLook)
	}
	s.lastLook.Watcher = watcher // that of this attempt
	return w.Second(ctx, true)
}

// lastLook asks the watcher of the present attempt right before the drop.
type lastLook struct{ *soak.Watcher }

// look checks once. why is the reason for which the drop waits; "" if it may be made. over means that its time is over.
func (s *Session) look(
	ctx context.Context, server *Server, w Soaking, watcher *soak.Watcher,
) (why string, fresh []checkpoint.NamedBy, over bool, err error) {
	now, err := soak.Look(ctx, server.Pool, w.Drop)
	if err == nil {
		switch {
		case now.Back || now.Stage == soak.None:
			return "", nil, false, &soak.ErrOther{Why: "the first act was taken back", Next: "the same command begins a new soak"}
		case now.Stage == soak.Dropped:
			return "", nil, false, &soak.ErrOther{Why: w.Drop.What() + " was dropped by another session", Next: "nothing: the same command finishes what is left"}
		case !now.Record.Swapped.Equal(watcher.Begun.Swapped):
			return "", nil, false, &soak.ErrOther{Why: "the first act was taken back and made again", Next: "the same command soaks from then on"}
		}
		watcher.Begun.Until, watcher.Begun.For = now.Record.Until, now.Record.For
		if now.Seen.Released != "" {
			watcher.Seen.Released = now.Seen.Released
		}
		fresh, err = watcher.Check(ctx)
	}
	var other *soak.ErrOther
	switch {
	case errors.As(err, &other), ctx.Err() != nil:
		return "", nil, false, err
	case err != nil: // the server is away; nothing is lost but what runs before it comes again
		return "soaking, but the server cannot be asked: " + FirstLine(err), nil, false, nil
	}
	table := w.Drop.Table.Argument()
	until := watcher.Begun.Until
	held := watcher.Why()
	switch over = !watcher.Seen.Checked.Before(until); {
	case watcher.Seen.Released != "":
		return "", fresh, true, nil
	case over && held != "":
		return fmt.Sprintf("the drop is held, because %s. midstream cutover  --now %s drops it all the same; midstream undo  %[2]s takes the first act back", held, table), fresh, true, nil
	case over:
		return "", fresh, true, nil
	case held != "":
		return fmt.Sprintf("soaking until %s; then it is held, because %s", clock(until), held), fresh, false, nil
	}
	return fmt.Sprintf("soaking until %s; no statement has named %s", clock(until), w.Drop.What()), fresh, false, nil
}

func clock(t time.Time) string { return t.Format("2006-01-02 15:04:05 UTC") }

// left is what is left between the two acts.
func (s *Session) left(w Soaking) string {
	return fmt.Sprintf("%s of %s is hidden, and nothing was dropped; %s has what was seen.", w.Drop.What(), w.Drop.Table, soak.Record(w.Drop.Table))
}

// unsoaked is the end of a soak that was not followed by the drop.
func (s *Session) unsoaked(ctx context.Context, w Soaking, err error) error {
	var other *soak.ErrOther
	switch {
	case errors.As(err, &other):
		return &Error{Outcome: Refused, Err: err, Left: "nothing was dropped", Next: other.Next}
	case ctx.Err() != nil:
		return &failure.Failure{Phase: event.PhaseHold, Err: err, Left: s.left(w), Kept: true, Next: failure.SameCommand +
			": it resumes the soak, whose time goes on; midstream undo  " + w.Drop.Table.Argument() + " takes the first act back."}
	}
	return &failure.Failure{Phase: event.PhaseHold, Err: err, Left: s.left(w), Kept: true, Lost: dbconn.ConnectionLost(err), Next: failure.SameCommand + "."}
}

func namings(all []checkpoint.NamedBy) (list []event.Naming) {
	for _, n := range all {
		list = append(list, event.Naming{
			Query: n.Text, Database: n.Database, How: n.How, User: n.User, Runs: n.Runs, First: n.First, Last: n.Last,
		})
	}
	return list
}
