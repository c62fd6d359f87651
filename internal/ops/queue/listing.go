package queue

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"midstream/internal/mysql/schema"
	"midstream/internal/ops/socket"
)

// ListQuestion chooses a page of the list of changes.
type ListQuestion struct {
	State  string `query:"state" enum:"proposed,waiting,running,ready,done,failed,aborted,withdrawn,unknown" doc:"only changes in this state; ready: running, and waiting for their release"`
	Server string `query:"server" doc:"only changes of this server"`
	Text   string `query:"text" maxLength:"200" doc:"only changes with this text in their id, tables, statement or author, in any letter case"`
	Page   int    `query:"page" minimum:"1" default:"1" doc:"number of the page"`
	Per    int    `query:"per" minimum:"1" maximum:"500" default:"50" doc:"changes on a page"`
}

// Listing is a page of the list: the changes that run, then the changes that wait in the order of their turns, then the newest that are
// over.
type Listing struct {
	Changes []Listed       `json:"changes" doc:"the changes of this page"`
	Page    int            `json:"page" doc:"number of the page; the last one if the question named a later one"`
	Pages   int            `json:"pages" doc:"number of pages, from 1"`
	Total   int            `json:"total" doc:"number of changes on all pages"`
	Freezes []Freeze       `json:"freezes" doc:"servers that are frozen: no change of theirs begins or swaps"`
	Counts  map[string]int `json:"counts" doc:"number of changes in each state (ready ones are among those that run), of the server and with the text that were asked for"`
}

// Listed is a change in a list.
type Listed struct {
	Change
	Position int            `json:"position" doc:"place among the changes that wait for the same server, from 1; 0 unless it waits"`
	Run      *socket.Status `json:"run" doc:"status of its run, some seconds old; null if no run of this service is at work, or it has not answered yet"`
}

// List returns a page of the list.
func (s *Service) List(q ListQuestion) Listing {
	answer := Listing{Counts: map[string]int{FilterReady: 0}, Freezes: s.freezes.all()}
	for _, state := range States() {
		answer.Counts[string(state)] = 0
	}
	text := strings.ToLower(strings.TrimSpace(q.Text))
	var chosen []*entry
	for _, e := range s.all() {
		if q.Server != "" && e.Server != q.Server || text != "" && !e.has(text) {
			continue
		}
		answer.Counts[string(e.State)]++
		if e.Ready != nil {
			answer.Counts[FilterReady]++
		}
		if q.State == "" || e.is(q.State) {
			chosen = append(chosen, e)
		}
	}
	places, turns := s.places()
	slices.SortStableFunc(chosen, func(a, b *entry) int {
		switch first := cmp.Compare(group(a.State), group(b.State)); {
		case first != 0:
			return first
		case a.State == StateWaiting:
			return cmp.Compare(turns[a.ID], turns[b.ID])
		case a.State.Over():
			return cmp.Or(endOf(b).Compare(endOf(a)), cmp.Compare(b.Sequence, a.Sequence))
		}
		return cmp.Compare(a.Sequence, b.Sequence)
	})
	per := cmp.Or(q.Per, 50)
	answer.Total, answer.Pages = len(chosen), max(1, (len(chosen)+per-1)/per)
	answer.Page = min(max(1, q.Page), answer.Pages)
	chosen = chosen[min(len(chosen), (answer.Page-1)*per):min(len(chosen), answer.Page*per)]
	answer.Changes = make([]Listed, len(chosen))
	for i, e := range chosen {
		answer.Changes[i] = Listed{s.view(e), places[e.ID], s.standsOf(e)}
	}
	return answer
}

// group is the place of a state in the list.
func group(state State) int {
	switch state {
	case StateRunning:
		return 0
	case StateProposed:
		return 1
	case StateWaiting:
		return 2
	}
	return 3
}

func endOf(e *entry) time.Time {
	if e.Ended == nil {
		return time.Time{}
	}
	return *e.Ended
}

// has reports whether one of the texts of a change has a text of small letters.
func (e *entry) has(text string) bool {
	for _, one := range []string{e.ID, e.Statement, e.SubmittedBy, e.AgainBy} {
		if strings.Contains(strings.ToLower(one), text) {
			return true
		}
	}
	return slices.ContainsFunc(e.Tables, func(table schema.Name) bool { return strings.Contains(strings.ToLower(table.Dotted()), text) }) ||
		slices.ContainsFunc(e.Files, func(file string) bool { return strings.Contains(strings.ToLower(file), text) })
}

// places are those of the changes that wait, among the changes of their server, and turns those among all.
func (s *Service) places() (places, turns map[string]int) {
	places, turns = map[string]int{}, map[string]int{}
	of := map[string]int{}
	for i, id := range s.byPriority(s.allWaiting()) {
		if e := s.find(id); e != nil {
			of[e.Server]++
			places[id], turns[id] = of[e.Server], i
		}
	}
	return places, turns
}

// standsOf is the last status of the run of a change; nil if there is none.
func (s *Service) standsOf(e *entry) *socket.Status {
	if e.State != StateRunning {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if status, known := s.stands[e.ID]; known {
		return &status
	}
	return nil
}

// registerList registers the list.
func (s *Service) registerList(api huma.API) {
	huma.Register(
		api,
		huma.Operation{OperationID: "list", Method: http.MethodGet, Path: "/v1/list", Summary: "A page of the list of changes, with the number in each state"},
		func(_ context.Context, in *ListQuestion) (*body[Listing], error) {
			return &body[Listing]{s.List(*in)}, nil
		},
	)
}
