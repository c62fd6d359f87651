package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// UndoRead is one lazy undo after much was written to other tables, and a little to its own.
type UndoRead struct {
	Mix   string `json:"mix"`
	Round int    `json:"round"`
	Bytes int64  `json:"bytes"` // of binlog since the swap
	// ReadS is from the first phase that reads to the swap, and ElapsedS that of the command.
	ReadS    float64 `json:"read_s"`
	ElapsedS float64 `json:"elapsed_s"`
	CPUMS    float64 `json:"cpu_ms"` // of the undo
	Captured int64   `json:"captured_changes"`
	// CeilingS is the time in which mysqlbinlog --raw takes the same binlog from the server; 0: it is not there.
	CeilingS float64 `json:"ceiling_s"`
}

// undoMixes are the transactions that are written, by the rows of another table that each of them updates. Of fifty, one is
// an update of the table itself.
var undoMixes = []struct {
	name string
	rows int
}{{"4 rows of 200 bytes", 4}, {"1 row of 200 bytes", 1}}

// undoReads measures with each mix. It needs no durable server: what is measured is the reading.
func (b *bench) undoReads(ctx context.Context, f *File, round int) error {
	for _, mix := range undoMixes {
		if b.undoMB == 0 {
			break
		}
		r, err := b.undoRead(ctx, mix.name, mix.rows)
		if err != nil {
			return fmt.Errorf("%s: %w", mix.name, err)
		}
		r.Round = round
		b.say("round %d  read    %-20s %.0f MB in %.2f s: %.0f MB/s (with the command's begin and end %.2f s); mysqlbinlog --raw %.0f MB/s; client CPU %.2f s, %d changes",
			round+1, r.Mix, float64(r.Bytes)/1e6, r.ReadS, r.speed(), r.ElapsedS, r.ceiling(), r.CPUMS/1e3, r.Captured)
		f.UndoReads = append(f.UndoReads, r)
		if err := b.results.save(measureUndo, f); err != nil {
			return err
		}
	}
	return nil
}

func (r UndoRead) speed() float64 { return ratio(float64(r.Bytes)/1e6, r.ReadS) }

func (r UndoRead) ceiling() float64 {
	if r.CeilingS == 0 {
		return math.NaN()
	}
	return float64(r.Bytes) / 1e6 / r.CeilingS
}

func (b *bench) undoRead(ctx context.Context, mix string, rows int) (r UndoRead, err error) {
	s, err := b.base.startAs(ctx, "run", map[string]string{"sync_binlog": "0", "innodb_flush_log_at_trx_commit": "0"})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.discard()) }()
	if err := b.undoChange(ctx, s, undoLazy); err != nil {
		return r, err
	}
	if err := s.exec(ctx, "FLUSH BINARY LOGS"); err != nil {
		return r, err
	}
	r.Mix = mix
	if r.Bytes, err = s.fill(ctx, rows, b.undoMB<<20); err != nil {
		return r, err
	}
	if r.CeilingS, err = b.rawRead(ctx, s); err != nil {
		return r, err
	}
	from, to, output, err := b.timed(ctx, s, b.undoCommand(s, undoLazy))
	if err != nil {
		return r, err
	}
	r.ElapsedS = to.Sub(from).Seconds()
	return r, r.readEvents(output)
}

// fill writes to another table, and a little to the table, until the last binlog has so many bytes. It returns how many it has.
func (s *server) fill(ctx context.Context, rows int, least int64) (int64, error) {
	for _, statement := range []string{
		"CREATE TABLE " + database + ".other (id INT PRIMARY KEY, k INT, c CHAR(120) CHARACTER SET latin1, pad CHAR(60) CHARACTER SET latin1)",
		"INSERT INTO " + database + ".other SELECT id, 1, 'c', 'p' FROM " + table + " WHERE id <= 1000",
		"CREATE PROCEDURE " + database + ".application (n INT, first INT) BEGIN WHILE n > 0 DO " +
			"UPDATE " + database + ".other SET k = k + 1, c = REPEAT('c', 119), pad = REPEAT('p', 59) " +
			fmt.Sprintf("WHERE id BETWEEN first + n MOD 200 AND first + n MOD 200 + %d; ", rows-1) +
			"IF n MOD 50 = 0 THEN UPDATE " + table + " SET k = k + 1 WHERE id = first + n MOD 200; END IF; " +
			"SET n = n - 1; END WHILE; END",
	} {
		if err := s.exec(ctx, statement); err != nil {
			return 0, err
		}
	}
	for {
		name, size, err := s.lastBinlog(ctx)
		if err != nil || size >= least {
			return size, err
		}
		var group errgroup.Group
		for first := 1; first < 1000; first += 250 {
			group.Go(func() error { return s.exec(ctx, fmt.Sprintf("CALL %s.application(2000, %d)", database, first)) })
		}
		if err := group.Wait(); err != nil {
			return 0, fmt.Errorf("write to %s: %w", name, err)
		}
	}
}

// lastBinlog is the name and the size of the binlog that the server writes.
func (s *server) lastBinlog(ctx context.Context) (name string, size int64, err error) {
	var ignored [3]any
	err = s.sql.QueryRowContext(ctx, "SHOW BINARY LOG STATUS").Scan(&name, &size, &ignored[0], &ignored[1], &ignored[2])
	if err != nil {
		err = fmt.Errorf("ask for the binlog's end: %w", err)
	}
	return name, size, err
}

// rawRead is the time in which mysqlbinlog takes the last binlog from the server; 0 if the server's build has no such program.
func (b *bench) rawRead(ctx context.Context, s *server) (float64, error) {
	name, _, err := s.lastBinlog(ctx)
	if err != nil {
		return 0, err
	}
	into, err := os.MkdirTemp("/dev/shm", "bench-")
	if err != nil {
		into = filepath.Join(s.dir, "raw")
		err = os.Mkdir(into, 0o755)
	}
	if err != nil {
		return 0, fmt.Errorf("make a folder for the binlog: %w", err)
	}
	defer os.RemoveAll(into)
	client := b.build.Client(ctx, "mysqlbinlog",
		append(s.db.ClientArgs(), "--read-from-remote-server", "--raw", "--result-file="+into+"/", name)...)
	if client.Err != nil {
		return 0, nil
	}
	from, to, _, err := b.timed(ctx, s, client.Args)
	return to.Sub(from).Seconds(), err
}

// readEvents takes the figures from the lines of an undo.
func (r *UndoRead) readEvents(lines string) error {
	var begin, swap time.Time
	for line := range strings.Lines(lines) {
		var e undoEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return fmt.Errorf("read a line of --json: %w", err)
		}
		switch {
		case e.Event == "phase" && e.Phase == "start":
			begin = e.At
		case e.Event == "phase" && e.Phase == "cutover" && swap.IsZero():
			swap = e.At
		case e.Event == "result":
			r.CPUMS, r.Captured = e.CPUMS, e.Captured
		}
	}
	if begin.IsZero() || swap.IsZero() {
		return errors.New("the undo did not report its phases")
	}
	r.ReadS = swap.Sub(begin).Seconds()
	return nil
}

// undoEvent has the fields of the lines of an undo that are read.
type undoEvent struct {
	Event    string    `json:"event"`
	Phase    string    `json:"phase"`
	At       time.Time `json:"at"`
	CPUMS    float64   `json:"cpu_ms"`
	Captured int64     `json:"captured_changes"`
}

// undoVerdict compares the slowest reading with the demand.
func undoVerdict(f *File) verdict {
	const what = "lazy undo: binlog read, of the slower mix"
	if f == nil || len(f.UndoReads) == 0 {
		return atLeast(what, math.NaN(), 100, "%.0f MB/s")
	}
	slowest, ceilings := math.Inf(1), []float64(nil)
	for _, r := range f.UndoReads {
		slowest = min(slowest, r.speed())
		ceilings = append(ceilings, r.ceiling())
	}
	return atLeast(what, slowest, 100, "%.0f MB/s").noted("mysqlbinlog --raw: %s", spread(ceilings, "%.0f MB/s"))
}

// undos writes the report of the measurement.
func (p *page) undos(f *File) {
	if f == nil {
		return
	}
	p.line("## Taking a change back\n")
	p.line("A lazy undo after much was written to other tables, and every fiftieth transaction to its own:\n")
	p.head("transactions of another table", "binlog", "read in", "speed", "mysqlbinlog --raw", "client CPU")
	for _, r := range f.UndoReads {
		p.row(r.Mix, fmt.Sprintf("%.0f MB", float64(r.Bytes)/1e6), fmt.Sprintf("%.2f s", r.ReadS), fmt.Sprintf("%.0f MB/s", r.speed()),
			number(r.ceiling(), "%.0f MB/s"), fmt.Sprintf("%.2f s", r.CPUMS/1e3))
	}
	p.line("\nThe undo of `%s` while sysbench's oltp_read_write goes on:\n", change)
	p.head("way", "load since the swap", "binlog", "from the command to its end", "lock", "longest transaction", "problem")
	for _, r := range f.Undos {
		p.row(r.Way, fmt.Sprintf("%.0f s of %.0f transactions/s", r.SinceS, r.RateTPS), fmt.Sprintf("%.0f MB", float64(r.BinlogBytes)/1e6),
			fmt.Sprintf("%.2f s", r.ElapsedS), number(r.LockHeldMS, "%.0f ms"), milliseconds(r.LongestMS), r.Error)
	}
	p.line("")
}
