// Package client has the verbs that ask a service, midstream serve: submit, queue, withdraw and so on; and token, which
// makes what they need for it.
package client

import (
	"github.com/spf13/cobra"

	"midstream/internal/cli/process"
)

// Commands are the verbs.
func Commands(p *process.Process) []*cobra.Command {
	return []*cobra.Command{
		submitCommand(p), queueCommand(p), withdrawCommand(p), approveCommand(p), rejectCommand(p), releaseCommand(p), auditCommand(p),
		freezeCommand(p), unfreezeCommand(p), tokenCommand(p),
	}
}
