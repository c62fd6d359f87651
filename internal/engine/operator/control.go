package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"midstream/internal/engine/barrier"
	"midstream/internal/engine/event"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Control has everything that an operator may change while a run is at work. It outlives the
// attempts of a run that has lost its server, and holds for the next attempt. It is safe for
// concurrent use.
//
// No swap is under way while a command takes effect: begin and end enclose each attempt. A pause or
// a hold waits for the end of an attempt, and fails if that attempt was the swap.
type Control struct {
	// Table is what its texts name. REQUIRES: it is set before Control is used.
	Table schema.Name

	mu       sync.Mutex
	settings Settings
	changed  chan struct{} // closed and replaced when settings change
	paused   *Paused
	// waived means that the window and the file don't count any more.
	waived bool
	// attempt is closed at the end of the swap attempt that is under way; nil if there is none.
	attempt chan struct{}
	swapped bool // or the outcome is not known
	soaks   bool // it waits between the two acts of a drop
	// native means that the server's own statement is under way.
	native bool
	// run is at work; nil between attempts, and before the table is claimed.
	run Run
	// copies means that the run waits until the server may copy rows.
	copies  bool
	purpose plan.Purpose  // its own
	watcher *lock.Watcher // its own
	saw     event.Blocked // what it has found to block its swap

	partners *Partners
	others   others
	barrier  *barrier.Barrier // rounds of a swap on several servers
}

// Run is what a Control commands: a run of a migration, or a statement on complete tables.
type Run interface {
	// Standing returns the run's progress now, and the gates that it waits for; at is false if it
	// reports none.
	Standing() (p event.Progress, gates []event.Gate, at bool)
	// Keeps reports whether the run could be stopped now, and resumed.
	Keeps() bool
	// SetPaused makes all work wait for a reason; "" ends that.
	SetPaused(why string)
	// InFlight is the number of statements that a pause waits for.
	InFlight() int
	// Apply changes the run's settings, if the server takes them. values are the settings that an
	// operator has given.
	Apply(ctx context.Context, settings Settings, values map[string]string) error
}

// Paused names the operator who has paused a run.
type Paused struct {
	By    string
	Since time.Time
}

// NotNow means that a command can't be carried out in the run's present state. Nothing has changed.
type NotNow struct {
	What string // that can't be done
	Why  string
	Next string // what to do
}

func (n *NotNow) Error() string { return n.What + ": " + n.Why }

// BadSetting means that a setting was not taken. Nothing has changed, and no other setting that was
// given with it.
type BadSetting struct {
	Name, Text string
	Err        error
	Next       string
}

func (b *BadSetting) Error() string { return fmt.Sprintf("%s=%s: %v", b.Name, b.Text, b.Err) }

func (b *BadSetting) Unwrap() error { return b.Err }

// errUnknownSetting means that no such setting exists.
var errUnknownSetting = errors.New("unknown setting, or a setting that cannot change during a run")

// NewControl returns a Control that begins with these settings.
func NewControl(settings Settings) *Control {
	c := &Control{settings: settings.WithDefaults(), changed: make(chan struct{}), barrier: barrier.New()}
	new(Partners).Join(c)
	return c
}

// Settings returns the settings that hold now.
func (c *Control) Settings() Settings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settings
}

// Watch has a run watch these replicas, and no others, as soon as it begins or a setting changes for what it waits.
func (c *Control) Watch(replicas []Follower) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settings.Throttle.Replicas = replicas
}

// Changing is closed when the settings are others than now.
func (c *Control) Changing() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// Standing returns the run's progress now, and the gates that it waits for; at is false while no
// run is at work. (Statements on complete tables have none.)
func (c *Control) Standing() (p event.Progress, gates []event.Gate, at bool) {
	r := c.atWork()
	if r == nil {
		return p, nil, false
	}
	return r.Standing()
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

// Rests reports whether the row copy is paused, or waits for its window.
func (c *Control) Rests(now time.Time) bool {
	return c.Paused() != nil || !c.Settings().Throttle.CopyWindow.Open(now)
}

// when returns when the table may be changed, and whether the window and the file don't count.
func (c *Control) when() (when When, waived bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settings.When, c.waived
}

// PausedGate is the name of the gate that a pause closes.
const PausedGate = "paused"

// Attach lets a run of a purpose obey. watcher finds the sessions that hold the locks that the run
// needs. REQUIRES: none is attached.
func (c *Control) Attach(r Run, purpose plan.Purpose, watcher *lock.Watcher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run, c.purpose, c.watcher = r, purpose, watcher
	if c.paused != nil {
		r.SetPaused("paused by " + c.paused.By)
	}
}

// Detach ends that.
func (c *Control) Detach(r Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run == r {
		c.run = nil
	}
}

// Begin reports whether an attempt to swap may be made, and if so begins it.
func (c *Control) Begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused != nil || c.run != nil && c.purpose.Swaps() && c.settings.When.Hold && !c.barrier.Begin() {
		return false
	}
	c.attempt = make(chan struct{})
	return true
}

// End ends the attempt.
func (c *Control) End(swapped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.swapped = c.swapped || swapped && c.run != nil && c.purpose.Swaps()
	close(c.attempt)
	c.attempt = nil
}

// BeginNative reports whether the server's own statement may be made, and if so begins it. swaps
// means that a hold holds the statement.
func (c *Control) BeginNative(swaps bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.native = c.paused == nil && !(swaps && c.settings.When.Hold)
	return c.native
}

// EndNative ends it.
func (c *Control) EndNative(changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.native, c.swapped = false, c.swapped || changed
}

// natively fails with *NotNow while the server's own statement is under way. REQUIRES: mu is held.
func (c *Control) natively(what, next string) error {
	if !c.native {
		return nil
	}
	return &NotNow{what, "the server itself is already changing the table", next}
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
		return &NotNow{what, "the run has not begun to work: it checks the server, or waits for the server", "run the command again in a moment"}
	case !r.Keeps():
		return &NotNow{
			what, "the server itself changes the table, and cannot keep a part of that work",
			"let it finish, or withdraw the statement with midstream abort",
		}
	}
	return nil
}

// TooLate waits for the end of an attempt to swap that is under way. It fails with *NotNow if the
// tables are swapped. what describes the command's failure.
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
		return &NotNow{What: what, Why: "it is too late: the tables are swapped", Next: "nothing: the run finishes by itself"}
	}
	return nil
}

// quietFor is how long a pause waits for work in flight.
const quietFor = 15 * time.Second

// quietLooks is in how many looks in a row nothing must be in flight: what has just passed a gate counts a moment
// later.
const quietLooks = 3

// Pause stops the row copy, apply, prescan, verify and the swap. It returns when none of them has
// work in flight, or after quietFor with the number of statements in flight. Changes are still
// captured. It fails with *NotNow.
func (c *Control) Pause(ctx context.Context, by string) (inFlight int, err error) {
	const what = "the run can't be paused"
	if p := c.Paused(); p != nil {
		return 0, &NotNow{
			what, "the run is paused since " + p.Since.Local().Format(time.TimeOnly) + " by " + p.By,
			"midstream resume  continues it",
		}
	}
	c.mu.Lock()
	if err := c.natively(
		what,
		"let it finish, which ends the run, or withdraw the statement with midstream abort",
	); err != nil {
		c.mu.Unlock()
		return 0, err
	}
	c.paused = &Paused{By: by, Since: time.Now()}
	if c.run != nil {
		c.run.SetPaused("paused by " + by)
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
			"there is nothing to resume", "the run is not paused", "midstream status  shows what it waits for; " +
				c.Settings().When.releasedBy(c.Table) + " ends a hold, midstream throttle  100% ends a throttle",
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
		c.run.SetPaused("")
	}
	return was
}

// Hold has the swap wait for CutOver, also of any partner. It fails with *NotNow.
func (c *Control) Hold(ctx context.Context) error {
	const what = "the swap can't be held"
	if err := c.swapless(what); err != nil {
		return err
	}
	c.partners.taking.Lock()
	defer c.partners.taking.Unlock()
	return c.take(ctx, what, true, func() error {
		if c.settings.When.Hold && !c.waived && !c.barrier.Withdraw() {
			return &NotNow{what, "it is already held", c.settings.When.releasedBy(c.Table) + " releases it"}
		}
		c.settings.When.Hold = true
		return nil
	})
}

// take makes a change of the settings take effect. A change that may keep the table from being
// changed waits for the end of an attempt that is under way. If that attempt was the swap, take
// undoes the change and fails with *NotNow. do is called with mu held. REQUIRES: partners.taking is held.
func (c *Control) take(ctx context.Context, what string, stricter bool, do func() error) error {
	c.mu.Lock()
	var err error
	if stricter {
		err = c.natively(what, "withdraw the statement with midstream abort")
	}
	before, waived := c.settings, c.waived
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
	unshare := c.share()
	if !stricter {
		return nil
	}
	if err := c.tooLate(ctx, what); err != nil {
		unshare()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.settings, c.waived = before, waived
		c.change()
		return err
	}
	return nil
}

// CutOver ends a hold, also of all partners; with now, the window and the file don't count any more either. It returns what still keeps
// the run from its swap, as "the window opens at 22:30"; "" for nothing that is known. It fails with *NotNow.
func (c *Control) CutOver(ctx context.Context, now bool) (still string, err error) {
	const what = "there is no swap to release"
	if err := c.TooLate(ctx, what); err != nil {
		return "", err
	}
	if err := c.swapless(what); err != nil {
		return "", err
	}
	c.partners.taking.Lock()
	defer c.partners.taking.Unlock()
	paused := c.pausedOne()
	when, waived := c.when()
	still, err = when.Closed(time.Now())
	if still == "" {
		still = answeredOne(c.partners.all())
	}
	if err == nil && still == "" && !when.Hold && paused == "" {
		if why := c.copiesLater(time.Now()); why != "" {
			return "", &NotNow{what, why, "midstream set  TABLE copy-window= removes that window"}
		}
		return "", &NotNow{
			what,
			"nothing holds the swap",
			"nothing: the run swaps by itself as soon as the tables are equal and no session blocks it",
		}
	}
	when.Hold, waived = false, waived || now
	c.setWhen(when, waived)
	c.share()
	switch {
	case paused != "":
		return paused, nil
	case waived:
		return "", nil
	}
	if still != "" && !strings.Contains(still, "midstream cutover  --now") {
		still += "; midstream cutover  --now does not wait for it"
	}
	return still, err
}

// Release ends the hold of an undo that follows, and any window. With parks, it copies the rows that the old definition
// refuses to a table of their own. It fails with *NotNow, also if the undo is paused.
func (c *Control) Release(ctx context.Context, parks bool) error {
	const what = "the undo cannot be released"
	if err := c.TooLate(ctx, what); err != nil {
		return err
	}
	if err := c.swapless(what); err != nil {
		return err
	}
	c.partners.taking.Lock()
	defer c.partners.taking.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.paused != nil:
		return &NotNow{what, "its process is paused by " + c.paused.By, "let it work again with midstream resume, then give this command again"}
	case !c.settings.When.Hold:
		return &NotNow{what, "it is released already", "nothing: it swaps as soon as no session blocks it, if all rows fit"}
	}
	c.settings.When.Hold, c.waived = false, true
	c.settings.When.Park = c.settings.When.Park || parks
	c.change()
	return nil
}

// Unhold ends the hold of a statement that needs none, because it belongs to a swap that is held. A window and a pause still count.
func Unhold(c *Control) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settings.When.Hold = false
	c.change()
}

// swapless fails with *NotNow if the run does not swap.
func (c *Control) swapless(what string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run != nil && !c.purpose.Swaps() {
		return &NotNow{what, "this is a " + string(c.purpose) + ", which does not swap", "nothing"}
	}
	return nil
}

// change announces that settings have changed. REQUIRES: mu is held.
func (c *Control) change() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// looked are the settings that are held against the server.
var looked = []string{"max-load", "critical-load", "throttle-query", "kill-blockers-after", "max-replica-lag", "min-free-disk", "workers"}

// AtWork reports whether a run is at work on its table. Otherwise it examines its server, or waits
// for it, or is stopped.
func (c *Control) AtWork() bool { return c.atWork() != nil }

// holds reports whether values keep the table from being changed that could have been changed
// before.
func holds(s Settings, values map[string]string) bool {
	_, hold := values["hold"]
	_, gone := values["cutover-when-gone"]
	_, window := values["cutover-window"]
	return hold && s.When.Hold || gone && s.When.Gone != "" || window && values["cutover-window"] != ""
}

// Set changes settings, all of them or none. It fails with *BadSetting and *NotNow.
func (c *Control) Set(ctx context.Context, values map[string]string) error {
	c.partners.taking.Lock()
	defer c.partners.taking.Unlock()
	settings := c.Settings()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		setting, known := SettingOf(name)
		if !known {
			return &BadSetting{name, values[name], errUnknownSetting, "midstream set  without a value lists the settings"}
		}
		if err := setting.Set(&settings, values[name]); err != nil {
			return &BadSetting{name, setting.Hidden(values[name]), err, "give it another value"}
		}
	}
	if err := settings.fixFinish(values, time.Now()); err != nil {
		return err
	}
	if r := c.atWork(); r != nil {
		if err := r.Apply(ctx, settings, values); err != nil {
			return err
		}
	} else if at := slices.IndexFunc(looked, func(name string) bool { _, says := values[name]; return says }); at >= 0 {
		return &NotNow{
			looked[at] + " can't be set",
			"the run must check it against the server, but the run is stopped or still checks the server",
			"set it when the run is working: midstream status  shows it",
		}
	}
	return c.take(ctx, "the swap can't be held", holds(settings, values), func() error {
		settings.Throttle.Replicas = c.settings.Throttle.Replicas
		c.settings = settings
		return nil
	})
}

func (c *Control) atWork() Run {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.run
}

func (c *Control) inFlight() int {
	if r := c.atWork(); r != nil {
		return r.InFlight()
	}
	return 0
}

// Blockers lists the sessions that hold the locks of the table, and the sessions that wait for them.
// REQUIRES: a run is at work; otherwise it lists none.
func (c *Control) Blockers(ctx context.Context) (holding, waiting []event.Blocker, err error) {
	c.mu.Lock()
	run, watcher := c.run, c.watcher
	c.mu.Unlock()
	if run == nil {
		return nil, nil, nil
	}
	holding, waiting, err = watcher.All(ctx)
	return append(holding, oldSnapshots(c, time.Now())...), waiting, err
}

// waitsToCopy takes whether the run waits until the server may copy rows.
func (c *Control) waitsToCopy(copies bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.copies = copies
}

// copiesLater returns why the server must not copy rows now, if the run waits for that.
func (c *Control) copiesLater(now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.copies {
		return ""
	}
	return c.settings.Throttle.copiesLater(now)
}

// Held returns why the run must not swap, for people; "" if it may.
func (c *Control) Held(now time.Time) string {
	when, waived := c.when()
	switch {
	case when.Hold:
		return "until " + when.releasedBy(c.Table)
	case waived:
		return c.copiesLater(now)
	}
	why, err := when.Closed(now)
	if err != nil {
		return err.Error()
	}
	return cmp.Or(why, c.copiesLater(now), c.others.answered())
}
