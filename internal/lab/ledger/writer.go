package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// writer is one connection that writes at random to its own area and the hot rows.
type writer struct {
	ledger    *Ledger
	ctx       context.Context // of the statements: never ends in the middle of one
	stop      <-chan struct{}
	number    int
	area      *area
	meter     *meter
	rng       *rand.Rand
	isolation string
	session   *session
	draw      []weighed // operations by cumulated weight
	pace      time.Duration
	next      time.Time // when the next transaction may begin
}

type weighed struct {
	op   Op
	upTo int
}

func (l *Ledger) newWriter(ctx context.Context, number int) *writer {
	w := &writer{
		ledger: l, ctx: context.WithoutCancel(ctx), stop: l.stop, number: number,
		area: l.areas[number], meter: l.meters[number],
		rng:       rand.New(rand.NewPCG(l.opts.Seed, uint64(number))),
		isolation: []string{"REPEATABLE READ", "READ COMMITTED"}[number%2],
	}
	ops := make([]Op, 0, len(l.opts.Mix))
	for op := range l.opts.Mix {
		ops = append(ops, op)
	}
	slices.Sort(ops)
	sum := 0
	for _, op := range ops {
		sum += l.opts.Mix[op]
		w.draw = append(w.draw, weighed{op, sum})
	}
	if l.opts.Rate > 0 {
		w.pace = time.Duration(float64(l.opts.Writers) / l.opts.Rate * float64(time.Second))
		w.next = time.Now().Add(w.pace * time.Duration(number) / time.Duration(l.opts.Writers))
	}
	return w
}

// run writes until it is stopped. A failure stops all writers.
func (w *writer) run() {
	defer func() {
		if w.session != nil {
			w.session.close()
		}
	}()
	for w.waitForPace() && w.ledger.gate.enter(w.stop) {
		err := w.turn()
		w.ledger.gate.leave()
		if err != nil {
			w.ledger.fail(fmt.Errorf("writer %d: %w", w.number, err))
			return
		}
	}
}

// waitForPace waits for the writer's next turn; it returns false once stopped. A writer
// that was held up does not make up for it: a burst would not be a rate.
func (w *writer) waitForPace() bool {
	select {
	case <-w.stop:
		return false
	default:
	}
	if w.pace == 0 {
		return true
	}
	w.next = w.next.Add(w.pace)
	wait := time.Until(w.next)
	if wait < -w.pace {
		w.next = time.Now()
	}
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.stop:
		return false
	}
}

// turn runs one transaction.
func (w *writer) turn() error {
	if err := w.reconnect(); err != nil || w.session == nil {
		return err
	}
	for range 100 { // an operation may find nothing to do
		op := w.choose()
		kind := operations[op]
		t := w.ledger.newTx(w.ctx, w.session, w.area, w.rng, kind.single && w.rng.IntN(2) == 0)
		err := w.ledger.perform(t, op, kind)
		switch {
		case errors.Is(err, errNoRoom):
			continue
		case errors.Is(err, ErrUndone):
			w.meter.undone()
			w.backOff()
			return nil
		}
		return err
	}
	time.Sleep(time.Millisecond) // a tiny area: none of its operations has anything to do
	return nil
}

// reconnect gives the writer a new session if it has none. It leaves it without one if
// it is to stop.
func (w *writer) reconnect() error {
	if w.session != nil && !w.session.broken {
		return nil
	}
	return w.ledger.untilConnected(w.ctx, func() (err error) {
		w.session = nil
		select {
		case <-w.stop:
		default:
			w.session, err = w.ledger.connect(w.ctx, w.meter, w.isolation)
		}
		return err
	})
}

// backOff waits a little after an error, as an application would: a table that is
// missing for a moment must not be asked for thousands of times.
func (w *writer) backOff() { time.Sleep(time.Duration(w.rng.IntN(int(2 * time.Millisecond)))) }

// choose draws an operation. A hot transaction writes nine hot rows and one other.
func (w *writer) choose() Op {
	if len(w.area.book.hotRows) > 0 && w.rng.IntN(90) < w.ledger.opts.HotShare && w.area.present > 0 {
		return OpHot
	}
	n := w.rng.IntN(w.draw[len(w.draw)-1].upTo)
	i, _ := slices.BinarySearchFunc(w.draw, n+1, func(d weighed, n int) int { return d.upTo - n })
	return w.draw[i].op
}

// perform runs one operation as a transaction of its own and ends it. It returns nil,
// errNoRoom (nothing was done), ErrUndone, or a failure.
func (l *Ledger) perform(t *Tx, op Op, kind operation) error {
	if op == OpHandOverTwo {
		return l.handOverInTwo(t)
	}
	if op == OpXA {
		t.xid = l.newXID()
	}
	if err := kind.run(t); err != nil {
		return t.settle(err)
	}
	rows := t.rows
	if kind.discard {
		t.session.meter.transaction(op, false, 0)
		t.Rollback()
		return nil
	}
	if err := t.Commit(); err != nil {
		return err
	}
	t.session.meter.transaction(op, true, rows)
	return nil
}

// handOverInTwo frees a unique value in one transaction and takes it in the next. The
// value belongs to nobody in between.
func (l *Ledger) handOverInTwo(t *Tx) error {
	a, b, err := t.pickTwo()
	if err != nil || t.writing.uniques == 0 {
		return errNoRoom
	}
	key := t.rng.IntN(t.writing.uniques)
	value, err := t.Free(a, key)
	if err == nil {
		err = t.endOne()
	} else {
		err = t.settle(err)
	}
	if err != nil {
		return err
	}
	second := l.newTx(t.ctx, t.session, t.area, t.rng, false)
	if err := second.Take(b, key, value); err != nil {
		return second.settle(err)
	}
	return second.endOne()
}

// endOne commits and counts one of two transactions.
func (t *Tx) endOne() error {
	rows := t.rows
	if err := t.Commit(); err != nil {
		return err
	}
	t.session.meter.transaction(OpHandOverTwo, true, rows)
	return nil
}
