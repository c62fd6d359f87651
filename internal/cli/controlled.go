package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
	"midstream/internal/face/web"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// socketFlags say where a run is controlled.
type socketFlags struct {
	folder string
	off    bool
}

const controlDirUse = "folder of the sockets by which runs are controlled ($XDG_RUNTIME_DIR/midstream, or midstream-UID in the folder for temporary files)"

// controlled is a run that obeys the commands of other processes, through all its attempts and while it is stopped at
// a checkpoint between two of them. It is safe for concurrent use.
type controlled struct {
	app     *app
	output  *output
	control *operator.Control
	began   time.Time
	kept    chronicle // what it tells
	told    *machines
	server  *socket.Server // nil: nobody can reach it
	page    *web.Run       // nil: it has none
	ended   chan struct{}  // closed with err when the run has come to its end
	err     error

	mu     sync.Mutex
	show   event.Listener          // of the present attempt; nil between them
	stop   context.CancelCauseFunc // ends the present attempt; nil between them
	by     string                  // who has told it to stop at a checkpoint; "" for nobody
	halted chan struct{}           // closed when the attempt has ended by that, or otherwise
	goOn   chan struct{}           // closed when it may go on
	lost   string                  // why it waits for its server; "" where it does not
}

// asked is the end of a run that somebody has asked for.
type asked struct {
	by   string
	keep bool
}

func (a *asked) Error() string { return "aborted by " + a.by }
func (a *asked) Is(err error) bool {
	return err == errInterrupted || a.keep && err == migration.ErrKeep
}

// halt is the end of an attempt that is to be gone on with.
type halt struct{ by string }

func (h *halt) Error() string     { return migration.ErrKeep.Error() + " by " + h.by }
func (h *halt) Is(err error) bool { return err == migration.ErrKeep }

// underControl does a run while other processes may command it.
func (c *change) underControl(
	ctx context.Context,
	table schema.Name,
	change string,
	s *server,
	do func() (migration.Result, error),
) (migration.Result, error) {
	var result migration.Result
	err := c.beControlled(ctx, table, change, s)
	if err == nil {
		result, err = c.obeying(do)
	}
	c.run.end(ctx, result, err, string(c.options.Purpose))
	c.run = nil
	return result, err
}

// obeying does a run that takes commands in another program's way as well.
func (c *change) obeying(do func() (migration.Result, error)) (migration.Result, error) {
	if c.commanded != nil {
		undo, err := c.commanded(c.run)
		if err != nil {
			return migration.Result{}, &coded{code: exitUsage, err: err, left: "nothing was written"}
		}
		defer undo()
	}
	return do()
}

// beControlled makes the socket of a run. A folder that can't be used is an error only where somebody named it.
func (c *change) beControlled(ctx context.Context, table schema.Name, change string, s *server) error {
	r := &controlled{app: c.app, output: &c.output, control: operator.NewControl(c.settings), began: time.Now(), ended: make(chan struct{})}
	c.run = r
	run := record.Run{Table: table.Dotted(), Alter: change, Server: s.address, Rehearsal: string(c.options.Purpose)}
	var err error
	if r.told, err = c.machines.begin(c.app, run); err == nil {
		err = r.keep(c.history, &run)
	}
	if err == nil {
		c.machines.call(ctx, r, run)
	}
	if err != nil || c.socket.off {
		return err
	}
	folder := c.socket.folder
	if folder == "" {
		folder = socket.Folder(c.app.Getenv)
	}
	var anyCase bool
	err = s.pool.DB().QueryRowContext(ctx, "SELECT @@GLOBAL.lower_case_table_names <> 0").Scan(&anyCase)
	if err != nil {
		return unwritten(ctx, fmt.Errorf("look at %s: %w", s.address, err), "")
	}
	r.server, err = socket.Serve(folder, socket.Run{
		About: socket.About{
			Table:     table.Dotted(),
			Alter:     change,
			Server:    s.address,
			AnyCase:   anyCase,
			Rehearsal: string(c.options.Purpose),
			Process:   os.Getpid(),
			Version:   c.app.Version,
			Began:     r.began,
		},
		Control: r.control,
		Emit:    r.tell,
		Stop:    r.halt,
		GoOn:    r.release,
		Stopped: r.stoppedBy,
		Lost:    r.lostBy,
		Abort:   r.abort,
		Metrics: r.told.metrics,
	})
	if err != nil && c.socket.folder != "" && errors.Is(err, socket.ErrFolder) {
		return &coded{code: exitUsage, err: err, left: "nothing was written", next: "name another folder by --control-dir, or leave it out"}
	}
	if err != nil {
		c.output.note(fmt.Sprintf("the run can't be controlled by other commands: %v", err))
		r.server = nil
	}
	return c.page.show(c, r, run)
}

// end tells those who wait for the end of the run of it, and removes the socket.
func (r *controlled) end(ctx context.Context, result migration.Result, err error, rehearsal string) {
	r.mu.Lock()
	r.err = err
	r.mu.Unlock()
	close(r.ended)
	told := r.app.resultOf(result, err, exitCode(err, errors.Is(context.Cause(ctx), errInterrupted)))
	told.Rehearsal = rehearsal
	r.told.end(told, r.output.note)
	page := r.report(told)
	if r.page != nil {
		r.page.End(told)
	}
	if r.server != nil {
		r.server.Close(told)
	}
	r.told.callLast(told, page)
}

// of makes the migration of an attempt, whose events are shown by a listener.
func (r *controlled) of(s *server, p *plan.Plan, c *change, show event.Listener) *migration.Migration {
	r.control.Watch(c.settings.Throttle.Replicas)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.show = show
	return migration.New(s.pool, s.binlog, p, c.config, r.control, event.Tee(show, r.listen))
}

// tables makes what carries out a statement on whole tables.
func (r *controlled) tables(s *server, p *plan.TablePlan, show event.Listener) *migration.Tables {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.show = show
	return migration.NewTables(s.pool, p, r.control, event.Tee(show, r.listen))
}

func (r *controlled) silent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.show = nil
}

func (r *controlled) listen(e event.Event) {
	r.kept.listen(e)
	if r.server != nil {
		r.server.Listen(e)
	}
	r.told.listen(e) // last: it may wait for a hook
}

// tell shows an event of the control to all who look, unless the run is over.
func (r *controlled) tell(e event.Event) {
	r.listen(e)
	select {
	case <-r.ended:
		return
	default:
	}
	r.mu.Lock()
	show := r.show
	r.mu.Unlock()
	switch _, text, _ := humanize.Happening(e); {
	case show != nil:
		show(e)
	case r.output.json:
		(&jsonLines{out: r.app.Stdout}).Show(e)
	default:
		r.output.note(text)
	}
}

// attempt does one, and says whether it has stopped at a checkpoint as it was told.
func (r *controlled) attempt(ctx context.Context, do func(context.Context) error) (stopped bool, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r.mu.Lock()
	r.stop, r.lost = stop, ""
	r.mu.Unlock()
	err = do(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop = nil
	if r.by == "" {
		return false, err
	}
	if stopped = errors.Is(err, migration.ErrKeep); !stopped {
		r.by = "" // it had come to an end of its own
	}
	close(r.halted)
	return stopped, err
}

// halt has the present attempt stop at a checkpoint, and returns when it has.
func (r *controlled) halt(ctx context.Context, by string) error {
	if err := r.control.Stoppable(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	if r.stop == nil {
		r.mu.Unlock()
		return &operator.NotNow{
			What: "the run can't be stopped at a checkpoint",
			Why:  "it waits for its server",
			Next: "midstream status tells when it is at work again",
		}
	}
	r.by, r.halted, r.goOn = by, make(chan struct{}), make(chan struct{})
	halted := r.halted
	r.stop(&halt{by})
	r.mu.Unlock()
	<-halted // it takes as long as its cleaning up
	if r.stoppedBy() == "" {
		return &operator.NotNow{
			What: "the run was not stopped at a checkpoint",
			Why:  "it has come to an end of its own meanwhile",
			Next: "look at what it told",
		}
	}
	return nil
}

// waits tells why the run waits for its server, and until when.
func (r *controlled) waits(why, until string) {
	r.mu.Lock()
	r.lost = why
	r.mu.Unlock()
	r.remark(why + "; " + until)
}

// lostBy is why the run waits for its server; "" where it does not.
func (r *controlled) lostBy() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// stoppedBy says who has stopped the run at a checkpoint; "" if nobody has.
func (r *controlled) stoppedBy() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil {
		return "" // not yet
	}
	return r.by
}

// standBy waits until the run may go on. Its error is the end of ctx.
func (r *controlled) standBy(ctx context.Context) error {
	r.mu.Lock()
	goOn := r.goOn
	r.mu.Unlock()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-goOn:
		return nil
	}
}

// release lets a run go on that is stopped at a checkpoint, and says whether it was.
func (r *controlled) release() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == "" || r.stop != nil {
		return false
	}
	r.by = ""
	close(r.goOn)
	return true
}

// abort ends the run as Ctrl-C does, and returns what is left when it has ended.
func (r *controlled) abort(ctx context.Context, by string, keep bool) (left string, err error) {
	const what = "the run can't be aborted"
	if err := r.control.TooLate(ctx, what); err != nil {
		return "", err
	}
	text := "aborting and removing what the run created"
	if keep {
		text = "aborting and keeping the work"
	}
	r.tell(event.Controlled{Command: "abort", By: by, Text: text, At: time.Now()})
	r.app.Interrupts.end(&asked{by: by, keep: keep})
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-r.ended:
	}
	var failure *migration.Failure
	var c *coded
	switch {
	case r.err == nil || errors.As(r.err, &failure) && failure.Swapped:
		return "", &operator.NotNow{
			What: what,
			Why:  "it was too late: the run has come to its end, and the table has its new schema",
			Next: "nothing",
		}
	case failure != nil:
		return failure.Left + " " + failure.Next, nil
	case errors.As(r.err, &c) && c.left != "":
		return c.left, nil
	}
	return "the run has ended; nothing was written", nil
}
