package session

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/failure"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/together"
	"midstream/internal/ops/record"
)

// TestL9_AGroupThatEndsHasAnError: each of its runs ends because of another one. That is no success.
func TestL9_AGroupThatEndsHasAnError(t *testing.T) {
	t.Parallel()
	all, problems := ReadTogether(Target{Verb: "run", Database: "s"}, []string{"ALTER TABLE a ADD x INT; ALTER TABLE b ADD x INT"}, Wishes{})
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

// TestL11_CompleteStatementsAreReadAsTheyAreMeant: on a server on which a backslash escapes nothing, a comment keeps its backslashes.
func TestL11_CompleteStatementsAreReadAsTheyAreMeant(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`MODIFY a INT COMMENT 'a\\b''c' /* 'x\\' */, MODIFY b INT`: `MODIFY a INT COMMENT 'a\b''c' /* 'x\\' */, MODIFY b INT`,
		"MODIFY `a\\\\` INT DEFAULT '\\''":                         "MODIFY `a\\\\` INT DEFAULT ''''",
	} {
		if got := withoutEscapes(text); got != want {
			t.Errorf("%s instead of %s", got, want)
		}
	}
}

// TestAGroupHasOneSwap: the sum of the results of a group counts the swap and the elapsed time once, and everything else for each table.
func TestAGroupHasOneSwap(t *testing.T) {
	t.Parallel()
	earlier, later := time.Now().Add(-time.Minute), time.Now()
	var sum migration.Result
	for _, one := range []migration.Result{
		{Elapsed: 3 * time.Second, Attempts: 2, LockHeld: 20 * time.Millisecond, RowsCopied: 5, Disk: 7, Old: "s.a_old", Swapped: true, Compared: later},
		{Elapsed: 4 * time.Second, Attempts: 2, LockHeld: 20 * time.Millisecond, RowsCopied: 6, Disk: 8, Old: "s.b_old", Swapped: true, Compared: earlier},
	} {
		addMember(&sum, one)
	}
	if sum.Elapsed != 4*time.Second || sum.Attempts != 2 || sum.LockHeld != 20*time.Millisecond || sum.RowsCopied != 11 || sum.Disk != 15 ||
		sum.Old != "s.a_old, s.b_old" || !sum.Swapped || sum.Compared != earlier {
		t.Errorf("the sum is %+v", sum)
	}
}

// TestThePlanOfACompletedGroupNamesTheCommand: the same command with run would be refused.
func TestThePlanOfACompletedGroupNamesTheCommand(t *testing.T) {
	t.Parallel()
	if got := (*Together)(nil).Next("x"); got != "x" {
		t.Error(got)
	}
	if got := (&Together{needed: &record.Needed{}}).Next("x"); !strings.HasPrefix(got, "the complete command above") {
		t.Error(got)
	}
}

// TestANoteAboutKeptWorkNamesItsCleanup: midstream cleanup removes the work of one table, so each table of a group has its command.
func TestANoteAboutKeptWorkNamesItsCleanup(t *testing.T) {
	t.Parallel()
	var notes []string
	group := &Together{Note: func(text string) { notes = append(notes, text) }}
	group.noteLeft("s.a", &failure.Failure{Left: "s.a_shadow is kept.", Next: "Resume, or remove its work with: midstream cleanup  s.a"})
	group.noteLeft("s.b", &failure.Failure{Left: "s.b is untouched.", Next: "Run the same command again."})
	if got := strings.Join(notes, "\n"); got != "s.a: s.a_shadow is kept. To remove that work: midstream cleanup  s.a\ns.b: s.b is untouched." {
		t.Error(got)
	}
}
