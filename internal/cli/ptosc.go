package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"midstream/internal/compat/ptosc"
	"midstream/internal/engine/migration"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
)

const ptoscName = "pt-online-schema-change"

func (a *app) ptoscCommand() *cobra.Command {
	return a.dropInCommand(
		ptoscName,
		"Take pt-online-schema-change's command line",
		"It takes the command line of pt-online-schema-change "+ptosc.Version+", its files of options, its words and its exit codes, and so does\n"+
			"this program if you call it by that name (a link to it is enough). docs/pt-osc-flags.md explains each\n"+
			"option, docs/coming-from-pt-osc.md the differences. The run obeys midstream status, pause, set and so on.",
		a.ptosc,
	)
}

// errStoppedReplication is the end of a run that shall not wait for a replica.
var errStoppedReplication = fmt.Errorf("the replication of a replica has stopped: %w", errInterrupted)

// ptosc does what a command line of that program asks for.
func (a *app) ptosc(ctx context.Context, args []string) (code int) {
	args = a.hide(args, ptosc.Secrets)
	asked, err := ptosc.Read(args, a.Home)
	var told *ptosc.Told
	var wrong *ptosc.Wrong
	switch {
	case errors.As(err, &told):
		return ptosc.Tell(told, a.Version, a.Stdout)
	case errors.As(err, &wrong):
		return ptosc.Refuse(wrong, a.Stdout, a.Stderr)
	}
	release, err := asked.HoldPID()
	if err != nil {
		return ptosc.Refuse(&ptosc.Wrong{Warnings: []string{err.Error()}}, a.Stdout, a.Stderr)
	}
	defer release()
	speaker := ptosc.NewSpeaker(asked, a.Stdout, a.Stderr, func() { a.Interrupts.end(errStoppedReplication) })
	run := ptoscRun{speaker: speaker, asked: asked}
	run.change, run.more = a.asRun(speaker, asked.Flags())
	for _, note := range asked.Notes {
		speaker.Note(note)
	}
	run.prepare()
	if asked.KeepOnSignal {
		var undo func()
		ctx, undo = keeping(ctx)
		defer undo()
	}
	err = run.change.conduct(ctx, nil, doing{alter: run.alter})
	own := exitCode(err, errors.Is(context.Cause(ctx), errInterrupted))
	return speaker.End(err, run.met, a.complaint(err, own))
}

// ptoscRun is a run that was asked for so.
type ptoscRun struct {
	speaker *ptosc.Speaker
	asked   *ptosc.Asked
	change  *change
	more    func(flags []string) error
	met     bool
}

// prepare sets what midstream run has no flags for.
func (r *ptoscRun) prepare() {
	r.change.app.password = given{password: secretOf(r.asked.Server.Password), ask: r.asked.AskPassword && r.asked.Server.Password == nil}
	r.change.followers.User, r.change.followers.Password = r.asked.Replicas.Account, secretOf(r.asked.Replicas.Password)
	if len(r.asked.Variables) > 0 {
		r.change.connection.variables = r.asked.Variables
	}
}

func secretOf(text *string) *dbconn.Secret {
	if text == nil {
		return nil
	}
	secret := dbconn.Secret(*text)
	return &secret
}

// alter does it once the server is reached.
func (r *ptoscRun) alter(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
	r.met = true
	flags, resumes, err := r.asked.Meet(ctx, s.Pool.DB())
	if err == nil {
		err = r.more(flags)
	}
	if err != nil {
		return migration.Result{}, unwritten(ctx, err, "")
	}
	r.speaker.Met()
	if r.asked.Mode != ptosc.Execute {
		return migration.Result{}, r.change.look(ctx, alter, s)
	}
	r.change.mustResume = resumes
	result, err := r.change.migrate(ctx, alter, s)
	if err == nil {
		err = r.asked.Finish(ctx, s.Pool.DB())
	}
	return result, err
}
