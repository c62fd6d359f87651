package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowchange"
	"midstream/internal/engine/together"
	"midstream/internal/engine/wholetables"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/hook"
	"midstream/internal/ops/reach"
	"midstream/internal/ops/readers"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// Presenter shows a change to people, or to the program that has started this one.
type Presenter interface {
	// Note shows what somebody should know, outside of the events of an attempt.
	Note(text string)
	// Event shows an event between two attempts.
	Event(e event.Event)
}

// Folder is where something is kept. A named one must be usable.
type Folder struct {
	Path  string // "" for nowhere
	Named bool   // by somebody
}

// Options say what a change is, and where it is controlled and reported.
type Options struct {
	Table   schema.Name
	Change  string // the statement's clauses
	Purpose plan.Purpose
	Into    plan.Into
	// Together is the place in a group of changes that are swapped in one step.
	Together together.Member
	// Again are the flags with which an undo is begun again if it is killed. Reach are those that reach the server, as they can be
	// typed again.
	Again   []string
	Reach   reach.Flags
	Version string // of this program
	// Settings are those to begin with: the session has those that an operator changes.
	Settings operator.Settings
	// Socket is the folder of the control socket, History that of histories.
	Socket, History Folder
	Machines        Machines
	// Interrupt ends the context of the change, as Ctrl-C does.
	Interrupt func(cause error)
	// Report writes the report of a history, and returns its page.
	Report func(history string) (page string, err error)
	// Reported is called with that page.
	Reported func(page string)
	// Page shows the change as long as it lasts. It returns what ends that; nil for no page.
	Page func(s *Session, run record.Run) (end func(record.Result), err error)
}

// Session is a change that obeys the commands of other processes, through all its attempts and while it is stopped at
// a checkpoint between two of them. It is safe for concurrent use.
type Session struct {
	options Options
	show    Presenter
	control *operator.Control
	began   time.Time
	kept    chronicle // what it tells
	told    *machines
	readers *readers.Readers // of the binlog; nil if none is named
	refused refused
	server  *socket.Server      // nil: nobody can reach it
	page    func(record.Result) // nil: it has none
	ended   chan struct{}       // closed with err when the change has come to its end
	err     error

	lastLook *lastLook // asks whether a statement names what is to be dropped; nil for a run without --soak

	mu      sync.Mutex
	display event.Listener          // of the present attempt; nil between them
	stop    context.CancelCauseFunc // ends the present attempt; nil between them
	by      string                  // who has told it to stop at a checkpoint; "" for nobody
	halted  chan struct{}           // closed when the attempt has ended by that, or otherwise
	goOn    chan struct{}           // closed when it may go on
	lost    string                  // why it waits for its server; "" where it does not
	said    string                  // what it has remarked about that last, at saidAt
	saidAt  time.Time
}

// Begin makes what belongs to a change as a whole. A folder or a file that can't be used is an error only
// where somebody named it. End must be called also where Begin has failed.
//
// A server without a pool means that another process makes the change, and this one only has it do so: it has no socket, and
// calls no programs, because the other one does.
func Begin(ctx context.Context, server *Server, options Options, show Presenter) (*Session, error) {
	if server.Pool == nil {
		options.Socket, options.Machines = Folder{}, Machines{}
	}
	s := &Session{
		options: options, show: show, control: operator.NewControl(options.Settings),
		began: time.Now(), ended: make(chan struct{}),
	}
	s.control.Table = options.Table
	if list := options.Machines.Readers; len(list) > 0 {
		s.readers = readers.New(list, func() time.Duration { return s.control.Settings().ReaderLag })
	}
	options.Together.Join(s.control)
	run := record.Run{
		Table: options.Table.Dotted(), Alter: options.Change, Into: options.Into.Dotted(), Server: server.Address,
		Rehearsal: options.Purpose.Rehearsal(), Undoes: options.Purpose == plan.Undoing, Group: options.Together.Group(),
		Follows: options.Settings.When.Follow, Flags: options.Again, Reach: options.Reach,
	}
	var err error
	if s.told, err = options.Machines.begin(run, options.Version); err == nil {
		err = s.keep(&run)
	}
	if err == nil && len(options.Machines.Hooks.List) > 0 {
		end := func(why string) { options.Interrupt(&Aborted{By: why}) }
		s.told.hooks = hook.Begin(ctx, options.Machines.Hooks, run, end, s.Remark)
		s.control.Ask(s.told.hooks)
	}
	if s.readers != nil {
		s.control.Ask(s.readers)
	}
	if err != nil || options.Socket.Path == "" {
		return s, err
	}
	if err := s.serve(ctx, server); err != nil {
		return s, err
	}
	s.page, err = options.Page(s, run)
	return s, err
}

// serve opens the socket by which other processes command the change.
func (s *Session) serve(ctx context.Context, server *Server) error {
	anyCase, err := server.ignoresCase(ctx)
	if err != nil {
		return err
	}
	s.server, err = socket.Serve(s.options.Socket.Path, socket.Run{
		About: socket.About{
			Table:     s.options.Table.Dotted(),
			Alter:     s.options.Change,
			Into:      s.options.Into.Dotted(),
			Server:    server.Address,
			AnyCase:   anyCase,
			Rehearsal: s.options.Purpose.Rehearsal(),
			Undoes:    s.options.Purpose == plan.Undoing,
			Follows:   s.options.Settings.When.Follow,
			Together:  s.options.Together.Others(),
			Process:   os.Getpid(),
			Version:   s.options.Version,
			Reach:     s.options.Reach,
			Began:     s.began,
			Page:      os.Getenv(socket.PageEnv),
		},
		Control: s.control,
		Emit:    s.tell,
		Stop:    s.halt,
		GoOn:    s.release,
		Stopped: s.stoppedBy,
		Lost:    s.lostBy,
		Abort:   s.Abort,
		Metrics: s.told.metrics,
	})
	if err != nil && s.options.Socket.Named && errors.Is(err, socket.ErrFolder) {
		return unusable(err, "name another folder by --control-dir, or leave out the flag")
	}
	if err != nil {
		s.show.Note(fmt.Sprintf("other commands cannot control the run: %v", err))
		s.server = nil
	}
	return nil
}

// End reports the result of the change, err among it, and removes the socket.
func (s *Session) End(result record.Result, err error) {
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	close(s.ended)
	s.told.end(result, s.show.Note)
	page := s.report(result)
	if s.page != nil {
		s.page(result)
	}
	if s.server != nil {
		s.server.Close(result)
	}
	s.told.callLast(result, page)
}

// Control returns what an operator may change.
func (s *Session) Control() *operator.Control { return s.control }

// Client returns a client of the control socket; nil where nobody can reach the change.
func (s *Session) Client() *socket.Client {
	if s == nil || s.server == nil {
		return nil
	}
	return s.server.Client()
}

// Handler answers as the control socket does; nil where nobody can reach the change.
func (s *Session) Handler() http.Handler {
	if s.server == nil {
		return nil
	}
	return s.server.Handler()
}

// History returns the path of the history; "" where none is kept.
func (s *Session) History() string {
	if s.kept.writer == nil {
		return ""
	}
	return s.kept.writer.Path()
}

// Migration makes the migration of an attempt, whose events are shown by a listener, and
// which watches replicas.
func (s *Session) Migration(
	server *Server,
	p *plan.Plan,
	cfg migration.Config,
	replicas []operator.Follower,
	show event.Listener,
) *migration.Migration {
	s.control.Watch(replicas)
	s.ask(server.Pool)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.display = show
	return migration.New(server.Pool, server.Binlog, p, cfg, s.control, s.Heard(show))
}

// ask has the readers of the binlog asked about the server of an attempt.
func (s *Session) ask(pool *dbconn.Pool) {
	if s.readers != nil {
		s.readers.Use(pool.DB())
	}
}

// Heard returns a listener for the events of an attempt, or of another process that makes the change.
func (s *Session) Heard(show event.Listener) event.Listener {
	all := event.Tee(show, s.listen)
	return func(e event.Event) { all(s.reaching(e)) }
}

// reaching is an event whose commands reach the server.
func (s *Session) reaching(e event.Event) event.Event {
	switch e := e.(type) {
	case event.Blocked:
		e.Run = s.options.Table.Dotted()
		return e
	case event.Note:
		e.Text = s.options.Reach.In(e.Text)
		return e
	case event.Resumed:
		e.Text = s.options.Reach.In(e.Text)
		return e
	}
	return e
}

// Refused are the findings of rows that the run refuses, if it has ended because of them.
func (s *Session) Refused() []event.Finding { return s.refused.all() }

// Tables makes what carries out a statement on whole tables.
func (s *Session) Tables(pool *dbconn.Pool, p *plan.TablePlan, show event.Listener) *wholetables.Change {
	s.ask(pool)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.display = show
	return wholetables.New(pool, p, s.control, s.Heard(show))
}

// Rows makes what carries out a change of rows, and watches replicas.
func (s *Session) Rows(server *Server, p *rowchange.Plan, replicas []operator.Follower, show event.Listener) *rowchange.Change {
	s.control.Watch(replicas)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.display = show
	return rowchange.New(server.Pool, p, s.control, s.Heard(show))
}

// Silent ends the showing of an attempt.
func (s *Session) Silent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.display = nil
}

// Remark tells what somebody should know, while the change is at work and after its end.
func (s *Session) Remark(text string) {
	select {
	case <-s.ended:
		s.show.Note(text)
	default:
		s.tell(event.Note{Text: text, At: time.Now()})
	}
}

func (s *Session) listen(e event.Event) {
	if _, works := e.(event.PhaseEntered); works { // its plan was not refused: it waits for the server no longer
		s.mu.Lock()
		s.lost = ""
		s.mu.Unlock()
	}
	s.refused.listen(e)
	s.kept.listen(e)
	if s.server != nil {
		s.server.Listen(e)
	}
	s.told.listen(e) // last: it may wait for a hook
}

// tell shows an event of the control to all who look, unless the change is over.
func (s *Session) tell(e event.Event) {
	e = s.reaching(e)
	s.listen(e)
	select {
	case <-s.ended:
		return
	default:
	}
	s.mu.Lock()
	show := s.display
	s.mu.Unlock()
	if show != nil {
		show(e)
	} else {
		s.show.Event(e)
	}
}

// Attempt does one, and says whether it has stopped at a checkpoint as it was told.
func (s *Session) Attempt(ctx context.Context, do func(context.Context) error) (stopped bool, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.mu.Lock()
	s.stop = stop
	s.mu.Unlock()
	err = do(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = nil
	if s.by == "" {
		return false, err
	}
	if stopped = errors.Is(err, failure.ErrKeep); !stopped {
		s.by = "" // it had come to an end of its own
	}
	close(s.halted)
	return stopped, err
}

// halt has the present attempt stop at a checkpoint, and returns when it has.
func (s *Session) halt(ctx context.Context, by string) error {
	if err := s.control.Stoppable(ctx); err != nil {
		return err
	}
	if len(s.options.Together.Others()) > 0 {
		table := s.options.Table.Argument()
		return &operator.NotNow{
			What: "the run can't be stopped at a checkpoint",
			Why:  "it is one of several that swap in one step, which would all end",
			Next: "midstream pause  " + table + " without --stop-capture; or midstream abort  --keep " + table + ", which ends them and keeps their work",
		}
	}
	s.mu.Lock()
	if s.stop == nil {
		s.mu.Unlock()
		return &operator.NotNow{
			What: "the run can't be stopped at a checkpoint",
			Why:  "the run waits for its server",
			Next: "midstream status  shows when the run works again",
		}
	}
	s.by, s.halted, s.goOn = by, make(chan struct{}), make(chan struct{})
	halted := s.halted
	s.stop(&halt{by})
	s.mu.Unlock()
	<-halted // it takes as long as its cleaning up
	if s.stoppedBy() == "" {
		return &operator.NotNow{
			What: "the run was not stopped at a checkpoint",
			Why:  "the run has ended by itself",
			Next: "see the output of the run",
		}
	}
	return nil
}

// remarkEvery is the time after which a wait for the server is remarked again, if its reason is the same.
const remarkEvery = time.Minute

// waits reports why the run waits for its server, and until when.
func (s *Session) waits(why, until string) {
	s.mu.Lock()
	again := why == s.said && time.Since(s.saidAt) < remarkEvery
	if s.lost = why; !again {
		s.said, s.saidAt = why, time.Now()
	}
	s.mu.Unlock()
	if !again {
		s.Remark("stopped: " + why + "; " + until)
	}
}

// lostBy is why the run waits for its server; "" where it does not.
func (s *Session) lostBy() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// stoppedBy says who has stopped the run at a checkpoint; "" if nobody has.
func (s *Session) stoppedBy() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		return "" // not yet
	}
	return s.by
}

// standBy waits until the run may go on. Its error is the end of ctx.
func (s *Session) standBy(ctx context.Context) error {
	s.mu.Lock()
	goOn := s.goOn
	s.mu.Unlock()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-goOn:
		return nil
	}
}

// release lets a run go on that is stopped at a checkpoint, and says whether it was.
func (s *Session) release() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == "" || s.stop != nil {
		return false
	}
	s.by = ""
	close(s.goOn)
	return true
}

// Abort ends the change as Ctrl-C does, and returns what is left when it has ended.
func (s *Session) Abort(ctx context.Context, by string, keep bool) (left string, err error) {
	const what = "the run can't be aborted"
	if err := s.control.TooLate(ctx, what); err != nil {
		return "", err
	}
	text := "aborting and removing what the run created"
	switch {
	case keep:
		text = "aborting and keeping the work"
	case s.options.Settings.When.Follow:
		text = "aborting; the undo stays open"
	}
	s.tell(event.Controlled{Command: "abort", By: by, Text: text, At: time.Now()})
	s.options.Interrupt(&Aborted{By: by, Keep: keep})
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-s.ended:
	}
	var failed *failure.Failure
	var other interface{ Remains() string }
	switch {
	case s.err == nil || errors.As(s.err, &failed) && failed.Swapped:
		return "", &operator.NotNow{
			What: what,
			Why:  "it was too late: the run has ended, and the table was altered",
			Next: "nothing",
		}
	case failed != nil:
		return "the run has ended: " + strings.TrimSuffix(failed.Left, ".") + ". " + failed.Next, nil
	case errors.As(s.err, &other) && other.Remains() != "":
		return other.Remains(), nil
	}
	return "the run has ended; nothing was written", nil
}
