package record

import (
	"time"

	"midstream/internal/engine/plan"
)

// Prediction is what a run will probably cost.
type Prediction struct {
	Measured      bool    `json:"measured" doc:"whether rows of the table were copied to know it; else it is assumed"`
	ElapsedMS     MS      `json:"elapsed_ms" doc:"that is expected"`
	LeastMS       MS      `json:"least_ms" doc:"the least that it may take"`
	MostMS        MS      `json:"most_ms" doc:"the most, if nobody is in the way"`
	Rows          int64   `json:"rows" doc:"that are written; 0 where only the dictionary changes"`
	RowsPerSecond float64 `json:"rows_per_s" doc:"that are copied or built; 0 where none are"`
	DiskBytes     int64   `json:"disk_bytes" doc:"at the peak, beside what is there; without the binlog"`
	RedoBytes     int64   `json:"redo_bytes" doc:"of redo log meanwhile, the application's included"`
	BinlogBytes   int64   `json:"binlog_bytes" doc:"of binlog, without the application's"`
	LockedMS      MS      `json:"locked_ms" doc:"the longest that a query may wait"`
	ReplicaLagMS  MS      `json:"replica_lag_ms" doc:"by which replicas fall behind"`
	Locks         []Lock  `json:"metadata_locks" doc:"those of the table that are needed"`
}

// Lock is a metadata lock that a run needs.
type Lock struct {
	Kind  string `json:"kind" doc:"as performance_schema.metadata_locks spells it"`
	Count int    `json:"count" doc:"how often, if nobody is in the way"`
	For   string `json:"for" doc:"what it is for, and how long"`
}

// PredictionOf returns the record of a prediction.
func PredictionOf(d plan.Prediction) Prediction {
	locks := []Lock{}
	for _, l := range d.Locks {
		locks = append(locks, Lock{l.Kind, l.Count, l.For})
	}
	return Prediction{
		Measured: d.Measured, ElapsedMS: MSOf(d.Elapsed), LeastMS: MSOf(d.Least), MostMS: MSOf(d.Most), Rows: d.Rows,
		RowsPerSecond: d.RowsPerSecond, DiskBytes: d.Disk, RedoBytes: d.Redo, BinlogBytes: d.Binlog,
		LockedMS: MSOf(d.Locked.Round(time.Millisecond)), ReplicaLagMS: MSOf(d.ReplicaLag), Locks: locks,
	}
}
