package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"midstream/internal/ops/audit"
	"midstream/internal/ops/socket"
)

// journal numbers entries, and wakes who follows them. It is in the store with the changes: an entry about a change is written in the
// same transaction as the change.
type journal struct {
	mu    sync.Mutex // held across a write, so that entries appear in the order of their numbers
	last  uint64
	fresh chan struct{} // closed after each write
}

// wake wakes those who follow. REQUIRES: mu is held.
func (j *journal) wake() {
	close(j.fresh)
	j.fresh = make(chan struct{})
}

// after is closed once there are entries after those of now.
func (j *journal) after() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.fresh
}

// open reads the number of the last entry.
func (s *Service) openJournal(ctx context.Context) error {
	s.journal.fresh = make(chan struct{})
	entries, err := s.entries(ctx, Span{Low: audit.Low, High: audit.High, Newest: true, Most: 1})
	if len(entries) > 0 {
		s.journal.last = entries[0].ID
	}
	return err
}

// entries reads a part of the journal.
func (s *Service) entries(ctx context.Context, span Span) (entries []audit.Entry, err error) {
	err = s.store.Load(ctx, span, func(text []byte) error {
		var e audit.Entry
		err := json.Unmarshal(text, &e)
		entries = append(entries, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	return entries, nil
}

// write writes rows, and an entry with them if it tells something.
func (s *Service) write(ctx context.Context, told audit.Entry, rows ...Row) error {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	if told.Action != "" || told.State != "" {
		s.journal.last++ // a number is not used again, because the store may have it although its answer was lost
		told.ID, told.At = s.journal.last, time.Now().UTC()
		text, err := json.Marshal(told)
		if err != nil {
			return err
		}
		rows = append(rows, Row{ID: audit.Key(told.ID), Text: text})
		defer s.journal.wake()
	}
	return s.store.Put(ctx, rows...)
}

// toldOf is what the journal gets about a change that is written.
func (s *Service) toldOf(e *entry, acts []audit.Entry) (told audit.Entry) {
	if len(acts) > 0 {
		told = acts[0]
	}
	before := s.find(e.ID)
	if state := e.shown(); before == nil || before.shown() != state || before.number() != e.number() {
		told.State, told.Why = state, e.Why
	}
	told.Change, told.Server, told.Table = e.ID, e.Server, e.dotted()
	return told
}

// shown is the state of a change in the journal.
func (e *entry) shown() string {
	if e.Ready != nil {
		return FilterReady
	}
	return string(e.State)
}

// Act is an action of a person, for the journal.
func (a Asker) Act(action, stated, detail string) audit.Entry {
	return audit.Entry{Action: action, Who: a.Author(stated), Named: a.Named, From: a.From, Detail: detail}
}

// audited does something that a person asks of a run. The journal has it before it begins, and again with the error if it fails.
func (s *Service) audited(ctx context.Context, id, action string, asked any, do func() error) error {
	told := AskerOf(ctx).Act(action, "", detailOf(asked))
	if e := s.find(id); e != nil {
		told.Change, told.Server, told.Table = e.ID, e.Server, e.dotted()
	} else {
		return unknown(id)
	}
	if err := s.write(ctx, told); err != nil {
		return fmt.Errorf("keep in the journal who asks: %w; nothing was done", err)
	}
	err := do()
	if err != nil {
		told.Error = err.Error()
		if failed := s.write(ctx, told); failed != nil {
			s.cfg.Note(fmt.Sprintf("cannot keep in the journal that %s of change %s failed: %v", action, id, failed))
		}
	}
	return err
}

// detailOf spells what a request says.
func detailOf(asked any) string {
	if set, is := asked.(socket.SetCommand); is {
		var words []string
		for _, name := range slices.Sorted(maps.Keys(set.Settings)) {
			words = append(words, name+"="+set.Settings[name])
		}
		return strings.Join(words, ", ")
	}
	text, err := json.Marshal(asked)
	if err != nil || string(text) == "{}" {
		return ""
	}
	return string(text)
}

// AuditQuestion asks for a part of the journal.
type AuditQuestion struct {
	Before uint64 `query:"before" doc:"only entries with a lower number; 0: from the newest. For the next page, the lowest number of this one"`
	Most   int    `query:"most" minimum:"0" maximum:"1000" doc:"the most entries; 0: 100"`
	Change string `query:"change" doc:"only entries about the change with this id"`
	Who    string `query:"who" doc:"only entries of this person; letter case does not count"`
	States bool   `query:"states" doc:"true: also what became of changes without a person"`
}

// Audit returns entries of the journal, the newest first.
func (s *Service) Audit(ctx context.Context, q AuditQuestion) ([]audit.Entry, error) {
	const page = 1000
	most := q.Most
	if most == 0 {
		most = 100
	}
	list, span := []audit.Entry{}, Span{Low: audit.Low, High: audit.High, Newest: true, Most: page}
	if q.Before > 0 {
		span.High = audit.Key(q.Before)
	}
	for {
		entries, err := s.entries(ctx, span)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if (e.Action == "" && !q.States) || q.Change != "" && e.Change != q.Change || q.Who != "" && !strings.EqualFold(e.Who, q.Who) {
				continue
			}
			if list = append(list, e); len(list) == most {
				return list, nil
			}
		}
		if len(entries) < page {
			return list, nil
		}
		span.High = audit.Key(entries[len(entries)-1].ID)
	}
}

// registerAudit registers it.
func (s *Service) registerAudit(api huma.API) {
	huma.Register(
		api,
		huma.Operation{OperationID: "audit", Method: http.MethodGet, Path: "/v1/audit", Summary: "Who did what, the newest first",
			Errors: []int{http.StatusInternalServerError}},
		func(ctx context.Context, in *AuditQuestion) (*body[[]audit.Entry], error) {
			list, err := s.Audit(ctx, *in)
			if err != nil {
				return nil, ProblemOf(err)
			}
			return &body[[]audit.Entry]{list}, nil
		},
	)
}
