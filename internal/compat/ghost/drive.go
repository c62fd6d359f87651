package ghost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"midstream/internal/compat/speech"
	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/session"
)

// Drive is a run that was asked for so.
type Drive struct {
	asked   *Asked
	speaker *Speaker
	hooks   *Hooks
	steps   speech.Steps
}

// NewDrive returns one. Midstream takes the steps.
func NewDrive(asked *Asked, speaker *Speaker, steps speech.Steps) *Drive {
	*steps.MustResume = asked.Resumes()
	end := func(why string) { steps.End(&session.Aborted{By: why, Keep: asked.KeepOnSignal()}) }
	return &Drive{asked: asked, speaker: speaker, hooks: NewHooks(speaker, end), steps: steps}
}

// Ended calls programs at the end of the run, and returns its error.
func (r *Drive) Ended(err error) error { return r.hooks.Ended(err) }

// Alter does it once the server of --host is reached. Its error is one of the steps or a *session.Error.
func (r *Drive) Alter(ctx context.Context, alter *ddl.Alter, s *session.Server) (migration.Result, error) {
	place, primary, err := r.find(ctx, s)
	if err != nil {
		next := ""
		var lacking *Lacking
		if errors.As(err, &lacking) {
			next = lacking.Next
		}
		return migration.Result{}, speech.Unwritten(err, next)
	}
	if primary != s {
		defer primary.Close()
		r.steps.Replicas.User, r.steps.Replicas.Password = s.Config.User, &s.Password // on the primary they may be others
		if alter, err = r.steps.Reread(ctx, alter, primary); err != nil {
			return migration.Result{}, err
		}
	}
	r.speaker.Found(place)
	if err = r.speaker.Reached(ctx, primary.Pool.DB()); err == nil {
		err = r.hooks.Startup(ctx)
	}
	if err == nil {
		err = r.steps.More(r.asked.Meet(place))
	}
	if err != nil {
		return migration.Result{}, speech.Unwritten(err, "")
	}
	if r.asked.Reverts() {
		return r.revert(ctx, alter, primary)
	}
	if err := r.asked.Approves(alter); err != nil {
		return migration.Result{}, &session.Error{Outcome: session.Refused, Err: err, Left: "nothing was written"}
	}
	if alter, err = r.asked.Discarding(ctx, primary.Pool.DB(), alter); err != nil {
		return migration.Result{}, speech.Unwritten(fmt.Errorf("--discard-foreign-keys: %w", err), "")
	}
	if err := r.noteUndo(ctx, primary); err != nil {
		return migration.Result{}, speech.Unwritten(err, "")
	}
	if !r.asked.Execute {
		if err := r.look(ctx, alter, primary); err != nil {
			return migration.Result{}, err
		}
		return migration.Result{}, r.hooks.Looked(ctx)
	}
	if r.asked.Tries() {
		return r.try(ctx, alter, primary)
	}
	if result, done, err := r.steps.Finish(ctx, alter, primary); done || err != nil {
		return result, err
	}
	if err := r.clear(ctx, alter.Table, primary); err != nil {
		return migration.Result{}, err
	}
	result, err := r.migrate(ctx, alter, primary, nil)
	if err == nil {
		err = r.dropKept(ctx, primary, result)
	}
	return result, err
}

// revert takes the last change back, or makes the plan of that.
func (r *Drive) revert(ctx context.Context, alter *ddl.Alter, s *session.Server) (migration.Result, error) {
	if alter == nil { // the primary has it of another statement
		return migration.Result{}, r.noCheckpoint(ctx, s, r.asked.Table.Sibling(r.asked.shadow))
	}
	if !r.asked.Execute {
		err := r.revertible(ctx, s)
		if err == nil {
			err = r.look(ctx, alter, s)
		}
		if err == nil {
			err = r.hooks.Looked(ctx)
		}
		return migration.Result{}, err
	}
	if result, done, err := r.steps.Finish(ctx, alter, s); done || err != nil {
		return result, err
	}
	if err := r.revertible(ctx, s); err != nil {
		return migration.Result{}, err
	}
	if err := r.clear(ctx, alter.Table, s); err != nil {
		return migration.Result{}, err
	}
	result, err := r.migrate(ctx, alter, s, nil)
	if err == nil {
		err = r.dropKept(ctx, s, result)
	}
	return result, err
}

// try does it on a replica, where the table stays as it is.
func (r *Drive) try(ctx context.Context, alter *ddl.Alter, s *session.Server) (migration.Result, error) {
	trial, err := NewTrial(ctx, r.speaker, r.hooks, s.Pool.DB())
	if err != nil {
		return migration.Result{}, speech.Unwritten(err, "")
	}
	result, err := r.migrate(ctx, alter, s, func(p event.Phase) {
		if p == event.PhaseLock {
			trial.BeforeLock(ctx)
		}
	})
	return result, trial.End(err)
}

// migrate does it, and has entered hear of each phase before the run goes on; nil for nothing.
func (r *Drive) migrate(
	ctx context.Context,
	alter *ddl.Alter,
	s *session.Server,
	entered func(event.Phase),
) (migration.Result, error) {
	if err := r.asked.Postpone(); err != nil {
		return migration.Result{}, speech.Unwritten(err, "")
	}
	return r.steps.Migrate(ctx, alter, s, func(run *session.Session) (event.Listener, func(), error) {
		watch := func(e event.Event) {
			r.hooks.Watch(ctx, e, func() {
				if _, err := run.Control().CutOver(ctx, false); err != nil { // somebody else has let it go, or ended the run
					r.speaker.Note(err.Error())
				}
			})
			if p, is := e.(event.PhaseEntered); is && entered != nil {
				entered(p.Phase)
			}
		}
		undo, err := r.serve(ctx, s, run)
		return watch, undo, err
	})
}

// serve has a run take commands until undo is called.
func (r *Drive) serve(ctx context.Context, s *session.Server, run *session.Session) (undo func(), err error) {
	end := func(by string) {
		if _, err := run.Abort(context.WithoutCancel(ctx), by, r.asked.KeepOnSignal()); err != nil {
			r.speaker.Note(err.Error())
		}
	}
	var mu sync.Mutex
	var closing []func()
	follow := func(ctx context.Context, replicas []string) error {
		mu.Lock()
		defer mu.Unlock()
		forget, err := run.Refollow(ctx, s, r.steps.Replicas, replicas)
		if err == nil {
			closing = append(closing, forget)
		}
		return err
	}
	stop, err := r.speaker.Serve(Run{Control: run.Control(), End: func(by string) { go end(by) }, Hooks: r.hooks, Follow: follow})
	if err != nil {
		return nil, err
	}
	return func() {
		stop()
		for _, do := range closing {
			do()
		}
	}, nil
}

// look makes the plan.
func (r *Drive) look(ctx context.Context, alter *ddl.Alter, s *session.Server) error {
	names, err := r.asked.Drops(ctx, s.Pool.DB())
	if err != nil {
		return speech.Unwritten(err, "")
	}
	wish := r.steps.Names
	for _, name := range names { // a run would begin without it
		switch name.Table {
		case wish.Shadow:
			wish.Shadow = ""
		case wish.Old:
			wish.Old = ""
		}
		r.speaker.Note("with --execute " + name.String() + " is dropped first")
	}
	return r.steps.Look(ctx, alter, s)
}

// find finds the server whose table is changed, and connects to it where it is another one.
func (r *Drive) find(ctx context.Context, s *session.Server) (Place, *session.Server, error) {
	at := func(address string) dbconn.Config {
		cfg := s.Config
		cfg.Network, cfg.Address = "tcp", address
		user, password := r.asked.Account()
		cfg.User = cmp.Or(user, cfg.User)
		if password != nil {
			cfg.Password = *password
		}
		return cfg
	}
	place, err := r.asked.Find(ctx, s.Pool.DB(), func(ctx context.Context, address string) (Reached, error) {
		pool, err := dbconn.Open(ctx, at(address), nil)
		if err != nil {
			return Reached{}, err
		}
		return Reached{DB: pool.DB(), Close: func() { _ = pool.Close() }}, nil
	})
	if err != nil || place.Primary == place.Inspected {
		return place, s, err
	}
	primary, err := r.steps.Open(ctx, at(place.Primary))
	return place, primary, err
}

// clear removes what the command line wants removed before the run.
func (r *Drive) clear(ctx context.Context, table schema.Name, s *session.Server) error {
	if r.asked.Restarts() && !r.asked.Reverts() {
		_, err := leftovers.Cleanup(ctx, s.Pool, table, false, func(found []leftovers.Table) bool {
			for _, l := range found {
				if !l.Spared {
					r.speaker.Note(fmt.Sprintf("dropping %s, which an earlier run left (%s)", l.Name, l.Why))
				}
				for _, t := range l.Triggers {
					r.speaker.Note(fmt.Sprintf("dropping trigger %s on %s with it", t.Name, t.Table))
				}
			}
			return true
		}, r.speaker.Note)
		if err != nil {
			return speech.Unwritten(fmt.Errorf("--initially-drop-ghost-table: %w", err), "")
		}
	}
	names, err := r.asked.Drops(ctx, s.Pool.DB())
	if err != nil {
		return speech.Unwritten(err, "")
	}
	for _, name := range names {
		if err := r.steps.Drop(ctx, name, s); err != nil {
			return err
		}
		r.speaker.Note("dropped " + name.String() + ", as the command line says")
	}
	return nil
}
