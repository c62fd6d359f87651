package record

import (
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
	return Prediction{
		Measured: d.Measured, ElapsedMS: MSOf(d.Elapsed), LeastMS: MSOf(d.Least), MostMS: MSOf(d.Most),
		WithWindowMS: MSOf(d.WithWindow), Rows: d.Rows, RowsPerSecond: d.RowsPerSecond,
		DiskBytes: d.Disk, RedoBytes: d.Redo, BinlogBytes: d.Binlog,
		LockedMS: MSOf(d.Locked.Round(time.Millisecond)), ReplicaLagMS: MSOf(d.ReplicaLag), Locks: locks,
	}
}
