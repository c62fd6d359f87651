package record

import (
	"math"
	"time"

	"midstream/internal/engine/plan"
)

// Prediction is what a run will probably cost.
type Prediction struct {
	Measured      bool    `json:"measured" doc:"true: measured by copying rows of the table; false: assumed"`
	ElapsedMS     MS      `json:"elapsed_ms" doc:"expected duration"`
	LeastMS       MS      `json:"least_ms" doc:"the shortest expected duration"`
	MostMS        MS      `json:"most_ms" doc:"the longest expected duration, if no session blocks the run"`
	WithWindowMS  MS      `json:"with_window_ms" doc:"expected duration with the waits for --copy-window and the load of each hour (--profile); 0 without both"`
	Rows          int64   `json:"rows" doc:"rows that are written; 0 if only the dictionary changes"`
	RowsPerSecond float64 `json:"rows_per_s" doc:"rows copied or built per second; 0 if there are none"`
	DiskBytes     int64   `json:"disk_bytes" doc:"additional disk space at the peak, without the binlog"`
	RedoBytes     int64   `json:"redo_bytes" doc:"redo log that is written during the run, with the application's"`
	BinlogBytes   int64   `json:"binlog_bytes" doc:"binlog that is written, without the application's"`
	LockedMS      MS      `json:"locked_ms" doc:"the longest time that a query may wait"`
	ReplicaLagMS  MS      `json:"replica_lag_ms" doc:"time by which replicas fall behind"`
	Locks         []Lock  `json:"metadata_locks" doc:"metadata locks of the table that are needed"`
	Paces         []Pace  `json:"paces" doc:"how long the run takes by several limits of the application's slowdown, the gentlest first; empty unless --calibrate has measured it while an application was at work"`
	Statements    float64 `json:"application_statements_per_s" doc:"statements of the application per second during the calibration; 0: not measured"`
	MeanUS        int64   `json:"application_statement_us" doc:"their mean time on the server without the run, in microseconds; 0: not measured"`
	P99US         int64   `json:"application_p99_us" doc:"time of the slowest hundredth of them, in microseconds; 0: not measured"`
	Uncertain     bool    `json:"paces_uncertain" doc:"true: the application's statements varied by themselves about as much as the copy changed them"`
	Measures      []Drive `json:"measured_drives" doc:"what the calibration measured, from the gentlest drive to the full one"`
}

// Pace is what a run takes by one limit.
type Pace struct {
	Limit        string  `json:"limit" doc:"the limit, as --max-slowdown writes it, or full speed"`
	Chosen       bool    `json:"chosen" doc:"true: the run has this limit"`
	ElapsedMS    MS      `json:"elapsed_ms" doc:"expected duration"`
	WithWindowMS MS      `json:"with_window_ms" doc:"expected duration with the waits for --copy-window and the load of each hour (--profile); 0 without both"`
	Workers      float64 `json:"workers" doc:"workers at work, as in measured_drives"`
	Rows         float64 `json:"rows_per_s" doc:"rows copied per second"`
	Slower       float64 `json:"application_slower" doc:"part by which the application's statements take longer"`
	P99US        int64   `json:"p99_us" doc:"time of the slowest hundredth of them, in microseconds; 0: not known"`
}

// Drive is the drive of the pace.
func (p Pace) Drive() Drive { return Drive{p.Workers, p.Rows, p.Slower, p.P99US} }

// Drive is what copying rows with so many workers costs the application.
type Drive struct {
	Workers float64 `json:"workers" doc:"workers at work; 1.5: the second works half of its time"`
	Rows    float64 `json:"rows_per_s" doc:"rows copied per second"`
	Slower  float64 `json:"application_slower" doc:"part by which the application's statements take longer"`
	P99US   int64   `json:"p99_us" doc:"time of the slowest hundredth of them, in microseconds; 0: not known"`
}

// driveOf returns the record of a point of a curve.
func driveOf(p plan.Point) Drive {
	return Drive{hundredths(p.Drive), tenths(p.Rows), hundredths(math.Expm1(p.Slower)), p.P99.Microseconds()}
}

// Lock is a metadata lock that a run needs.
type Lock struct {
	Kind  string `json:"kind" doc:"kind of the lock, as performance_schema.metadata_locks spells it"`
	Count int    `json:"count" doc:"number of these locks, if no session blocks the run"`
	For   string `json:"for" doc:"purpose and duration of the lock"`
}

// PredictionOf returns the record of a prediction.
func PredictionOf(d plan.Prediction) Prediction {
	locks := []Lock{}
	for _, l := range d.Locks {
		locks = append(locks, Lock{l.Kind, l.Count, l.For})
	}
	paces, drives := []Pace{}, []Drive{}
	for _, o := range d.Offers {
		at := driveOf(o.Point)
		paces = append(paces, Pace{o.Limit, o.Chosen, MSOf(o.Elapsed), MSOf(o.WithWindow), at.Workers, at.Rows, at.Slower, at.P99US})
	}
	if len(paces) > 0 {
		for _, p := range d.Application.Points {
			drives = append(drives, driveOf(p))
		}
	}
	return Prediction{
		Uncertain: len(paces) > 0 && d.Application.Uncertain(), Paces: paces, Measures: drives,
		Statements: tenths(d.Application.Statements),
		MeanUS:     d.Application.Mean.Microseconds(), P99US: d.Application.P99.Microseconds(),
		Measured: d.Measured, ElapsedMS: MSOf(d.Elapsed), LeastMS: MSOf(d.Least), MostMS: MSOf(d.Most),
		WithWindowMS: MSOf(d.WithWindow), Rows: d.Rows, RowsPerSecond: d.RowsPerSecond,
		DiskBytes: d.Disk, RedoBytes: d.Redo, BinlogBytes: d.Binlog,
		LockedMS: MSOf(d.Locked.Round(time.Millisecond)), ReplicaLagMS: MSOf(d.ReplicaLag), Locks: locks,
	}
}
