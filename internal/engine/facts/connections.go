package facts

import (
	"context"

	"midstream/internal/mysql/schema"
)

// readConnections reads the limits. The server shows the owners of connections only with a grant on
// performance_schema.
func (f gatherer) readConnections(ctx context.Context, q schema.Querier) error {
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
