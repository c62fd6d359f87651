package planning

import (
	"context"
	"database/sql"
	"errors"

	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
)

// Server is the server that holds the table.
type Server struct {
	Pool    *dbconn.Pool
	Binlog  binlog.Server
	Address string // for people
}

// ServerAt is the server to which a pool leads that was opened by a config.
func ServerAt(ctx context.Context, cfg dbconn.Config, pool *dbconn.Pool) (Server, error) {
	log, err := BinlogOf(ctx, cfg, pool)
	return Server{Pool: pool, Binlog: log, Address: cfg.Address}, err
}

// BinlogOf is how the binlog of the server is reached to which a pool leads.
func BinlogOf(ctx context.Context, cfg dbconn.Config, pool *dbconn.Pool) (binlog.Server, error) {
	server := binlog.Server{Network: cfg.Network, Address: cfg.Address, User: cfg.User, Password: string(cfg.Password), TLS: cfg.TLS}
	if cfg.PasswordFrom != nil {
		server.PasswordFrom = func(ctx context.Context) (string, error) {
			password, err := cfg.PasswordFrom(ctx)
			return string(password), err
		}
	}
	if !cfg.TLSFallback {
		return server, nil
	}
	encrypted, err := isEncrypted(ctx, pool.DB())
	if !encrypted {
		server.TLS = nil // go-mysql does not fall back
	}
	return server, err
}

// isEncrypted says whether connections of the pool use TLS.
func isEncrypted(ctx context.Context, db *sql.DB) (bool, error) {
	var name, cipher string
	err := db.QueryRowContext(ctx, "SHOW SESSION STATUS LIKE 'Ssl_cipher'").Scan(&name, &cipher)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return cipher != "", err
}
