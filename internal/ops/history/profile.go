package history

import (
	"os"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/forecast"
)

// The runs that a profile is made from: the newest ones on the server, and none with a larger file.
const (
	mostRuns  = 20
	mostBytes = 8 << 20
)

// Profile returns the load of each hour as earlier runs on a server saw it; the zero profile if that
// is not known.
func Profile(folder, server string) forecast.Profile {
	if folder == "" {
		return forecast.Profile{}
	}
	entries, _ := List(folder) // a folder that cannot be read knows nothing
	var past []forecast.Past
	runs := 0
	for _, entry := range entries {
		if info, err := os.Stat(entry.Path); entry.Run.Server != server || err != nil || info.Size() > mostBytes {
			continue
		}
		if story, err := Read(entry.Path); err == nil {
			if seen := hoursOf(story, runs); len(seen) > 0 {
				past, runs = append(past, seen...), runs+1
			}
		}
		if runs == mostRuns {
			break
		}
	}
	return forecast.Seen(past)
}

// longestGap is the longest time between two records of progress that counts.
const longestGap = time.Hour

// hoursOf returns the work of a run by the hour of the day, while it copied rows next to an application.
func hoursOf(story *Story, run int) (past []forecast.Past) {
	var before event.Progress
	var hours [24]forecast.Past
	for _, e := range story.Events {
		now, is := e.(event.Progress)
		if !is {
			continue
		}
		over, rows := now.At.Sub(before.At), now.RowsCopied-before.RowsCopied
		if before.Phase == event.PhaseCopy && now.Phase == event.PhaseCopy && rows > 0 && over > 0 && over <= longestGap {
			h := &hours[now.At.Local().Hour()]
			h.Over += over
			h.Rows += float64(rows)
			h.Statements += now.Statements * over.Seconds()
		}
		before = now
	}
	statements := 0.0
	for hour, h := range hours {
		if h.Over > 0 {
			h.Run, h.Hour, h.Statements = run, hour, h.Statements/h.Over.Seconds()
			past, statements = append(past, h), statements+h.Statements
		}
	}
	if statements == 0 { // no application, or a run that does not watch it
		return nil
	}
	return past
}
