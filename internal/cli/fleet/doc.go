// Package fleet has the verbs for many servers at once: fleet plan, and those for change sets.
package fleet

import (
	"context"

	"github.com/spf13/cobra"

	"midstream/internal/cli/help"
	"midstream/internal/cli/process"
	"midstream/internal/fleet/fleetplan"
	"midstream/internal/fleet/inventory"
)

// Planner makes the plan of one server.
type Planner func(context.Context, Question, inventory.Server) fleetplan.Answer

// Command is the verb fleet, with those below it.
func Command(p *process.Process, planner Planner) *cobra.Command {
	group := &cobra.Command{Use: "fleet", Short: "Plan a change for many servers, and take it to them in waves", Long: help.Text("fleet")}
	group.AddCommand(planCommand(p, planner))
	group.AddCommand(setCommands(p)...)
	return group
}
