package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// undoneBy is ErrUndone with its reason.
func undoneBy(err error) error { return fmt.Errorf("%w: %w", ErrUndone, err) }

// settle ends a transaction in which there was an error. It returns nil or ErrUndone if
// an application would go on, else what is wrong.
func (t *Tx) settle(err error) error {
	var statement *statementError
	if !errors.As(err, &statement) { // the statement was executed, or not even sent
		t.Rollback()
		return err
	}
	switch t.ledger.judge(err, t.auto) {
	case undone:
		t.Rollback()
		return undoneBy(err)
	case unknownColumn:
		if t.ledger.rename(t.writing) {
			t.Rollback()
			return undoneBy(err)
		}
	case unknown:
		if t.auto {
			return t.resolve(err, 0)
		}
		// No COMMIT was sent, so the server rolls back.
		t.session.close()
		t.Rollback()
		return undoneBy(err)
	case duplicate:
		err = t.mismatch("a value that no row has is a duplicate: %v", err)
	}
	t.Rollback()
	return err
}

// witnesses is the number of rows that are read back to learn what became of a
// transaction. One would do; more find a transaction of which a part was kept.
const witnesses = 32

// resolve finds out whether a transaction whose answer got lost was committed.
func (t *Tx) resolve(cause error, place uint64) error {
	if fate := t.ledger.judge(cause, true); fate != unknown {
		t.Rollback()
		if fate == undone {
			return undoneBy(cause)
		}
		return cause
	}
	if err := t.ledger.bury(t.ctx, t.session); err != nil {
		return fmt.Errorf("check what became of a transaction: %w", err)
	}
	committed, err := t.committed()
	if err != nil {
		return fmt.Errorf("check what became of a transaction: %w", err)
	}
	t.session.meter.lost()
	if !committed {
		t.Rollback()
		return undoneBy(cause)
	}
	t.remember(place)
	return nil
}

// committed reads rows back that the transaction wrote, and compares them with what
// they were and what they would be.
func (t *Tx) committed() (bool, error) {
	var slots []Slot
	for slot, r := range t.after {
		if t.before(slot) != r {
			slots = append(slots, slot)
		}
	}
	slices.Sort(slots)
	slots = slots[:min(len(slots), witnesses)]
	votes := map[bool]int{}
	for _, slot := range slots {
		before, after := t.before(slot), t.after[slot]
		var was, is bool
		err := t.ledger.untilConnected(t.ctx, func() error {
			var err error
			was, is, err = t.ledger.lookUp(t.ctx, slot, before, after)
			return err
		})
		switch {
		case err != nil:
			return false, err
		case was == is: // neither
			return false, t.mismatch("slot %d holds neither what it was nor what a lost transaction made of it", slot)
		}
		votes[is]++
	}
	if votes[true] > 0 && votes[false] > 0 {
		return false, t.mismatch("a lost transaction was kept in %d rows and not in %d", votes[true], votes[false])
	}
	return votes[true] > 0, nil
}

// lookUp says whether a slot's row is the first, and whether it is the second.
func (l *Ledger) lookUp(ctx context.Context, slot Slot, first, second row) (bool, bool, error) {
	w := l.writing.Load()
	statement := "SELECT " + w.expressions(nil) + " FROM " + w.table + " WHERE "
	rows, err := l.inspect(ctx, string(w.appendRange([]byte(statement), slot, slot)))
	if l.judge(err, true) == unknownColumn && l.rename(w) {
		return l.lookUp(ctx, slot, first, second)
	}
	if err != nil {
		return false, false, err
	}
	switch len(rows) {
	case 0:
		return !first.present, !second.present, nil
	case 1:
		same := func(r row) bool { return r.present && len(w.differences(slot, &r, rows[0], nil)) == 0 }
		return same(first), same(second), nil
	}
	return false, false, nil
}

// inspect reads a few rows in the writer's settings.
func (l *Ledger) inspect(ctx context.Context, query string) ([][][]byte, error) {
	s, err := l.connect(ctx, newMeter(l.clock()), "READ COMMITTED")
	if err != nil {
		return nil, err
	}
	defer s.close()
	rows, err := s.conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return readAll(rows)
}

func readAll(rows *sql.Rows) ([][][]byte, error) {
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var all [][][]byte
	for rows.Next() {
		values := make([][]byte, len(names))
		into := make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, values)
	}
	return all, rows.Err()
}
