package dbconn

import (
	"context"
	"math/rand/v2"
	"time"
)

// Patiently does work that only reads until no other session blocks it. While the error is
// Contended, it rolls the work back and does it again. Another session's LOCK TABLES, a flush
// behind a long query, or a KILL QUERY costs the work time and nothing else.
func (s *Session) Patiently(ctx context.Context, work func() error) error {
	for try := 1; ; try++ {
		err := work()
		if !Contended(err) {
			return err
		}
		if _, err := s.Exec(ctx, "ROLLBACK"); err != nil {
			return err
		}
		if err := BackOff(ctx, try); err != nil {
			return err
		}
	}
}

// BackOff waits a few milliseconds, longer with every try (from 1). A part of the wait is random:
// two transactions that collided must not collide again.
func BackOff(ctx context.Context, try int) error {
	wait := time.Duration(min(try, 10)) * time.Millisecond
	return Sleep(ctx, wait+rand.N(wait*4))
}

// Sleep waits for a time, or until the context ends, and then returns its cause.
func Sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
