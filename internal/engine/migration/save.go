package migration

import (
	"context"
	"errors"
	"time"

	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
)

// checkpoints writes the state of the run to the server now and then.
func (r *work) checkpoints(ctx context.Context) error {
	ticker := time.NewTicker(r.cfg.Checkpoint)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := r.checkpoint(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// checkpoint writes the state of the run to the server: one at a time, so that none replaces a
// newer one.
func (r *work) checkpoint(ctx context.Context) error {
	r.saving.Lock()
	defer r.saving.Unlock()
	session, err := r.pool.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	// Somebody's read lock on all tables, as of a backup, is waited out.
	return session.Patiently(ctx, func() error {
		state, err := r.state(ctx)
		if err != nil {
			return err
		}
		return r.store.Save(ctx, session, state)
	})
}

// state is how far the run has come.
func (r *work) state(ctx context.Context) (checkpoint.Checkpoint, error) {
	// The position before the ranges: a range that is finished in between is then one
	// that the position does not know of, never the other way round (law L5).
	var position, gtids string
	if r.capture.Stream != nil {
		safe := r.capture.Stream.Safe()
		position, gtids = safe.Position.String(), safe.GTIDs.String()
	}
	state := checkpoint.Checkpoint{
		Version: checkpoint.Version, Phase: string(r.account.phaseNow()), Taken: time.Now(),
		Rows: r.copier.Rows(), Copied: checkpoint.Ranges(r.tracker.Copied()),
		Unmarked: r.debts.unmarked.Load(), Shadow: r.shadow.Name.Table,
		Position: position, GTIDs: gtids,
		ServerUUID: r.plan.Server.UUID, ServerStart: r.serverStart, Distrusted: r.distrusted,
	}
	r.link.Mark(&state)
	if !r.plan.Server.GTID {
		return state, nil
	}
	// After all that is claimed, so that it is among these.
	var err error
	state.Executed, err = capture.Executed(ctx, r.pool.DB())
	return state, err
}

// keepAll saves the last state of a run that was ended to be gone on with.
func (r *work) keepAll(err error) {
	if !errors.Is(err, ErrKeep) || !r.debts.saved {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := r.checkpoint(ctx); err != nil { // the one before will do
		r.note("the last checkpoint could not be written, and some work is done again: " + err.Error())
	}
}
