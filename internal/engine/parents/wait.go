package parents

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/dbconn"
)

const (
	// lookEvery is the time between two looks while a row has no parent, and heldEvery while the run is held.
	lookEvery = 200 * time.Millisecond
	heldEvery = time.Second
)

// Fits reports whether each row has a parent, as far as that can be known without the lock. It fails with ErrOrphans if a row
// has had none for too long. Call it again and again.
func (p *Proof) Fits(ctx context.Context) (bool, error) {
	if p == nil {
		return true, nil
	}
	if err := p.Settle(ctx); err != nil {
		return false, err
	}
	p.tell("the swap waits until each has one, and the run ends if a row has none for " + p.deps.Patience.String())
	if p.count() == 0 {
		return true, nil
	}
	if p.waited() < p.deps.Patience {
		every := lookEvery
		if p.count() >= mostOrphans {
			every = heldEvery // the next look is a scan
		}
		return false, dbconn.Sleep(ctx, every)
	}
	p.deps.Emit(p.finding())
	return false, fmt.Errorf("%w: %s", ErrOrphans, p.Text())
}

// Meanwhile is for a run that is held: it looks now and then, and reports rows without a parent. Call it again and again.
func (p *Proof) Meanwhile(ctx context.Context) error {
	if p == nil {
		return nil
	}
	p.held = time.Now()
	if p.held.Sub(p.settled) < heldEvery {
		return nil
	}
	if err := p.Settle(ctx); err != nil {
		return err
	}
	p.tell("they will hold the swap")
	return nil
}

// waited is how long the row that was found first has held the swap.
func (p *Proof) waited() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := time.Now()
	for _, at := range p.seen {
		if at.Before(first) {
			first = at
		}
	}
	if first.Before(p.held) {
		first = p.held
	}
	return time.Since(first)
}

func (p *Proof) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.orphans)
}

// Text names the rows without a parent. REQUIRES: there are some.
func (p *Proof) Text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text()
}

// tell reports the rows without a parent when they have changed.
func (p *Proof) tell(what string) {
	text := ""
	if p.count() > 0 {
		text = p.Text() + "; " + what
	}
	switch {
	case text == p.told:
		return
	case text == "":
		p.deps.Emit(event.Note{Text: "each row has a parent again, by the foreign keys that the ALTER adds", At: time.Now()})
	default:
		p.deps.Emit(event.Note{Text: text, At: time.Now()})
	}
	p.told = text
}

// finding is what an operator sees of the rows without a parent.
func (p *Proof) finding() event.Finding {
	p.mu.Lock()
	defer p.mu.Unlock()
	keys := slices.Sorted(maps.Keys(p.orphans))
	k := p.deps.Keys[p.orphans[keys[0]]]
	return event.Finding{
		Kind: "foreign_key", Name: k.Constraint, What: fmt.Sprintf("without a parent in %s, by the foreign key %s", k.Parent, k.Constraint),
		Rows: int64(len(keys)), AtLeast: len(keys) >= mostOrphans, Keys: p.formatted(keys),
		Query: Query(p.deps.Spec.Shadow, k.ForeignKey), Refused: true, At: time.Now(),
	}
}
