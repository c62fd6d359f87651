package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/compat/ptosc"
	"midstream/internal/ops/password"
	"midstream/internal/ops/session"
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
var errStoppedReplication = fmt.Errorf("a replica has stopped replicating: %w", errInterrupted)

// ptosc does what a command line of that program asks for.
func (a *app) ptosc(ctx context.Context, args []string) (code int) {
	args = a.hide(args, ptosc.Secrets)
	asked, err := ptosc.Read(args, a.Home)
	if err != nil {
		return ptosc.Answer(err, a.Version, a.Stdout, a.Stderr)
	}
	release, err := asked.HoldPID()
	if err != nil {
		return ptosc.Answer(err, a.Version, a.Stdout, a.Stderr)
	}
	defer release()
	speaker := ptosc.NewSpeaker(asked, a.Stdout, a.Stderr, func() { a.Interrupts.End(errStoppedReplication) })
	c, more := a.asRun(speaker, asked.Flags())
	for _, note := range asked.Notes {
		speaker.Note(note)
	}
	a.password = password.Given{Password: ptosc.SecretOf(asked.Server.Password), Ask: asked.AskPassword && asked.Server.Password == nil}
	c.followers.User, c.followers.Password = asked.Replicas.Account, ptosc.SecretOf(asked.Replicas.Password)
	if len(asked.Variables) > 0 {
		c.connection.variables = asked.Variables
	}
	ctx, undo := session.Keeping(ctx, func() bool { return asked.KeepOnSignal })
	defer undo()
	drive := ptosc.Drive{Asked: asked, Speaker: speaker, Steps: c.steps(more)}
	err = c.conduct(ctx, nil, driven(drive.Alter, nil))
	own := exit.Code(err, errors.Is(context.Cause(ctx), errInterrupted))
	return speaker.End(err, drive.Met, a.Teller().Complaint(err, own))
}
