package socket

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/access"
	"midstream/internal/ops/record"
)

// Run is the run that a server is for, as its process sees it. Its functions are safe for concurrent use.
type Run struct {
	About
	Control *operator.Control
	// Emit tells an event to those who follow the run at its own terminal.
	Emit event.Listener
	// Stop ends the present attempt at a checkpoint, keeps the process, and returns when that is
	// done. It fails with *migration.NotNow. GoOn undoes it, and says whether there was anything to
	// undo; Stopped says who has stopped it, "" for nobody.
	Stop    func(ctx context.Context, by string) error
	GoOn    func() bool
	Stopped func() string
	// Lost is why the run waits for its server; "" where it does not.
	Lost func() string
	// Abort ends the run, removes what it has made or keeps it, and returns when that is done with what is left.
	// It fails with *migration.NotNow.
	Abort func(ctx context.Context, by string, keep bool) (left string, err error)
	// Metrics answers Prometheus.
	Metrics http.Handler
}

// Server answers on the socket of one run.
type Server struct {
	run    Run
	socket *socket
	http   *http.Server
	// handler answers without a look at who asks.
	handler http.Handler
	done    chan struct{} // closed when it serves no more

	mu       sync.Mutex
	busy     []*command    // those under way, the newest last
	blocked  event.Blocked // the newest of this phase
	waits    event.Throttled
	newest   map[string]any // records by the kind of their event
	phase    string
	captures bool // of this attempt: it reads the binlog
	watchers map[chan []byte]bool
	closed   bool
}

// command is one that is being carried out.
type command struct {
	text, by string
	ends     bool // the run
	waits    bool // for the run, and hinders no other
	since    time.Time
}

func (c *command) String() string {
	return fmt.Sprintf("%s by %s, since %s", c.text, c.by, c.since.Local().Format(time.TimeOnly))
}

// Serve makes the socket of a run in a folder and answers on it until Close. While another run of
// the table has one there, as one that is just ending does, it has its own as soon as that is gone.
// It fails with ErrFolder.
func Serve(folder string, run Run) (*Server, error) {
	socket, err := listen(folder, run.Table, run.Server)
	if err != nil {
		return nil, err
	}
	run.Socket = socket.path
	s := &Server{run: run, socket: socket, done: make(chan struct{}), newest: map[string]any{}, watchers: map[chan []byte]bool{}}
	handler, _ := newAPI(s)
	s.handler = handler
	s.http = &http.Server{Handler: asked(handler), ReadHeaderTimeout: 10 * time.Second,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context { return withPeer(ctx, conn) }}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(socket) // until Close
	}()
	return s, nil
}

// Client is one of this run, for commands from its own process.
func (s *Server) Client() *Client {
	c := dial(s.socket.now)
	c.Found = s.status()
	return c
}

// Handler answers as the socket does, to requests that come another way; who may send them is for
// the one that hands them over. What they command is told as of a user of the page.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			from = r.RemoteAddr
		}
		name := cmp.Or(access.Of(r.Context()).Name, "a user of the page") + ", from " + from
		s.handler.ServeHTTP(w, r.WithContext(withName(r.Context(), name)))
	})
}

// lastWords is how long Close waits for answers that are on their way.
const lastWords = 3 * time.Second

// Close tells the watchers a last record, lets the answers that are on their way arrive, and removes the socket.
func (s *Server) Close(last any) {
	s.mu.Lock()
	s.tell(last)
	s.closed = true
	for lines := range s.watchers {
		close(lines)
	}
	s.watchers = nil
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		s.http.Close()
	}
	<-s.done
	s.socket.remove()
}

// Listen is an event.Listener. It never waits.
func (s *Server) Listen(e event.Event) {
	told := record.Of(e)
	if told == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := e.(type) {
	case event.PhaseEntered:
		s.phase = string(e.Phase)
		switch e.Phase {
		case event.PhaseCheck:
			s.captures = false
			delete(s.newest, "throttled") // another attempt has gates of its own
			s.waits = event.Throttled{}
		case event.PhaseCopy, event.PhaseCatchUp:
			s.captures = true
		}
		s.newest["phase"], s.blocked = told, event.Blocked{}
	case event.Progress:
		s.newest["progress"] = told
	case event.Throttled:
		s.newest["throttled"], s.waits = told, e
	case event.Blocked:
		s.blocked = e
	}
	s.tell(told)
}

// tell gives the watchers a record; one that does not keep up misses some. REQUIRES: mu is held.
func (s *Server) tell(told any) {
	line := lineOf(told)
	if line == nil {
		return
	}
	for lines := range s.watchers {
		select {
		case lines <- line:
		default:
		}
	}
}

// lineOf spells a record, with the end of its line; nil for none.
func lineOf(told any) []byte {
	text, err := json.Marshal(told)
	if err != nil || told == nil {
		return nil
	}
	return []byte(escape.Text(string(text)) + "\n")
}

const ndjson = "application/x-ndjson"

// stream writes a line for each record until the run or the reader has gone.
func (s *Server) stream(ctx huma.Context) {
	const most = 1000 // lines that a reader may be behind
	lines := make(chan []byte, most)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	for _, told := range []any{s.newest["phase"], s.newest["progress"], s.newest["throttled"], s.inWay()} {
		if line := lineOf(told); line != nil {
			lines <- line
		}
	}
	s.watchers[lines] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, lines)
		s.mu.Unlock()
	}()
	ctx.SetHeader("Content-Type", ndjson)
	writer := ctx.BodyWriter()
	flusher, _ := writer.(http.Flusher)
	for {
		flusher.Flush()
		select {
		case <-ctx.Context().Done():
			return
		case line, more := <-lines:
			if !more {
				return
			}
			if _, err := writer.Write(line); err != nil {
				return
			}
		}
	}
}

// command carries out a command that changes something, if it may be now, and tells of it.
func (s *Server) command(ctx context.Context, c command, do func(by string) (string, error)) (string, error) {
	c.by = peer(ctx)
	said, err := s.alone(c, do)
	told := event.Controlled{Command: c.text, By: c.by, Text: said, At: time.Now()}
	if err != nil {
		told.Text, told.Refused = problemOf(err).Error(), true
	}
	s.run.Emit(told)
	return said, err
}

// alone carries out a command while no other is under way, but for one that is ended with the run.
func (s *Server) alone(c command, do func(by string) (string, error)) (string, error) {
	c.since = time.Now()
	s.mu.Lock()
	busy := slices.DeleteFunc(slices.Clone(s.busy), func(other *command) bool { return other.waits })
	if n := len(busy); n > 0 && (!c.ends || slices.ContainsFunc(busy, func(other *command) bool { return other.ends })) {
		defer s.mu.Unlock()
		return "", &Problem{
			http.StatusConflict, "another command is being carried out", busy[n-1].String(),
			"wait until it has ended; midstream status  shows it",
		}
	}
	s.busy = append(s.busy, &c)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy = slices.DeleteFunc(s.busy, func(other *command) bool { return other == &c })
	}()
	return do(c.by)
}

// inWay is the record of the sessions that block a lock; nil if no event reports any. REQUIRES: mu is held.
func (s *Server) inWay() any {
	if !s.blocked.Lasts(time.Now()) {
		return nil
	}
	return record.Of(s.blocked)
}

// asOf fills in what waits for something, as it is now: the ages in it go on since the last event. REQUIRES: mu is held.
func (s *Server) asOf(now time.Time, status *Status) {
	status.Throttled = s.newest["throttled"]
	if len(s.waits.Gates) > 0 {
		status.Throttled = record.Of(event.Throttled{Gates: s.waits.Gates, At: now})
	}
	if s.blocked.Lasts(now) {
		status.Blocked = record.Of(s.blocked.Until(now))
	}
}

func (s *Server) status() Status {
	s.mu.Lock()
	status := Status{About: s.run.About, Phase: s.phase, State: "running", Progress: s.newest["progress"]}
	s.asOf(time.Now(), &status)
	gates := len(s.waits.Gates)
	if n := len(s.busy); n > 0 {
		status.Command = s.busy[n-1].String()
	}
	s.mu.Unlock()
	status.Round = s.round()
	status.Held, status.Soaks = s.run.Reach.In(s.run.Control.Held(time.Now())), operator.Soak{Control: s.run.Control}.On()
	setting, _ := operator.SettingOf(copyShare)
	settings := s.run.Control.Settings()
	status.CopyShare, status.Slowdown = setting.Get(settings), settings.MaxSlowdown.String()
	paused, stopped, lost := s.run.Control.Paused(), s.run.Stopped(), s.run.Lost()
	switch {
	case stopped != "":
		status.PausedBy = stopped
		status.State, status.Why = "stopped", "at a checkpoint by "+status.PausedBy+"; changes are not captured. To resume: midstream resume"
	case lost != "":
		status.State, status.Why = "waiting", "for its server: "+lost
	case paused != nil:
		status.State, status.Why = "paused", "paused by "+paused.By
	case status.Round != nil && status.Round.Prepared:
		status.State, status.Why = "prepared", fmt.Sprintf(
			"the lock is held for round %d, for %d ms more: then it is given back, unless a commit comes", status.Round.Number, status.Round.LeftMS)
	case status.Phase == string(event.PhaseHold):
		status.State, status.Why = "held", status.Held
	case status.Blocked != nil:
		status.State, status.Why = "blocked", s.run.Reach.In("sessions block the lock; midstream blockers  "+s.table()+" lists them")
	case status.CopyShare == none && status.Phase == string(event.PhaseCopy):
		status.State, status.Why = "waiting", "the row copy is limited to 0% of its time. To lift the limit: midstream throttle  100%"
	case gates > 0:
		status.State, status.Why = "waiting", "for a closed gate"
	}
	if paused != nil {
		status.PausedBy, status.Since = paused.By, &paused.Since
	}
	return status
}
