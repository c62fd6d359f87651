package native

import (
	"context"

	"midstream/internal/mysql/dbconn"
)

// silent opens a session for clones. Its statements go to no replica, if the account may set that.
func silent(ctx context.Context, pool *dbconn.Pool, setup ...string) (*dbconn.Session, error) {
	session, err := pool.Session(ctx, setup...)
	if err != nil {
		return nil, err
	}
	if _, err := session.Exec(ctx, "SET SESSION sql_log_bin = 0"); err != nil && !dbconn.Denied(err) {
		session.Close()
		return nil, err
	}
	return session, nil
}
