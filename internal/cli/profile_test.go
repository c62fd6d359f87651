package cli

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/event"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
)

// TestPlanKnowsTheLoadFromEarlierRuns: a plan takes the load of each hour from the histories of earlier
// runs on the same server, unless --no-history is given.
func TestPlanKnowsTheLoadFromEarlierRuns(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 200)
	folder, began := t.TempDir(), time.Now().Add(-48*time.Hour)
	earlier, err := history.Begin(folder, record.Run{Table: name, Alter: "FORCE", Server: i.Address}, began)
	if err != nil {
		t.Fatal(err)
	}
	for minute := range 24 * 60 {
		at := began.Add(time.Duration(minute) * time.Minute)
		earlier.Show(event.Progress{Phase: event.PhaseCopy, RowsCopied: int64(1000 * minute), Statements: 500, ReplicaLag: -1, At: at})
	}
	if err := earlier.Close(); err != nil {
		t.Fatal(err)
	}
	const known = "known from earlier runs, which saw 24 hours of the day"
	for _, c := range []struct {
		flags []string
		knows bool
	}{{nil, true}, {[]string{"--no-history"}, false}, {[]string{"--history-dir=" + t.TempDir()}, false}} {
		args := append([]string{"plan", "--method=shadow", "--history-dir=" + folder}, c.flags...)
		code, stdout, stderr := midstream(t, append(append(args, flagsTo(t, i)...), "ALTER TABLE "+name+" ADD COLUMN c INT")...)
		if code != exit.Done || strings.Contains(strings.Join(strings.Fields(stdout), " "), known) != c.knows {
			t.Errorf("%s: exit code %d\n%s\n%s", c.flags, code, stdout, stderr)
		}
	}
}
