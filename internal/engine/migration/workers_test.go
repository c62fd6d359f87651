package migration_test

import (
	"fmt"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/rowcopy"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
)

// manyNumbered makes table t with that many times 9,999 rows.
func (b *bench) manyNumbered(times int) {
	b.Helper()
	b.numbered(9999)
	for n := 1; n < times; n++ {
		b.exec(fmt.Sprintf("INSERT INTO %[1]s.t SELECT id + %[2]d, v, u + %[2]d FROM %[1]s.t WHERE id < 10000", b.schema, n*10_000))
	}
}

// copied returns the rows per second that the row copy has copied in the last seconds.
func (b *bench) copied(last time.Duration) float64 {
	b.told.mu.Lock()
	defer b.told.mu.Unlock()
	var rows int64
	for _, e := range b.told.events {
		if c, is := e.(event.ChunkCopied); is && time.Since(c.At) < last {
			rows += c.Rows
		}
	}
	return float64(rows) / last.Seconds()
}

// mostWorkers is the highest number of workers that the run has reported.
func (b *bench) mostWorkers() (most float64) {
	b.told.mu.Lock()
	defer b.told.mu.Unlock()
	for _, e := range b.told.events {
		if p, is := e.(event.Progress); is && p.Phase == event.PhaseCopy {
			most = max(most, p.Workers)
		}
	}
	return most
}

// TestWorkersFarFromTheServer: next to a server that answers 20 ms late, a run finds a number of workers
// that copies several times the rows of one. A number that the operator names holds at once.
func TestWorkersFarFromTheServer(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		const over = 2 * time.Second
		b.manyNumbered(6)
		b.wire(fault.Rule{Far: 20 * time.Millisecond})
		b.cfg.RowCopy.MinRows, b.cfg.RowCopy.MaxRows, b.settings.RowCopy.Workers = 50, 50, 1
		w := b.windowed(alter)
		set := func(workers string) {
			if err := w.control.Set(b.ctx(), map[string]string{"workers": workers}); err != nil {
				b.Error(err)
			}
		}
		b.awaited("the row copy", entered(event.PhaseCopy))
		time.Sleep(over)
		one, several := b.copied(over), 0.0
		set("auto")
		for copying := true; several < 4*one && copying; several = max(several, b.copied(over)) {
			select {
			case <-w.run.done:
				copying = false
			case <-time.After(100 * time.Millisecond):
			}
		}
		at := b.mostWorkers()
		b.Logf("one worker copied %.0f rows/s, and %g copied %.0f", one, at, several)
		if one == 0 || several < 4*one || at <= rowcopy.FirstWorkers {
			b.Errorf("one worker copied %.0f rows/s, and at most %g copied %.0f; want four times as many", one, at, several)
		}
		set("2")
		if p, _, _ := w.control.Standing(); p.Phase == event.PhaseCopy && p.Workers != 2 {
			b.Errorf("%g workers are at work, and 2 were named", p.Workers)
		}
		set("auto")
		w.run.wait(b)
		b.equal()
	})
}

// TestWorkersWhereMoreDoNotHelp: on the two cores of this machine, three workers use up the server, and a
// run does not add many more.
func TestWorkersWhereMoreDoNotHelp(t *testing.T) {
	mysqltest.Seldom(t)
	onEachAlone(t, func(b *bench) {
		b.manyNumbered(12)
		b.cfg.RowCopy.MinRows, b.cfg.RowCopy.MaxRows = 10, 10
		result := b.mustMigrate(alter)
		b.Logf("at most %g workers in %s", b.mostWorkers(), result.Elapsed)
		if most := b.mostWorkers(); most < rowcopy.FirstWorkers || most > 8 {
			b.Errorf("up to %g workers copied rows, want %d to 8", most, rowcopy.FirstWorkers)
		}
	})
}
