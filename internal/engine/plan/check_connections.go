package plan

import "fmt"

// CodeDisk means that less is free on the server's disk than the run must leave free.
const CodeDisk Code = "disk"

// CodeConnections is the code of too few connections.
const CodeConnections Code = "connections"

// Connections are limits and counts of connections, for the server and for the account.
type Connections struct {
	OfAccount int64 // at most at once; 0: no limit
	Most      int64 // the server's limit
	Open      int64 // on the server now
	Ours      int64 // this program's share of Open
	// Others are this account's other connections, as far as the account may see them.
	Others int64
}

// checkConnections refuses a run that would exceed a limit of connections. Otherwise the run would
// find that out after its work.
func (c *checker) checkConnections() {
	need, have := int64(c.options.Connections), c.facts.Connections
	if need == 0 || have.Most == 0 {
		return
	}
	more := fmt.Sprintf(
		"a run uses up to %d at once: to copy rows, apply changes, read the binlog, and withdraw requests for a lock",
		need,
	)
	if limit := have.OfAccount; limit > 0 && limit-have.Others < need {
		what := fmt.Sprintf("the account may have %d connections at once", limit)
		if have.Others > 0 {
			what += fmt.Sprintf(", and others have %d of them", have.Others)
		}
		c.block(
			CodeConnections, what, more,
			"Raise the account's MAX_USER_CONNECTIONS, or the server's max_user_connections, or use fewer workers (--workers, --apply-workers)",
		)
	}
	if left := have.Most - have.Open + max(have.Ours, 1); left < need {
		c.block(CodeConnections, fmt.Sprintf("the server has %d connections left of %d", left, have.Most), more,
			"Raise max_connections, wait until other sessions have disconnected, or use fewer workers (--workers, --apply-workers)")
	}
}
