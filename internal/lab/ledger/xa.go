package ledger

import (
	"context"
	"fmt"
	"os"
)

// newXID returns the name of an XA transaction, different in each process.
func (l *Ledger) newXID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.xids++
	return fmt.Sprintf("'ledger-%s-%d-%d'", l.table, os.Getpid(), l.xids)
}

// BeginXA begins a transaction on held slots as an XA transaction.
func (l *Ledger) BeginXA(ctx context.Context) (*Tx, error) {
	t, err := l.Begin(ctx)
	if err == nil {
		t.xid = l.newXID()
	}
	return t, err
}

// Prepare ends and prepares a transaction of BeginXA; Commit then commits
// it. In between its rows are in the binlog and not visible.
func (t *Tx) Prepare() error {
	if t.prepared {
		return nil
	}
	for _, statement := range []string{"XA END " + t.xid, "XA PREPARE " + t.xid} {
		if _, err := t.session.exec(t.ctx, "xa", statement); err != nil {
			return err
		}
	}
	t.prepared = true
	return nil
}

// commitXA prepares and commits. When an answer gets lost the server keeps what is
// prepared, so the outcome is looked up and then made: a transaction still prepared is
// committed.
func (t *Tx) commitXA() error {
	if !t.begun {
		t.remember(0)
		return nil
	}
	if err := t.Prepare(); err != nil {
		return t.settleXA(err)
	}
	if _, err := t.session.exec(t.ctx, "commit", "XA COMMIT "+t.xid); err != nil {
		return t.settleXA(err)
	}
	t.remember(0)
	return nil
}

// settleXA ends an XA transaction whose PREPARE or COMMIT returned an error.
func (t *Tx) settleXA(cause error) error {
	switch t.ledger.judge(cause, true) {
	case unknown:
	case undone:
		t.Rollback()
		return undoneBy(cause)
	default:
		t.Rollback()
		return cause
	}
	if err := t.ledger.bury(t.ctx, t.session); err != nil {
		return fmt.Errorf("check what became of an XA transaction: %w", err)
	}
	err := t.ledger.untilConnected(t.ctx, t.commitPrepared)
	if err != nil {
		return fmt.Errorf("commit a prepared transaction whose session was lost: %w", err)
	}
	committed, err := t.committed()
	if err != nil {
		return fmt.Errorf("check what became of an XA transaction: %w", err)
	}
	t.session.meter.lost()
	if !committed {
		t.Rollback()
		return undoneBy(cause)
	}
	t.remember(0)
	return nil
}

// commitPrepared commits the transaction from another session if it is prepared.
func (t *Tx) commitPrepared() error {
	const errUnknownXID = 1397
	_, err := t.ledger.db.ExecContext(t.ctx, "XA COMMIT "+t.xid)
	if t.ledger.number(err) == errUnknownXID {
		return nil
	}
	return err
}
