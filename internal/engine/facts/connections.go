package facts

import (
	"context"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

func (f gatherer) readConnections(ctx context.Context, q schema.Querier) (err error) {
	f.Connections, err = ReadConnections(ctx, q)
	return err
}

// ReadConnections reads the limits and counts of connections. The server shows the owners of connections
// only with a grant on performance_schema.
func ReadConnections(ctx context.Context, q schema.Querier) (c plan.Connections, err error) {
	var name string
	if err := q.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Threads_connected'").Scan(&name, &c.Open); err != nil {
		return c, err
	}
	var owners bool
	if err := q.QueryRowContext(
		ctx,
		"SELECT @@SESSION.max_user_connections, @@GLOBAL.max_connections, @@GLOBAL.performance_schema",
	).Scan(
		&c.OfAccount, &c.Most, &owners,
	); err != nil || !owners {
		return c, err
	}
	const mark = "attr_name = 'midstream_run'"
	ok, err := seen(q.QueryRowContext(ctx, "SELECT COUNT(*) FROM performance_schema.session_connect_attrs WHERE "+mark+" AND attr_value ="+
		" (SELECT attr_value FROM performance_schema.session_account_connect_attrs WHERE processlist_id = CONNECTION_ID() AND "+mark+")").Scan(&c.Ours))
	if err != nil || !ok || c.Ours == 0 {
		return c, err
	}
	var all int64
	_, err = seen(q.QueryRowContext(ctx, "SELECT COUNT(*) FROM performance_schema.threads t JOIN performance_schema.threads s"+
		" ON s.processlist_user = t.processlist_user AND s.processlist_host = t.processlist_host WHERE s.processlist_id = CONNECTION_ID()").Scan(&all))
	c.Others = max(all-c.Ours, 0)
	return c, err
}

// CountOfAccount counts the connections of this account, also if performance_schema is off: every account
// sees its own in the processlist.
//
// NB: information_schema.processlist would count them too, but MySQL 9.7 fails to read it (3854) while any
// session runs a statement with a 4-byte character.
func CountOfAccount(ctx context.Context, q schema.Querier) (n int64, err error) {
	var own string
	if err := q.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&own); err != nil {
		return 0, err
	}
	rows, err := rowsOf(ctx, q, "SHOW PROCESSLIST")
	if err != nil {
		return 0, err
	}
	users := map[string]int64{}
	var user string
	for _, r := range rows {
		if users[r[1]]++; r[0] == own {
			user = r[1]
		}
	}
	return users[user], nil
}
