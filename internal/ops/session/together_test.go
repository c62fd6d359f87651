package session

import (
	"context"
	"errors"
	"testing"

	"midstream/internal/engine/migration"
	"midstream/internal/engine/together"
)

// TestL9_AGroupThatEndsHasAnError: each of its runs ends because of another one. That is no success.
func TestL9_AGroupThatEndsHasAnError(t *testing.T) {
	t.Parallel()
	all, problems := ReadTogether("run", "s", []string{"ALTER TABLE a ADD x INT; ALTER TABLE b ADD x INT"}, Wishes{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	all.End, all.Note = StateChanged, func(string) {}
	cause := errors.New("gone")
	if _, err := all.Run(t.Context(), func(_ context.Context, i int) (migration.Result, error) {
		return migration.Result{}, &together.Ended{Table: all.Names[1-i], Err: cause}
	}); !errors.Is(err, cause) {
		t.Errorf("the group has ended with %v", err)
	}
	for _, table := range all.Tables {
		if table.State != StateWaiting {
			t.Errorf("%s is %s", table.Table, table.State)
		}
	}
}
