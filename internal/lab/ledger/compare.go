package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Proof is the outcome of Compare.
type Proof struct {
	Table     string
	Rows      int // rows that the ledger says there must be
	Columns   int // columns compared in each
	Touched   int // rows that the writers inserted or changed, as far as they are still there
	Differing int // rows with other values than remembered
	Missing   int // rows remembered and not there
	Extra     int // rows there and not remembered
	// FirstDifferences describes some of them.
	FirstDifferences []string
	Elapsed          time.Duration
}

// Equal says that the table holds exactly what the ledger says.
func (p Proof) Equal() bool { return p.Differing == 0 && p.Missing == 0 && p.Extra == 0 }

// String is the proof in one line, or in several if there are differences.
func (p Proof) String() string {
	text := fmt.Sprintf("%s: %d rows of %d columns compared (%d of them touched), %d differing, %d missing, %d extra",
		p.Table, p.Rows, p.Columns, p.Touched, p.Differing, p.Missing, p.Extra)
	return strings.Join(append([]string{text}, p.FirstDifferences...), "\n  ")
}

// differencesKept is the number of differences that a proof describes.
const differencesKept = 20

func (p *Proof) describe(format string, args ...any) {
	if len(p.FirstDifferences) < differencesKept {
		p.FirstDifferences = append(p.FirstDifferences, fmt.Sprintf(format, args...))
	}
}

// Compare reads the whole table in one consistent read and compares every column of
// every row, byte for byte, with what the ledger remembers. The writers must be stopped
// or paused, and no held transaction open.
func (l *Ledger) Compare(ctx context.Context) (Proof, error) {
	return l.CompareTable(ctx, l.table)
}

// CompareTable compares another table of the same columns with the ledger, such as a
// copy.
func (l *Ledger) CompareTable(ctx context.Context, table string) (Proof, error) {
	start := time.Now()
	p := Proof{Table: table, Columns: len(l.layout.Columns)}
	if l.book == nil {
		return p, fmt.Errorf("compare %s with the ledger: not seeded", table)
	}
	if l.busy() {
		return p, fmt.Errorf("compare %s with the ledger: the writers must be stopped or paused", table)
	}
	s, err := l.connect(ctx, newMeter(start), "REPEATABLE READ")
	if err != nil {
		return p, err
	}
	defer s.close()
	if err := l.compare(ctx, s.conn, table, &p); err != nil {
		return p, fmt.Errorf("compare %s with the ledger: %w", table, err)
	}
	p.Elapsed = time.Since(start)
	return p, nil
}

// busy says that a writer may be in a transaction.
func (l *Ledger) busy() bool {
	l.mu.Lock()
	running := l.running
	l.mu.Unlock()
	return running && !l.gate.quiet()
}

func (l *Ledger) compare(ctx context.Context, conn *sql.Conn, table string, p *Proof) error {
	seen := make([]bool, l.book.size)
	rows, w, err := l.readTable(ctx, conn, table)
	if err != nil {
		return err
	}
	defer rows.Close()
	raw := make([]sql.RawBytes, len(w.Columns))
	into := make([]any, len(raw))
	for i := range raw {
		into[i] = &raw[i]
	}
	read := make([][]byte, len(raw))
	buffer := make([]byte, 0, 1024)
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i := range raw {
			read[i] = raw[i]
		}
		l.compareRow(w, read, seen, buffer, p)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for i := range seen {
		r := l.book.get(Slot(i))
		if !r.present {
			continue
		}
		p.Rows++
		if r != l.book.seededRow(Slot(i)) {
			p.Touched++
		}
		if !seen[i] {
			p.Missing++
			p.describe("no row %s", w.appendKey(nil, Slot(i), &r))
		}
	}
	return nil
}

// readTable selects the ledger's columns, by their new names if the old ones are gone.
func (l *Ledger) readTable(ctx context.Context, conn *sql.Conn, table string) (*sql.Rows, *writing, error) {
	for _, renamed := range []map[string]string{nil, l.opts.Renamed} {
		w := newWriting(l.layout, table, renamed)
		rows, err := conn.QueryContext(ctx, "SELECT "+w.expressions(l.opts.ReadAs)+" FROM "+w.table)
		if err == nil || l.judge(err, false) != unknownColumn || renamed != nil {
			return rows, w, err
		}
	}
	return nil, nil, errors.New("a column of the ledger is not there")
}

// compareRow compares one row read with the ledger, and marks its slot as seen.
func (l *Ledger) compareRow(w *writing, read [][]byte, seen []bool, buffer []byte, p *Proof) {
	n, err := strconv.ParseUint(string(read[w.slot]), 10, 32)
	slot := Slot(n - 1)
	if err != nil || n == 0 || int(slot) >= len(seen) {
		p.Extra++
		p.describe("extra row %s", w.show(read))
		return
	}
	r := l.book.get(slot)
	if !r.present || seen[slot] {
		p.Extra++
		p.describe("extra row %s", w.show(read))
		return
	}
	seen[slot] = true
	columns := w.differences(slot, &r, read, buffer)
	if len(columns) == 0 {
		return
	}
	p.Differing++
	for _, i := range columns {
		want, ok := w.text(buffer[:0], i, slot, &r)
		if !ok {
			want = nil
		}
		p.describe("row %s: %s is %s instead of %s", w.appendKey(nil, slot, &r), w.names[i], show(read[i]), show(want))
	}
}

// show prints the values of a row for a message.
func (w *writing) show(read [][]byte) string {
	var texts []string
	for i, value := range read {
		texts = append(texts, w.names[i]+" = "+show(value))
	}
	return strings.Join(texts, ", ")
}

func show(value []byte) string {
	if value == nil {
		return "NULL"
	}
	const most = 80
	return strconv.Quote(string(value[:min(len(value), most)]))
}
