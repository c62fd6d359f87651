package facts

import (
	"context"
	"fmt"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// ReadDialect asks the server how it reads the operator's statement: by its version and its global
// sql_mode. A client that sends the statement itself would have that sql_mode.
func ReadDialect(ctx context.Context, q schema.Querier) (token.Dialect, error) {
	v, err := readSettings(ctx, q, []string{"version", "sql_mode"})
	if err != nil {
		return token.Dialect{}, fmt.Errorf("read the server's sql_mode: %w", err)
	}
	version, err := plan.ParseVersion(v["version"])
	if err != nil {
		return token.Dialect{}, err
	}
	return token.Of(v["sql_mode"], version.MariaDB, version.Major, version.Minor, version.Patch), nil
}

// ReadBuild reads who has built the server, such as "Percona Server (GPL), Release 28".
func ReadBuild(ctx context.Context, q schema.Querier) (text string, err error) {
	err = q.QueryRowContext(ctx, "SELECT @@GLOBAL.version_comment").Scan(&text)
	return text, err
}

// ReadVersion asks the server.
func ReadVersion(ctx context.Context, q schema.Querier) (plan.Version, error) {
	var text string
	if err := q.QueryRowContext(ctx, "SELECT @@GLOBAL.version").Scan(&text); err != nil {
		return plan.Version{}, err
	}
	return plan.ParseVersion(text)
}
