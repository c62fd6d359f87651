package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/cli/help"
	"midstream/internal/cli/process"
	"midstream/internal/ops/access"
)

// tokenCommand is the verb token, which makes a token and asks no service.
func tokenCommand(a *process.Process) *cobra.Command {
	var checks flags.Set
	var roles []access.Role
	var path string
	cmd := &cobra.Command{Use: "token name", Short: "Make a token with a name and roles for midstream serve", Long: help.Text("token"), Args: cobra.ArbitraryArgs}
	cmd.Example = "  midstream token ann --role submit,approve --tokens /etc/midstream/tokens\n" +
		"  midstream token ci --role submit --tokens /etc/midstream/tokens > ci-token"
	checks.Flags = cmd.Flags()
	checks.Flags.SortFlags = false
	checks.Add("", "role", "role", "", "what the token permits: see, plan, submit, approve, operate, or all; several with commas, or repeated", func(text string) error {
		more, err := access.ParseRoles(text)
		roles = append(roles, more...)
		return err
	})
	checks.Flags.StringVar(&path, "tokens", "", "file that gets the line of the token; it is made if it does not exist (file of midstream serve --tokens)")
	help.InCommon(cmd.Flags())
	cmd.RunE = a.Verb(func(_ context.Context, args []string) error {
		problems := checks.Problems
		if len(args) != 1 {
			problems = append(problems, errors.New("name the person or program that gets the token"))
		}
		if len(roles) == 0 {
			problems = append(problems, errors.New("name a role: --role submit"))
		}
		if path == "" {
			problems = append(problems, errors.New("name the file: --tokens /etc/midstream/tokens"))
		}
		var token, line string
		if len(args) == 1 {
			var err error
			if token, line, err = access.Make(args[0], roles); err != nil {
				problems = append(problems, err)
			}
		}
		if err := exit.UsageOf("midstream help token", problems...); err != nil {
			return err
		}
		a.Stands("making a token", path)
		if err := access.Add(path, line); err != nil {
			return &exit.Error{Code: exit.Failed, Err: err, Left: "no token was made", Next: "use another name, or remove the line from the file"}
		}
		fmt.Fprintln(a.Stdout, token)
		return nil
	})
	return cmd
}
