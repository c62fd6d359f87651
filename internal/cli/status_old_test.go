package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
)

// TestStatusForgetsAnUndoWhoseTimeIsOverForLong: status names the server of an undo and when this machine has last seen it. A killed undo
// leaves the list a week after its time, because its server may be gone; status of its table still shows it.
func TestStatusForgetsAnUndoWhoseTimeIsOverForLong(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		folder := r.TempDir()
		here := "--history-dir=" + folder
		r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN n INT", []string{"--undo=1h", "--method=shadow", here})
		status := func(args ...string) string {
			_, stdout, stderr := midstream(r.T, append([]string{"status", here}, args...)...)
			return strings.Join(strings.Fields(stdout+stderr), " ")
		}
		contains(r.T, status(), r.database+".t on "+r.i.Address+": undo possible until 20", "midstream status "+r.database+".t shows more")
		contains(r.T, status(r.database+".t"), "the undo of its last change on "+r.i.Address+" is open until ", "as this machine has last seen it on 20")

		runs, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
		if err != nil || len(runs) != 1 {
			r.Fatal(runs, err)
		}
		text, err := os.ReadFile(runs[0])
		if err != nil {
			r.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		for days, listed := range map[int]bool{6: true, 8: false} {
			began := time.Now().UTC().AddDate(0, 0, -days)
			var run map[string]any
			if err := json.Unmarshal([]byte(first), &run); err != nil {
				r.Fatal(err)
			}
			run["undoes"], run["process"], run["at"] = true, 1<<30, began.Format("2006-01-02T15:04:05.000Z")
			killed, err := json.Marshal(run)
			if err == nil {
				err = os.WriteFile(runs[0], append(killed, '\n'), 0o600)
			}
			if err != nil {
				r.Fatal(err)
			}
			if got := strings.Contains(status(), "its undo on "+r.i.Address+" was killed"); got != listed {
				r.Errorf("after %d days, listed: %v: %s", days, got, status())
			}
			contains(r.T, status(r.database+".t"), "its undo on "+r.i.Address+" was killed")
		}
		r.says("undo", exit.Done, "t", []string{"--end"})
		r.says("cleanup", exit.Done, "t", []string{"--old", "--yes"})
	})
}
