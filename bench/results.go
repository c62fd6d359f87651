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

// Header says where and with what a File was measured.
type Header struct {
	At          time.Time         `json:"at"`
	Commit      string            `json:"commit"` // of the repository; with -dirty if files differed from it
	Arguments   []string          `json:"arguments"`
	Rows        int               `json:"rows"`
	TableBytes  int64             `json:"table_bytes"`
	Rounds      int               `json:"rounds"`
	Threads     int               `json:"threads"`
	Machine     Machine           `json:"machine"`
	LoadAverage string            `json:"load_average"` // before the first run
	Variables   map[string]string `json:"variables"`    // of the server
	Programs    map[string]string `json:"programs"`
	Missing     []string          `json:"missing,omitempty"` // tools that could not be had
}

// File is one measurement: what is kept of it as JSON.
type File struct {
	Header
	PeakTPS    float64        `json:"peak_tps,omitempty"` // what light and heavy are shares of
	Runs       []Run          `json:"runs,omitempty"`
	Apply      []ApplyRun     `json:"apply,omitempty"`
	Statements []StatementRun `json:"statements,omitempty"`
	Others     []Header       `json:"others,omitempty"` // of further tables that the runs were on
}

// Run is one tool changing one table once.
type Run struct {
	Tool        string           `json:"tool"`
	Load        string           `json:"load"`
	RateTPS     float64          `json:"rate_tps"` // that the foreground was told to keep; 0: as fast as it can, or idle
	Round       int              `json:"round"`
	Rows        int              `json:"rows"`
	At          time.Time        `json:"at"`
	ElapsedS    float64          `json:"elapsed_s"`
	Finished    bool             `json:"finished"`
	Error       string           `json:"error,omitempty"`
	Foreground  *Foreground      `json:"foreground,omitempty"` // of sysbench; none when idle
	Probe       Probe            `json:"probe"`
	ClientCPUS  float64          `json:"client_cpu_s"`
	ClientRSS   int64            `json:"client_rss_bytes"`
	ServerCPUS  float64          `json:"server_cpu_s"` // with what the foreground makes it do
	BinlogBytes int64            `json:"binlog_bytes"` // likewise
	ForeignCPU  float64          `json:"foreign_cpu"`  // share of the machine that others used: how quiet it was
	Midstream   *midstreamResult `json:"midstream,omitempty"`
	Before      *Foreground      `json:"before,omitempty"` // on the same server, before the tool
	Copied      int64            `json:"copied,omitempty"` // rows, of a run that had not to finish
	Step        *Step            `json:"step,omitempty"`
	Turns       *Turns           `json:"turns,omitempty"`
	Lag         *Lag             `json:"lag,omitempty"`
}

// ApplyRun is one table whose rows were all changed at full speed once they had been copied.
type ApplyRun struct {
	Order           string  `json:"order"` // of the rows: sequential, scattered
	Held            bool    `json:"held"`  // apply was held up until every change was in the backlog
	Round           int     `json:"round"`
	Rows            int     `json:"rows"`
	Error           string  `json:"error,omitempty"`
	WriterRowsPerS  float64 `json:"writer_rows_per_s"`
	AppliedPerS     float64 `json:"applied_per_s"` // while the backlog was not empty
	WhileWriting    float64 `json:"while_writing"` // of these, beside the writer; 0: no such time
	AfterWriting    float64 `json:"after_writing"` // and when it had ended
	OverallPerS     float64 `json:"overall_per_s"` // rows by the time from the first change to the last applied
	PeakBacklogKeys int64   `json:"peak_backlog_keys"`
	ClientRSS       int64   `json:"client_rss_bytes"`
	ClientCPUS      float64 `json:"client_cpu_s"`
	ServerCPUS      float64 `json:"server_cpu_s"`
	ForeignCPU      float64 `json:"foreign_cpu"`
}

// names of the measurements, and of their files.
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
)

func measurements() []string {
	return []string{
		measurePeers, measureApply, measureMemory, measureRules, measureVerify, measureCost, measureStall,
		measurePredict, measureBeside, measureTurns, measureLag, measureCapture, measureStatement,
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

// load returns what of the folder was measured.
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
