package session

import (
	"context"
	"fmt"
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// AwaitOther waits up to most until no other run works on one of the tables. When the time is over it returns nil too: the plan then
// names the run. note is called once if it waits. The error is the cause of ctx, or why the server could not be asked.
func AwaitOther(ctx context.Context, s *Server, most time.Duration, note func(text string), tables ...schema.Name) error {
	for began, told := time.Now(), false; time.Since(began) < most; told = true {
		claimed, err := anyClaimed(ctx, s, tables)
		if err != nil || !claimed {
			return err
		}
		if !told {
			note(fmt.Sprintf("waiting up to %s until no other run of midstream works on %s (--wait-for-other)", most, schema.List(tables)))
		}
		if err := dbconn.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

func anyClaimed(ctx context.Context, s *Server, tables []schema.Name) (bool, error) {
	for _, table := range tables {
		if claimed, err := leftovers.Claimed(ctx, s.Pool.DB(), table); claimed || err != nil {
			return claimed, err
		}
	}
	return false, nil
}
