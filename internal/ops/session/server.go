package session

import (
	"context"
	"fmt"

	"midstream/internal/engine/intake"
	"midstream/internal/engine/planning"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
)

// Server is a server that was reached.
type Server struct {
	Config   dbconn.Config // of the pool
	Pool     *dbconn.Pool
	Binlog   binlog.Server
	Address  string // for people
	Password dbconn.Secret
	// Capture is the replica from which changes are read, if they are, through capturePool.
	Capture     *intake.CaptureFrom
	capturePool *dbconn.Pool
}

// Open connects. Variables are of all sessions, where the account may set them. captureFrom is the
// replica from which changes are to be read, as host:port; "" for none.
func Open(ctx context.Context, cfg dbconn.Config, variables map[string]string, captureFrom string) (*Server, error) {
	pool, err := dbconn.Open(ctx, cfg, variables)
	if dbconn.Denied(err) && variables != nil {
		pool, err = dbconn.Open(ctx, cfg, nil)
	}
	if err != nil {
		return nil, err
	}
	s := &Server{Config: cfg, Pool: pool, Address: cfg.Address, Password: cfg.Password}
	if s.Binlog, err = planning.BinlogOf(ctx, cfg, pool); err != nil {
		pool.Close()
		return nil, err
	}
	if captureFrom == "" {
		return s, nil
	}
	if err := s.openCapture(ctx, captureFrom); err != nil {
		s.Close()
		return nil, fmt.Errorf("--capture-from: %w", err)
	}
	return s, nil
}

// Close ends the connections.
func (s *Server) Close() {
	s.Pool.Close()
	if s.capturePool != nil {
		s.capturePool.Close()
	}
}

// Planning is the server for a plan.
func (s *Server) Planning() planning.Server {
	return planning.Server{Pool: s.Pool, Binlog: s.Binlog, Address: s.Address}
}

// ignoresCase reports whether the case of tables' names means nothing to the server. The error is an *Error.
func (s *Server) ignoresCase(ctx context.Context) (is bool, err error) {
	if err := s.Pool.DB().QueryRowContext(ctx, "SELECT @@GLOBAL.lower_case_table_names <> 0").Scan(&is); err != nil {
		return false, &Error{Outcome: Unread, Err: fmt.Errorf("read from %s: %w", s.Address, err)}
	}
	return is, nil
}

// openCapture connects to the replica from which changes are to be read.
func (s *Server) openCapture(ctx context.Context, address string) error {
	cfg := s.Config
	cfg.Network, cfg.Address, cfg.Password = "tcp", address, s.Password
	pool, err := dbconn.Open(ctx, cfg, nil)
	if err != nil {
		return err
	}
	server, err := planning.BinlogOf(ctx, cfg, pool)
	if err != nil {
		pool.Close()
		return err
	}
	s.capturePool = pool
	s.Capture = &intake.CaptureFrom{Name: address, DB: pool.DB(), Binlog: server}
	return nil
}
