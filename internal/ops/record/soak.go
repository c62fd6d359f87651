package record

import (
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
)

// Soak tells how a drop in two acts stands, when that changes.
type Soak struct {
	Head
	State  string    `json:"state" enum:"soaking,held,released,due" doc:"soaking: the run watches; held: the drop waits for an operator; released: an operator has released it; due: the drop begins"`
	What   string    `json:"what" doc:"what is dropped"`
	Until  time.Time `json:"until" doc:"time of the drop, by the server's clock"`
	Named  []Naming  `json:"named" doc:"statements that name what is dropped, and that no earlier record had"`
	Doubts string    `json:"doubts" doc:"what the checks cannot know; empty for nothing"`
}

// Naming is a statement that names what is to be dropped.
type Naming struct {
	Query    string    `json:"query" doc:"the statement, without its values"`
	Database string    `json:"database" doc:"its default database; empty for none"`
	How      string    `json:"how" doc:"what it does"`
	User     string    `json:"user" doc:"user and host; empty if no session of it was seen"`
	Runs     int64     `json:"runs" doc:"how often it ran since the server's statistics began"`
	First    time.Time `json:"first" doc:"time when it was first seen in the soak, by the server's clock"`
	Last     time.Time `json:"last" doc:"time when it was last seen"`
}

func soakOf(e event.Soak) Soak {
	r := Soak{Head: HeadOf(NameSoak, e.At), State: string(e.State), What: e.What, Until: e.Until, Named: []Naming{}, Doubts: e.Doubts}
	for _, n := range e.Named {
		r.Named = append(r.Named, Naming(n))
	}
	return r
}

func (r Soak) event(at time.Time) event.Soak {
	e := event.Soak{State: event.SoakState(r.State), What: r.What, Until: r.Until, Doubts: r.Doubts, At: at}
	for _, n := range r.Named {
		e.Named = append(e.Named, event.Naming(n))
	}
	return e
}

// SoakPlan has both acts of a drop.
type SoakPlan struct {
	What     string     `json:"what" doc:"what is dropped"`
	First    string     `json:"first" doc:"clauses of the first act, which hides it; empty if that act was made"`
	Second   string     `json:"second" doc:"clauses of the second act, which drops it"`
	Method   string     `json:"method" doc:"method of the second act, as in method"`
	Since    *time.Time `json:"since" doc:"time of the first act, by the server's clock; null if it was not made"`
	Until    time.Time  `json:"until" doc:"time of the second act, by the server's clock"`
	EveryMS  MS         `json:"every_ms" doc:"time between two checks of the application's statements"`
	Named    []Naming   `json:"named" doc:"statements of the last 7 days that name what is dropped"`
	Replicas bool       `json:"replicas" doc:"true: the server has replicas, whose statements are not watched"`
}

// Namings are statements that name what is to be dropped.
func Namings(all []checkpoint.NamedBy) []Naming {
	list := []Naming{}
	for _, n := range all {
		list = append(list, Naming{n.Text, n.Database, n.How, n.User, n.Runs, n.First, n.Last})
	}
	return list
}
