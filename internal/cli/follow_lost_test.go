package cli

import (
	"strings"
	"testing"

	"midstream/internal/lab/mysqltest"
)

// TestU3_AFollowerWithoutItsOldTableNamesWhatIsPossible: another session drops, renames or alters the old table while a process follows.
// The process ends at once, and names the reason and what is left; --cold can't take the change back, so it does not name that.
func TestU3_AFollowerWithoutItsOldTableNamesWhatIsPossible(t *testing.T) {
	mysqltest.Seldom(t)
	for _, c := range []struct{ does, why string }{
		{"DROP TABLE t_old", "t_old is gone"},
		{"RENAME TABLE t_old TO away", "RENAME TABLE"},
		{"ALTER TABLE t_old ADD COLUMN more INT", "t_old was altered"},
	} {
		t.Run(strings.Fields(c.does)[0], func(t *testing.T) {
			t.Parallel()
			r := beginControlled(t, 500, "--undo=1h", "--undo-mode=warm")
			r.follower(following)
			database, _, _ := strings.Cut(r.name, ".")
			executing(t, r.i, database)(c.does)
			r.ends(exitFailed)
			said := strings.Join(strings.Fields(r.run.stderr.String()), " ")
			contains(t, said, "another session has written to the old table", "the undo has ended, because", c.why, " --list "+r.name, " --end "+r.name)
			lacks(t, said, "--cold")
			_, stderr := r.undo(exitRefused, "--cold")
			contains(t, stderr, "the last change cannot be taken back")
			r.undo(exitDone, "--end")
		})
	}
}
