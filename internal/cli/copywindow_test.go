package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
)

// hoursFrom is a window of two hours that opens so much later than now.
func hoursFrom(later time.Duration) string {
	begin := time.Now().UTC().Add(later)
	return fmt.Sprintf("%s-%s UTC", begin.Format("15:04"), begin.Add(2*time.Hour).Format("15:04"))
}

// TestCopyWindow: a run that waits for its copy window says so wherever one looks, and continues when
// the window is set to another one.
func TestCopyWindow(t *testing.T) {
	sideBySide(t)
	c := beginControlled(t, 500, "--copy-window="+hoursFrom(3*time.Hour))
	const waits = "the copy window opens "
	c.await("waiting", func() bool {
		_, stdout, _ := c.tell("status")
		return strings.Contains(stdout, "waiting: ") && strings.Contains(stdout, waits)
	})
	c.run.await(&c.run.stdout, waits)
	if s := c.status(); s.State != "waiting" || s.Phase != "copy" || s.Held != "" {
		t.Errorf("%+v", s)
	}
	c.refuses(exit.WrongUsage, "set", []string{"copy-window=Mon-Fry 1:00-2:00"}, `unknown day "Fry"`)
	c.obeys("set", []string{"copy-window=" + hoursFrom(-time.Hour)}, "copy-window is ")
	c.ends(exit.Done)
	contains(t, c.run.stdout.String(), "(in ", " min)", "resumed")
}

// TestL6_OwnBuildWaitsForTheCopyWindow: the server's own build begins in the window, and a change of
// the dictionary needs none.
func TestL6_OwnBuildWaitsForTheCopyWindow(t *testing.T) {
	sideBySide(t)
	c := toControl(t, 500)
	c.begin("ALTER TABLE "+c.name+" ADD INDEX by_b (b(5))", "--method=inplace", "--copy-window="+hoursFrom(3*time.Hour))
	c.phase("hold")
	if s := c.status(); s.State != "held" || !strings.Contains(s.Why, "the copy window ") || !strings.Contains(s.Why, " opens at ") {
		t.Errorf("%+v", s)
	}
	c.refuses(exit.NotNow, "cutover", nil, "the copy window ", c.at("set")+c.name)
	c.obeys("set", []string{"copy-window="}, "copy-window is ")
	c.ends(exit.Done)
	args := append(flagsTo(t, c.i), "run", "--copy-window="+hoursFrom(3*time.Hour), "ALTER TABLE "+c.name+" ADD COLUMN c INT")
	if code, stdout, stderr := midstream(t, args...); code != exit.Done || !strings.Contains(stdout, "INSTANT") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	args = append(flagsTo(t, c.i), "plan", "--copy-window=22:00-06:00 UTC", "--cutover-window=12:00-13:00 UTC",
		"ALTER TABLE "+c.name+" ADD INDEX (a)")
	code, stdout, stderr := midstream(t, args...)
	if code != exit.Done {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	told := strings.Join(strings.Fields(stdout), " ")
	contains(t, told, "copy to a new table", "have no time in common", "rows are copied only 22:00-06:00 UTC")
}
