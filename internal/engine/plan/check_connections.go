package plan

import "fmt"

// CodeConnections is the code of too few connections.
const CodeConnections Code = "connections"

// Connections are how many the server and the account may have, and have.
type Connections struct {
	OfAccount int64 // at once; 0: as many as the server takes
	Most      int64 // of the server
	Open      int64 // of the server, at the moment
	Ours      int64 // of those, by this program
	Others    int64 // of those, by this account from elsewhere, as far as the account may see them
}

// checkConnections refuses where a run would come to a limit of connections when it has done its work.
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
