package ledger

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// How seeding goes. A row of orders costs the server 36 us of CPU when it comes as text,
// and 15 us when it comes from another row by INSERT .. SELECT; an index costs 3 us a
// row when it is added to the full table. (9.7.4, two cores, full durability, by the
// server's CPU time.)
const (
	seedTextRows     = 1000   // rows an INSERT
	seedCopyRows     = 16_384 // rows an INSERT .. SELECT
	seedSessions     = 3
	seedWithoutIndex = 50_000 // rows from which on the indexes are added in the end
)

// Seed fills the empty table with rows, the slots from 0 on, and maps the slots to the
// writers. progress, which may be nil, is called after each statement with the number
// of rows so far, from several goroutines. For a big table of a profile that allows it
// a second table, whose name ends in _seed, exists meanwhile.
func (l *Ledger) Seed(ctx context.Context, rows int, progress func(done int)) error {
	if err := l.prepare(rows); err != nil {
		return err
	}
	if progress == nil {
		progress = func(int) {}
	}
	if err := l.seed(ctx, rows, progress); err != nil {
		return fmt.Errorf("seed %s: %w", l.table, err)
	}
	return nil
}

func (l *Ledger) seed(ctx context.Context, rows int, progress func(done int)) error {
	table := quoteTable(l.table)
	indexes := l.layout.Indexes
	late := rows >= seedWithoutIndex && len(indexes) > 0
	if late {
		if err := l.alter(ctx, table, "DROP INDEX ", indexNames(indexes)); err != nil {
			return err
		}
	}
	var err error
	if rows >= 2*seedPeriod && l.seedsInServer() {
		err = l.fillInServer(ctx, rows, progress)
	} else {
		err = l.fill(ctx, rows, seedTextRows, progress, func(dst []byte, from, to int) []byte {
			return l.seedText(dst, table, Slot(from), Slot(to))
		})
	}
	if err != nil || !late {
		return err
	}
	return l.alter(ctx, table, "ADD ", indexes)
}

func (l *Ledger) alter(ctx context.Context, table, verb string, what []string) error {
	_, err := l.db.ExecContext(ctx, "ALTER TABLE "+table+" "+verb+strings.Join(what, ", "+verb))
	return err
}

// indexNames returns the names in definitions such as "UNIQUE KEY name (columns)".
func indexNames(definitions []string) []string {
	var names []string
	for _, d := range definitions {
		words := strings.Fields(d[:strings.Index(d, "(")])
		names = append(names, words[len(words)-1])
	}
	return names
}

// fill runs statements for the slots below a bound, so many rows each, in several
// sessions.
func (l *Ledger) fill(ctx context.Context, rows, each int, progress func(int), build func(dst []byte, from, to int) []byte) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next, done atomic.Int64
	run := func() error {
		s, err := l.connect(ctx, newMeter(time.Now()), "READ COMMITTED")
		if err != nil {
			return err
		}
		defer s.close()
		var statement []byte
		for ctx.Err() == nil {
			to := int(next.Add(int64(each)))
			from := to - each
			if from >= rows {
				return nil
			}
			to = min(to, rows)
			statement = build(statement[:0], from, to)
			if _, err := s.conn.ExecContext(ctx, string(statement)); err != nil {
				return fmt.Errorf("rows %d to %d: %w", from, to, err)
			}
			progress(int(done.Add(int64(to - from))))
		}
		return nil
	}
	var sessions sync.WaitGroup
	for range min(seedSessions, rows/each+1) {
		sessions.Go(func() {
			if err := run(); err != nil {
				cancel(err)
			}
		})
	}
	sessions.Wait()
	return context.Cause(ctx)
}

// seedText builds the INSERT of the slots from one up to another.
func (l *Ledger) seedText(dst []byte, table string, from, to Slot) []byte {
	w := l.writing.Load()
	dst = append(dst, "INSERT INTO "+table+" ("+w.list+") VALUES "...)
	for slot := from; slot < to; slot++ {
		if slot > from {
			dst = append(dst, ',')
		}
		r := l.book.seededRow(slot)
		dst = w.appendTuple(dst, slot, &r)
	}
	return dst
}

// seedsInServer says that all that differs between two rows of the same nonces can be
// computed in SQL.
func (l *Ledger) seedsInServer() bool {
	for _, c := range l.layout.Columns {
		switch c.From {
		case FromKey:
			return false
		case FromUnique0, FromUnique1, FromUnique2:
			if c.Server == "" {
				return false
			}
		}
	}
	return true
}

// fillInServer sends the first period of rows as text, into a second table, and copies
// it from there as often as it takes: a table that selects from itself would go through
// a temporary table.
func (l *Ledger) fillInServer(ctx context.Context, rows int, progress func(int)) error {
	w := l.writing.Load()
	source := quoteTable(l.table + "_seed")
	if _, err := l.db.ExecContext(ctx, "CREATE TABLE "+source+" LIKE "+w.table); err != nil {
		return err
	}
	err := l.fill(ctx, seedPeriod, seedTextRows, func(int) {}, func(dst []byte, from, to int) []byte {
		return l.seedText(dst, source, Slot(from), Slot(to))
	})
	if err == nil {
		err = l.fill(ctx, rows, seedCopyRows, progress, func(dst []byte, from, to int) []byte {
			return w.appendCopy(dst, source, from, to)
		})
	}
	if _, dropErr := l.db.ExecContext(context.WithoutCancel(ctx), "DROP TABLE "+source); err == nil {
		err = dropErr
	}
	return err
}

// appendCopy builds the INSERT .. SELECT of the slots from one up to another, which lie
// in one period.
func (w *writing) appendCopy(dst []byte, source string, from, to int) []byte {
	offset := from / seedPeriod * seedPeriod
	id := "(" + w.names[w.slot] + " + " + strconv.Itoa(offset)
	var list []string
	for i, c := range w.Columns {
		switch {
		case c.From == FromSlot:
			list = append(list, id+")")
		case c.Server != "":
			list = append(list, strings.ReplaceAll(c.Server, "{n}", id+" - 1)"))
		default:
			list = append(list, w.names[i])
		}
	}
	dst = fmt.Appendf(dst, "INSERT INTO %s (%s) SELECT %s FROM %s WHERE ", w.table, w.list, strings.Join(list, ", "), source)
	return w.appendRange(dst, Slot(from-offset), Slot(to-offset-1))
}
