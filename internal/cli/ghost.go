package cli

import (
	"context"
	"errors"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/compat/ghost"
	"midstream/internal/engine/planning"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/password"
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
	if err != nil {
		return ghost.Answer(err, a.Version, a.Stdout, a.Stderr)
	}
	signal.Ignore(syscall.SIGHUP) // that program goes on when its terminal is gone
	speaker := ghost.NewSpeaker(line, a.Version, a.Stdout, a.Stderr)
	c, more := a.asRun(speaker, line.Flags())
	speaker.Begin()
	a.password = password.Given{Password: line.Password, Ask: line.AskPassword && line.Password == nil}
	ctx, undo := session.Keeping(ctx, line.KeepOnSignal)
	defer undo()
	steps := c.steps(more)
	steps.Drop = func(ctx context.Context, table schema.Name, s *server) error {
		dropping, _ := a.asRun(ghost.Dropping{Speaker: speaker}, line.Connecting())
		dropping.config.DropOld, dropping.options.Replicates = true, c.options.Replicates
		plan, err := dropping.makeTables(ctx, &ddl.Statement{Kind: ddl.KindDrop, Table: table}, s, "")
		if err == nil {
			_, err = dropping.carryOutTables(ctx, plan, s)
		}
		return err
	}
	drive := ghost.NewDrive(line, speaker, steps)
	c.endUndo = true // that program knows no open undo: a note tells of it
	if line.Reverts() {
		c.target.Verb, c.target.Undo, c.undo = "undo", true, &planning.Undo{}
	}
	err = drive.Ended(c.conduct(ctx, line.Arguments(), driven(drive.Alter, drive.Statement)))
	return speaker.End(err, a.Teller().Complaint(err, exit.Code(err, errors.Is(context.Cause(ctx), errInterrupted))))
}
