package migration_test

import (
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
)

// slowCopy prepares a run whose row copy is paced by the limit, because writers are at work all the
// time.
func (b *bench) slowCopy(rows int) *ledger.Ledger {
	b.steered = true
	b.cfg.RowCopy.MaxRows, b.cfg.RowCopy.MinRows = 100, 20
	return b.ledger(ledger.Int(), rows, ledger.Options{Rate: 400, Writers: 4})
}

// deadlines are the reports of a run about its deadline.
func (b *bench) deadlines() (all []event.Deadline) {
	b.told.mu.Lock()
	defer b.told.mu.Unlock()
	for _, e := range b.told.events {
		if d, is := e.(event.Deadline); is {
			all = append(all, d)
		}
	}
	return all
}

// reports returns a condition: a report of the state.
func reports(state event.DeadlineState) func(event.Event) bool {
	return func(e event.Event) bool {
		d, is := e.(event.Deadline)
		return is && d.State == state
	}
}

// TestDeadlineIsFollowed: a run next to writers changes its limit by what it measures, and ends about in
// time. How many deadlines are met on a quiet machine is measured by bench --measure deadline: on a
// busy one, other tests decide in the last seconds.
func TestDeadlineIsFollowed(t *testing.T) {
	mysqltest.Seldom(t)
	onEachAlone(t, func(b *bench) {
		l := b.slowCopy(20_000)
		limit, _ := operator.SettingOf("max-slowdown")
		if err := limit.Set(&b.settings, "1%"); err != nil {
			b.Fatal(err)
		}
		b.settings.Finish.Within, b.settings.Finish.AtMost = time.Minute, 10
		b.start(l)
		result := b.mustMigrate(alter)
		b.mustMatchLedger(l)
		lowest, highest := 1.0, 1.0
		b.told.mu.Lock()
		for _, e := range b.told.events {
			if p, is := e.(event.Progress); is {
				if f := p.Deadline.Factor; f > 0 {
					lowest, highest = min(lowest, f), max(highest, f)
				}
			}
		}
		b.told.mu.Unlock()
		b.Logf("in %s, by a factor of %.2f to %.1f: %+v", result.Elapsed, lowest, highest, b.deadlines())
		if result.Elapsed > time.Minute*5/4 || lowest == highest {
			b.Errorf("it took %s, by a factor of %.2f to %.1f; %+v", result.Elapsed, lowest, highest, result.Deadline)
		}
	})
}

// TestDeadlineLive: an impossible deadline that is set during a run is reported as impossible, and
// the limit rises to its highest; a later deadline lowers it below the usual one.
func TestDeadlineLive(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		l := b.slowCopy(25_000)
		b.settings.Rest = 0.98 // so that the copy lasts, however fast the machine is
		b.start(l)
		pool, err := b.open(b.ctx())
		if err != nil {
			b.Fatal(err)
		}
		defer pool.Close()
		p, err := b.plan(pool, alter, plan.Options{Names: b.wish})
		if err != nil {
			b.Fatal(err)
		}
		control, done := b.control(), make(chan error, 1)
		go func() {
			_, err := migration.New(pool, b.binlogServer(), p, b.cfg, control, b.told.listen).Run(b.ctx())
			done <- err
		}()
		b.awaited("the row copy", entered(event.PhaseCopy))
		set := func(values map[string]string) {
			if err := control.Set(b.ctx(), values); err != nil {
				b.Fatal(err)
			}
		}
		set(map[string]string{"finish-within": "5s", "max-slowdown-at-most": "10%"})
		b.awaited("that it is impossible", reports(event.DeadlineImpossible))
		b.awaited("the highest limit", func(e event.Event) bool {
			p, is := e.(event.Progress)
			return is && p.Deadline.Highest && p.Deadline.Factor == 2 && p.Deadline.Expected.After(p.Deadline.By)
		})
		set(map[string]string{"finish-within": "20m"})
		b.awaited("that it is met", reports(event.DeadlineMet))
		b.awaited("a limit below the usual one", func(e event.Event) bool {
			p, is := e.(event.Progress)
			return is && p.Deadline.Factor > 0 && p.Deadline.Factor < 1
		})
		set(map[string]string{"finish-within": "0s", "full-speed": "true", "copy-share": "100%"})
		if err := <-done; err != nil {
			b.Error(err)
		}
		b.mustMatchLedger(l)
		if d := b.deadlines(); len(d) < 3 {
			b.Errorf("it reported %+v", d)
		}
	})
}

// TestDeadlineAfterResume: the deadline of a resumed run counts from the first start of the change.
func TestDeadlineAfterResume(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(9999)
		before := time.Now()
		b.killedInCopy()
		killed := time.Now()
		b.settings.Finish.Within = 10 * time.Hour
		result := b.mustMigrate(clauses)
		began := result.Deadline.By.Add(-10 * time.Hour)
		if !result.Resumed || began.Before(before.Truncate(time.Second)) || began.After(killed) {
			b.Errorf("the deadline counts from %s; the first run began at %s and was killed at %s: %+v", began, before, killed, result)
		}
		b.equal()
	})
}
