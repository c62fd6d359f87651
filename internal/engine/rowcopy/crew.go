package rowcopy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/dbconn"
)

// crew are the workers of a Run: each has a number, from 0 on, and a connection. Workers begin and end
// while the copy is at work, so that there are always as many as are of use.
type crew struct {
	begin   func(number int)                // begins a worker; nil before Run, and once all is handed out
	dismiss map[int]context.CancelCauseFunc // ends the wait of a worker at work
	full    full
}

// full remembers that the server had no connection for a worker. Workers with a higher number are not begun until
// that one has a connection. It is tried again after a while, and then one worker after the other.
type full struct {
	number int // the worker; MostWorkers if there is none
	until  time.Time
	pause  time.Duration
}

// The pause after which a worker is tried again; it doubles each time in a row.
const (
	fullPause     = 5 * time.Second
	fullPauseLong = 5 * time.Minute
)

// allows reports whether a worker may be begun.
func (f *full) allows(number int, now time.Time) bool {
	return number < f.number || number == f.number && number < MostWorkers && !now.Before(f.until)
}

// refused records that a worker got no connection. It reports whether that is news.
func (f *full) refused(number int, now time.Time) (news bool) {
	if number > f.number { // begun before
		return true
	}
	news = number < f.number
	f.number, f.pause = number, min(fullPauseLong, max(fullPause, 2*f.pause))
	f.until = now.Add(f.pause)
	return news
}

// connected records that a worker has a connection.
func (f *full) connected(number int) {
	if number == f.number {
		*f = full{number: number + 1}
	}
}

var (
	// errNoSession means that a worker has not begun.
	errNoSession = errors.New("connect a worker")
	// errHandedOut means that no range is left to begin.
	errHandedOut = errors.New("every range is handed out")
	// errDismissed means that a worker is one too many now.
	errDismissed = errors.New("fewer workers are of use")
)

// Run copies until every range is committed.
func (c *Copier) Run(ctx context.Context) error {
	workers, ctx := errgroup.WithContext(ctx)
	waiting, handedOut := context.WithCancelCause(ctx)
	defer handedOut(nil)
	begin := func(number int) {
		waiting, dismiss := context.WithCancelCause(waiting)
		c.crew.dismiss[number] = dismiss
		workers.Go(func() error {
			err := c.work(ctx, number, func(took time.Duration) error { return c.deps.Gate(waiting, number, took) },
				func() (int, func(int), error) { return c.deps.Room(waiting, c.ChunkRows()) })
			refused := number > 0 && dbconn.Full(err) && errors.Is(err, errNoSession)
			news := c.left(number, err == nil, refused)
			switch {
			case err == nil:
				handedOut(errHandedOut) // no worker needs to wait longer
			case refused:
				if news {
					c.deps.Emit(event.Note{At: time.Now(), Text: fmt.Sprintf(
						"worker %d of the row copy has no connection, and the others continue; it is tried again now and then: %v", number+1, err)})
				}
				return nil
			case errors.Is(err, errHandedOut) || errors.Is(err, errDismissed):
				return nil
			}
			return err
		})
	}
	c.mu.Lock()
	c.crew = crew{begin: begin, dismiss: map[int]context.CancelCauseFunc{}, full: full{number: MostWorkers}}
	c.fill()
	c.mu.Unlock()
	if err := workers.Wait(); err != nil {
		return fmt.Errorf("row copy: %w", err)
	}
	return nil
}

// man begins the workers that are missing, and dismisses those that are too many: each ends its chunk.
func (c *Copier) man() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.crew.dismiss) > 0 {
		c.fill()
	}
}

// fill is man. REQUIRES: mu is held, and either no worker has begun or one is at work, so that no
// goroutine has seen the end of all.
func (c *Copier) fill() {
	most := c.deps.Workers()
	for number, dismiss := range c.crew.dismiss {
		if number >= most {
			dismiss(errDismissed)
		}
	}
	for number := 0; number < most && c.crew.begin != nil && c.crew.full.allows(number, time.Now()); number++ {
		if c.crew.dismiss[number] == nil {
			c.crew.begin(number)
		}
	}
}

// connected records that a worker has a connection.
func (c *Copier) connected(number int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.crew.full.connected(number)
}

// left records that a worker has ended: because all ranges are handed out, or because it was refused a
// connection, or neither. It reports whether that refusal is news.
func (c *Copier) left(number int, all, refused bool) (news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.crew.dismiss[number](nil)
	delete(c.crew.dismiss, number)
	if all {
		c.crew.begin = nil
	}
	return refused && c.crew.full.refused(number, time.Now())
}
