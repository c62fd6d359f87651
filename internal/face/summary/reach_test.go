package summary

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// TestCommandsHaveTheFlagsBeforeLinesBreak: the flags count for the width, and no line break divides a command.
func TestCommandsHaveTheFlagsBeforeLinesBreak(t *testing.T) {
	risk := plan.Risk{What: "it can be undone", Fix: "Take it back: midstream undo  shop.orders. Or give it up: midstream undo  --end shop.orders"}
	const want = `  - it can be undone
    fix: Take it back:
         midstream undo --host=db1 --user=dba shop.orders. Or
         give it up:
         midstream undo --host=db1 --user=dba --end shop.orders
`
	if got := Risks([]plan.Risk{risk}, Style{Width: 64, Reach: "--host=db1 --user=dba"}); got != want {
		t.Errorf("it is\n%s", got)
	}
}

// TestStatusHasTheFlagsOfTheRun: midstream status connects to no server, and prints the flags of the runs that it shows.
func TestStatusHasTheFlagsOfTheRun(t *testing.T) {
	contains := func(text string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in\n%s", want, text)
			}
		}
	}
	contains(OfStatus(socket.Status{About: socket.About{Table: "shop.orders", Undoes: true, Follows: true, Reach: "--host=db1"}}),
		"until midstream undo --host=db1 shop.orders takes the last change")
	run := record.Run{Table: "shop.orders", Alter: "ADD COLUMN c VARCHAR(99) COMMENT 'midstream undo a.b is what comes next'", Reach: "--host=db2"}
	left := Idle{Left: []history.Unfinished{{Entry: history.Entry{Run: run}, Killed: true}}}
	contains(left.Lines(), "COMMENT 'midstream undo a.", "; midstream cleanup --host=db2 shop.orders removes its work")
	open := &record.Open{Until: time.Now().Add(time.Hour)}
	done := Idle{now: time.Now(), Done: []history.Entry{{Run: run, Result: &record.Result{Undo: open}}}}
	contains(done.Lines()+done.of(), "; midstream status shop.orders shows more\n", "To check that on the server: midstream undo --host=db2 --list shop.orders.", "To undo: midstream undo --host=db2 shop.orders\n")
}
