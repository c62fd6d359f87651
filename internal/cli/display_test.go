package cli

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/event"
	"midstream/internal/face/tui"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
)

var moment = time.Date(2026, 3, 4, 5, 6, 7, 8e6, time.UTC)

// everyEvent is one of each, every field set.
var everyEvent = []event.Event{
	event.PhaseEntered{Phase: event.PhaseCopy, At: moment},
	event.Note{Text: "a note", At: moment},
	event.Resumed{Rows: 7, Taken: moment.Add(-time.Minute), Text: "going on", At: moment},
	event.Progress{
		Phase:              event.PhaseCopy,
		At:                 moment,
		Elapsed:            1500 * time.Millisecond,
		RowsCopied:         41,
		RowsTotal:          100,
		Fraction:           .41,
		CopyRate:           12.5,
		ChunkRows:          10,
		Workers:            0.02,
		Statements:         120,
		StatementTime:      1500 * time.Microsecond,
		StatementTimeAlone: 1100 * time.Microsecond,
		ReplicaLag:         7 * time.Millisecond,
		Slowdown:           .0312,
		Captured:           7,
		Applied:            6,
		Dropped:            5,
		Merged:             4,
		Backlog:            3,
		BacklogLimit:       1000,
		ApplyRate:          2.5,
		CaptureDelay:       53 * time.Millisecond,
		BinlogRead:         99,
		Position:           "binlog.000002:4",
		ETA:                31 * time.Second,
		ETALeast:           28 * time.Second,
		ETAMost:            41 * time.Second,
		Retries:            1,
		IndexFraction:      .5,
		BuildStep:          "sort",
	},
	event.Progress{Phase: event.PhaseCopy, At: moment, Slowdown: -1, ETA: -1},
	event.Blocked{Run: "shop.orders", Waiting: 2 * time.Second, At: moment, Blockers: []event.Blocker{{ConnectionID: 17, User: "app", Host: "h:1",
		Command: "Sleep", Age: time.Minute, Statement: "SELECT 1", Table: "shop.orders", Why: "holds a metadata lock", Snapshot: true}}},
	event.LockAttempt{Number: 2, Granted: true, Waited: 1500 * time.Microsecond, At: moment},
	event.SwapDone{LockHeld: 4100 * time.Microsecond, Drained: 3, Attempts: 2, At: moment},
	event.Retry{What: "chunk", Cause: "deadlock", At: moment},
	event.Finding{
		Kind:    "null",
		Name:    "v",
		What:    "with NULL in column v",
		Rows:    12,
		AtLeast: true,
		Keys:    []string{"id=1", "id=2"},
		Query:   "SELECT 1",
		Fix:     "MODIFY `v` int NULL",
		Refused: true,
		At:      moment,
	},
	event.Deadline{
		By: moment.Add(7 * time.Hour), State: event.DeadlineImpossible, Expected: moment.Add(8 * time.Hour), Limit: "50%", Factor: 10, Highest: true,
		At: moment,
	},
	event.UnfitFound{Key: "2", Cause: "Out of range value", At: moment},
	event.Parked{Table: "shop.orders_parked", Rows: 2, Keys: []string{"2"}, At: moment},
	event.Prescanned{Needed: true, Rows: 77, Refused: 1, Elapsed: 1500 * time.Millisecond, At: moment},
}

// TestEventsSurviveJSON: what a parent reads of a child is what the child's engine told.
func TestEventsSurviveJSON(t *testing.T) {
	for _, e := range everyEvent {
		var line bytes.Buffer
		(&session.Lines{Out: &line}).Show(e)
		back, _, err := record.Read(line.Bytes())
		if err != nil || !reflect.DeepEqual(back, e) {
			t.Errorf("%v\n%+v instead of\n%+v", err, back, e)
		}
	}
	if record.Of(event.ChunkCopied{}) != nil {
		t.Error("single chunks are told")
	}
	for _, line := range []string{"{", `{"event":"note","at":"yesterday"}`} {
		if _, _, err := record.Read([]byte(line)); err == nil {
			t.Errorf("%s was read", line)
		}
	}
	if e, r, err := record.Read(
		[]byte(`{"event":"of_a_later_version","at":"2026-03-04T05:06:07.008Z"}`),
	); e != nil || r != nil ||
		err != nil {
		t.Error(e, r, err)
	}
}

func TestLines(t *testing.T) {
	var out bytes.Buffer
	l := &tui.Lines{Out: &out}
	p := everyEvent[3].(event.Progress)
	for i := range 20 { // 10 s: two lines, and once what their words mean
		p.At, p.RowsCopied = moment.Add(time.Duration(i)*500*time.Millisecond), int64(41+i/10)
		l.Show(p)
	}
	if n, words := strings.Count(out.String(), "2/5 copy"), strings.Count(out.String(), "  ("); n != 2 || words != 3 {
		t.Errorf("%d lines:\n%s", n, &out)
	}
	contains(
		t, out.String(),
		"2/5 copy      41 %  41 of 100  12/s  done in 30 s (30 s to 40 s)", "  app +3 %  works 2 %  backlog 3 (2.5/s)\n",
	)
	out.Reset()
	for _, e := range everyEvent {
		l.Show(e)
	}
	contains(
		t, out.String(), "a note", `5/5 cut over  BLOCKED 2 s by connection 17, app@h:1: transaction open for 1 min 0 s, with an old snapshot, last statement "SELECT 1"`,
		"To kill it: KILL 17.", "--old-snapshots=ignore",
		"5/5 cut over  locked for 4.1 ms, 3 changes applied under the lock, attempt 2",
		"unfit: at least 12 rows with NULL in column v\n", "keys: id=1; id=2, ...\n", "list: SELECT 1\n",
		"unfit: the row with key (2) does not fit: Out of range value\n",
		"set aside in shop.orders_parked: 2, with the keys (2), ...\n",
		"fix:  MODIFY `v` int NULL\n", "1/5 prepare   1 problem found in 1.5 s",
	)
	out.Reset()
	quiet := &tui.Lines{Out: &out, Quiet: true}
	for _, e := range everyEvent {
		quiet.Show(e)
	}
	// the note, what is gone on with, the blocker and what to do (also about its snapshot), the finding with
	// its keys, list and fix, that the deadline cannot be met, and unfit and parked rows of an undo
	if n := strings.Count(out.String(), "\n"); n != 12 {
		t.Errorf("quiet says:\n%s", &out)
	}
}

// TestBarsOnATerminal runs a change on a terminal: bars, what happened, and the terminal
// left as it was.
func TestBarsOnATerminal(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	for _, c := range []struct {
		env    string
		colors bool
	}{{"COLORTERM=truecolor", true}, {"NO_COLOR=1", false}} {
		name, _ := table(t, i, 30_000)
		cmd := command(
			t,
			append(
				[]string{"run", "--method=shadow", "--workers=1", "--chunk-time=10ms", "ALTER TABLE " + name + " ADD COLUMN c INT"},
				flagsTo(t, i)...)...)
		cmd.Env = append(cmd.Env, c.env)
		terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 90})
		if err != nil {
			t.Fatal(err)
		}
		screen := watch(terminal)
		screen.await(t, "Old table kept")
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		<-screen.done
		terminal.Close()
		sent := screen.String()
		contains(t, ansi.Strip(sent), "copy     █", "backlog  ", "5/5 cut over  locked for", "altered "+name)
		if hide, show := strings.LastIndex(sent, ansi.HideCursor), strings.LastIndex(sent, ansi.ShowCursor); hide < 0 || show < hide {
			t.Errorf("the cursor stays hidden: %q", sent)
		}
		if strings.Contains(sent, "\x1b[?1049h") || strings.Contains(sent, "$p") {
			t.Errorf("the terminal was switched or asked: %q", sent)
		}
		if colored := strings.Contains(sent, "\x1b[38;"); colored != c.colors {
			t.Errorf("%s: colors %t\n%q", c.env, colored, sent)
		}
	}
}

// TestResultOfAFailure has what a script needs.
func TestResultOfAFailure(t *testing.T) {
	err := &exit.Error{Code: exit.Failed, Err: errInterrupted, Left: "nothing was written", Next: "again"}
	text, _ := json.Marshal(newApp(Env{}).Teller().ResultOf(resultlessRun, err, exit.Failed))
	contains(
		t, string(text), `"outcome":"failed"`, `"exit_code":1`, `"error":"interrupted"`,
		`"left":"nothing was written"`, `"next":"again"`, `"problems":[]`,
	)
}
