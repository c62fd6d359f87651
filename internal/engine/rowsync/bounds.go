package rowsync

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"time"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Bound returns the key that is rows rows after the start of a range, in the order of the key's
// index. If the range has no more rows than that, it returns the zero key. It reads the index
// alone.
//
// If a part of the key is an ENUM or a SET, ORDER BY would make the server sort, or read the index
// from its start. So Bound reads the pieces of the range one after the other, each in the order of
// the index. The rows of a partitioned table come partition by partition. There the server must
// sort: otherwise a bound could come again and again.
//
// There is no bound if the rows are one range (Spec.Whole). Bound waits while other sessions hold
// locks.
func Bound(ctx context.Context, session *dbconn.Session, spec *Spec, rest key.Range, rows int) (key.Key, error) {
	bounds, err := Bounds(ctx, session, spec, rest, rows, 1)
	if err != nil {
		return "", err
	}
	return bounds[0], nil
}

// Bounds returns what Bound would, called for so many ranges, each from the end of the last one on. They
// are one or more, and fewer than asked for if the last one is the zero key, or if the server would have
// to be asked more than once.
func Bounds(ctx context.Context, session *dbconn.Session, spec *Spec, rest key.Range, rows, ranges int) (bounds []key.Key, err error) {
	if spec.Whole {
		return []key.Key{""}, nil
	}
	err = session.Patiently(ctx, func() error {
		if spec.ByValue {
			to, err := boundOfValues(ctx, session, spec, rest, rows)
			bounds = []key.Key{to}
			return err
		}
		bounds, err = boundsBut(ctx, session, spec, rest, rows, ranges, "")
		return err
	})
	return bounds, err
}

// boundsBut leaves out the rows that do not meet a further condition.
func boundsBut(
	ctx context.Context, session *dbconn.Session, spec *Spec, rest key.Range, rows, ranges int, condition string,
) (bounds []key.Key, err error) {
	if Numbered(spec.Key) {
		to, err := boundOfPieces(ctx, session, spec, rest, rows, condition)
		return []key.Key{to}, err
	}
	bounds, err = keysAt(ctx, session, spec, InRange(spec.Key, spec.Key.Names(), rest)+condition+inOrder(spec), rows, ranges)
	if len(bounds) < ranges {
		bounds = append(bounds, "")
	}
	return bounds, err
}

func boundOfPieces(
	ctx context.Context, session *dbconn.Session, spec *Spec, rest key.Range, rows int, condition string,
) (key.Key, error) {
	order := condition
	if spec.Partitioned {
		order += inOrder(spec)
	}
	pieces := Pieces(spec.Key, spec.Key.Names(), rest)
	for i, piece := range pieces {
		found, err := keysAt(ctx, session, spec, piece+order, rows, 1)
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return found[0], nil
		}
		if i == len(pieces)-1 {
			break
		}
		passed, err := count(ctx, session, spec, piece)
		if err != nil {
			return "", err
		}
		rows = max(rows-passed, 0)
	}
	return "", nil
}

// Ranges hands out a complete source, range by range. It is safe for concurrent use.
type Ranges struct {
	spec  *Spec
	takes func() time.Duration

	next sync.Mutex // held to find the next bound
	from key.Key
	end  bool

	mu   sync.Mutex
	size Sizer
}

// The numbers of rows of a range whose work takes a given time.
const (
	leastRange = 100 // or the most
	firstRange = 10 * leastRange
)

// NewRanges returns ranges of at most that many rows, none of them handed out. takes returns the time
// that the work of the next range should take; it is nil if that may be any time.
func NewRanges(spec *Spec, rows int, takes func() time.Duration) *Ranges {
	return &Ranges{spec: spec, takes: takes, size: Sizer{Least: min(leastRange, rows), Most: rows, First: min(firstRange, rows)}}
}

// Next returns the next range, and whether there was one. The session reads its bound.
func (r *Ranges) Next(ctx context.Context, session *dbconn.Session) (next key.Range, more bool, err error) {
	r.next.Lock()
	defer r.next.Unlock()
	if r.end {
		return key.Range{}, false, nil
	}
	to, err := Bound(ctx, session, r.spec, key.Range{From: r.from}, r.rows())
	if err != nil {
		return key.Range{}, false, fmt.Errorf("find the end of a range: %w", err)
	}
	next = key.Range{From: r.from, To: to}
	r.from, r.end = to, to == ""
	return next, true, nil
}

// rows is the number of rows of the next range.
func (r *Ranges) rows() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.takes == nil {
		return r.size.Most
	}
	return r.size.Rows(r.takes())
}

// Took records that the work of a range with that many rows took that long.
func (r *Ranges) Took(rows int64, elapsed time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.size.Took(rows, elapsed)
}

// keysAt reads the keys of the rows that are rows, 2 x rows, and so on up to ranges x rows after the
// first row that meets the condition. It returns fewer if there are no more.
func keysAt(ctx context.Context, session *dbconn.Session, spec *Spec, condition string, rows, ranges int) (keys []key.Key, err error) {
	queries := make([]string, ranges)
	for i := range queries {
		queries[i] = fmt.Sprintf("SELECT %s, %d FROM %s FORCE INDEX (%s) WHERE %s LIMIT 1 OFFSET %d", strings.Join(spec.Key.SelectExprs(), ", "),
			i, spec.Source.Quoted(), schema.Quote(spec.SourceIndex), condition, (i+1)*rows)
	}
	query := queries[0]
	if ranges > 1 {
		query = "(" + strings.Join(queries, ") UNION ALL (") + ")"
	}
	err = session.Rows(ctx, query, func(r *sql.Rows) error {
		var i int
		k, err := spec.ScanKey(r, &i)
		if err == nil && i != len(keys) {
			err = fmt.Errorf("the end of range %d came as number %d", i, len(keys))
		}
		keys = append(keys, k)
		return err
	})
	return keys, err
}

func count(ctx context.Context, session *dbconn.Session, spec *Spec, condition string) (n int, err error) {
	query := fmt.Sprintf("SELECT COUNT(*) FROM %s FORCE INDEX (%s) WHERE %s",
		spec.Source.Quoted(), schema.Quote(spec.SourceIndex), condition)
	err = session.Rows(ctx, query, func(r *sql.Rows) error { return r.Scan(&n) })
	return n, err
}

// inOrder is ORDER BY the columns of the key's index.
func inOrder(spec *Spec) string {
	names := spec.Key.Names()
	if spec.Own > 0 {
		names = names[:spec.Own]
	}
	order := make([]string, len(names))
	for i, part := range spec.Key.Parts()[:len(names)] {
		order[i] = schema.Quote(names[i])
		if part.Descending {
			order[i] += " DESC"
		}
	}
	return " ORDER BY " + strings.Join(order, ", ")
}
