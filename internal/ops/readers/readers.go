package readers

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"midstream/internal/engine/capture"
	"midstream/internal/engine/event"
	"midstream/internal/mysql/binlog"
)

// Readers are those that a run waits for before its swap (operator.Asked). It is safe for concurrent use.
type Readers struct {
	list []Reader
	lag  func() time.Duration // that is allowed now

	mu   sync.Mutex
	db   *sql.DB // of the server that they read; nil before an attempt
	ends []end   // of the binlog, in the order of time
}

// end is where the binlog ended at a time.
type end struct {
	at       time.Time
	position binlog.Position
}

// New returns readers that may be behind by lag.
func New(list []Reader, lag func() time.Duration) *Readers { return &Readers{list: list, lag: lag} }

// Use takes the server that they read. After a failover it is another one, and what is known of the former one is forgotten.
func (r *Readers) Use(db *sql.DB) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.db, r.ends = db, nil
}

// Every is the time between two questions.
func (r *Readers) Every() time.Duration { return time.Second }

// WhyNot returns which reader is too far behind. A reader whose position is not known is too far behind.
func (r *Readers) WhyNot(ctx context.Context, _ event.Phase) (string, error) {
	lag := r.lag()
	needed, err := r.needed(ctx, lag)
	if err != nil {
		return "", err
	}
	for _, reader := range r.list {
		at, err := reader.position(ctx)
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case err != nil:
			return fmt.Sprintf("reader %s of the binlog: %v", reader.Name, err), nil
		case at.Compare(needed) < 0:
			return fmt.Sprintf("reader %s of the binlog is more than %s behind (--max-reader-lag): it is at %s, and has to reach %s",
				reader.Name, lag, at, needed), nil
		}
	}
	return "", nil
}

// needed returns the place that every reader must have reached: the end of the binlog that long ago, or a little later, and at first
// that of the first question.
func (r *Readers) needed(ctx context.Context, lag time.Duration) (binlog.Position, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	position, err := capture.End(ctx, r.db)
	if err != nil {
		return position, err
	}
	now := time.Now()
	r.ends = append(r.ends, end{now, position})
	for now.Sub(r.ends[0].at) > lag { // never the last, which is of now
		r.ends = r.ends[1:]
	}
	return r.ends[0].position, nil
}
