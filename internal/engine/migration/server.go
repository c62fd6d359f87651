package migration

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/mysql/binlog"
)

// A run that goes on with an earlier one finds a server that may have been started again, may
// have lost its binlogs, or is another one. This file judges what that means for law L5.

// judgeServer finds the point from which f's capture goes on, or returns the reason why there is
// none.
func (r *run) judgeServer(ctx context.Context, c checkpoint.Checkpoint, f *former) (reason string, err error) {
	if f.point.Position, err = binlog.ParsePosition(c.Position); err != nil {
		return err.Error(), nil
	}
	if f.point.GTIDs, err = binlog.ParseGTIDs(c.GTIDs); err != nil {
		return err.Error(), nil
	}
	if c.ServerUUID != r.plan.Server.UUID {
		return r.judgeOther(ctx, c, f)
	}
	if r.plan.Server.GTID && c.Executed != "" {
		has, err := capture.HasExecuted(ctx, r.pool.DB(), c.Executed, 0)
		if err != nil {
			return "", err
		}
		if !has {
			return "the server no longer knows of transactions that it had committed: its binlogs were reset, or it was restored from an earlier state", nil
		}
	}
	if c.CaptureServer() != r.captureUUID() {
		return "", r.judgeCapture(ctx, c, f)
	}
	if r.plan.Server.GTID && c.Executed != "" && c.GTIDs != "" {
		has, err := capture.HasRest(ctx, r.captureDB(), c.GTIDs)
		if err != nil {
			return "", err
		}
		if !has {
			return "the server has transactions that stand in no binlog of its: it was purged, or rebuilt from another server", nil
		}
		// A transaction that awaits its acknowledgement (semi-sync) is in the binlog, and not executed yet.
		if has, err = capture.HasExecuted(ctx, r.captureDB(), c.GTIDs, gtidPatience); err != nil {
			return "", err
		}
		if !has {
			return "the server no longer knows of transactions that it had logged: its binlogs were reset, or it was restored from an earlier state", nil
		}
	}
	available, err := capture.Available(ctx, r.captureDB(), f.point.Position)
	if err != nil {
		return "", err
	}
	if !available {
		return fmt.Sprintf("the server no longer has its binlog from %s on, where it stopped", f.point.Position), nil
	}
	return "", nil
}

// gtidPatience is how long a server is waited for that has received transactions, and not yet
// applied them.
const gtidPatience = 10 * time.Second

// judgeOther is judgeServer's part on another server than the earlier run's, which has taken that
// one's place. It is as good where it has committed all that the earlier run's had, the
// transactions in which the shadow was written among them, and has each transaction in its
// binlog that the earlier run had not synced: these are told by their GTIDs.
func (r *run) judgeOther(ctx context.Context, c checkpoint.Checkpoint, f *former) (reason string, err error) {
	moved := fmt.Sprintf("it ran on the server %s, and this is %s", c.ServerUUID, r.plan.Server.UUID)
	if !r.plan.Server.GTID || c.GTIDs == "" || c.Executed == "" {
		return moved + "; without GTIDs on both, what this one has of it can't be told", nil
	}
	for _, needed := range []string{c.Executed, c.GTIDs} {
		has, err := capture.HasExecuted(ctx, r.pool.DB(), needed, gtidPatience)
		if err != nil {
			return "", err
		}
		if !has {
			return moved + ", which lacks transactions that the other had committed", nil
		}
	}
	f.point.Position, err = capture.Behind(ctx, r.captureDB(), c.GTIDs)
	if err != nil {
		return "", err
	}
	if f.point.Position.IsZero() {
		return moved + ", which no longer has in its binlog all that followed", nil
	}
	return "", nil
}

// startTolerance is how far two readings of a server's start may lie apart, in seconds.
const startTolerance = 5

// distrust has every row compared, and synced anew where it differs, if the server may have
// lost a part of its binlog since the checkpoint: it was started again, and does not write its
// binlog through with every commit (sync_binlog). A change that is in the engine, and no longer
// in the binlog, was perhaps never captured.
func (r *run) distrust(ctx context.Context, c checkpoint.Checkpoint) error {
	var through int
	if err := r.pool.DB().QueryRowContext(ctx, "SELECT @@GLOBAL.sync_binlog").Scan(&through); err != nil {
		return fmt.Errorf("read sync_binlog: %w", err)
	}
	who, started := "the server", through != 1 && startedAnew(r.serverStart, c.ServerStart)
	if server := r.plan.Server.Capture; server != nil && server.UUID == c.CaptureUUID && server.SyncBinlog != 1 &&
		startedAnew(r.captureStart, c.CaptureStart) {
		started, through, who = true, int(server.SyncBinlog), "replica "+server.Address+", from which changes were read,"
	}
	if r.byTriggers() || !started && !c.Distrusted { // no binlog, nothing to lose of it
		return nil
	}
	r.distrusted = true
	r.cfg.NoVerify, r.cfg.Repair = false, true
	r.note(fmt.Sprintf("%s was started again since the copy began, with sync_binlog=%d: a crash may have cost it changes in the binlog. "+
		"All rows are compared before the swap, and those that differ are synced anew", who, through))
	return nil
}

// serverStart reads when the server was started, by its own clock, in seconds of Unix time.
func serverStart(ctx context.Context, db *sql.DB) (int64, error) {
	var now, uptime int64
	err := db.QueryRowContext(ctx, "SELECT UNIX_TIMESTAMP()").Scan(&now)
	if err == nil {
		var name string
		err = db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Uptime'").Scan(&name, &uptime)
	}
	if err != nil {
		return 0, fmt.Errorf("read the server's uptime: %w", err)
	}
	return now - uptime, nil
}
