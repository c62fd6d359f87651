package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"midstream/internal/compat/ghost"
	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/session"
)

const ghostName = "gh-ost"

func (a *app) ghostCommand() *cobra.Command {
	return a.dropInCommand(
		ghostName,
		"Take gh-ost's command line",
		"It takes the command line of gh-ost "+ghost.Version+", its file of credentials, its words and its exit codes, and so does this program\n"+
			"if you call it by that name (a link to it is enough). docs/gh-ost-flags.md explains each flag,\n"+
			"docs/coming-from-gh-ost.md the differences. The run obeys midstream status, pause, set and so on.",
		a.ghost,
	)
}

// ghost does what a command line of that program asks for.
func (a *app) ghost(ctx context.Context, args []string) (code int) {
	args = a.hide(args, ghost.Secrets)
	line, err := ghost.Read(args, a.Getenv, time.Now())
	var told *ghost.Told
	var wrong *ghost.Wrong
	switch {
	case errors.As(err, &told):
		return ghost.Tell(told, a.Version, a.Stdout)
	case errors.As(err, &wrong):
		return ghost.Refuse(wrong, a.Stdout, a.Stderr)
	}
	signal.Ignore(syscall.SIGHUP) // that program goes on when its terminal is gone
	run := ghostRun{app: a, asked: line, speaker: ghost.NewSpeaker(line, a.Version, a.Stdout, a.Stderr)}
	run.change, run.more = a.asRun(run.speaker, line.Flags())
	run.speaker.Begin()
	run.change.app.password = given{password: line.Password, ask: line.AskPassword && line.Password == nil}
	run.change.mustResume = line.Resumes()
	if line.KeepOnSignal() {
		var undo func()
		ctx, undo = keeping(ctx)
		defer undo()
	}
	run.hooks = ghost.NewHooks(run.speaker, func(why string) {
		a.Interrupts.end(&session.Aborted{By: why, Keep: line.KeepOnSignal()})
	})
	err = run.hooks.Ended(run.change.conduct(ctx, nil, doing{alter: run.alter}))
	return run.speaker.End(err, a.complaint(err, exitCode(err, errors.Is(context.Cause(ctx), errInterrupted))))
}

// ghostRun is a run that was asked for so.
type ghostRun struct {
	app     *app
	asked   *ghost.Asked
	speaker *ghost.Speaker
	change  *change
	more    func(flags []string) error
	hooks   *ghost.Hooks
}

// alter does it once the server of --host is reached.
func (r *ghostRun) alter(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
	place, primary, err := r.find(ctx, s)
	if err != nil {
		next := ""
		var lacking *ghost.Lacking
		if errors.As(err, &lacking) {
			next = lacking.Next
		}
		return migration.Result{}, unwritten(ctx, err, next)
	}
	if primary != s {
		defer primary.Close()
		r.change.followers.User, r.change.followers.Password = s.Config.User, &s.Password // on the primary they may be others
		statement, err := r.change.target.readAt(ctx, primary, &ddl.Statement{Kind: ddl.KindAlter, Alter: alter})
		if err != nil {
			return migration.Result{}, err
		}
		alter = statement.Alter
	}
	r.speaker.Found(place)
	if err = r.speaker.Reached(ctx, primary.Pool.DB()); err == nil {
		err = r.hooks.Startup(ctx)
	}
	if err == nil {
		err = r.more(r.asked.Meet(place))
	}
	if err != nil {
		return migration.Result{}, unwritten(ctx, err, "")
	}
	if err := r.asked.Approves(alter); err != nil {
		return migration.Result{}, &coded{code: exitRefused, err: err, left: "nothing was written"}
	}
	if alter, err = r.asked.Discarding(ctx, primary.Pool.DB(), alter); err != nil {
		return migration.Result{}, unwritten(ctx, fmt.Errorf("--discard-foreign-keys: %w", err), "")
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
	if result, done, err := r.change.finish(ctx, alter, primary); done || err != nil {
		return result, err
	}
	if err := r.clear(ctx, alter.Table, primary); err != nil {
		return migration.Result{}, err
	}
	return r.migrate(ctx, alter, primary, nil)
}

// try does it on a replica, where the table stays as it is.
func (r *ghostRun) try(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
	trial, err := ghost.NewTrial(ctx, r.speaker, r.hooks, s.Pool.DB())
	if err != nil {
		return migration.Result{}, unwritten(ctx, err, "")
	}
	result, err := r.migrate(ctx, alter, s, func(p event.Phase) {
		if p == event.PhaseLock {
			trial.BeforeLock(ctx)
		}
	})
	return result, trial.End(err)
}

// migrate does it, and has entered hear of each phase before the run goes on; nil for nothing.
func (r *ghostRun) migrate(ctx context.Context, alter *ddl.Alter, s *server, entered func(event.Phase)) (migration.Result, error) {
	if err := r.asked.Postpone(); err != nil {
		return migration.Result{}, unwritten(ctx, err, "")
	}
	r.change.commanded = func(run *session.Session) (func(), error) {
		r.change.watched = func(e event.Event) {
			r.hooks.Watch(ctx, e, func() {
				if _, err := run.Control().CutOver(ctx, false); err != nil { // somebody else has let it go, or ended the run
					r.speaker.Note(err.Error())
				}
			})
			if p, is := e.(event.PhaseEntered); is && entered != nil {
				entered(p.Phase)
			}
		}
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
			forget, err := run.Refollow(ctx, s, &r.change.followers.Replicas, replicas)
			if err == nil {
				closing = append(closing, forget)
			}
			return err
		}
		stop, err := r.speaker.Serve(ghost.Run{Control: run.Control(), End: func(by string) { go end(by) }, Hooks: r.hooks, Follow: follow})
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
	return r.change.migrate(ctx, alter, s)
}

// look makes the plan.
func (r *ghostRun) look(ctx context.Context, alter *ddl.Alter, s *server) error {
	names, err := r.asked.Drops(ctx, s.Pool.DB())
	if err != nil {
		return unwritten(ctx, err, "")
	}
	wish := &r.change.options.Names
	for _, name := range names { // a run would begin without it
		switch name.Table {
		case wish.Shadow:
			wish.Shadow = ""
		case wish.Old:
			wish.Old = ""
		}
		r.speaker.Note("with --execute " + name.String() + " is dropped first")
	}
	return r.change.look(ctx, alter, s)
}

// find finds the server whose table is changed, and connects to it where it is another one.
func (r *ghostRun) find(ctx context.Context, s *server) (ghost.Place, *server, error) {
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
	place, err := r.asked.Find(ctx, s.Pool.DB(), func(ctx context.Context, address string) (ghost.Reached, error) {
		pool, err := dbconn.Open(ctx, at(address), nil)
		if err != nil {
			return ghost.Reached{}, err
		}
		return ghost.Reached{DB: pool.DB(), Close: func() { _ = pool.Close() }}, nil
	})
	if err != nil || place.Primary == place.Inspected {
		return place, s, err
	}
	primary, err := r.change.connection.open(ctx, at(place.Primary))
	return place, primary, err
}

// clear removes what the command line wants removed before the run.
func (r *ghostRun) clear(ctx context.Context, table schema.Name, s *server) error {
	if r.asked.Restarts() {
		_, err := leftovers.Cleanup(ctx, s.Pool, table, false, func(found []leftovers.Table) bool {
			for _, l := range found {
				if !l.Spared {
					r.speaker.Note(fmt.Sprintf("dropping %s, which an earlier run has left (%s)", l.Name, l.Why))
				}
				for _, t := range l.Triggers {
					r.speaker.Note(fmt.Sprintf("dropping trigger %s on %s with it", t.Name, t.Table))
				}
			}
			return true
		}, r.speaker.Note)
		if err != nil {
			return unwritten(ctx, fmt.Errorf("--initially-drop-ghost-table: %w", err), "")
		}
	}
	names, err := r.asked.Drops(ctx, s.Pool.DB())
	if err != nil {
		return unwritten(ctx, err, "")
	}
	for _, name := range names {
		c, _ := r.app.asRun(ghost.Dropping{Speaker: r.speaker}, r.asked.Connecting())
		c.config.DropOld, c.options.Replicates = true, r.change.options.Replicates
		plan, err := c.makeTables(ctx, &ddl.Statement{Kind: ddl.KindDrop, Table: name}, s, "")
		if err == nil {
			_, err = c.carryOutTables(ctx, plan, s)
		}
		if err != nil {
			return err
		}
		r.speaker.Note("dropped " + name.String() + ", as the command line says")
	}
	return nil
}
