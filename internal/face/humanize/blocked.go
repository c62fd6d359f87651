package humanize

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
)

// Indent is the line break within a text that has a time of day before it.
const Indent = "\n          "

// Blocked reports the sessions that block the swap: who, for how long and by what in the first line, and then what to do. No line is
// longer than 200 characters, but for the names in it.
func Blocked(e event.Blocked) string {
	return strings.Join(append(BlockedBy(e), Advice(e)...), Indent)
}

// BlockedFor is the beginning of a text about sessions that block the swap, such as "BLOCKED 6 s by". The time is that of the run, which
// may have waited for other sessions before.
func BlockedFor(e event.Blocked) string {
	if e.Waiting < time.Second {
		return "BLOCKED by"
	}
	for _, b := range e.Blockers {
		if b.Age+2*time.Second >= e.Waiting {
			return "BLOCKED " + Age(e.Waiting) + " by"
		}
	}
	return "BLOCKED for " + Age(e.Waiting) + ", now by"
}

// mostNamed is how many blockers a text names, and how many it suggests to kill.
const mostNamed = 3

// BlockedBy are the lines of Blocked about the sessions.
func BlockedBy(e event.Blocked) (lines []string) {
	text := "cut over: " + BlockedFor(e) + " "
	if len(e.Blockers) == 1 {
		return []string{text + inShort(e.Blockers[0], e.Run)}
	}
	lines = []string{text + Plural(len(e.Blockers), "session") + ":"}
	for _, b := range e.Blockers[:min(mostNamed, len(e.Blockers))] {
		lines = append(lines, inShort(b, e.Run))
	}
	if more := len(e.Blockers) - mostNamed; more > 0 {
		text := fmt.Sprintf("and %d more", more)
		if e.Run != "" {
			text += "; to list all: midstream blockers  " + escape.Line(schema.NameOf(e.Run).Argument())
		}
		lines = append(lines, text)
	}
	return lines
}

// brief is the age of an ordinary transaction of the application. It ends by itself, so nothing
// suggests to kill it.
const brief = 5 * time.Second

// Remedy suggests what an operator can do about the blockers of a run, or returns "" if they will end by themselves.
func Remedy(run string, blockers []event.Blocker) string {
	return strings.Join(Advice(event.Blocked{Run: run, Blockers: blockers}), " ")
}

// Advice are the lines of Blocked about what can be done, or what the run is going to do.
func Advice(e event.Blocked) []string {
	run := e.Run
	switch in := Age(e.KillIn); {
	case e.Kills > 0 && len(e.Blockers) == 1:
		return []string{"Queries are not waiting. The session will be killed in " + in + " (kill-blockers-after)."}
	case e.Kills > 0:
		return []string{fmt.Sprintf("Queries are not waiting. Of these sessions, %d will be killed, the first in %s (kill-blockers-after).", e.Kills, in)}
	}
	var kills []string
	snapshot := false
	for _, b := range e.Blockers {
		if b.Age < brief || b.Role == event.RoleReplication || b.Role == event.RoleMidstream {
			continue
		}
		kills = append(kills, fmt.Sprintf("KILL %d", b.ConnectionID))
		snapshot = snapshot || b.Snapshot
	}
	if len(kills) == 0 {
		return nil
	}
	them := "it"
	if len(kills) > 1 {
		them = "them"
	}
	if more := len(kills) - mostNamed; more > 0 {
		kills = append(kills[:mostNamed], fmt.Sprintf("and %d more", more))
	}
	table := "TABLE" // of a record by an earlier version
	if run != "" {
		table = escape.Line(schema.NameOf(run).Argument())
	}
	lines := []string{"Queries are not waiting. To kill " + them + ": " + strings.Join(kills, "; ") + "."}
	if e.KillAfter == 0 {
		lines[0] += " To let the run do it: midstream set  " + table + " kill-blockers-after=30s."
	}
	if snapshot {
		lines = append(lines, "To swap without waiting for old snapshots: midstream abort  --keep "+table+", then the same command with "+
			"--old-snapshots=ignore. Such a transaction then sees only a part of the rows.")
	}
	return lines
}

// longest is the length of the description of a blocker. A line has up to 48 characters before it.
const longest = 148

// inShort describes a blocker of a run in at most longest characters: who, for how long, and by what. The statement is cut first.
func inShort(b event.Blocker, run string) string {
	text := fmt.Sprintf("connection %d, %s: %s for %s", b.ConnectionID, OneLine(b.User+"@"+b.Host, 60), OneLine(Doing(b), 40), Age(b.Age))
	if b.Snapshot {
		text += ", with an old snapshot"
	} else if b.Why != "" && b.Why != ordinaryLock {
		text += ", " + OneLine(b.Why, 60)
	}
	if b.Table != "" && schema.NameOf(b.Table) != schema.NameOf(run) {
		text += ", on " + OneLine(b.Table, 40)
	}
	if b.Role != "" {
		text += ", " + OneLine(string(b.Role), 20)
	}
	if b.Changed > 0 {
		text += ", " + Plural(b.Changed, "row") + " changed"
	}
	text = OneLine(text, longest)
	if left := longest - utf8.RuneCountInString(text); b.Statement != "" && left > 30 {
		last := "statement"
		if b.Command == asleep {
			last = "last statement"
		}
		text += fmt.Sprintf(", %s \"%s\"", last, OneLine(b.Statement, left-len(`, last statement ""`)))
	}
	return text
}

// ordinaryLock is why nearly every blocker blocks (lock.Blocker), and asleep is the command of a session that executes nothing.
const ordinaryLock, asleep = "holds a metadata lock", "Sleep"

// Doing is what a session does as long as its age reports.
func Doing(b event.Blocker) string {
	switch b.Command {
	case asleep:
		if b.Lock == "SHARED_NO_READ_WRITE" || b.Lock == "SHARED_READ_ONLY" {
			return "LOCK TABLES"
		}
		return "transaction open"
	case "Query", "Execute":
		return "query running"
	}
	return b.Command
}

// Blocker describes one session, with its connection ID, so that an operator can find and kill it.
func Blocker(b event.Blocker) string {
	text := fmt.Sprintf("connection %d, %s@%s, %s for %s", b.ConnectionID, b.User, b.Host, b.Command, Span(b.Age))
	if b.Table != "" {
		text += ", on " + b.Table
	}
	text += ": " + b.Why
	if b.Lock != "" {
		text += " (" + b.Lock + ")"
	}
	if b.Role != "" {
		text += ", " + string(b.Role)
	}
	if b.Changed > 0 {
		text += ", " + Plural(b.Changed, "row") + " changed"
	}
	if b.Statement != "" {
		text += " [" + OneLine(b.Statement, 100) + "]"
	}
	return escape.Line(text)
}
