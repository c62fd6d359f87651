package humanize

import (
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/escape"
)

// Deadline writes at a time whether a run will meet its deadline; "" if it has none.
func Deadline(d event.Deadline, now time.Time) string {
	if d.By.IsZero() {
		return ""
	}
	return "deadline " + Moment(d.By, now) + ": " + Verdict(d, now)
}

// Verdict is Deadline without the deadline itself.
func Verdict(d event.Deadline, now time.Time) string {
	limit, expected := escape.Line(d.Limit), Moment(d.Expected.In(d.By.Location()), now)
	switch d.State {
	case event.DeadlineMet:
		return "will be met, about " + expected + ", limit " + limit
	case event.DeadlineBehind:
		return "the run falls behind, its limit rises to " + limit + "; at this pace it ends about " + expected
	case event.DeadlineImpossible:
		switch {
		case d.Expected.IsZero() && now.After(d.By):
			return "it has passed, limit " + limit
		case d.Expected.IsZero():
			return "cannot be met: the copy window does not open until then, limit " + limit
		}
		text := "cannot be met: done about " + expected + ", " + About(d.Expected.Sub(d.By)) + " late, "
		if d.Highest {
			return text + "at the highest allowed limit (" + limit + ")"
		}
		return text + "even at the highest allowed limit; the limit rises to " + limit
	}
	return "not known yet, limit " + limit
}

// Moment writes a time, with its date if it is not soon, and with its offset if the clocks of this
// machine show another time.
func Moment(at, now time.Time) string {
	format := "15:04"
	if at.Sub(now).Abs() > 20*time.Hour {
		format = "2006-01-02 15:04"
	}
	_, offset := at.Zone()
	if _, local := at.Local().Zone(); offset != local {
		format += " -07:00"
	}
	return at.Format(format)
}
