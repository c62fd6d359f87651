package native

import (
	"context"

	"midstream/internal/dbconn"
)

// asTheServer are the settings of a session in which a statement means what it would mean to a session
// of the server's: a TIMESTAMP in a DEFAULT, and operators and types that the sql_mode is about. It is
// strict whatever the server's is: no value is changed without an error.
var asTheServer = []string{
	"SET SESSION time_zone = @@GLOBAL.time_zone",
	"SET SESSION sql_mode = CONCAT(@@GLOBAL.sql_mode, ',STRICT_ALL_TABLES')",
}

// silent opens a session for clones. What it makes goes to no replica, where the account may say so.
func silent(ctx context.Context, pool *dbconn.Pool, setup ...string) (*dbconn.Session, error) {
	session, err := pool.Session(ctx, append(setup, asTheServer...)...)
	if err != nil {
		return nil, err
	}
	if _, err := session.Exec(ctx, "SET SESSION sql_log_bin = 0"); err != nil && !dbconn.Denied(err) {
		session.Close()
		return nil, err
	}
	return session, nil
}
