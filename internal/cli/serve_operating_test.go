package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/queue"
)

// TestServeNamesWhatIsMissingToOperateIt: serve warns if no token may operate it, a proposed change prints the command that comes
// next, a freeze takes a duration, and a server whose option file has got cutover-when-gone begins no run.
func TestServeNamesWhatIsMissingToOperateIt(t *testing.T) {
	sideBySide(t)
	p := peopled(t, 100, map[string]string{"ann": "submit", "bob": "approve"})
	p.flags = append(p.flags, "--approve=main")
	p.serve()
	contains(t, p.daemon.stdout.String(), "no token has the role operate", "midstream token NAME --role operate --tokens ")
	file := filepath.Join(p.home, "main.cnf")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(before, "\n[midstream]\ncutover-when-gone=/tmp/nothing\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	contains(t, p.does("ann", "submit", "ALTER TABLE "+p.name+" ADD COLUMN c INT", "--server=main", "--id=a"), "proposed ", "midstream approve ")
	p.does("bob", "approve", "a")
	a := p.sees("ann", "a", func(c queue.Change) bool { return strings.Contains(c.Why, "cutover-when-gone") })
	if a.State != queue.StateWaiting {
		t.Errorf("a is %s", a.State)
	}
	if err := os.WriteFile(file, before, 0o600); err != nil {
		t.Fatal(err)
	}
	p.sees("ann", "a", func(c queue.Change) bool { return c.State == queue.StateDone })

	p.add("ops", "operate")
	at := time.Now().Add(2 * time.Hour).UTC()
	out := p.does("ops", "freeze", "--server=main", "--reason=incident", "--until=2h")
	if !strings.Contains(out, "until "+at.Format("2006-01-02 15:04")) && !strings.Contains(out, "until "+at.Add(time.Minute).Format("2006-01-02 15:04")) {
		t.Errorf("%s, and it is %s", out, at)
	}
	if code, _, stderr := p.as("ops", "freeze", "--server=main", "--reason=x", "--until=tomorrow"); code != exit.WrongUsage {
		t.Errorf("exit code %d", code)
	} else {
		contains(t, stderr, "RFC 3339", "a duration such as 2h")
	}
	p.does("ops", "unfreeze", "--server=main")
}

// TestU3_AFrozenFollowerIsNotReleasedByHand: while a file of cutover-when-gone holds a process that follows a table, as midstream freeze
// does, midstream undo takes nothing back, and names the file and how to do it all the same.
func TestU3_AFrozenFollowerIsNotReleasedByHand(t *testing.T) {
	mysqltest.Server(t, "9.7")
	t.Parallel()
	file := filepath.Join(t.TempDir(), "frozen")
	c := beginControlled(t, 1000, "--undo=1h", "--undo-mode=warm", "--cutover-when-gone="+file)
	c.follower(following)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr := c.undo(exit.NotNow)
	contains(t, strings.Join(strings.Fields(stderr), " "), "the file "+file+" exists", "midstream unfreeze", "cutover-when-gone= and")
	if got := c.columns(); got != "id,a,b,c" {
		t.Errorf("columns %s", got)
	}
	c.follower(following)
	if code, _, stderr := midstream(t, "set", c.name, "cutover-when-gone=", "--control-dir="+c.folder); code != exit.Done {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	c.undo(exit.Done)
	if got := c.columns(); got != "id,a,b" {
		t.Errorf("columns %s", got)
	}
	c.undo(exit.Done, "--end")
}
