package ptosc

import (
	"context"
	"database/sql"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
)

// keptFor is how long a run with --reverse-triggers keeps the way back: there it has no end.
const keptFor = 30 * 24 * time.Hour

// reversed tells what becomes of --reverse-triggers.
const reversed = "No triggers: after the swap the process stays, follows the table by the binlog and keeps the old table up to date. " +
	"midstream undo takes the change back within one short lock; a signal ends the process with 0, and the way back stays open for 30 days. " +
	"It requires --no-drop-old-table, or --no-drop-triggers, which means that. " +
	"A row that the old table refuses is reported, and fails no write of the application."

// reverse reads --reverse-triggers: instead of triggers, the run follows the table after the swap, and keeps the old one up
// to date.
func (r *reading) reverse() {
	a := r.asked
	if !r.said.on("reverse-triggers", false) {
		return
	}
	switch {
	case a.dropOld:
		r.problem("--reverse-triggers requires --no-drop-old-table")
	case !a.swaps:
		r.note("--reverse-triggers has no effect with --no-swap-tables")
	case a.Mode == Execute:
		a.reverses = true
		r.note("--reverse-triggers makes no triggers: after the swap this process stays and keeps the old table up to date from the binlog. "+
			"To go back, within one short lock: midstream undo  %s. A signal ends the process and leaves the way back open for %d days",
			a.Table.Argument(), keptFor/(24*time.Hour))
	}
}

// nameSafely has the plan name the old table if this server could not swap it back under its usual name.
func (a *Asked) nameSafely(ctx context.Context, db *sql.DB, old string) (string, error) {
	if !a.reverses || old == "" {
		return old, nil
	}
	version, err := facts.ReadVersion(ctx, db)
	if err == nil && plan.ShadowName(version, a.Table, old) != a.Table.Sibling(old) {
		old = ""
	}
	return old, err
}

// followed tells that the change is made, and that the process goes on.
func (s *Speaker) followed() {
	if s.asked.history.job > 0 {
		s.say("Job %d finished successfully.", s.asked.history.job)
	}
	s.say("Successfully altered %s.", s.asked.Table.Quoted())
	s.following = true
}

// showFollowing tells of an event after the change was made.
func (s *Speaker) showFollowing(e event.Event) {
	switch e := e.(type) {
	case event.Note:
		s.Note(e.Text)
	case event.Blocked, event.Killed, event.Finding, event.Mismatch:
		s.following = false
		s.Show(e)
		s.following = true
	}
}
