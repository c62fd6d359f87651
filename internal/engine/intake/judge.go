package intake

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/trigger"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/schema"
)

// A run that resumes an earlier one finds a server that may have been started again, may
// have lost its binlogs, or is another one. This file judges what that means for law L5.

// Judge finds where to continue reading after an earlier run: at the first change that the run
// which saved this had not applied. If that can't be known, Judge returns the reason. It fails with
// ErrOtherCapture.
func (l *Link) Judge(ctx context.Context, saved *checkpoint.Saved) (from Origin, reason string, err error) {
	start := saved.Start
	from.Beaten, from.Sight = saved.Beaten, start.Sight
	if byTriggers := start.Capture == string(plan.CaptureTrigger); byTriggers != l.ByTriggers() {
		return from, "", fmt.Errorf(
			"%w: it captured them by the %s, and this run by the %s", ErrOtherCapture,
			cmp.Or(start.Capture, string(plan.CaptureBinlog)), l.Plan.Capture.By,
		)
	} else if byTriggers {
		reason, err = l.judgeTriggers(ctx, saved)
	} else {
		reason, err = l.judgeServer(ctx, saved.Checkpoint, &from.Point)
	}
	return from, reason, err
}

// judgeServer finds the point from which capture continues, or returns the reason why there is
// none.
func (l *Link) judgeServer(ctx context.Context, c checkpoint.Checkpoint, point *capture.Point) (reason string, err error) {
	if point.Position, err = binlog.ParsePosition(c.Position); err != nil {
		return err.Error(), nil
	}
	if point.GTIDs, err = binlog.ParseGTIDs(c.GTIDs); err != nil {
		return err.Error(), nil
	}
	if c.ServerUUID != l.Plan.Server.UUID {
		return l.judgeOther(ctx, c, point)
	}
	point.Born = c.Born
	if l.Plan.Server.GTID && c.Executed != "" {
		has, err := capture.HasExecuted(ctx, l.Pool.DB(), c.Executed, 0)
		if err != nil {
			return "", err
		}
		if !has {
			return "the server no longer knows of transactions that it had committed: its binlogs were reset, or it was restored from an earlier state", nil
		}
	}
	if c.CaptureServer() != l.uuid() {
		return "", l.judgeCapture(ctx, c, point)
	}
	if l.Plan.Server.GTID && c.Executed != "" && c.GTIDs != "" {
		has, err := capture.HasRest(ctx, l.db(), c.GTIDs)
		if err != nil {
			return "", err
		}
		if !has {
			return "the server has transactions that are in none of its binlogs: they were purged, or it was rebuilt from another server", nil
		}
		// A transaction that awaits its acknowledgement (semi-sync) is in the binlog, and not executed yet.
		if has, err = capture.HasExecuted(ctx, l.db(), c.GTIDs, gtidPatience); err != nil {
			return "", err
		}
		if !has {
			return "the server no longer knows of transactions that it had logged: its binlogs were reset, or it was restored from an earlier state", nil
		}
	}
	available, err := capture.Available(ctx, l.db(), *point)
	if err != nil {
		return "", err
	}
	if !available {
		return fmt.Sprintf("the server no longer has its binlog from %s on, where it stopped", point.Position), nil
	}
	return l.judgeFile(ctx, point.Position.File, point.Born), nil
}

// judgeFile returns why a file of the binlog is another one than an earlier run has read. If the server does not let it be read, the
// capture finds out.
func (l *Link) judgeFile(ctx context.Context, file string, born uint32) (reason string) {
	if born == 0 {
		return ""
	}
	if now, err := binlog.Birth(ctx, l.server(), file); err == nil && now != born {
		return fmt.Sprintf("the server's binlogs were reset since: it has created another %s", file)
	}
	return ""
}

// gtidPatience is how long a server is waited for that has received transactions, and not yet
// applied them.
const gtidPatience = 10 * time.Second

// judgeOther is the part of judgeServer for a server that has taken the place of the earlier run's
// server. It can be used on two conditions. It has committed everything that the earlier server had
// committed, with the transactions that wrote the shadow. And its binlog has each transaction that
// the earlier run had not synced. GTIDs identify these transactions.
func (l *Link) judgeOther(ctx context.Context, c checkpoint.Checkpoint, point *capture.Point) (reason string, err error) {
	moved := fmt.Sprintf("it ran on the server %s, and this is %s", c.ServerUUID, l.Plan.Server.UUID)
	if !l.Plan.Server.GTID || c.GTIDs == "" || c.Executed == "" {
		return moved + "; without GTIDs on both, the run cannot know which of its transactions this server has", nil
	}
	for _, needed := range []string{c.Executed, c.GTIDs} {
		has, err := capture.HasExecuted(ctx, l.Pool.DB(), needed, gtidPatience)
		if err != nil {
			return "", err
		}
		if !has {
			return moved + ", which lacks transactions that the other had committed", nil
		}
	}
	point.Position, err = capture.Behind(ctx, l.db(), c.GTIDs)
	if err != nil {
		return "", err
	}
	if point.Position.IsZero() {
		return moved + ", whose binlog no longer has all later transactions", nil
	}
	return "", nil
}

// judgeCapture finds the place in the binlog of the server that changes are read from now, if it is
// another server than the earlier run's. Or it fails with ErrOtherCapture.
func (l *Link) judgeCapture(ctx context.Context, c checkpoint.Checkpoint, point *capture.Point) error {
	now := "the source"
	if from := l.From; from != nil {
		now = from.Name
	}
	moved := fmt.Sprintf(
		"%s (server_uuid %s), and this run reads them from %s (%s)", cmp.Or(c.CaptureName, "the source"),
		c.CaptureServer(), now, l.uuid(),
	)
	gtids := l.Plan.Server.GTID && (l.Plan.Server.Capture == nil || l.Plan.Server.Capture.GTID)
	if !gtids || c.GTIDs == "" {
		return fmt.Errorf("%w: %s; without GTIDs on both, the run cannot know where to resume there", ErrOtherCapture, moved)
	}
	position, err := capture.Behind(ctx, l.db(), c.GTIDs)
	if err != nil {
		return err
	}
	if position.IsZero() {
		return fmt.Errorf("%w: %s, whose binlog no longer has all later transactions", ErrOtherCapture, moved)
	}
	point.Position, point.Born = position, 0
	return nil
}

// judgeTriggers is the part of judgeServer for capture by triggers. The changes that the earlier
// run had not applied are in the log. That holds if the triggers existed all the time, and nothing
// has happened that they can't see.
func (l *Link) judgeTriggers(ctx context.Context, saved *checkpoint.Saved) (reason string, err error) {
	c, start := saved.Checkpoint, saved.Start
	if c.ServerUUID != l.Plan.Server.UUID {
		return fmt.Sprintf(
			"it ran on the server %s, and this is %s: without a binlog, the run cannot know how the table changed between the two",
			c.ServerUUID, l.Plan.Server.UUID,
		), nil
	}
	log := l.Plan.Names.Log
	sight, err := trigger.Look(ctx, l.Pool.DB(), l.Plan.Source.Name, log)
	if err != nil {
		return "", err
	}
	if _, err = schema.LoadOwn(ctx, l.Pool.DB(), log); err != nil {
		return fmt.Sprintf("the log of changes %s is gone", log), nil
	}
	if sight.String() != start.Sight {
		return "the table, or the log of its changes, was truncated or rebuilt, or the triggers were changed, and no trigger fires for that", nil
	}
	return "", nil
}

// startTolerance is how far two readings of a server's start may lie apart, in seconds.
const startTolerance = 5

// startedAnew reports whether two readings of a server's start are of two starts.
func startedAnew(a, b int64) bool { return a-b > startTolerance || b-a > startTolerance }

// Distrust reports whether every row must be compared, and synced again if it differs. That is so
// if the server may have lost a part of its binlog since the checkpoint: it has started again, and
// does not flush its binlog with every commit (sync_binlog). A change that is in the engine, and no
// longer in the binlog, was perhaps never captured. started is the time of the server's start.
func (l *Link) Distrust(ctx context.Context, c checkpoint.Checkpoint, started int64) (distrusted bool, err error) {
	var through int
	if err := l.Pool.DB().QueryRowContext(ctx, "SELECT @@GLOBAL.sync_binlog").Scan(&through); err != nil {
		return false, fmt.Errorf("read sync_binlog: %w", err)
	}
	who, again := "the server", through != 1 && startedAnew(started, c.ServerStart)
	if server := l.Plan.Server.Capture; server != nil && server.UUID == c.CaptureUUID && server.SyncBinlog != 1 &&
		startedAnew(l.started, c.CaptureStart) {
		again, through, who = true, int(server.SyncBinlog), "replica "+server.Address+", from which changes were read,"
	}
	if l.ByTriggers() || !again && !c.Distrusted { // no binlog, so no lost part
		return false, nil
	}
	when := fmt.Sprintf("%s was started again since the last checkpoint, with sync_binlog=%d", who, through)
	if !again {
		when = "the server was started again during an earlier run on this table, without sync_binlog=1"
	}
	l.note(when + ": a crash may have cost it changes in the binlog. The run compares all rows before the swap, and copies differing rows again")
	return true, nil
}

// ServerStart reads when the server was started, by its own clock, in seconds of Unix time.
func ServerStart(ctx context.Context, db *sql.DB) (int64, error) {
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
