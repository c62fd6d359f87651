package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Header is where and with what a File was measured.
type Header struct {
	At time.Time `json:"at"`
	// Commit is the repository's; it ends with -dirty if files differed from it.
	Commit      string            `json:"commit"`
	Arguments   []string          `json:"arguments"`
	Rows        int               `json:"rows"`
	TableBytes  int64             `json:"table_bytes"`
	Rounds      int               `json:"rounds"`
	Threads     int               `json:"threads"`
	Machine     Machine           `json:"machine"`
	LoadAverage string            `json:"load_average"` // before the first run
	Variables   map[string]string `json:"variables"`    // of the server
	Programs    map[string]string `json:"programs"`
	Missing     []string          `json:"missing,omitempty"` // tools that were not available
}

// File is one measurement, as it is kept in JSON.
type File struct {
	Header
	// PeakTPS is the peak; light and heavy are shares of it.
	PeakTPS float64 `json:"peak_tps,omitempty"`
	// Peaks are the peaks of rivals, by the number of connections.
	Peaks      map[int]float64 `json:"peaks,omitempty"`
	Runs       []Run           `json:"runs,omitempty"`
	Apply      []ApplyRun      `json:"apply,omitempty"`
	Statements []StatementRun  `json:"statements,omitempty"`
	Undos      []UndoRun       `json:"undos,omitempty"`
	UndoReads  []UndoRead      `json:"undo_reads,omitempty"`
	Others     []Header        `json:"others,omitempty"` // of other tables in the runs
}

// Run is one change of one table by one tool.
type Run struct {
	Tool string `json:"tool"`
	Load string `json:"load"`
	// RateTPS is the foreground's ordered rate; 0: as fast as it can be, or idle.
	RateTPS    float64     `json:"rate_tps"`
	Round      int         `json:"round"`
	Rows       int         `json:"rows"`
	At         time.Time   `json:"at"`
	ElapsedS   float64     `json:"elapsed_s"`
	Finished   bool        `json:"finished"`
	Error      string      `json:"error,omitempty"`
	Foreground *Foreground `json:"foreground,omitempty"` // of sysbench; none when idle
	Probe      Probe       `json:"probe"`
	ClientCPUS float64     `json:"client_cpu_s"`
	ClientRSS  int64       `json:"client_rss_bytes"`
	// ServerCPUS includes the work for the foreground.
	ServerCPUS  float64          `json:"server_cpu_s"`
	BinlogBytes int64            `json:"binlog_bytes"` // for the foreground too
	ForeignCPU  float64          `json:"foreign_cpu"`  // the share that other programs used
	Midstream   *midstreamResult `json:"midstream,omitempty"`
	Before      *Foreground      `json:"before,omitempty"` // on the same server, before the tool
	Copied      int64            `json:"copied,omitempty"` // rows of a run that need not finish
	Step        *Step            `json:"step,omitempty"`
	Turns       *Turns           `json:"turns,omitempty"`
	Lag         *Lag             `json:"lag,omitempty"`
	Deadline    *Deadline        `json:"deadline,omitempty"`
}

// ApplyRun is one table whose rows were all changed at full speed after the copy.
type ApplyRun struct {
	Order string `json:"order"` // of the rows: sequential, scattered
	// Held means that apply waited until every change was in the backlog.
	Held bool `json:"held"`
	// Partitions are those of the new table, by a column that the followed key lacks; 0: none.
	Partitions     int     `json:"partitions,omitempty"`
	Round          int     `json:"round"`
	Rows           int     `json:"rows"`
	Error          string  `json:"error,omitempty"`
	WriterRowsPerS float64 `json:"writer_rows_per_s"`
	AppliedPerS    float64 `json:"applied_per_s"` // while the backlog was not empty
	// WhileWriting is the part of it next to the writer; 0: no such time.
	WhileWriting float64 `json:"while_writing"`
	AfterWriting float64 `json:"after_writing"` // after the writer had ended
	// OverallPerS is the rows divided by the time from the first change to the last applied one.
	OverallPerS     float64 `json:"overall_per_s"`
	PeakBacklogKeys int64   `json:"peak_backlog_keys"`
	ClientRSS       int64   `json:"client_rss_bytes"`
	ClientCPUS      float64 `json:"client_cpu_s"`
	ServerCPUS      float64 `json:"server_cpu_s"`
	ForeignCPU      float64 `json:"foreign_cpu"`
}

// The names of the measurements, and of their files.
const (
	measurePeers     = "peers"
	measureApply     = "apply"
	measureMemory    = "memory"
	measureRules     = "rules"
	measureVerify    = "verify"
	measureCost      = "cost"
	measureStall     = "stall"
	measurePredict   = "predict"
	measureBeside    = "beside"
	measureTurns     = "turns"
	measureLag       = "lag"
	measureCapture   = "capture"
	measureStatement = "statement"
	measureRivals    = "rivals"
	measureForecast  = "forecast"
	measureDeadline  = "deadline"
	measureUndo      = "undo"
	measureFollower  = "follower"
	measureParts     = "partitions"
)

func measurements() []string {
	return []string{
		measureRivals, measurePeers, measureApply, measureMemory, measureRules, measureVerify, measureCost, measureStall,
		measurePredict, measureBeside, measureTurns, measureLag, measureCapture, measureStatement, measureForecast, measureDeadline,
		measureUndo, measureFollower, measureParts,
	}
}

// results is a folder of Files.
type results string

func (r results) save(name string, f *File) error {
	text, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	if err := os.MkdirAll(string(r), 0o755); err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	path := filepath.Join(string(r), name+".json")
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	return nil
}

// load returns the measurements in the folder.
func (r results) load() (map[string]*File, error) {
	files := make(map[string]*File)
	for _, name := range measurements() {
		text, err := os.ReadFile(filepath.Join(string(r), name+".json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the results: %w", err)
		}
		f := &File{}
		if err := json.Unmarshal(text, f); err != nil {
			return nil, fmt.Errorf("read the results of %s: %w", name, err)
		}
		files[name] = f
	}
	return files, nil
}
