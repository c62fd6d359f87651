package humanize

import (
	"fmt"
	"strings"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/escape"
)

// Soak reports how a drop in two acts stands, with a line for each statement that names what is dropped.
func Soak(e event.Soak) string {
	var b strings.Builder
	until := e.Until.Format("2006-01-02 15:04:05 UTC")
	switch e.State {
	case event.SoakBegun:
		fmt.Fprintf(&b, "soak: %s is hidden; soaking until %s", escape.Line(e.What), until)
	case event.SoakHeld:
		b.WriteString("soak: the time is over, and the drop is held")
	case event.SoakReleased:
		b.WriteString("soak: an operator has released the drop")
	case event.SoakDue:
		fmt.Fprintf(&b, "soak: no statement has named %s; the drop begins", escape.Line(e.What))
	}
	if e.Doubts != "" {
		b.WriteString("; " + e.Doubts)
	}
	for _, n := range e.Named {
		user := n.User
		if user == "" {
			user = "an unknown user"
		}
		fmt.Fprintf(&b, "\n          %s, last at %s by %s:\n            %s", escape.Line(n.How), n.Last.Format("2006-01-02 15:04:05 UTC"), escape.Line(user), escape.Line(Query(n.Query)))
	}
	return b.String()
}
