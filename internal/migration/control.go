package migration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"midstream/internal/event"
	"midstream/internal/lock"
	"midstream/internal/plan"
	"midstream/internal/schema"
	"midstream/internal/throttle"
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
	run     *run          // at work; nil between attempts, and before the table is claimed
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

// Reach says which servers the next run has besides its own: replicas that it looks at, and the one whose binlog it reads, if
// any.
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

// attach has a run obey. REQUIRES: none is attached.
func (c *Control) attach(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run = r
	r.share.Set(1 - c.cfg.Rest)
	if c.paused != nil {
		r.gates.Close(pausedGate, "paused by "+c.paused.By)
	}
}

func (c *Control) detach(r *run) {
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
	if c.paused != nil || c.run != nil && c.run.plan.Purpose == plan.Altering && c.cfg.When.Hold {
		return false
	}
	c.attempt = make(chan struct{})
	return true
}

// end ends the attempt.
func (c *Control) end(swapped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.swapped = c.swapped || swapped && c.run != nil && c.run.plan.Purpose == plan.Altering
	close(c.attempt)
	c.attempt = nil
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
	case r.phaseNow() == event.PhaseNative:
		return &NotNow{what, "the server itself changes the table, and keeps no part of that", "let it come to its end, or withdraw the statement with midstream abort"}
	}
	return nil
}

// TooLate waits for the end of an attempt to swap that is under way, and fails with *NotNow if the tables are swapped.
// what is the command's failure, in words.
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
		return 0, &NotNow{what, "it is paused since " + p.Since.Local().Format(time.TimeOnly) + " by " + p.By, "midstream resume lets it go on"}
	}
	if r := c.atWork(); r != nil && r.phaseNow() == event.PhaseNative {
		return 0, &NotNow{what, "the server itself changes the table, and can't be held still", "let it come to its end, after which the run is done, or withdraw the statement with midstream abort"}
	}
	c.mu.Lock()
	c.paused = &Paused{By: by, Since: time.Now()}
	if c.run != nil {
		c.run.gates.Close(pausedGate, "paused by "+by)
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
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			break
		}
	}
	return inFlight, nil
}

// Resume undoes Pause. It fails with *NotNow.
func (c *Control) Resume() error {
	if !c.unpause() {
		return &NotNow{"there is nothing to resume", "the run is not paused", "midstream status tells for what it waits; a hold ends by midstream cutover, a throttle by midstream throttle 100%"}
	}
	return nil
}

func (c *Control) unpause() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.paused != nil
	c.paused = nil
	if c.run != nil {
		c.run.gates.Open(pausedGate)
	}
	return was
}

// Hold has the swap wait for CutOver. It fails with *NotNow.
func (c *Control) Hold(ctx context.Context) error {
	const what = "the swap can't be held"
	if r := c.atWork(); r != nil {
		if r.phaseNow() == event.PhaseNative {
			return &NotNow{what, "the server itself changes the table already", "withdraw the statement with midstream abort"}
		}
		if r.plan.Purpose != plan.Altering {
			return &NotNow{what, "this is a " + string(r.plan.Purpose) + ", which does not swap", "nothing"}
		}
	}
	c.mu.Lock()
	was := c.cfg.When.Hold
	if was && !c.waived {
		c.mu.Unlock()
		return &NotNow{what, "it is held already", "midstream cutover lets it go"}
	}
	c.cfg.When.Hold, c.waived = true, false
	c.change()
	c.mu.Unlock()
	if err := c.TooLate(ctx, what); err != nil {
		c.mu.Lock()
		c.cfg.When.Hold = was
		c.change()
		c.mu.Unlock()
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
	if r := c.atWork(); r != nil && r.plan.Purpose != plan.Altering {
		return "", &NotNow{what, "this is a " + string(r.plan.Purpose) + ", which does not swap", "nothing"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if still, err = c.cfg.When.closed(time.Now()); err == nil && still == "" && !c.cfg.When.Hold && c.paused == nil {
		return "", &NotNow{what, "nothing holds it", "nothing: the run swaps by itself as soon as the tables are equal and nobody is in the way"}
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

// change tells that cfg has changed. REQUIRES: mu is held.
func (c *Control) change() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Set changes settings, all of them or none. It fails with *BadSetting.
func (c *Control) Set(ctx context.Context, values map[string]string) error {
	cfg := c.Config()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		s, known := SettingOf(name)
		if !known {
			return &BadSetting{name, values[name], errUnknownSetting, "midstream set without a value lists those there are"}
		}
		if err := s.Set(&cfg, values[name]); err != nil {
			return &BadSetting{name, values[name], err, "give it another value"}
		}
	}
	if r := c.atWork(); r != nil {
		if err := r.heed(ctx, cfg, values); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, says := values["hold"]; says && cfg.When.Hold {
		c.waived = false
	}
	cfg.Throttle.Replicas, cfg.CaptureFrom = c.cfg.Throttle.Replicas, c.cfg.CaptureFrom
	c.cfg = cfg
	c.change()
	return nil
}

func (c *Control) atWork() *run {
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

func (r *run) phaseNow() event.Phase {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.phase
}

// inFlight is the number of statements of the run that a pause waits for.
func (r *run) inFlight() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	if r.syncer != nil {
		n += r.syncer.InFlight()
	}
	if r.copier != nil {
		n += r.copier.InFlight()
	}
	if r.scanner != nil {
		n += r.scanner.InFlight()
	}
	if r.verifier != nil {
		n += r.verifier.InFlight()
	}
	return n
}

// heed has the stages work by another config, if the server takes it. Values are those that somebody has said.
func (r *run) heed(ctx context.Context, cfg Config, values map[string]string) error {
	bad := func(name string, err error, next string) error { return &BadSetting{name, values[name], err, next} }
	t := cfg.Throttle
	for name, limits := range map[string][]throttle.Limit{"max-load": t.MaxLoad, "critical-load": t.CriticalLoad} {
		if _, says := values[name]; says {
			if err := throttle.CheckLimits(ctx, r.pool.DB(), limits...); err != nil {
				return bad(name, err, "SHOW GLOBAL STATUS lists those that there are")
			}
		}
	}
	if _, says := values["max-replica-lag"]; says && t.ReplicaLag > 0 && len(t.Replicas) == 0 {
		return bad("max-replica-lag", errors.New("no replica is looked at: the run found none, or began with 0"), "name replicas by --replica when the run begins")
	}
	if cfg.Kills.After > 0 && r.cfg.Kills.After == 0 {
		facts, err := plan.Gather(ctx, r.pool.DB(), r.plan.Source.Name)
		if err != nil {
			return bad("kill-blockers-after", fmt.Errorf("look whether sessions may be ended: %w", err), "")
		}
		if risk := plan.HindersKills(facts); risk != nil {
			return bad("kill-blockers-after", errors.New(risk.What), risk.Fix)
		}
	}
	said := slices.Collect(maps.Keys(values))
	if slices.ContainsFunc(waits(), func(s Setting) bool { return slices.Contains(said, s.Name) }) {
		sensors, err := r.sensors(ctx, t)
		if err != nil {
			return fmt.Errorf("change for what the run waits: %w", err)
		}
		r.gates.Replace(sensors)
	}
	r.share.Set(1 - cfg.Rest)
	r.transit.Aim(cfg.Throttle.ReplicaLag / transitShare)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.copier != nil {
		r.governor.Bound(cfg.RowCopy.Workers, cfg.Slower)
		r.copier.Tune(cfg.RowCopy.Target, cfg.RowCopy.Workers)
	}
	return nil
}

// Blockers lists who holds the locks of the table, and who waits for them. REQUIRES: a run is at work; else there is
// nobody.
func (c *Control) Blockers(ctx context.Context) (holding, waiting []event.Blocker, err error) {
	r := c.atWork()
	if r == nil {
		return nil, nil, nil
	}
	return (&lock.Watcher{DB: r.pool.DB(), Tables: []schema.Name{r.plan.Source.Name}}).All(ctx)
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

// keepAll saves the last state of a run that was ended to be gone on with.
func (r *run) keepAll(err error) {
	if !errors.Is(err, ErrKeep) || !r.made.saved {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := r.checkpoint(ctx); err != nil { // the one before will do
		r.note("the last checkpoint could not be written, and some work is done again: " + err.Error())
	}
}
