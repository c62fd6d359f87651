package cli

import (
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestU3_AFollowerWithoutItsOldTableNamesWhatIsPossible: another session drops, renames or alters the old table, or renames the table,
// while a process follows. The process ends at once, and names the reason and what is left; it does not name --cold, which is refused.
func TestU3_AFollowerWithoutItsOldTableNamesWhatIsPossible(t *testing.T) {
	mysqltest.Seldom(t)
	written := "another session has written to the old table"
	for _, c := range []struct{ does, cause, why string }{
		{"DROP TABLE t_old", written, "t_old is gone"},
		{"RENAME TABLE t_old TO away", written, "RENAME TABLE"},
		{"ALTER TABLE t_old ADD COLUMN more INT", written, "t_old was altered"},
		{"RENAME TABLE t TO away", "can no longer follow it", "RENAME TABLE"},
	} {
		t.Run(c.does, func(t *testing.T) {
			t.Parallel()
			r := beginControlled(t, 500, "--undo=1h", "--undo-mode=warm")
			r.follower(following)
			database, _, _ := strings.Cut(r.name, ".")
			executing(t, r.i, database)(c.does)
			r.ends(exit.Failed)
			said := strings.Join(strings.Fields(r.run.stderr.String()), " ")
			contains(t, said, c.cause, "the undo has ended, because", c.why, " --list "+r.name, " --end "+r.name)
			lacks(t, said, "--cold")
			_, stderr := r.undo(exit.Refused, "--cold")
			contains(t, stderr, "the last change cannot be taken back")
			r.undo(exit.Done, "--end")
		})
	}
}
