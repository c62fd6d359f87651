package prescan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
)

// Rows without a parent by a foreign key that the ALTER adds come and go: an application may write the parent after the row, or delete
// the parent first. So the rows that were found are looked at again, as long as one of them may hold the swap.

const (
	// mostOrphans is the number of rows for each foreign key that are looked at again. More are refused at once.
	mostOrphans = 1000
	// orphansPerQuery is how many rows one query looks at.
	orphansPerQuery = 200
	orphansEvery    = 200 * time.Millisecond
	defaultPatience = time.Minute
)

// orphans are the rows without a parent that the scan has found, by the names of foreign keys.
type orphans struct {
	mu    sync.Mutex
	found map[string]*lonely
}

// lonely are the rows without a parent by one foreign key.
type lonely struct {
	held
	rows int64 // as counted
	keys []numbered
}

func (o *orphans) add(h held, rows int64, keys []numbered) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.found == nil {
		o.found = map[string]*lonely{}
	}
	l, known := o.found[h.owner]
	if !known {
		l = &lonely{held: h}
		o.found[h.owner] = l
	}
	l.rows += rows
	l.keys = append(l.keys, keys[:min(len(keys), mostOrphans+1-len(l.keys))]...)
}

// settleOrphans looks again at the rows without a parent until each has one, or is gone. Rows that have none for Deps.Patience are
// findings.
func (s *Scanner) settleOrphans(ctx context.Context) error {
	if len(s.orphans.found) == 0 {
		return nil
	}
	session, err := s.deps.Pool.Session(ctx, s.setup()...)
	if err != nil {
		return err
	}
	defer session.Close()
	w := &worker{Scanner: s, session: session}
	for began, told := time.Now(), false; ; told = true {
		many, err := w.lookAtOrphans(ctx)
		if err != nil {
			return err
		}
		if len(s.orphans.found) == 0 || many || time.Since(began) >= s.deps.Patience {
			break
		}
		if !told {
			s.deps.Emit(event.Note{Text: s.orphanText() + "; the run looks again, and refuses the ALTER if a row has none for " +
				s.deps.Patience.String(), At: time.Now()})
		}
		if err := dbconn.Sleep(ctx, orphansEvery); err != nil {
			return err
		}
		if err := s.deps.Gate(ctx, 0, 0); err != nil { // a pause
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.orphans.found)) {
		l := s.orphans.found[name]
		s.findings.addRows(finding{kind: l.kind, owner: l.owner, columns: l.columns, condition: l.violates, what: l.what}, l.rows,
			l.keys[:min(len(l.keys), s.cfg.Shown)], nil)
	}
	return nil
}

// lookAtOrphans drops the rows that have a parent by now. It reports whether there are too many to look at.
func (w *worker) lookAtOrphans(ctx context.Context) (many bool, err error) {
	spec := w.deps.Spec
	for name, l := range w.orphans.found {
		if len(l.keys) > mostOrphans {
			many = true
			continue
		}
		var still []numbered
		for part := range slices.Chunk(l.keys, orphansPerQuery) {
			condition := rowsync.InKeys(spec.Sync.Key, spec.Sync.Key.Names(), distinctKeys(part))
			keys, err := w.keys(ctx, part[0].place, spec.keysOf("("+condition+") AND "+l.violated()))
			if err != nil {
				return false, err
			}
			still = append(still, keys...)
		}
		if l.keys, l.rows = still, int64(len(still)); len(still) == 0 {
			delete(w.orphans.found, name)
		}
	}
	return many, nil
}

// distinctKeys are the keys, each once: a followed value may have several rows.
func distinctKeys(numbered []numbered) (keys []key.Key) {
	for _, n := range numbered {
		keys = append(keys, n.key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// orphanText names the rows without a parent.
func (s *Scanner) orphanText() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.orphans.found)) {
		l := s.orphans.found[name]
		rows := fmt.Sprintf("%d rows have", len(l.keys))
		if len(l.keys) == 1 {
			rows = "1 row has"
		}
		var keys []string
		for _, k := range l.keys[:min(len(l.keys), s.cfg.Shown)] {
			keys = append(keys, s.deps.Spec.Sync.Key.Format(k.key))
		}
		all = append(all, fmt.Sprintf("%s no parent by foreign key %s: %s", rows, name, strings.Join(keys, "; ")))
	}
	return strings.Join(all, "; ")
}
