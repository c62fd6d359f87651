package cli

import (
	"os"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/followers"
	"midstream/internal/ops/socket"
)

// TestPtOSCReverseTriggers: after the swap the process stays and keeps the old table up to date, until midstream undo takes
// the change back, while somebody writes. A signal ends it with success, and the way back stays open.
func TestPtOSCReverseTriggers(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, version := range mysqltest.InTurn(t, "9.7", "5.7") {
		t.Run(version, func(t *testing.T) {
			d := beginDropIn(t, version, 3000)
			old := "_t_old"
			if version == "5.7" { // which swaps in the order of names
				old = "t_old"
			}
			reverse := []string{ptAlter, "--execute", "--reverse-triggers", "--no-drop-old-table"}
			d.does(1, reverse[:3], "--reverse-triggers requires --no-drop-old-table")
			r := start(t, d.command(reverse...))
			r.await(&r.stdout, "Successfully altered "+d.quoted()+".")
			r.follows(d)
			d.ends("undo")
			if code := r.exit(); code != 0 {
				t.Errorf("exit code %d\n%s\n%s", code, &r.stdout, &r.stderr)
			}
			contains(t, r.stderr.String(), "--reverse-triggers makes no triggers", "midstream undo ")
			contains(t, r.stdout.String(), "Swapped the tables back OK.")
			if said := r.stdout.String(); strings.Count(said, "Successfully altered") != 1 {
				t.Errorf("the end is told twice:\n%s", said)
			}
			d.is("t,t_undo,t_undone", "0")
			d.does(17, reverse, "can be redone until ")
			d.ends("undo", "--end")
			d.ends("cleanup", "--old", "--yes")

			r = start(t, d.command(reverse...))
			r.follows(d)
			d.is(inOrder(old, "t", "t_midstream", "t_undo"), "1")
			r.interrupt()
			if code := r.exit(); code != 0 {
				t.Errorf("exit code %d\n%s\n%s", code, &r.stdout, &r.stderr)
			}
			contains(t, r.stderr.String(), "no process follows ")
			d.ends("undo")
			d.is("t,t_undo,t_undone", "0")
			d.settle()
			d.ends("undo", "--end")
			d.ends("cleanup", "--old", "--yes")
		})
	}
}

// follows waits until the process follows the table.
func (r *running) follows(d *drop) {
	d.t.Helper()
	for {
		now, err := followers.Ask(d.t.Context(), socket.Folder(os.Getenv), "", d.name)
		if err != nil {
			d.t.Fatal(err)
		}
		if now != nil && following(*now) {
			return
		}
		select {
		case <-r.done:
			d.t.Fatalf("it has ended\n%s\n%s", &r.stdout, &r.stderr)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ends runs a verb on the table.
func (d *drop) ends(verb string, args ...string) {
	d.t.Helper()
	if code, stdout, stderr := midstream(d.t, append(append([]string{verb, d.name}, args...), flagsTo(d.t, d.i)...)...); code != exit.Done {
		d.t.Fatalf("%s: exit code %d\n%s\n%s", verb, code, stdout, stderr)
	}
}
