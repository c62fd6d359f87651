package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/leftovers"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/queue"
)

// undoIs waits until the undo of a change is in a state.
func (q *queueing) undoIs(id, state string) queue.Undo {
	q.t.Helper()
	return *q.reaches(id, func(c queue.Change) bool { return c.Undo != nil && c.Undo.State == state }).Undo
}

// TestU3_UndoOfAQueue: a change of the queue has the state of its undo. Its undo is a change of its own, and so is the redo.
func TestU3_UndoOfAQueue(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	q := toQueue(t, 1000)
	file, err := os.OpenFile(filepath.Join(q.home, "main.cnf"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteString("[midstream]\nundo = 1h\nundo-method = require\n")
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	q.serve()
	undo := func(id string, want int, body string) string {
		t.Helper()
		status, text := q.http("POST", "/v1/changes/"+id+"/undo", body)
		if status != want {
			t.Errorf("%s: %d %s", id, status, text)
		}
		return text
	}
	q.submit("a", q.name+" ADD COLUMN c INT", "--option=method=shadow") // undo is in the option file, and its undo reads past that
	contains(t, undo("a", http.StatusConflict, "{}"), "nothing to undo yet")
	contains(t, undo("nothing", http.StatusNotFound, "{}"), "no such change: nothing")
	q.becomes("a", queue.StateDone)
	open := q.undoIs("a", string(leftovers.UndoOpen))
	if open.Unfit != nil || open.Behind != nil || open.Until == nil || open.Mode != "lazy" || strings.Join(open.Lost, ",") != "c" ||
		!strings.Contains(open.Text, "rows not checked") {
		t.Errorf("%+v", open)
	}
	_, stdout, _ := q.ask("queue", "a")
	contains(t, stdout, "open until ", "rows not checked")
	contains(t, undo("a", http.StatusUnprocessableEntity, `{"options":{"undo":"1h"}}`), "may not set these options: undo")

	// The undo, which waits for another change of the table, and the redo.
	q.submit("z", q.name+" ADD INDEX by_b (b(10))", "--option=method=inplace", "--option=hold", "--option=undo=0s")
	q.holds("z")
	var made queue.Change
	if err := json.Unmarshal([]byte(undo("a", http.StatusCreated, `{"by":"me"}`)), &made); err != nil || made.ID != "a-undo" || made.Undoes != "a" {
		t.Errorf("%+v, %v", made, err)
	}
	contains(t, undo("a", http.StatusConflict, "{}"), "a-undo")
	if u := q.undoIs("a", string(leftovers.UndoRunning)); u.By != "a-undo" || q.at("a-undo").State != queue.StateWaiting {
		t.Errorf("while another change of the table is at work: %+v, %+v", u, q.at("a-undo"))
	}
	if code, _, stderr := midstream(t, "cutover", "--control-dir="+q.folder, q.name); code != exit.Done {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	q.becomes("z", queue.StateDone)
	q.becomes("a-undo", queue.StateDone)
	if got := q.query(columns); got != "id,a,b" {
		t.Errorf("columns %s", got)
	}
	if u := q.undoIs("a", "undone"); u.By != "a-undo" {
		t.Errorf("%+v", u)
	}
	if u := q.undoIs("a-undo", string(leftovers.UndoOpen)); !u.Redo {
		t.Errorf("%+v", u)
	}
	contains(t, undo("a", http.StatusConflict, "{}"), "change a-undo has undone it", "--undo=a-undo makes", "--host=", "--control-dir="+q.folder+" --end ")
	if a := q.at("a"); strings.Contains(a.Why, "_old") || !strings.HasPrefix(a.Next, "midstream submit"+q.here()+"--undo=a-undo makes the change again; ") {
		t.Errorf("a change that was undone names its old table, which is the table now: %q, %q", a.Why, a.Next)
	}
	code, stdout, stderr := q.ask("submit", "--undo=a-undo", "--wait")
	if code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stdout, "a-undo-2")
	if got := q.query(columns); got != "id,a,b,c" {
		t.Errorf("columns %s", got)
	}
	if u := q.undoIs("a-undo-2", string(leftovers.UndoOpen)); u.Redo || !strings.HasPrefix(u.Text, "undo: open") {
		t.Errorf("the redo makes the change again, and its undo is no redo: %+v", u)
	}
	contains(t, q.at("a-undo-2").Why, "it was a redo")
	if u := q.undoIs("a", string(leftovers.UndoEnded)); u.By != "a-undo-2" || u.Why != "change a-undo-2 has made it again" {
		t.Errorf("%+v", u)
	}
	contains(t, undo("a", http.StatusConflict, "{}"), "change a-undo-2 has made it again", "midstream submit  --undo=a-undo-2 takes the change back")

	// A change by the server itself keeps no undo, and the undo of the change before stays.
	q.submit("b", q.name+" ADD COLUMN d INT", "--option=method=instant", "--option=undo=0s")
	if b := q.becomes("b", queue.StateDone); b.Undo != nil {
		t.Errorf("%+v", b.Undo)
	}
	contains(t, undo("b", http.StatusConflict, "{}"), "has kept no undo")
	_, page := q.http("GET", "/metrics", "")
	contains(t, page, `midstream_undo_open{change="a-undo-2",`, `midstream_undo_open_until_seconds{change="a-undo-2",`)
	code, _, stderr = midstream(t, append(append([]string{"undo"}, flagsTo(t, q.i)...), "--end", q.name)...)
	if code != exit.Done {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	q.undoIs("a-undo-2", string(leftovers.UndoEnded))
	executing(t, q.i, q.database())("DROP TABLE IF EXISTS t_old", "DROP TABLE IF EXISTS t_undone")
	q.leadsBack(undo)
	q.kill()
	q.serve() // what it knows of undos is in the store
	q.undoIs("a-undo", "undone")
	q.undoIs("a", string(leftovers.UndoEnded))
}

// leadsBack fails the test unless a change by the server, of which nothing was kept, has its way back as the next step.
func (q *queueing) leadsBack(undo func(id string, status int, body string) string) {
	q.t.Helper()
	q.submit("c", q.name+" ADD COLUMN e INT", "--option=method=instant", "--option=undo=0s")
	back := "DROP COLUMN `e`' (it gives up the values of e)"
	contains(q.t, q.becomes("c", queue.StateDone).Next, "to take the change back: midstream submit", back)
	contains(q.t, undo("c", http.StatusConflict, "{}"), "has kept no undo", back)
	contains(q.t, undo("a-undo-2", http.StatusConflict, "{}"), "its undo has ended")
}

// TestU4_UnfitRowsOfAFollowerInAQueue: within seconds of its commit, a row that the old definition refuses is in the state of
// the undo, in the metrics, and known to the hook. The undo stops before its lock, or parks the row.
func TestU4_UnfitRowsOfAFollowerInAQueue(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	q := toQueue(t, 1000)
	told := filepath.Join(q.home, "told")
	hook := filepath.Join(q.home, "hook")
	err := os.WriteFile(hook, []byte("#!/bin/sh\necho \"$MIDSTREAM_MOMENT $MIDSTREAM_TABLE\" >> "+told+"\n"), 0o700)
	file, openErr := os.OpenFile(filepath.Join(q.home, "main.cnf"), os.O_APPEND|os.O_WRONLY, 0)
	if openErr == nil {
		_, openErr = file.WriteString("[midstream]\nundo = 1h\nundo-mode = warm\nhook = on-undo-unfit=" + hook + "\n")
		openErr = errors.Join(openErr, file.Close())
	}
	if err = errors.Join(err, openErr); err != nil {
		t.Fatal(err)
	}
	q.serve()
	q.submit("a", q.name+" MODIFY a BIGINT", "--option=method=shadow")
	q.becomes("a", queue.StateDone)
	follows := func(rows int64) queue.Undo {
		t.Helper()
		return *q.reaches("a", func(c queue.Change) bool {
			u := c.Undo
			return u != nil && u.Mode == "warm" && u.Unfit != nil && *u.Unfit == rows && u.Compared != nil
		}).Undo
	}
	if u := follows(0); u.State != string(leftovers.UndoOpen) || u.Behind == nil ||
		!strings.Contains(u.Text, "0 unfit rows, compared less than a minute ago, behind ") {
		t.Errorf("%+v", u)
	}
	exec := executing(t, q.i, q.database())
	exec("INSERT INTO t (a, b) VALUES (3000000000, 'large')")
	if u := follows(1); u.State != "unfit" || !strings.Contains(u.Text, "undo needs a decision on 1 row") || len(u.Keys) != 1 {
		t.Errorf("%+v", u)
	}
	_, stdout, _ := midstream(t, append(append([]string{"undo"}, flagsTo(t, q.i)...), "--list", "--quiet", "--control-dir="+q.folder, q.name)...)
	contains(t, stdout, " open ", " warm 1 undo\n")
	_, page := q.http("GET", "/metrics", "")
	contains(t, page, `midstream_undo_open{change="a",`, `midstream_undo_unfit_rows{change="a",`)
	var text []byte
	until(t, func() string { return fmt.Sprintf("the hook was told %q", text) }, func() bool {
		text, _ = os.ReadFile(told)
		return string(text) == "on-undo-unfit "+q.name+"\n"
	})
	code, stdout, stderr := q.ask("submit", "--undo=a", "--wait")
	if code != exit.Unfit {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	contains(t, strings.Join(strings.Fields(stdout+stderr), " "), "midstream submit"+q.here()+"--undo=a; or add --option=park")
	rows := []string{"unfit: 1 row refused: Out of range", "keys: id=", "list: SELECT * FROM"}
	contains(t, stdout, rows...)
	_, shown, _ := q.ask("queue", "a-undo")
	contains(t, shown, rows...)
	if c := q.at("a-undo"); c.History == "" || len(c.Unfit) != 1 || c.Unfit[0].Rows != 1 || len(c.Unfit[0].Keys) != 1 {
		t.Errorf("of an undo that was refused, the API has %+v", c)
	}
	for _, form := range []string{"html", "md"} {
		status, text := q.http("GET", "/v1/changes/a-undo/report."+form, "")
		if status != http.StatusOK {
			t.Errorf("report.%s: %d", form, status)
		}
		contains(t, unreaching(text), "unfit: 1 row refused: Out of range", "SELECT * FROM", "midstream undo --control-dir="+q.folder+" "+q.name)
	}
	follows(1)
	if code, _, stderr := q.ask("submit", "--undo=a", "--option=park", "--wait"); code != exit.Done {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	if status, text := q.http("GET", "/v1/changes/a-undo-2/report.md", ""); status != http.StatusOK || !strings.Contains(text, "locked for ") {
		t.Errorf("the report of an undo that a follower has made: %d\n%s", status, text)
	}
	if u := q.undoIs("a", "undone"); u.By != "a-undo-2" {
		t.Errorf("%+v", u)
	}
	_, shown, _ = q.ask("queue", "a-undo-2")
	contains(t, strings.Join(strings.Fields(shown), " "), "1 row set aside in "+q.name+"_parked, and the redo brings it back")
	if c := q.at("a-undo-2"); c.ParkedRows != 1 || c.ParkedTable != q.name+"_parked" {
		t.Errorf("of an undo that has parked rows, the API has %+v", c)
	}
	if got := q.query("SELECT b FROM " + q.name + "_parked"); got != "large" {
		t.Errorf("%s is parked", got)
	}
	if code, _, stderr := midstream(t, append(append([]string{"undo"}, flagsTo(t, q.i)...), "--end", q.name)...); code != exit.Done {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	exec("DROP TABLE t_parked")
}
