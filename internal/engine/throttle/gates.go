package throttle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"midstream/internal/engine/event"
)

// Sensor checks one condition that may make the work wait.
type Sensor struct {
	Name  string        // stable: "replica-lag", "max-load"
	Every time.Duration // between two looks
	// Again is the time between two reports of the closed gate. Defaults to 10 s.
	Again time.Duration
	// Apply means that changes are not applied either while the gate is closed. Capture continues.
	Apply bool
	// Look returns why the gate is closed; "" if it is open. An error also closes the gate, except
	// ErrCritical: that ends the run.
	Look func(ctx context.Context) (why string, err error)
}

// ErrCritical means that the server is in such a bad state that the run must end.
var ErrCritical = errors.New("the server is in a critical state")

// patience bounds a look: a sensor that doesn't answer closes its gate.
const patience = 10 * time.Second

// tellAgain is how often a closed gate is reported again.
const tellAgain = 10 * time.Second

// firstLooks is how long Gates waits for the first looks before it reports closed gates without
// them.
const firstLooks = time.Second

// Gates hold the work while a sensor closes a gate. They are safe for concurrent use.
type Gates struct {
	emit event.Listener

	mu      sync.Mutex
	sensors []Sensor
	anew    chan struct{} // closed and replaced with the sensors
	unseen  map[int]bool  // sensors without a first look
	// byHand are the gates that an operator has closed; they hold apply too.
	byHand  []event.Gate
	closed  []closed      // in the order of closing
	changed chan struct{} // closed and replaced when one opens
	told    time.Time
	of      string // the reported gates
}

// closed is a gate that a sensor has closed.
type closed struct {
	event.Gate
	number int // of the sensor; names may repeat
}

// NewGates returns gates that are closed until Run has looked.
func NewGates(sensors []Sensor, emit event.Listener) *Gates {
	g := &Gates{sensors: sensors, emit: emit, changed: make(chan struct{}), anew: make(chan struct{})}
	g.forget()
	return g
}

// Replace takes other sensors. All gates, except gates closed by hand, are closed until Run has
// checked them.
func (g *Gates) Replace(sensors []Sensor) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sensors = sensors
	close(g.anew)
	g.anew = make(chan struct{})
	g.forget()
}

// Close closes a gate by hand, or changes the reason of one; no sensor opens it.
func (g *Gates) Close(name, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.byHand {
		if g.byHand[i].Name == name {
			g.byHand[i].Why = why
			return
		}
	}
	g.byHand = append(g.byHand, event.Gate{Name: name, Why: why, Since: time.Now()})
}

// Open opens a gate that was closed by hand.
func (g *Gates) Open(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.byHand = slices.DeleteFunc(g.byHand, func(c event.Gate) bool { return c.Name == name })
	g.wake()
}

// Run looks until the context ends, when it returns nil, and the gates are closed until it is called again.
func (g *Gates) Run(ctx context.Context) error {
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.forget()
	}()
	looking, ctx := errgroup.WithContext(ctx)
	looking.Go(func() error { return g.tell(ctx) })
	looking.Go(func() error {
		for ctx.Err() == nil {
			if err := g.look(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	err := looking.Wait()
	if errors.Is(err, ErrCritical) {
		return err
	}
	return nil
}

// look looks at the sensors until they are replaced.
func (g *Gates) look(ctx context.Context) error {
	g.mu.Lock()
	sensors, anew := g.sensors, g.anew
	g.mu.Unlock()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	looking, ctx := errgroup.WithContext(ctx)
	for i := range sensors {
		looking.Go(func() error { return g.watch(ctx, i, sensors[i], anew) })
	}
	select {
	case <-ctx.Done():
	case <-anew:
		stop()
	}
	return looking.Wait()
}

// watch checks one of the sensors until anew is closed: then other sensors replace it.
func (g *Gates) watch(ctx context.Context, number int, s Sensor, anew chan struct{}) error {
	ticker := time.NewTicker(s.Every)
	defer ticker.Stop()
	for {
		look, cancel := context.WithTimeout(ctx, patience)
		why, err := s.Look(look)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrCritical):
			return err
		case err != nil:
			why = "cannot check " + s.Name + ": " + err.Error()
		}
		g.set(number, why, anew)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// set takes the answer of a sensor, unless it was replaced.
func (g *Gates) set(number int, why string, anew chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.anew != anew {
		return
	}
	if g.unseen[number] {
		delete(g.unseen, number)
		g.wake()
	}
	at := slices.IndexFunc(g.closed, func(c closed) bool { return c.number == number })
	switch {
	case why == "" && at >= 0:
		g.closed = slices.Delete(g.closed, at, at+1)
		g.wake()
	case why != "" && at >= 0:
		g.closed[at].Why = why
	case why != "":
		g.closed = append(g.closed, closed{event.Gate{Name: g.sensors[number].Name, Why: why, Since: time.Now()}, number})
	}
}

// wake makes all waiting goroutines check again. REQUIRES: mu is held.
func (g *Gates) wake() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// forget makes everything unknown again, except gates closed by hand. REQUIRES: mu is held, or no
// other goroutine has g.
func (g *Gates) forget() {
	g.closed, g.unseen = nil, map[int]bool{}
	for number := range g.sensors {
		g.unseen[number] = true
	}
	g.wake()
}

// Closed returns the gates that are closed now.
func (g *Gates) Closed() []event.Gate {
	closed, _ := g.now()
	return closed
}

// now returns the gates that are closed, and whether all sensors have been looked at.
func (g *Gates) now() (closed []event.Gate, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	closed = slices.Clone(g.byHand)
	for _, c := range g.closed {
		closed = append(closed, c.Gate)
	}
	return closed, len(g.unseen) == 0
}

// Copy waits until no gate is closed.
func (g *Gates) Copy(ctx context.Context) error {
	return g.wait(ctx, func() bool { return len(g.byHand)+len(g.closed) > 0 })
}

// Apply waits until no gate is closed that holds the applying of changes.
func (g *Gates) Apply(ctx context.Context) error {
	return g.wait(ctx, func() bool {
		return len(g.byHand) > 0 || slices.ContainsFunc(g.closed, func(c closed) bool { return g.sensors[c.number].Apply })
	})
}

// wait waits while closed returns true. It calls closed under mu.
func (g *Gates) wait(ctx context.Context, closed func() bool) error {
	for {
		g.mu.Lock()
		is, changed := len(g.unseen) > 0 || closed(), g.changed
		g.mu.Unlock()
		if !is {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
}

// again is the time until the closed gates are reported again.
func (g *Gates) again() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.closed) == 0 || len(g.byHand) > 0 {
		return tellAgain
	}
	again := time.Duration(math.MaxInt64)
	for _, c := range g.closed {
		again = min(again, cmp.Or(g.sensors[c.number].Again, tellAgain))
	}
	return again
}

// tell emits the closed gates when they change, and again while they stay closed.
func (g *Gates) tell(ctx context.Context) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	g.told = time.Now().Add(firstLooks - tellAgain)
	for {
		g.mu.Lock()
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-changed:
		}
		closed, known := g.now()
		if !known && time.Since(g.told) < tellAgain {
			continue // an unknown gate stays closed
		}
		var names []string
		for _, c := range closed {
			names = append(names, c.Name)
		}
		of := strings.Join(names, " ")
		if of == g.of && (of == "" || time.Since(g.told) < g.again()) {
			continue
		}
		g.of, g.told = of, time.Now()
		g.emit(event.Throttled{Gates: closed, At: g.told})
	}
}

// Bounded is a Look at a number. It closes above most, and opens again below half of it: otherwise
// the work could begin and stop at every look.
func Bounded(
	most float64,
	read func(ctx context.Context) (float64, error),
	text func(now, most float64) string,
) func(context.Context) (string, error) {
	return between(most, most/2, read, text)
}

// between is a Look at a number that closes above most, and opens again at another bound.
func between(
	most, opens float64,
	read func(ctx context.Context) (float64, error),
	text func(now, most float64) string,
) func(context.Context) (string, error) {
	closed := false
	return func(ctx context.Context) (string, error) {
		now, err := read(ctx)
		if err != nil {
			return "", err
		}
		if closed = now > most || closed && now > opens; closed {
			return text(now, most), nil
		}
		return "", nil
	}
}

// seconds spells a number of seconds.
func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(10 * time.Millisecond).String()
}

// Delay is a sensor of how far capture is behind. replica is the server from which the binlog is
// read, "" for the source itself.
func Delay(most time.Duration, delay func() time.Duration, replica string) Sensor {
	through := ""
	if replica != "" {
		through = " (it reads from replica " + replica + ")"
	}
	return Sensor{
		Name:  "capture-delay",
		Every: 100 * time.Millisecond,
		Look: Bounded(
			most.Seconds(),
			func(context.Context) (float64, error) { return delay().Seconds(), nil },
			func(now, most float64) string {
				return fmt.Sprintf(
					"capture is %s behind the server%s; the limit is %s, and the run continues at half of it", seconds(now), through,
					seconds(most),
				)
			},
		),
	}
}

// Backlog is a sensor of changes that are not applied yet: the row copy waits for them, as what it does can wait.
func Backlog(most int, length func() int) Sensor {
	return Sensor{
		Name:  "backlog",
		Every: 100 * time.Millisecond,
		Look: Bounded(
			float64(most),
			func(context.Context) (float64, error) { return float64(length()), nil },
			func(now, most float64) string {
				return fmt.Sprintf("%.0f changed rows are not applied yet; the limit is %.0f, and the run continues at half of it", now, most)
			},
		),
	}
}
