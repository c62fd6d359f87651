package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func after(seconds float64) time.Time {
	return began.Add(time.Duration(seconds * float64(time.Second)))
}

// hostile is a text that would be more than text in a page, a table of Markdown or a block of code.
const hostile = "</script><script>alert(1)</script>`|```\n<img src=x onerror=alert(2)>"

// story is a run with everything that may happen.
func story(progress int) *history.Story {
	s := &history.Story{
		Run: record.Run{
			Head:    record.HeadOf(record.NameRun, began),
			ID:      "20260102T030405.000Z-shop.orders-7",
			Table:   "shop.or" + hostile,
			Alter:   "ADD COLUMN n INT COMMENT '" + hostile + "'",
			Server:  "db1:3306",
			User:    "ann",
			Host:    "ops1",
			Process: 7,
			Version: "1.0",
		},
		Plan: &record.Plan{
			Table:        "shop.orders",
			Method:       "shadow",
			Why:          "why " + hostile,
			Key:          "PRIMARY",
			KeyColumns:   []string{"id"},
			RowsEstimate: 1000,
			Others:       []record.Rejected{{Method: "instant", Why: "no"}},
			Prediction:   record.Prediction{ElapsedMS: 60_000, LeastMS: 20_000, MostMS: 180_000, DiskBytes: 1 << 20, LockedMS: 500},
			Risks:        []record.Risk{{Code: "c", What: "what", Why: "why", Fix: "fix"}},
		},
		Result: &record.Result{
			Head:       record.HeadOf(record.NameResult, after(90)),
			Outcome:    "done",
			Swapped:    true,
			Old:        "shop.orders_old",
			ElapsedMS:  90_000,
			RowsCopied: 1010,
			DiskBytes:  2 << 20,
			LockHeldMS: 12,
			Attempts:   2,
			Verified:   1010,
			VerifyMS:   900,
		},
	}
	say := func(events ...event.Event) { s.Events = append(s.Events, events...) }
	say(event.PhaseEntered{Phase: event.PhaseCopy, At: after(1)})
	gates := []event.Gate{{Name: "replica-lag r1", Why: "replica r1 is 3 s behind " + hostile, Since: after(2)}}
	for i := range progress {
		say(
			event.Progress{
				Phase:              event.PhaseCopy,
				At:                 after(1 + float64(i)*60/float64(progress)),
				RowsCopied:         int64(i),
				StatementTime:      2 * time.Millisecond,
				StatementTimeAlone: time.Millisecond,
				ReplicaLag:         3 * time.Second,
				CaptureDelay:       40 * time.Millisecond,
				ETA:                -1,
				Slowdown:           -1,
			},
		)
	}
	say(
		event.Throttled{Gates: gates, At: after(2)},
		event.Throttled{Gates: gates, At: after(12)},
		event.Throttled{At: after(20)},
		event.Retry{
			What:  "keys",
			Cause: "Duplicate entry 'a' for key 'k'",
			At:    after(30),
		},
		event.Retry{What: "keys", Cause: "Duplicate entry 'b' for key 'k'", At: after(31)},
		event.PhaseEntered{Phase: event.PhaseCutover, At: after(61)},
		event.Blocked{
			Blockers: []event.Blocker{{ConnectionID: 9, User: "u", Host: "h", Why: "holds the lock", Statement: hostile, Changed: -1}},
			Waiting:  time.Second,
			At:       after(62),
		},
		event.Killed{Blocker: event.Blocker{ConnectionID: 9, Changed: -1}, Waited: time.Second, At: after(63)},
		event.LockAttempt{
			Number: 1,
			Waited: 250 * time.Millisecond,
			At:     after(64),
		},
		event.LockAttempt{Number: 2, Granted: true, At: after(65)},
		event.SwapDone{LockHeld: 12 * time.Millisecond, Attempts: 2, At: after(66)},
		event.Mismatch{Key: "7", Column: "c", Expected: "1", Found: "2", At: after(67)},
		event.PhaseEntered{Phase: event.PhaseDone, At: after(90)},
	)
	return s
}

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The page and the text have all that happened, and nothing that was said becomes a part of the page.
func TestReportIsWholeAndHarmless(t *testing.T) {
	r := Of(story(100))
	page, text := written(t, r.HTML), written(t, r.Markdown)
	for _, says := range []string{"ann", "ops1", "db1:3306", "1 min 30 s", "between 20.0 s and 3 min", "2.1 MB", "replica r1 is 3 s behind", "lock attempt 1 not granted within 250 ms", "connection 9", "locked for 12 ms",
		"should be 1, is 2", "shop.orders_old", "cleanup --old", "2026-01-02 03:04:05 UTC", "03:05:06.000"} {
		for form, whole := range map[string]string{"the page": page, "the text": text} {
			if !strings.Contains(whole, says) {
				t.Errorf("%s does not say %q", form, says)
			}
		}
	}
	for _, harm := range []string{"<script>alert", "<img src=x"} {
		if strings.Contains(page, harm) {
			t.Errorf("the page has %s", harm)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "| 03:") && strings.Count(line, "|")-strings.Count(line, `\|`) != 4 {
			t.Errorf("a line of the table is torn: %s", line)
		}
	}
	if strings.Contains(page, "http://") || strings.Count(page, "https://") != strings.Count(page, "https://github.com/leeoniya/uPlot") {
		t.Error("the page refers to something outside")
	}
	if !strings.Contains(page, "Permission is hereby granted") {
		t.Error("the page has uPlot without its licence")
	}
}

// The report names the condition and the expressions by which the operator chose rows and values, and how many rows were left out.
func TestWhatTheOperatorChoseIsNamed(t *testing.T) {
	s := story(1)
	s.Plan.Keep, s.Plan.Set, s.Result.LeftOut = "note <> '"+hostile+"'", []string{"v=LEFT(w, 3) = 'a'"}, 73
	r := Of(s)
	page, text := written(t, r.HTML), written(t, r.Markdown)
	for form, whole := range map[string]string{"the page": page, "the text": text} {
		for _, says := range []string{"(--keep): note", "73 rows left out", "Column v gets its values from this expression (--set): LEFT(w, 3) = ", "no command of Midstream drops it"} {
			if !strings.Contains(whole, says) {
				t.Errorf("%s does not say %q", form, says)
			}
		}
	}
	if strings.Contains(page, "<script>alert") {
		t.Error("the condition is more than text")
	}
}

func TestWhatLastsIsToldOnce(t *testing.T) {
	r := Of(story(10))
	told := map[string]int{}
	for _, h := range r.Happenings {
		told[h.Event]++
	}
	if told["throttled"] != 2 || told["lock_attempt"] != 2 || told["blocked"] != 1 {
		t.Errorf("happenings by event: %v", told)
	}
	say := func(s *history.Story, waited time.Duration, at float64) {
		b := event.Blocked{Blockers: []event.Blocker{{ConnectionID: 9, Why: "holds the lock", Changed: -1}}, Waiting: waited, At: after(at)}
		s.Events = append(s.Events, b)
	}
	s := story(10)
	say(s, 3*time.Hour, 80)
	say(s, 0, 81) // it has come back
	say(s, time.Minute, 82)
	var times []string
	for _, h := range Of(s).Happenings {
		if h.Event == "blocked" {
			_, text, _ := strings.Cut(h.Text, "BLOCKED ")
			times = append(times, strings.Split(text, " by")[0])
		}
	}
	if !slices.Equal(times, []string{"for 3 h 0 min, now", "for 1 min 0 s, now"}) {
		t.Errorf("in the way for %q", times)
	}
	if len(r.Retries) != 1 || r.Retries[0].Times != 2 {
		t.Errorf("retries: %+v", r.Retries)
	}
	if len(r.Phases) != 3 || r.Phases[0].MS != 60_000 || r.Phases[1].MS != 29_000 {
		t.Errorf("phases: %+v", r.Phases)
	}
}

// The page of a long run is no longer than that of a short one.
func TestLongRun(t *testing.T) {
	r := Of(story(50_000))
	n := 0
	for _, one := range r.drawn {
		if _, is := one.(record.Progress); is {
			n++
		}
	}
	if n < mostDrawn*8/10 || n > mostDrawn*11/10 {
		t.Errorf("%d records of progress are drawn, want about %d", n, mostDrawn)
	}
}

// Of a run that has told no end, or nothing but that, there is a report too.
func TestUnfinished(t *testing.T) {
	whole := story(10)
	for name, s := range map[string]*history.Story{
		"killed":  {Run: whole.Run, Plan: whole.Plan, Events: whole.Events},
		"begun":   {Run: whole.Run},
		"refused": {Run: whole.Run, Result: &record.Result{Outcome: "refused", ExitCode: 4, Error: "no", Problems: []record.Risk{{What: "no key", Fix: "add one"}}}},
	} {
		r := Of(s)
		for _, write := range []func(io.Writer) error{r.HTML, r.Markdown, r.JSON} {
			text := written(t, write)
			if name != "refused" && !strings.Contains(text, "midstream cleanup") ||
				name == "refused" && !strings.Contains(text, "refused") {
				t.Errorf("%s: it does not say what to do:\n%.300s", name, text)
			}
		}
		var read Report
		if err := json.Unmarshal([]byte(written(t, r.JSON)), &read); err != nil || read.State != r.State || fmt.Sprint(read.Phases) == "" {
			t.Errorf("%s: as JSON it is %+v, %v", name, read, err)
		}
	}
}

// TestARunAtWorkHasTables: the report of a run without a result names the tables that the run has on the server.
func TestARunAtWorkHasTables(t *testing.T) {
	whole := story(10)
	whole.Plan.Shadow, whole.Plan.Old, whole.Plan.State = "shop.orders_shadow", "shop.orders_old", "shop.orders_midstream"
	shadow := event.PhaseEntered{Phase: event.PhaseShadow, At: after(0)}
	for want, events := range map[string][]event.Event{
		"": {event.PhaseEntered{Phase: event.PhaseCheck, At: after(0)}},
		"The new table shop.orders_shadow and the state table shop.orders_midstream.": {shadow},
		"The old table shop.orders_old and the state table shop.orders_midstream.":    {shadow, event.SwapDone{At: after(1)}},
	} {
		r := Of(&history.Story{Run: whole.Run, Plan: whole.Plan, Events: events})
		if r.Left != want {
			t.Errorf("left is %q instead of %q", r.Left, want)
		}
		if want != "" && strings.Contains(written(t, r.HTML), "Nothing.") {
			t.Error("the page says that nothing is left")
		}
	}
}

// TestOnlyWhatWasComparedIsEqual: a run that ended because rows differ, or before it had compared
// them all, is not told to have proven anything.
func TestOnlyWhatWasComparedIsEqual(t *testing.T) {
	for name, change := range map[string]func(r *record.Result){
		"rows differ":      func(r *record.Result) { r.Outcome, r.VerifyMS = "mismatch", 0 },
		"under the lock":   func(r *record.Result) { r.Outcome = "mismatch" },
		"ended in between": func(r *record.Result) { r.Outcome, r.VerifyMS = "aborted", 0 },
		"":                 func(*record.Result) {},
	} {
		s := story(10)
		change(s.Result)
		r := Of(s)
		for form, whole := range map[string]string{"page": written(t, r.HTML), "text": written(t, r.Markdown)} {
			if says := strings.Contains(whole, "rows compared in"); says != (name == "") {
				t.Errorf("%s: the %s says that rows were compared: %t", name, form, says)
			}
		}
	}
}

// TestUndoInReports: a report says whether the change can be undone, how, and what would be lost. That of an undo says what
// it took back, and which rows it could not bring back.
func TestUndoInReports(t *testing.T) {
	says := func(s *history.Story, words ...string) {
		t.Helper()
		r := Of(s)
		for form, whole := range map[string]string{"the page": written(t, r.HTML), "the text": strings.ReplaceAll(written(t, r.Markdown), "\\", "")} {
			for _, word := range words {
				if !strings.Contains(whole, word) {
					t.Errorf("%s does not say %q", form, word)
				}
			}
		}
	}
	until := time.Date(2026, 1, 3, 3, 4, 0, 0, time.UTC)
	change := story(1)
	change.Run.Table = "shop.orders"
	change.Plan.Undo = &record.Undoable{Possible: true, Mode: "lazy", Lost: []string{"n"}}
	says(change, "The run kept no undo (--undo=24h keeps one). As long as the old table exists, all rows can be taken back: midstream undo --cold shop.orders.")
	change.Plan.Undo.By = "DROP COLUMN `n`"
	says(change, "As long as the old table exists, all rows can be taken back: midstream undo --cold shop.orders.")
	change.Plan.Undo.By = ""
	change.Run.Group = "g"
	says(change, "The run kept no undo (--undo=24h keeps one). As long as the old table exists,")
	change.Plan.Undo.Why = plan.BackTogether
	says(change, "(--undo=24h keeps one). Foreign keys bind the tables to each other: to take this back, change all of them back together.")
	change.Run.Group, change.Plan.Undo.Why = "", ""
	old := change.Result.Old
	change.Result.Old = ""
	says(change, "The run kept no undo (--undo=24h keeps one).")
	change.Plan.Undo.By = "DROP COLUMN `n`"
	says(change, "To take the change back: midstream run ", "ALTER TABLE `shop`.`orders` DROP COLUMN `n`", ". It gives up the values of the new columns: n.")
	change.Result.Old, change.Plan.Undo.By = old, ""
	change.Result.Undo = &record.Open{Table: "shop.orders", State: "open", Mode: "lazy", Until: until, Swapped: began}
	says(change, "could be undone until 2026-01-03 03:04 UTC, with: midstream undo shop.orders", "gives up the values of the new columns: n",
		"For the undo, the rows were not checked", "To give the undo up first: midstream undo --end shop.orders")
	change.Result.Undo = nil
	change.Plan.Undo = &record.Undoable{Why: "the server changes the table itself"}
	says(change, "This change cannot be undone: the server changes the table itself.")

	undo := story(1)
	rows := int64(3)
	undo.Run.Table, undo.Run.Undoes, undo.Result.Applied, undo.Result.Changed = "shop.orders", true, 5, &rows
	undo.Plan.Undoes = &record.Undoes{Swapped: began, Alter: "ADD COLUMN n INT", Mode: "lazy"}
	undo.Events = append(undo.Events, event.PhaseEntered{Phase: event.PhaseCopy, Undo: true, At: after(91)},
		event.Parked{Table: "shop.orders_parked", Rows: 2, Keys: []string{"7", "8"}, At: after(92)})
	undo.Result.Undo = &record.Open{Table: "shop.orders", State: "open", Mode: "lazy", Until: until, Swapped: began}
	says(undo, "takes back the change of 2026-01-02 03:04 UTC: ADD COLUMN n INT", "3 changed rows were synced", "The old definition refused rows",
		"shop.orders_parked: 2, with the keys (7), (8). The redo brings the rows back", "could be redone until", "For the redo, the rows were not checked")
	undo.Events = undo.Events[:len(undo.Events)-1]
	undo.Result.Changed = nil // of an earlier version, or too many
	says(undo, "The old definition took all rows.", "5 changes were applied")
	undo.Result.Outcome = "unfit"
	undo.Events = append(undo.Events, event.Progress{Unfit: &event.Unfit{Rows: 3}, At: after(93)})
	says(undo, "The old definition refuses 3 rows. They need a decision")

	redo := story(1)
	redo.Run.Table, redo.Run.Undoes = "shop.orders", true
	redo.Plan.Statement = "DROP TABLE"
	redo.Plan.Undoes = &record.Undoes{Swapped: began, Alter: "DROP TABLE shop.orders", Mode: "rename", Redo: true}
	redo.Result.Undo = &record.Open{Table: "shop.orders", State: "open", Mode: "rename", Until: until, Swapped: began}
	says(redo, "takes back the undo of 2026-01-02 03:04 UTC: DROP TABLE shop.orders.", "could be undone until")
	redo.Plan.Undoes.Swapped, redo.Plan.Undoes.Redo = time.Time{}, false
	says(redo, "takes back the change: DROP TABLE shop.orders.", "could be redone until")
}

// TestABuildWithoutAVersionIsNotNamed: a program that was built by hand has no version. Then no sentence ends with the name of the
// program and a blank.
func TestABuildWithoutAVersionIsNotNamed(t *testing.T) {
	for _, version := range []string{"1.0", ""} {
		s := story(10)
		s.Run.Version = version
		r := Of(s)
		for form, whole := range map[string]string{"page": written(t, r.HTML), "text": written(t, r.Markdown)} {
			if named := strings.Contains(whole, ", with midstream"); named != (version != "") {
				t.Errorf("version %q: the %s names it: %t", version, form, named)
			}
		}
	}
}

// TestTheTimeOfARunIsDivided: the actual time names what was work, and what was a wait for persons and sessions.
func TestTheTimeOfARunIsDivided(t *testing.T) {
	s := story(3)
	if r := Of(s); len(r.Compared) == 0 || !strings.Contains(r.Compared[0].Happened, "1 min 11 s of work, 19.0 s of waiting (blocked 1.0 s, gates closed 18.0 s)") {
		t.Errorf("%+v", r.Compared)
	}
	w := waitsOf([]event.Event{
		event.PhaseEntered{Phase: event.PhaseHold, At: after(10)}, event.PhaseEntered{Phase: event.PhaseCutover, At: after(61)},
		event.Blocked{Waiting: 2 * time.Second, At: after(61)}, event.Blocked{Waiting: 9 * time.Second, At: after(61)},
		event.Blocked{Waiting: 4 * time.Second, At: after(61)},
	}, time.Time{})
	if w.held != 51*time.Second || w.blocked != 13*time.Second || w.in(89*time.Second) != "25.0 s of work, 1 min 4 s of waiting (held 51.0 s, blocked 13.0 s)" {
		t.Errorf("%+v %s", w, w.in(89*time.Second))
	}
	resumed := waitsOf([]event.Event{ // the run before has waited for its disk, and was stopped
		event.Throttled{Gates: []event.Gate{{Name: "disk"}}, At: after(5)}, event.PhaseEntered{Phase: event.PhaseCopy, At: after(70)},
		event.Blocked{Waiting: 12 * time.Second, At: after(90)}, event.Throttled{At: after(95)},
	}, after(65))
	if got := resumed.in(30 * time.Second); got != "18.0 s of work, 12.0 s of waiting (blocked 12.0 s)" {
		t.Errorf("%q", got)
	}
	if w.in(50*time.Second) != "" {
		t.Error("waits that are longer than the run")
	}
}
