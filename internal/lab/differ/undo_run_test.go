package differ

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/fault"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
)

// how is the way in which a change is taken back.
type how struct {
	cold, warm, park bool
	unrecorded       bool        // nothing is kept of the change but the old table
	release          event.Phase // of a warm undo
	fills            map[string]string
	during           map[event.Phase]int // writes as a phase begins
	nth              int                 // the command before which the process is killed; 0 for none
	deaf             bool                // the server carries that command out
	killed           bool
	at               string
}

func (h *how) String() string {
	return fmt.Sprintf("cold %v, park %v, without a record %v, warm %v, released at %s, fills %v, writes %v, killed before command %d (%v)",
		h.cold, h.park, h.unrecorded, h.warm, h.release, h.fills, h.during, h.nth, h.deaf)
}

// how chooses the way.
func (u *undoCase) how(s *scene) *how {
	h := &how{
		cold: u.in(3), warm: u.in(5), during: map[event.Phase]int{}, fills: map[string]string{}, release: event.PhaseHold, deaf: u.in(2),
	}
	for _, p := range []event.Phase{
		event.PhaseStart, event.PhaseCopy, event.PhaseCatchUp, event.PhaseVerify, event.PhaseHold, event.PhaseCutover,
	} {
		if u.in(4) {
			h.during[p] = 1 + u.rand.IntN(3)
		}
	}
	if h.warm && u.in(3) {
		h.release = []event.Phase{event.PhaseCopy, event.PhaseCatchUp, event.PhaseVerify}[u.rand.IntN(3)]
	}
	h.park = u.in(4) && !s.native
	if u.in(map[bool]int{true: 3, false: 5}[h.cold || h.park]) {
		h.nth = 1 + u.rand.IntN(300)
	}
	for column, expr := range s.needed {
		if u.in(2) {
			h.fills[column] = expr
		}
	}
	h.unrecorded = h.cold && !s.native && !s.redo && u.in(2)
	return h
}

// forget drops the record of the change. The values that earlier undos have parked stay, and are used.
func (u *undoCase) forget(ctx context.Context, s *scene) error {
	s.swapped = time.Time{}
	_, err := leftovers.EndUndo(ctx, u.pool, u.tables[0], false)
	return err
}

// change runs the case's ALTER, with an undo.
func (u *undoCase) change(ctx context.Context) error {
	dialect, err := facts.ReadDialect(ctx, u.pool.DB())
	if err != nil {
		return err
	}
	statement, err := ddl.ParseStatementIn(dialect, "ALTER TABLE "+u.tables[0].Quoted()+" "+u.c.alter())
	if err != nil {
		return fmt.Errorf("%w: %w", plan.ErrRefused, err)
	}
	options := planning.Options{Plan: plan.Options{Method: plan.MethodShadow}, Config: undoConfig()}
	if u.logs {
		options.Plan.Capture = plan.CaptureTrigger
	}
	if u.native {
		options.Plan.Method = ""
	}
	p, err := planning.Make(ctx, planning.Server{Pool: u.pool, Address: u.server.Address, Binlog: u.at()}, statement.Alter, options)
	if err != nil {
		return err
	}
	u.did("change by %s, by triggers %v", p.Choice.Method, u.logs)
	settings := operator.Settings{FullSpeed: true}
	settings.RowCopy.Workers = 2
	_, err = migration.New(u.pool, u.at(), p, undoConfig(), operator.NewControl(settings), u.listen).Run(ctx)
	return err
}

func undoConfig() (cfg migration.Config) {
	cfg.RowCopy.MaxRows, cfg.RowCopy.MinRows, cfg.Undo = 3, 3, longest
	return cfg
}

func (u *undoCase) at() binlog.Server {
	return binlog.Server{Network: u.server.Network, Address: u.server.Address, User: u.server.User, Password: u.server.Password}
}

// undo takes the change back, once. If the process is killed, h.killed is set.
func (u *undoCase) undo(parent context.Context, s *scene, h *how) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	pool, at := u.pool, u.at()
	if h.nth > 0 && u.server.Network == "tcp" {
		var proxy *fault.Proxy
		var ready sync.Mutex
		ready.Lock()
		proxy = fault.New(u.tb, at.Address, fault.Rule{Nth: h.nth, Cut: !h.deaf, Deaf: h.deaf, Call: func() {
			ready.Lock()
			defer ready.Unlock()
			h.killed = true
			cancel()
			if !h.deaf {
				proxy.LeadTo(nowhere())
			} else {
				go proxy.LeadTo(nowhere())
			}
		}})
		ready.Unlock()
		defer proxy.Close()
		at.Address = proxy.Address
		var err error
		pool, err = dbconn.Open(ctx, dbconn.Config{Network: "tcp", Address: at.Address, User: at.User, Password: dbconn.Secret(at.Password)}, nil)
		if err != nil {
			return err
		}
		// A killed process has no connections, and tries nothing again.
		context.AfterFunc(ctx, func() { _ = pool.Close() })
		defer func() { h.at, _ = proxy.Bent() }()
	}
	back := &planning.Undo{Cold: h.cold && !s.native, Park: h.park && !s.native, Fills: h.fills}
	settings := operator.Settings{FullSpeed: true, When: operator.When{Hold: h.warm && !s.native, Park: h.park}}
	settings.RowCopy.Workers = 2
	server := planning.Server{Pool: pool, Address: u.server.Address, Binlog: at}
	options := planning.Options{Undo: back, Config: undoConfig(), Settings: settings, FactsOnly: !s.native}
	if h.unrecorded {
		options.Plan.Map = s.says
	}
	p, err := planning.Make(ctx, server, &ddl.Alter{Table: u.tables[0]}, options)
	if err != nil {
		return err
	}
	s.lazy, s.follows, s.back = s.lazy && p.Lazy(), s.follows && p.Back.FromSwap(), p.Alter.Clauses
	if len(s.kept) > 0 && !p.Back.FromSwap() && !u.logs && !h.unrecorded && !u.killed {
		return errors.New("the plan does not follow the keys of rows, and the binlogs are there")
	}
	u.did("plan: %s, lazy %v, follows keys %v, by %s", p.Choice.Method, p.Lazy(), p.Back.FromSwap(), p.Alter.Clauses)
	control := operator.NewControl(settings)
	released := 0
	listen := func(e event.Event) {
		u.listen(e)
		entered, is := e.(event.PhaseEntered)
		if !is {
			return
		}
		n := h.during[entered.Phase]
		delete(h.during, entered.Phase)
		for range n {
			u.did("in phase %s:", entered.Phase)
			u.write(parent, s)
		}
		if h.warm && (entered.Phase == h.release || entered.Phase == event.PhaseHold) {
			released++
			parks := h.park || released > 2
			h.park = parks
			go func() { _ = control.Release(ctx, parks) }()
		}
	}
	_, err = migration.New(pool, at, p, undoConfig(), control, listen).Run(ctx)
	return err
}

// nowhere is an address at which no server listens.
func nowhere() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:1"
	}
	defer l.Close()
	return l.Addr().String()
}

// listen remembers notes, for the text of a verdict.
func (u *undoCase) listen(e event.Event) {
	if n, is := e.(event.Note); is {
		u.did("  note: %s", n.Text)
	}
}
