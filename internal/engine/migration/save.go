package migration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/follow"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/binlog"
)

// checkpoints writes the state of the run to the server now and then.
func (w *work) checkpoints(ctx context.Context) error {
	ticker := time.NewTicker(w.cfg.Checkpoint)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := w.checkpoint(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// checkpoint writes the state of the run to the server. It runs one at a time: no state replaces a
// newer one.
func (w *work) checkpoint(ctx context.Context) error {
	w.saving.Lock()
	defer w.saving.Unlock()
	session, err := w.pool.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	// If another session has a read lock on all tables, such as a backup, the run waits for its
	// end.
	return session.Patiently(ctx, func() error {
		state, err := w.state(ctx)
		if err != nil {
			return err
		}
		return w.store.Save(ctx, session, state)
	})
}

// state is how far the run has come.
func (w *work) state(ctx context.Context) (checkpoint.Checkpoint, error) {
	// Read the position before the ranges. So a range that is finished in between is a range that
	// the position does not know, never the other way round (law L5).
	var safe capture.Point
	if w.intake.Stream != nil {
		safe = w.intake.Stream.Safe()
		if at := w.swapsAt.Load(); at != nil {
			safe = *at
		}
	}
	state := checkpoint.Checkpoint{
		Version: w.cfg.version(w.plan), Adopted: w.plan.Back.Adopts(), Again: w.plan.Again, Phase: string(w.account.phaseNow()),
		Taken: time.Now(), Rows: w.copier.Rows(), Copied: checkpoint.Ranges(w.tracker.Copied()),
		Unmarked: w.debts.unmarked.Load(), Shadow: w.shadow.Name.Table, Parked: w.lot.Keeps(), Values: w.lot.Values(),
		Position: safe.Position.String(), Born: safe.Born, GTIDs: safe.GTIDs.String(),
		ServerUUID: w.plan.Server.UUID, ServerStart: w.serverStart, Distrusted: w.distrusted,
	}
	w.link.Mark(&state)
	if !w.plan.Server.GTID {
		return state, nil
	}
	if at := w.swapsAt.Load(); at != nil && at.GTIDs.String() != "" { // under the lock each round trip counts
		state.Executed = at.GTIDs.String()
		return state, nil
	}
	// Read this last: it must include everything that is claimed above.
	var err error
	state.Executed, err = capture.Executed(ctx, w.pool.DB())
	return state, err
}

// lastCheckpoint bounds the last checkpoint: who sends SIGTERM, such as a container's runtime, waits 10 s at least.
const lastCheckpoint = 4 * time.Second

// keepAll saves the last state of a run that was ended to be gone on with.
func (w *work) keepAll(err error) {
	if !errors.Is(err, failure.ErrKeep) || !w.debts.saved {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastCheckpoint)
	defer cancel()
	if err := w.checkpoint(ctx); err != nil { // the one before will do
		w.note("the last checkpoint could not be written, so a resumed run repeats some work: " + err.Error())
	}
}

// handBack writes, for an undo that ends because its operator or its time ended it, how far the old table has come: the
// next undo of the table begins from there. parent is the context that an operator ends.
func (w *work) handBack(parent context.Context, err error) {
	if w.plan.Back != nil && !w.debts.done && failure.IsAny(err, intake.ErrOldWritten, intake.ErrNotByKeys) {
		if err := leftovers.OnlyByAllRows(w.leftovers, err); err != nil {
			w.note("the record of the undo could not be written: " + err.Error())
		}
	}
	asked := errors.Is(err, follow.ErrOver) || parent.Err() != nil && !errors.Is(err, failure.ErrKeep)
	if !asked || !w.plan.Lazy() || w.plan.Back.KeepsUnchanged() || w.debts.done || !w.tracker.Complete() || w.link.From != nil {
		return
	}
	if err := leftovers.HandBack(w.leftovers, w.state); err != nil {
		w.note("an undo begins from the swap again, because its new position could not be written: " + err.Error())
	}
}

// findSwap looks for the RENAME in the server's binlog, behind what was received under the lock. It returns "" if the changes came from
// triggers or from a replica, and if the search fails: nothing of the change depends on it.
func (w *work) findSwap(ctx context.Context) (position, gtid string) {
	if w.intake.Stream == nil || w.link.From != nil {
		return "", ""
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	renames := w.shadow.Name.Quoted() + " TO " + plan.NewName(w.plan).Quoted()
	ours := func(s binlog.Statement) bool { return strings.Contains(s.SQL, renames) }
	found, err := capture.Find(ctx, w.binlog, w.intake.Stream.Position(), ours)
	if err != nil {
		w.note(fmt.Sprintf("the place of the swap in the binlog was not found: %v", err))
		return "", ""
	}
	return found.End.String(), found.GTID
}
