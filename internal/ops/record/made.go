package record

import (
	"time"

	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// PlanOf returns the record of a plan. undo is how long the change is to be kept undoable.
func PlanOf(p *plan.Plan, address string, predicted plan.Prediction, undo time.Duration) Plan {
	captureFrom := ""
	if p.Server.Capture != nil {
		captureFrom = p.Server.Capture.Address
	}
	return Plan{
		CaptureFrom: captureFrom,
		Capture:     string(p.Capture.By),
		CaptureWhy:  p.Capture.Why,
		Head: HeadOf(
			NamePlan, time.Now(),
		),
		Rehearsal:     p.Purpose.Rehearsal(),
		Undoes:        undoesOf(p),
		Undo:          undoableOf(p, undo),
		Table:         p.Source.Name.Dotted(),
		Alter:         p.Alter.Clauses,
		Method:        string(p.Choice.Method),
		Why:           p.Choice.Why,
		Others:        Rejections(p.Choice.Others),
		Warning:       p.Choice.Warning,
		ServerAddress: address,
		ServerVersion: p.Server.Version.String(),
		Replicas:      p.Server.Replicas,
		Key:           p.Key.Name,
		KeyColumns:    p.Key.Columns(),
		Keep:          p.Filter,
		Set:           p.Set.List(),
		Into:          p.Into.Dotted(),
		IntoView:      p.Into.View,
		RowsEstimate:  p.Source.Rows,
		DataBytes:     p.Source.DataBytes,
		IndexBytes:    p.Source.IndexBytes,
		Shadow:        p.Names.Shadow.Dotted(),
		Old:           p.Names.Former().Dotted(),
		State:         p.Names.State.Dotted(),
		Prediction:    PredictionOf(predicted),
		Columns:       Columns(p.ColumnChanges()),
		Grants:        p.Grants(),
		Risks:         Risks(p.Risks),
		Steps:         []string{},
		Locks:         []string{},
	}
}

// TablePlanOf returns the record of a plan.
func TablePlanOf(p *plan.TablePlan, address string) Plan {
	made := Plan{
		Head:          HeadOf(NamePlan, time.Now()),
		Undoes:        undoesOfTables(p),
		Table:         p.Subject().Dotted(),
		Statement:     string(p.Statement.Kind),
		Method:        string(p.Choice.Method),
		Why:           p.Choice.Why,
		Others:        Rejections(p.Choice.Others),
		Warning:       p.Choice.Warning,
		ServerAddress: address,
		ServerVersion: p.Server.Version.String(),
		Replicas:      p.Server.Replicas,
		KeyColumns:    []string{},
		Columns:       Columns(nil),
		Grants:        []string{},
		Steps:         append([]string{}, p.Steps...),
		Locks:         []string{},
		Risks:         Risks(p.Risks),
	}
	for _, name := range p.Watched {
		made.Locks = append(made.Locks, name.Dotted())
	}
	if p.Table != nil {
		made.RowsEstimate, made.DataBytes, made.IndexBytes = p.Table.Rows, p.Table.DataBytes, p.Table.IndexBytes
	}
	if p.Twin != (schema.Name{}) {
		made.Shadow = p.Twin.Dotted()
	}
	if p.Aside != (schema.Name{}) {
		made.Old = p.Aside.Dotted()
	}
	return made
}

// ResultOf returns the record of a run's end, with what this process has used.
func ResultOf(r migration.Result, code int, outcome string) Result {
	used, seen := ProcessUsage(), r.Rehearsed
	by, late := "", (*MS)(nil)
	if d := r.Deadline; !d.By.IsZero() {
		after := MSOf(time.Since(d.By))
		by, late = d.By.Format(RFC3339), &after
	}
	unfit := []Finding{}
	if outcome == "unfit" {
		for _, f := range r.Refused {
			unfit = append(unfit, findingOf(f))
		}
	}
	return Result{
		Unfit:    unfit,
		Deadline: by, DeadlineLateMS: late,
		Head: HeadOf(
			NameResult, time.Now(),
		),
		Method:     string(r.Method),
		Outcome:    outcome,
		ExitCode:   code,
		Swapped:    r.Swapped,
		Undo:       OpenOf(r.Undo),
		Problems:   []Risk{},
		Old:        r.Old,
		ParkedRows: r.Parked.Rows, ParkedTable: r.Parked.Table,
		Tables: []Table{},
		ElapsedMS: MSOf(
			r.Elapsed,
		),
		PrescanMS:       MSOf(r.Prescan),
		Scanned:         r.Scanned,
		CopyMS:          MSOf(r.Copy),
		IndexMS:         MSOf(r.Index),
		VerifyMS:        MSOf(r.Verify),
		Verified:        r.Verified,
		Repaired:        r.Repaired,
		LeftOut:         r.LeftOut,
		ComparedAt:      knownTime(r.Compared),
		RowsCopied:      r.RowsCopied,
		Captured:        r.Captured,
		Applied:         r.Applied,
		Changed:         r.Changed,
		Dropped:         r.Dropped,
		Merged:          r.Merged,
		Retries:         r.Retries,
		DiskBytes:       r.Disk,
		RedoBytes:       r.Redo,
		BinlogBytes:     r.Binlog,
		Attempts:        r.Attempts,
		LockHeldMS:      MSOf(r.LockHeld),
		DrainedKeys:     r.Drained,
		BinlogReadBytes: r.BinlogRead,
		LockWaitedMS: MSOf(
			seen.LockWaited,
		),
		Blockers:    seen.Blockers,
		BlockedMS:   MSOf(seen.Blocked),
		MostDelayMS: MSOf(seen.CaptureDelay),
		ShadowBytes: seen.ShadowBytes,
		Shadow:      seen.Shadow,
		ReplicaBeforeMS: MSOf(
			seen.Replication.Before,
		),
		ReplicaLagMS:   MSOf(seen.Replication.Lag),
		ReplicaStallMS: MSOf(seen.Replication.Stall),
		PeakRSSBytes:   used.PeakRSS,
		CPUMS:          MSOf(used.CPU),
	}
}
