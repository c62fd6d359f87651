package binlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"midstream/internal/mysql/schema"
)

// Reader reads the binlog of one server. Run is for one goroutine at a time and may be
// called again; the other methods are safe for concurrent use.
type Reader struct {
	server  Server
	watches []Watch
	passed  GTIDs
	// silence is the time without a packet after which the network is considered dead.
	silence time.Duration

	bytes atomic.Int64
	// weighed is a table with rows that are counted, and not handed out.
	weighed  schema.Name
	weight   atomic.Int64
	idle     func(context.Context) error
	mu       sync.Mutex
	position Position
	files    files
}

// NewReader returns a reader of the server's binlog that hands out the rows of the
// watched tables, and passes over the transactions of a set.
func NewReader(server Server, watches []Watch, passed GTIDs) *Reader {
	return &Reader{server: server, watches: slices.Clone(watches), passed: passed.Clone(), silence: 30 * time.Second}
}

// BytesRead returns how many bytes of events have come, whether wanted or not.
func (r *Reader) BytesRead() int64 { return r.bytes.Load() }

// Weigh counts the bytes of a table's rows, also if the table is not watched. Call it before Run.
func (r *Reader) Weigh(table schema.Name) { r.weighed = table }

// OnIdle has f called while the server reports that it has nothing to send. Its error ends Run. Call it before Run.
func (r *Reader) OnIdle(f func(context.Context) error) { r.idle = f }

// Expect has Run fail with ErrPurged if a file was not created at that time, as Birth reports it. 0 is any time.
func (r *Reader) Expect(file string, born uint32) { r.files.expect(file, born) }

// Birth returns when a file that was read was created, in seconds of Unix time by the server's clock; 0 if that is not known.
func (r *Reader) Birth(file string) uint32 { return r.files.birth(file) }

// Weight returns how many bytes of rows of the table to weigh have come, not compressed.
func (r *Reader) Weight() int64 { return r.weight.Load() }

// Position returns the end of the last event that was handled or passed over. NB: it
// may lie within a group.
func (r *Reader) Position() Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.position
}

// Run connects and calls handle for every event behind from, in binlog order and one at a time,
// until ctx ends, handle fails or the stream breaks. It returns handle's error unchanged, ctx's
// error, or one of this package's; never nil.
//
// from must be the End of a group, or a position that the server reported as its own. Beyond 4 GiB
// the server can't be asked for an offset. Then it sends the file from its beginning, and Run
// passes over the events before from.
//
// When Run returns, the connection is reset, and no goroutine is left.
func (r *Reader) Run(ctx context.Context, from Position, handle func(Event) error) error {
	if err := r.check(from); err != nil {
		return err
	}
	s, err := newStream(r.watches, r.passed, from, handle)
	if err != nil {
		return err
	}
	defer s.payload.close()
	s.weighed, s.weight, s.files = r.weighed, &r.weight, &r.files
	c, err := dial(ctx, r.server, r.silence, from)
	if err != nil {
		return preferContext(ctx, err)
	}
	defer c.close()

	r.moveTo(from)
	for {
		event, err := c.next()
		if err != nil {
			return preferContext(ctx, r.suspect(ctx, s, dumpError(err, s.began)))
		}
		r.bytes.Add(int64(len(event)))
		if err := s.event(event); err != nil {
			return r.suspect(ctx, s, err)
		}
		if s.idle && r.idle != nil {
			if err := r.idle(ctx); err != nil {
				return preferContext(ctx, err)
			}
		}
		if s.from == 0 {
			r.moveTo(s.at)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// check refuses what can't work.
func (r *Reader) check(from Position) error {
	if from.File == "" {
		return errors.New("read binlog: no position to start from")
	}
	tables := map[schema.Name]bool{}
	for _, w := range r.watches {
		if tables[w.Table] {
			return fmt.Errorf("read binlog: table %s is watched twice", w.Table)
		}
		tables[w.Table] = true
		if len(w.Columns) == 0 && !w.Lax {
			return fmt.Errorf("read binlog: table %s is watched without columns", w.Table)
		}
		for i, ordinal := range w.Columns {
			if ordinal < 0 || ordinal >= w.ColumnCount || slices.Contains(w.Columns[:i], ordinal) {
				return fmt.Errorf("read binlog: column %d of table %s is watched twice, or there is none", ordinal, w.Table)
			}
		}
	}
	return nil
}

func (r *Reader) moveTo(p Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.position = p
}

// preferContext returns the context's error if the connection was reset for it.
func preferContext(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
