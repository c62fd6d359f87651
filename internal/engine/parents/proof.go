package parents

import (
	"context"
	"errors"
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
	"midstream/internal/mysql/schema"
)

var (
	// ErrOrphans means that rows have no parent, and stay so. The work is kept.
	ErrOrphans = errors.New("rows have no parent by a foreign key that the ALTER adds")
	// ErrHeld means that rows have no parent now, or that too much is to be looked at under the lock.
	ErrHeld = errors.New("the new foreign key is not proved")
	// ErrChanged means that the definition of a parent was changed during the run.
	ErrChanged = errors.New("the parent of a foreign key that the ALTER adds was altered, renamed or dropped")
)

// Key is a foreign key that the ALTER adds.
type Key struct {
	schema.ForeignKey            // with the columns of the shadow
	Codec             *key.Codec // over the parent's columns
	// Table is the number of the parent, and Places are the places of the parent's columns in what Written gets of it.
	Table  int
	Places []int
	Create string // the parent's definition, without counter
}

// Deps are what a proof works with.
type Deps struct {
	Pool *dbconn.Pool
	Spec *rowsync.Spec
	Keys []Key
	// Fence returns when every change that was committed before is received and visible.
	Fence func(ctx context.Context) error
	Emit  event.Listener
	// Patience is how long a row without a parent may hold a swap that nothing else holds. Defaults to a minute.
	Patience time.Duration
	// Gate blocks while the scan must hold still after a range that took so long. Chunk is the time that a range should take.
	Gate  func(ctx context.Context, took time.Duration) error
	Chunk func() time.Duration
}

// Proof is of one run. A nil Proof has nothing to prove. Written, Synced and Again are safe for concurrent use.
type Proof struct {
	deps Deps

	mu sync.Mutex
	// recording means that the lists are kept. Before the first scan begins, nothing need be on them.
	recording bool
	again     bool // a scan is due
	rows      map[key.Key]bool
	values    []map[key.Key]bool // of each key's parent
	// orphans are the rows that had no parent at the last look, and seen when each of them was first found so.
	orphans map[key.Key]int // the number of the foreign key
	seen    map[key.Key]time.Time

	told string // the rows that were reported last
	// held is when the run was last held, and settled when the lists were last looked at.
	held, settled time.Time
}

// New returns a proof that has proved nothing; nil if there is nothing to prove.
func New(deps Deps) *Proof {
	if len(deps.Keys) == 0 {
		return nil
	}
	if deps.Patience <= 0 {
		deps.Patience = time.Minute
	}
	p := &Proof{deps: deps, again: true, seen: map[key.Key]time.Time{}}
	p.clear()
	return p
}

// clear empties the lists. REQUIRES: mu is held, or the proof is new.
func (p *Proof) clear() {
	p.rows, p.orphans, p.values = map[key.Key]bool{}, map[key.Key]int{}, nil
	for range p.deps.Keys {
		p.values = append(p.values, map[key.Key]bool{})
	}
}

// Written takes values of the watched columns of a parent that a row had before it was deleted or changed.
func (p *Proof) Written(table int, values []any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.recording {
		return nil
	}
	for i, k := range p.deps.Keys {
		if k.Table != table {
			continue
		}
		own := make([]any, len(k.Places))
		for j, place := range k.Places {
			own[j] = values[place]
		}
		value, err := k.Codec.FromBinlog(own)
		if errors.Is(err, key.ErrNull) { // no row refers to it
			continue
		}
		if err != nil {
			return fmt.Errorf("row event of %s: %w", k.Parent, err)
		}
		p.values[i][value] = true
	}
	return nil
}

// Synced takes the keys of rows that were synced.
func (p *Proof) Synced(keys []key.Key) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.recording {
		for _, k := range keys {
			p.rows[k] = true
		}
	}
}

// Again makes the next Settle scan, because a statement may have taken all rows of a parent.
func (p *Proof) Again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.again = true
}

// list is what is to be looked at.
type list struct {
	rows   []key.Key
	values [][]key.Key
}

func (l list) len() int {
	n := len(l.rows)
	for _, values := range l.values {
		n += len(values)
	}
	return n
}

// take takes the lists, with the rows that had no parent. keep leaves them as they are.
func (p *Proof) take(keep bool) (l list, scan bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.again {
		return l, true
	}
	rows := maps.Clone(p.rows)
	for k := range p.orphans {
		rows[k] = true
	}
	l.rows = slices.Sorted(maps.Keys(rows))
	for _, values := range p.values {
		l.values = append(l.values, slices.Sorted(maps.Keys(values)))
	}
	if !keep {
		p.clear()
	}
	return l, false
}

// giveBack puts a list back that was not looked at.
func (p *Proof) giveBack(l list) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range l.rows {
		p.rows[k] = true
	}
	for i, values := range l.values {
		for _, value := range values {
			p.values[i][value] = true
		}
	}
}

// found adds rows without a parent.
func (p *Proof) found(orphans map[key.Key]int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.orphans, orphans)
	for k := range orphans {
		if _, known := p.seen[k]; !known {
			p.seen[k] = time.Now()
		}
	}
}

// forget forgets when rows were found that have a parent by now. It is called once all others are found again.
func (p *Proof) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.seen, func(k key.Key, _ time.Time) bool { _, still := p.orphans[k]; return !still })
}

// Settle looks at what is on the lists. It scans first if that is due.
func (p *Proof) Settle(ctx context.Context) error {
	if p == nil {
		return nil
	}
	l, scan := p.take(false)
	if scan {
		return p.Scan(ctx)
	}
	p.settled = time.Now()
	if l.len() > 0 {
		orphans, err := p.settle(ctx, l)
		if err != nil {
			p.giveBack(l)
			return fmt.Errorf("look for parents: %w", err)
		}
		p.found(orphans)
	}
	p.forget()
	return nil
}

func (p *Proof) settle(ctx context.Context, l list) (map[key.Key]int, error) {
	if err := p.deps.Fence(ctx); err != nil {
		return nil, err
	}
	session, err := p.session(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return p.look(ctx, session, l)
}

// session opens a session that reads.
func (p *Proof) session(ctx context.Context) (*dbconn.Session, error) {
	return p.deps.Pool.Session(ctx, append([]string{dbconn.NoTimeLimit}, rowsync.Setup...)...)
}

// mostUnderLock is how much may be looked at under the lock.
const mostUnderLock = 2000

// Prove fails with ErrHeld if a row has no parent. REQUIRES: the session has locked the source, the shadow and the parents, and
// all changes are received and applied.
func (p *Proof) Prove(ctx context.Context, session *dbconn.Session) error {
	if p == nil {
		return nil
	}
	l, scan := p.take(true)
	switch {
	case scan:
		return fmt.Errorf("%w: the rows are to be looked at once more", ErrHeld)
	case l.len() > mostUnderLock:
		return fmt.Errorf("%w: %d rows and deleted parents are to be looked at", ErrHeld, l.len())
	}
	if err := p.checkParents(ctx, session); err != nil {
		return err
	}
	orphans, err := p.look(ctx, session, l)
	if err != nil {
		return fmt.Errorf("look for parents: %w", err)
	}
	p.looked(l)
	p.found(orphans)
	if len(orphans) > 0 {
		return fmt.Errorf("%w: %s", ErrHeld, p.Text())
	}
	return nil
}

// looked takes from the lists what was looked at under the lock.
func (p *Proof) looked(l list) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range l.rows {
		delete(p.rows, k)
		delete(p.orphans, k)
	}
	for i, values := range l.values {
		for _, value := range values {
			delete(p.values[i], value)
		}
	}
}

// text names the rows without a parent, and the foreign key of one of them. REQUIRES: mu is held.
func (p *Proof) text() string {
	keys := slices.Sorted(maps.Keys(p.orphans))
	number := p.orphans[keys[0]]
	rows := fmt.Sprintf("%d rows have", len(keys))
	if len(keys) == 1 {
		rows = "1 row has"
	}
	if len(keys) >= mostOrphans {
		rows = fmt.Sprintf("at least %d rows have", mostOrphans)
	}
	return fmt.Sprintf("%s no parent by foreign key %s: %s", rows, p.deps.Keys[number].Constraint, strings.Join(p.formatted(keys), "; "))
}

// shown is how many keys of rows are shown.
const shown = 10

func (p *Proof) formatted(keys []key.Key) (texts []string) {
	for _, k := range keys[:min(len(keys), shown)] {
		texts = append(texts, p.deps.Spec.Key.Format(k))
	}
	return texts
}
