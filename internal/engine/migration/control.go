package migration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
)

// Control is what an operator may change while a run is at work. It outlives the attempts of a run that has lost
// its server, and what it says holds for the next of them. It is safe for concurrent use.
//
// A swap is never under way while a command takes effect: begin and end enclose each attempt, and who pauses or holds
// waits for the end of one, and is told if that was the swap.
type Control struct {
	mu      sync.Mutex
	cfg     Config
	changed chan struct{} // closed and replaced when cfg changes
	paused  *Paused
	waived  bool          // the window and the file don't count any more
	attempt chan struct{} // closed at the end of the attempt to swap that is under way; nil: none is
	swapped bool          // or nobody knows
	native  bool          // the server's own statement is under way
	run     commanded     // at work; nil between attempts, and before the table is claimed
	watcher *lock.Watcher // its own
}

// Paused says who has paused a run.
type Paused struct {
	By    string
	Since time.Time
}

// NotNow says that a command can't be carried out as the run stands. Nothing has changed.
type NotNow struct {
	What string // that can't be done
	Why  string
	Next string // what to do
}

func (n *NotNow) Error() string { return n.What + ": " + n.Why }

// BadSetting says that a setting was not taken. Nothing has changed, of others that were given with it either.
type BadSetting struct {
	Name, Text string
	Err        error
	Next       string
}

func (b *BadSetting) Error() string { return fmt.Sprintf("%s=%s: %v", b.Name, b.Text, b.Err) }
func (b *BadSetting) Unwrap() error { return b.Err }

// errUnknownSetting says that there is no such setting.
var errUnknownSetting = errors.New("there is no such setting, or it does not change while a run is at work")

// NewControl returns one that begins with a config.
func NewControl(cfg Config) *Control {
	return &Control{cfg: cfg.WithDefaults(), changed: make(chan struct{})}
}

// Config is what holds now.
func (c *Control) Config() Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cfg
}

// Reach says which servers the next run has besides its own: replicas that it looks at, and the one
// whose binlog it reads, if any.
func (c *Control) Reach(replicas []Follower, capture *CaptureFrom) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cfg.Throttle.Replicas, c.cfg.CaptureFrom = replicas, capture
}

// changing is closed when the config is another one than now.
func (c *Control) changing() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// Standing is how far the run is at this moment, and for what it waits; at is false while none is
// at work. (Statements on whole tables have none.)
func (c *Control) Standing() (p event.Progress, gates []event.Gate, at bool) {
	c.mu.Lock()
	r, at := c.run.(*run)
	c.mu.Unlock() // the run asks for the config
	if at {
		p, gates = r.standing(), r.gates.Closed()
	}
	return p, gates, at
}

func (c *Control) pausedBy() string {
	if p := c.Paused(); p != nil {
		return "paused by " + p.By
	}
	return ""
}

// Paused is nil unless the run is paused.
func (c *Control) Paused() *Paused {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.paused
}

// when says when the table may be changed, and whether the window and the file don't count.
func (c *Control) when() (when When, waived bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cfg.When, c.waived
}

// pausedGate is the name of the gate that a pause closes.
const pausedGate = "paused"

// attach has a run obey, whose watcher finds those who hold the locks that it needs. REQUIRES: none is attached.
func (c *Control) attach(r commanded, watcher *lock.Watcher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run, c.watcher = r, watcher
	if c.paused != nil {
		r.still("paused by " + c.paused.By)
	}
}

func (c *Control) detach(r commanded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run == r {
		c.run = nil
	}
}

// begin says whether an attempt to swap may be made, and if so begins it.
func (c *Control) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused != nil || c.run != nil && c.run.purpose() == plan.Altering && c.cfg.When.Hold {
		return false
	}
	c.attempt = make(chan struct{})
	return true
}

// end ends the attempt.
func (c *Control) end(swapped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.swapped = c.swapped || swapped && c.run != nil && c.run.purpose() == plan.Altering
	close(c.attempt)
	c.attempt = nil
}

// beginNative says whether the server's own statement may be made, and if so it is under way. swaps says that a hold
// holds it.
func (c *Control) beginNative(swaps bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.native = c.paused == nil && !(swaps && c.cfg.When.Hold)
	return c.native
}

// endNative ends it.
func (c *Control) endNative(changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.native, c.swapped = false, c.swapped || changed
}

// natively fails with *NotNow while the server's own statement is under way. REQUIRES: mu is held.
func (c *Control) natively(what, next string) error {
	if !c.native {
		return nil
	}
	return &NotNow{what, "the server itself changes the table already", next}
}

// Stoppable fails with *NotNow if the run can't be stopped at a checkpoint, to go on from there.
func (c *Control) Stoppable(ctx context.Context) error {
	const what = "the run can't be stopped at a checkpoint"
	if err := c.TooLate(ctx, what); err != nil {
		return err
	}
	r := c.atWork()
	switch {
	case r == nil:
		return &NotNow{what, "it is not at work: it looks at the server, or waits for it", "give the command again in a moment"}
	case !r.keeps():
		return &NotNow{
			what, "the server itself changes the table, and keeps no part of that",
			"let it come to its end, or withdraw the statement with midstream abort",
		}
	}
	return nil
}

// TooLate waits for the end of an attempt to swap that is under way, and fails with *NotNow if the
// tables are swapped. what is the command's failure, in words.
func (c *Control) TooLate(ctx context.Context, what string) error {
	c.mu.Lock()
	attempt, swapped := c.attempt, c.swapped
	c.mu.Unlock()
	if attempt != nil {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-attempt:
		}
		return c.TooLate(ctx, what)
	}
	if swapped {
		return &NotNow{What: what, Why: "it is too late: the tables are swapped", Next: "nothing: the run comes to its end by itself"}
	}
	return nil
}

// quietFor is how long a pause waits for what is in flight.
const quietFor = 15 * time.Second

// quietLooks is in how many looks in a row nothing must be in flight: what has just passed a gate counts a moment
// later.
const quietLooks = 3

// Pause holds the row copy, apply, prescan, verify and the swap still, and returns when nothing of them is in flight,
// or after a while with the number of what still is. Changes go on being captured. It fails with *NotNow.
func (c *Control) Pause(ctx context.Context, by string) (inFlight int, err error) {
	const what = "the run can't be paused"
	if p := c.Paused(); p != nil {
		return 0, &NotNow{
			what, "it is paused since " + p.Since.Local().Format(time.TimeOnly) + " by " + p.By,
			"midstream resume lets it go on",
		}
	}
	c.mu.Lock()
	if err := c.natively(
		what,
		"let it come to its end, after which the run is done, or withdraw the statement with midstream abort",
	); err != nil {
		c.mu.Unlock()
		return 0, err
	}
	c.paused = &Paused{By: by, Since: time.Now()}
	if c.run != nil {
		c.run.still("paused by " + by)
	}
	c.mu.Unlock()
	if err := c.TooLate(ctx, what); err != nil {
		c.unpause()
		return 0, err
	}
	end := time.Now().Add(quietFor)
	for quiet := 0; quiet < quietLooks && time.Now().Before(end); quiet++ {
		if inFlight = c.inFlight(); inFlight > 0 {
			quiet = -1
		}
		if err := dbconn.Sleep(ctx, 10*time.Millisecond); err != nil {
			break
		}
	}
	return inFlight, nil
}

// Resume undoes Pause. It fails with *NotNow.
func (c *Control) Resume() error {
	if !c.unpause() {
		return &NotNow{
			"there is nothing to resume", "the run is not paused",
			"midstream status tells for what it waits; a hold ends by midstream cutover, a throttle by midstream throttle 100%",
		}
	}
	return nil
}

func (c *Control) unpause() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.paused != nil
	c.paused = nil
	if c.run != nil {
		c.run.still("")
	}
	return was
}

// Hold has the swap wait for CutOver. It fails with *NotNow.
func (c *Control) Hold(ctx context.Context) error {
	const what = "the swap can't be held"
	if err := c.swapless(what); err != nil {
		return err
	}
	return c.take(ctx, what, true, func() error {
		if c.cfg.When.Hold && !c.waived {
			return &NotNow{what, "it is held already", "midstream cutover lets it go"}
		}
		c.cfg.When.Hold = true
		return nil
	})
}

// take has a change of the config take effect. One that may keep the table from being changed waits
// for the end of an attempt that is under way, and is undone with *NotNow if that was the swap. do
// is called with mu held.
func (c *Control) take(ctx context.Context, what string, stricter bool, do func() error) error {
	c.mu.Lock()
	var err error
	if stricter {
		err = c.natively(what, "withdraw the statement with midstream abort")
	}
	before, waived := c.cfg, c.waived
	if err == nil {
		err = do()
	}
	if err != nil {
		c.mu.Unlock()
		return err
	}
	c.waived = c.waived && !stricter
	c.change()
	c.mu.Unlock()
	if !stricter {
		return nil
	}
	if err := c.TooLate(ctx, what); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.cfg, c.waived = before, waived
		c.change()
		return err
	}
	return nil
}

// CutOver ends a hold; with now, the window and the file don't count any more either. It returns what still keeps
// the run from its swap, as "the window opens at 22:30"; "" for nothing that is known. It fails with *NotNow.
func (c *Control) CutOver(ctx context.Context, now bool) (still string, err error) {
	const what = "there is no swap to let go"
	if err := c.TooLate(ctx, what); err != nil {
		return "", err
	}
	if err := c.swapless(what); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if still, err = c.cfg.When.closed(time.Now()); err == nil && still == "" && !c.cfg.When.Hold && c.paused == nil {
		return "", &NotNow{
			what,
			"nothing holds it",
			"nothing: the run swaps by itself as soon as the tables are equal and nobody is in the way",
		}
	}
	c.cfg.When.Hold = false
	c.waived = c.waived || now
	c.change()
	switch {
	case c.paused != nil:
		return "it is paused by " + c.paused.By + ": midstream resume", nil
	case c.waived:
		return "", nil
	}
	if still != "" {
		still += "; midstream cutover --now does not wait for it"
	}
	return still, err
}

// swapless fails with *NotNow if the run is one that does not swap.
func (c *Control) swapless(what string) error {
	if r := c.atWork(); r != nil && r.purpose() != plan.Altering {
		return &NotNow{what, "this is a " + string(r.purpose()) + ", which does not swap", "nothing"}
	}
	return nil
}

// change tells that cfg has changed. REQUIRES: mu is held.
func (c *Control) change() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// looked are the settings that are held against the server.
var looked = []string{"max-load", "critical-load", "throttle-query", "kill-blockers-after", "max-replica-lag", "min-free-disk", "workers"}

// AtWork says that a run is at work on its table; else it looks at its server, or waits for it, or is stopped.
func (c *Control) AtWork() bool { return c.atWork() != nil }

// holds says that values keep the table from being changed which might have been.
func holds(cfg Config, values map[string]string) bool {
	_, hold := values["hold"]
	_, gone := values["cutover-when-gone"]
	_, window := values["cutover-window"]
	return hold && cfg.When.Hold || gone && cfg.When.Gone != "" || window && values["cutover-window"] != ""
}

// Set changes settings, all of them or none. It fails with *BadSetting and *NotNow.
func (c *Control) Set(ctx context.Context, values map[string]string) error {
	cfg := c.Config()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		s, known := SettingOf(name)
		if !known {
			return &BadSetting{name, values[name], errUnknownSetting, "midstream set without a value lists those there are"}
		}
		if err := s.Set(&cfg, values[name]); err != nil {
			return &BadSetting{name, s.Hidden(values[name]), err, "give it another value"}
		}
	}
	if r := c.atWork(); r != nil {
		if err := r.heed(ctx, cfg, values); err != nil {
			return err
		}
	} else if at := slices.IndexFunc(looked, func(name string) bool { _, says := values[name]; return says }); at >= 0 {
		return &NotNow{
			looked[at] + " can't be set",
			"it is held against the server, and the run is not at work there: it is stopped, or looks at the server",
			"set it when the run is at work: midstream status tells",
		}
	}
	return c.take(ctx, "the change of the table can't be held", holds(cfg, values), func() error {
		cfg.Throttle.Replicas, cfg.CaptureFrom = c.cfg.Throttle.Replicas, c.cfg.CaptureFrom
		c.cfg = cfg
		return nil
	})
}

func (c *Control) atWork() commanded {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.run
}

func (c *Control) inFlight() int {
	if r := c.atWork(); r != nil {
		return r.inFlight()
	}
	return 0
}

// Blockers lists who holds the locks of the table, and who waits for them. REQUIRES: a run is at work; else there is
// nobody.
func (c *Control) Blockers(ctx context.Context) (holding, waiting []event.Blocker, err error) {
	c.mu.Lock()
	run, watcher := c.run, c.watcher
	c.mu.Unlock()
	if run == nil {
		return nil, nil, nil
	}
	return watcher.All(ctx)
}

// Held says why the run must not swap, for people; "" if it may.
func (c *Control) Held(now time.Time) string {
	when, waived := c.when()
	switch {
	case when.Hold:
		return "until midstream cutover"
	case waived:
		return ""
	}
	why, err := when.closed(now)
	if err != nil {
		return err.Error()
	}
	return why
}
