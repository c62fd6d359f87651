package plan

import (
	"context"
	"fmt"

	"midstream/internal/mysql/schema"
)

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

// readConnections reads the limits. Whose connections are open is seen with a grant on performance_schema only.
func (f *Facts) readConnections(ctx context.Context, q schema.Querier) error {
	c := &f.Connections
	var name string
	if err := q.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Threads_connected'").Scan(&name, &c.Open); err != nil {
		return err
	}
	if err := q.QueryRowContext(
		ctx,
		"SELECT @@SESSION.max_user_connections, @@GLOBAL.max_connections",
	).Scan(
		&c.OfAccount, &c.Most,
	); err != nil {
		return err
	}
	if !f.PerformanceSchema {
		return nil
	}
	const mark = "attr_name = 'midstream_run'"
	ok, err := seen(q.QueryRowContext(ctx, "SELECT COUNT(*) FROM performance_schema.session_connect_attrs WHERE "+mark+" AND attr_value ="+
		" (SELECT attr_value FROM performance_schema.session_account_connect_attrs WHERE processlist_id = CONNECTION_ID() AND "+mark+")").Scan(&c.Ours))
	if err != nil || !ok || c.Ours == 0 {
		return err
	}
	var all int64
	_, err = seen(q.QueryRowContext(ctx, "SELECT COUNT(*) FROM performance_schema.threads t JOIN performance_schema.threads s"+
		" ON s.processlist_user = t.processlist_user AND s.processlist_host = t.processlist_host WHERE s.processlist_id = CONNECTION_ID()").Scan(&all))
	c.Others = max(all-c.Ours, 0)
	return err
}

// checkConnections refuses where a run would come to a limit of connections when it has done its work.
func (c *checker) checkConnections() {
	need, have := int64(c.options.Connections), c.facts.Connections
	if need == 0 || have.Most == 0 {
		return
	}
	more := fmt.Sprintf(
		"a run takes up to %d at once: for copying rows, applying changes, reading the binlog, and to withdraw what waits for a lock",
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
			"Raise max_connections, wait until others have left, or use fewer workers (--workers, --apply-workers)")
	}
}
