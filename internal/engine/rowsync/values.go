package rowsync

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"midstream/internal/engine/event"
	"midstream/internal/engine/key"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/escape"
)

// An index that is not unique is followed by its values: P is a range or a list of values, with all rows of each. A sync deletes them all
// and inserts them all, so that both tables have each row equally often.
//
// A range ends between two values, because its bounds are values and it does not contain the upper one.

// mostRows is the number of rows of a list of values that is synced in one transaction, if it has more than one value.
const mostRows = 20_000

// crowded reports whether a list has values with more rows than that together.
func (s *Syncer) crowded(ctx context.Context, session *dbconn.Session, p predicate) (bool, error) {
	if !s.spec.ByValue || len(p.keys) < 2 {
		return false, nil
	}
	var rows int
	err := session.Patiently(ctx, func() error {
		return session.Rows(ctx, p.present(), func(r *sql.Rows) error { return r.Scan(&rows) })
	})
	if _, ended := session.Exec(ctx, "COMMIT"); err == nil {
		err = ended
	}
	return rows > mostRows, err
}

// crowds are the values that more rows have than Spec.MostOfValue, since they were last synced. They may have grown during the run.
type crowds struct {
	mu    sync.Mutex
	known map[key.Key]crowd
}

type crowd struct {
	rows, told int64
	took       time.Duration
}

// synced takes the rows of a value. It reports the value once, and again when it has twice as many.
func (c *crowds) synced(spec *Spec, k key.Key, rows int64, took time.Duration, emit event.Listener) {
	if !spec.ByValue || spec.MostOfValue == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if rows <= int64(spec.MostOfValue) {
		delete(c.known, k)
		return
	}
	if c.known == nil {
		c.known = map[key.Key]crowd{}
	}
	now := crowd{rows, c.known[k].told, took}
	if now.rows >= 2*now.told {
		now.told = rows
		emit(event.Note{Text: now.text(spec, k) + ". The lock of the swap lasts as long if one of these rows changes just before it. " + wayOut, At: time.Now()})
	}
	c.known[k] = now
}

// wayOut is what to do about a value that the swap has no time for.
const wayOut = "If that is longer than --lock-work allows, stop changes to these rows until the swap, or raise --lock-work"

func (c crowd) text(spec *Spec, k key.Key) string {
	return fmt.Sprintf("%d rows have %s, and index %s is not unique: each change of one of them copies all of them again, which took %s",
		c.rows, readable(spec.Key, k), escape.Line(spec.SourceIndex), c.took.Round(time.Millisecond))
}

// hexText is the literal of a text that people can read.
var hexText = regexp.MustCompile(`^_(?:utf8|utf8mb3|utf8mb4|ascii) X'([0-9A-Fa-f]*)'$`)

// readable is Format with texts in place of their literals.
func readable(codec *key.Codec, k key.Key) string {
	var all []string
	for i, literal := range codec.Literals(k) {
		if match := hexText.FindStringSubmatch(literal); match != nil {
			if text, err := hex.DecodeString(match[1]); err == nil && utf8.Valid(text) {
				literal = "'" + string(text) + "'"
			}
		}
		all = append(all, codec.Names()[i]+"="+literal)
	}
	return escape.Line(strings.Join(all, ", "))
}

// explained is an error with a value in its text.
type explained struct{ error }

func (e explained) Unwrap() error { return e.error }

// explain adds to an error of a sync the value with the most rows among the keys, once.
func (c *crowds) explain(spec *Spec, keys []key.Key, err error) error {
	if err == nil || errors.As(err, new(explained)) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var most key.Key
	for _, k := range keys {
		if c.known[k].rows > c.known[most].rows {
			most = k
		}
	}
	if found, is := c.known[most]; is {
		err = explained{fmt.Errorf("%w (%s. %s)", err, found.text(spec, most), wayOut)}
	}
	return err
}

// boundOfValues is Bound for such an index: a value after that of the start.
func boundOfValues(ctx context.Context, session *dbconn.Session, spec *Spec, rest key.Range, rows int) (key.Key, error) {
	bounds, err := boundsBut(ctx, session, spec, rest, rows, 1, "")
	if err != nil || bounds[0] == "" || rest.From == "" {
		return bounds[0], err
	}
	same := bounds[0] == rest.From
	names := spec.Key.Names()
	if !same && !spec.Key.Ordered() { // the server may hold two spellings equal
		both := InKeys(spec.Key, names, bounds) + " AND " + InKeys(spec.Key, names, []key.Key{rest.From})
		found, err := keysAt(ctx, session, spec, both, 0, 1)
		if err != nil {
			return "", err
		}
		same = len(found) > 0
	}
	if !same {
		return bounds[0], nil
	}
	bounds, err = boundsBut(ctx, session, spec, rest, 0, 1, " AND NOT ("+InKeys(spec.Key, names, []key.Key{rest.From})+")")
	return bounds[0], err
}
