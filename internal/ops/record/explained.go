package record

import (
	"time"

	"midstream/internal/engine/event"
)

// Explained tells how the server would run the application's queries on the new table.
type Explained struct {
	Head
	Checked int         `json:"checked" doc:"queries that were explained on both tables"`
	Worse   []WorsePlan `json:"worse" doc:"queries that would run slower, or fail"`
	Cut     int         `json:"cut" doc:"queries that were not checked, because the server has cut their text"`
	Unread  int         `json:"unread" doc:"queries that were not checked, because the parser cannot read them"`
	Refused int         `json:"refused" doc:"queries that were not checked, because the server did not explain them"`
	Why     string      `json:"why" doc:"the reason if no query was checked; otherwise empty"`
}

// WorsePlan is a query that would run slower, or fail.
type WorsePlan struct {
	Query string `json:"query" doc:"the query, with the values of one run"`
	Runs  int64  `json:"runs" doc:"how often it ran since the server's statistics began"`
	How   string `json:"how" doc:"how its plan is worse, or why it would fail"`
	Fails bool   `json:"fails" doc:"true: it would fail"`
}

func explainedOf(e event.Explained) Explained {
	r := Explained{
		Head: HeadOf(NameExplained, e.At), Checked: e.Checked, Worse: []WorsePlan{}, Cut: e.Cut, Unread: e.Unread, Refused: e.Refused,
		Why: e.Why,
	}
	for _, w := range e.Worse {
		r.Worse = append(r.Worse, WorsePlan(w))
	}
	return r
}

func (r Explained) event(at time.Time) event.Explained {
	e := event.Explained{Checked: r.Checked, Cut: r.Cut, Unread: r.Unread, Refused: r.Refused, Why: r.Why, At: at}
	for _, w := range r.Worse {
		e.Worse = append(e.Worse, event.WorsePlan(w))
	}
	return e
}
