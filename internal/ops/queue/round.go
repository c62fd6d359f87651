package queue

import (
	"context"
	"net/http"
	"sync"
	"time"

	"midstream/internal/ops/access"
	"midstream/internal/ops/socket"
)

// rounds are the answers of members' runs to the newest prepare. They are not stored: a round is over soon. An order to prepare grows the
// version of its member by two: the second one is for the answer, whatever becomes of this process. It is safe for concurrent use.
type rounds struct {
	mu sync.Mutex
	of map[string]answered // by the id of the change
}

// answered is what has become of an order to prepare.
type answered struct {
	number  uint64 // of the order
	process int
	over    bool          // the run has answered
	round   *socket.Round // nil if the run is not prepared
	why     string
}

// begin notes that an order goes to a run, and reports whether it is the first time.
func (r *rounds) begin(id string, number uint64, process int) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before, is := r.of[id]; is && before.number == number && before.process == process {
		return false
	}
	if r.of == nil {
		r.of = map[string]answered{}
	}
	r.of[id] = answered{number: number, process: process}
	return true
}

// end takes the answer to an order.
func (r *rounds) end(id string, now answered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of[id].number == now.number {
		r.of[id] = now
	}
}

// forget drops what is known of a change that has ended.
func (r *rounds) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, id)
}

// report adds the answer to what a member reports.
func (r *rounds) report(e *entry, m *MemberReport) {
	r.mu.Lock()
	now, is := r.of[e.ID]
	r.mu.Unlock()
	switch {
	case !is || now.number != e.Member.Number:
	case !now.over:
		m.Version--
	case now.round != nil && now.round.Number == e.Member.Round:
		m.Status, m.Round, m.HoldMS = MemberPrepared, now.round.Number, now.round.HoldMS
	default:
		m.Why = now.why
	}
}

// prepare has the run of a member prepare. It does not wait for the answer, because the other members prepare at the same time.
func (s *Service) prepare(ctx context.Context, e *entry, asked any) {
	number, process := e.Member.Number, e.Process
	if !s.rounds.begin(e.ID, number, process) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), statesTime+time.Duration(e.Member.HoldMS)*time.Millisecond)
	go func() {
		defer cancel()
		now := answered{number: number, process: process, over: true}
		var answer socket.Answer
		run, err := s.runOf(ctx, e)
		if err == nil {
			err = run.Call(access.WithBy(ctx, "set "+e.Member.Set), http.MethodPost, "prepare", asked, &answer)
		}
		if err != nil {
			now.why = err.Error()
		} else if round := answer.Status.Round; round != nil && round.Prepared {
			now.round = round
		}
		s.rounds.end(e.ID, now)
	}()
}
