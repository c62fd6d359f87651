package web

import (
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/reach"
)

// command is what does on a command line what a button of a page does.
type command struct {
	What, Text string
	Asks       bool // the service, whose URL the page adds: it knows by which one it was reached
}

// commands are those of a change.
func (s *Server) commands(c queue.Change) (list []command) {
	var flags reach.Flags
	if s.source.Reach != nil {
		flags = s.source.Reach()
	}
	add := func(what, verb, rest string) {
		list = append(list, command{What: what, Text: flags.In("midstream " + verb + "  " + rest)})
	}
	table := schema.NameOf(c.Table).Argument()
	if c.Table != "" {
		add("Pause", "pause", table)
		add("Resume", "resume", table)
		add("Hold the cut-over", "hold", table)
		add("Cut over", "cutover", table)
		add("Limit the row copy", "throttle", table+" 30%")
		add("Change a setting", "set", table+" lock-wait=100ms")
		add("Abort", "abort", table)
		add("Status of the run", "status", table)
	}
	if !s.source.Queue {
		return list
	}
	ask := func(what, verb, rest string) {
		list = append(list, command{What: what, Text: "midstream " + verb + "  " + rest, Asks: true})
	}
	ask("All that is known", "queue", c.ID)
	if c.State == queue.StateProposed {
		ask("Approve", "approve", c.ID)
		ask("Reject", "reject", c.ID+" --reason=...")
	}
	ask("Release", "release", c.ID)
	ask("Withdraw", "withdraw", c.ID)
	ask("Run again", "submit", "--again --id="+c.ID)
	ask("Undo", "submit", "--undo="+c.ID)
	return list
}
