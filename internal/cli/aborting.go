package cli

import (
	"errors"
	"fmt"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/face/summary"
	"midstream/internal/ops/session"
)

// errLeftAtOnce is the end of a run at a second Ctrl-C.
var errLeftAtOnce = errors.New("left at once")

// showing has a display show the events of an attempt, and says what Ctrl-C does to it.
func (c *change) showing(title string, interrupt func(event.Phase, bool) summary.Interrupt, do func(event.Listener)) {
	screen := c.output.display(title)
	c.takeKeys(screen)
	defer askFirst(c, screen)()
	relay := session.NewRelay(screen)
	var stand session.Stand
	defer c.app.Interrupts.OnFirst(func() {
		relay.Listen(event.Note{At: time.Now(), Text: interrupt(stand.Now()).First})
	})()
	defer c.app.Interrupts.OnSecond(func() {
		screen.Abandon()
		phase, swapped := stand.Now()
		c.leave(phase, interrupt(phase, swapped))
	})()
	do(event.Tee(stand.Listen, relay.Listen))
	relay.Close()
}

// leave reports the end of a run at a second Ctrl-C.
func (c *change) leave(phase event.Phase, i summary.Interrupt) {
	err := &exit.Error{Code: exit.AtOnce, Err: errLeftAtOnce, Left: i.Left, Next: i.Next}
	if c.output.json {
		record := c.app.Teller().ResultOf(migration.Result{}, err, exit.AtOnce)
		record.Phase, record.Swapped, record.Rehearsal = string(phase), i.Swapped, c.options.Purpose.Rehearsal()
		session.Quickly(func() { c.app.Record(record) })
		session.LeaveResult(c.resultFile, record)
	}
	fmt.Fprint(c.app.Stderr, c.app.Teller().Complaint(err, exit.AtOnce))
}
