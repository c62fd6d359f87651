package cli

import (
	"strings"
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/face/summary"
	"midstream/internal/ops/record"
)

// denials lists privileges, a line for each.
type denials string

func (d denials) Error() string { return string(d) }

// denial lists every privilege that cleanup's account lacks.
func denial(d *leftovers.Denied) denials {
	text := "refused: the account may not do what cleanup needs; nothing was dropped\n"
	return denials(text + strings.TrimSuffix(summary.Risks(d.Lacked, summary.Style{}), "\n"))
}

// planOf returns the record of a plan.
func planOf(p *plan.Plan, address string, cfg migration.Config, settings operator.Settings) record.Plan {
	captureFrom := ""
	if p.Server.Capture != nil {
		captureFrom = p.Server.Capture.Address
	}
	return record.Plan{
		CaptureFrom: captureFrom,
		Capture:     string(p.Capture.By),
		CaptureWhy:  p.Capture.Why,
		Head: record.HeadOf(
			record.NamePlan, time.Now(),
		),
		Rehearsal:     string(p.Purpose),
		Table:         p.Source.Name.Dotted(),
		Alter:         p.Alter.Clauses,
		Method:        string(p.Choice.Method),
		Why:           p.Choice.Why,
		Others:        record.Rejections(p.Choice.Others),
		Warning:       p.Choice.Warning,
		ServerAddress: address,
		ServerVersion: p.Server.Version.String(),
		Replicas:      p.Server.Replicas,
		Key:           p.Key.Name,
		KeyColumns:    p.Key.Columns(),
		RowsEstimate:  p.Source.Rows,
		DataBytes:     p.Source.DataBytes,
		IndexBytes:    p.Source.IndexBytes,
		Shadow:        p.Names.Shadow.Dotted(),
		Old:           p.Names.Former().Dotted(),
		State:         p.Names.State.Dotted(),
		Prediction: record.PredictionOf(
			summary.Predict(p, cfg, settings),
		),
		Columns: record.Columns(p.ColumnChanges()),
		Grants:  p.Grants(),
		Risks:   record.Risks(p.Risks),
		Steps:   []string{},
		Locks:   []string{},
	}
}

// resultOf returns the record of a run's end.
func (a *app) resultOf(r migration.Result, err error, code int) record.Result {
	used, seen := processUsage(), r.Rehearsed
	rec := record.Result{
		Head: record.HeadOf(
			record.NameResult, time.Now(),
		),
		Method:   string(r.Method),
		Outcome:  outcomeOf(code).name,
		ExitCode: code,
		Swapped:  r.Swapped,
		Problems: []record.Risk{},
		Old:      r.Old,
		Tables:   []record.Table{},
		ElapsedMS: record.MSOf(
			r.Elapsed,
		),
		PrescanMS:       record.MSOf(r.Prescan),
		Scanned:         r.Scanned,
		CopyMS:          record.MSOf(r.Copy),
		IndexMS:         record.MSOf(r.Index),
		VerifyMS:        record.MSOf(r.Verify),
		Verified:        r.Verified,
		Repaired:        r.Repaired,
		RowsCopied:      r.RowsCopied,
		Captured:        r.Captured,
		Applied:         r.Applied,
		Dropped:         r.Dropped,
		Merged:          r.Merged,
		Retries:         r.Retries,
		DiskBytes:       r.Disk,
		RedoBytes:       r.Redo,
		BinlogBytes:     r.Binlog,
		Attempts:        r.Attempts,
		LockHeldMS:      record.MSOf(r.LockHeld),
		DrainedKeys:     r.Drained,
		BinlogReadBytes: r.BinlogRead,
		LockWaitedMS: record.MSOf(
			seen.LockWaited,
		),
		Blockers:    seen.Blockers,
		BlockedMS:   record.MSOf(seen.Blocked),
		MostDelayMS: record.MSOf(seen.CaptureDelay),
		ShadowBytes: seen.ShadowBytes,
		Shadow:      seen.Shadow,
		ReplicaBeforeMS: record.MSOf(
			seen.Replication.Before,
		),
		ReplicaLagMS:   record.MSOf(seen.Replication.Lag),
		ReplicaStallMS: record.MSOf(seen.Replication.Stall),
		PeakRSSBytes:   used.PeakRSS,
		CPUMS:          record.MSOf(used.CPU),
	}
	if err != nil {
		a.fill(&rec, err, code)
	}
	return rec
}
