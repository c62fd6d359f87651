package migration_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
)

// TestForecast: while a run copies next to writers, it reports when it ends. After a fourth of its
// time, the middle one of these reports is about right, and each has a range.
func TestForecast(t *testing.T) {
	mysqltest.Seldom(t)
	onEachAlone(t, func(b *bench) {
		l := b.ledger(ledger.Int(), 9000, ledger.Options{Rate: 200, Writers: 2})
		b.cfg.RowCopy.MaxRows, b.cfg.RowCopy.MinRows = 20, 20
		b.settings.RowCopy.Workers, b.settings.Rest = 1, 0.92
		b.start(l)
		result := b.mustMigrate(alter)
		b.mustMatchLedger(l)
		var errors []float64
		b.told.mu.Lock()
		for _, e := range b.told.events {
			p, is := e.(event.Progress)
			if !is || p.Phase != event.PhaseCopy || p.Elapsed < result.Elapsed/4 || p.ETA < 0 {
				continue
			}
			if p.ETALeast < 0 || p.ETALeast > p.ETA || p.ETAMost < p.ETA {
				b.Errorf("the range of %s is %s to %s", p.ETA, p.ETALeast, p.ETAMost)
			}
			errors = append(errors, (p.Elapsed+p.ETA).Seconds()/result.Elapsed.Seconds()-1)
		}
		b.told.mu.Unlock()
		slices.Sort(errors)
		b.Logf("in %s; errors %.2f", result.Elapsed, errors)
		if len(errors) < 5 || math.Abs(errors[len(errors)/2]) > 0.4 {
			b.Errorf("the run took %s; its forecasts were wrong by %.2f", result.Elapsed, errors)
		}
	})
}

// TestProfile: a run takes a profile of the load when it begins, and another one while it works. A
// bad file changes nothing. If the load of the hours after the window opens is higher, the
// run expects to take longer.
func TestProfile(t *testing.T) {
	onEachAlone(t, func(b *bench) {
		l := b.ledger(ledger.Int(), 9000, ledger.Options{Rate: 200, Writers: 2})
		b.cfg.RowCopy.MaxRows, b.cfg.RowCopy.MinRows = 20, 20
		b.settings.RowCopy.Workers, b.settings.Rest = 1, 0.97
		name := func(text string) string {
			path := filepath.Join(b.TempDir(), "load.csv")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				b.Fatal(err)
			}
			return path
		}
		setting, _ := operator.SettingOf("profile")
		if err := setting.Set(&b.settings, name("zone,UTC\n0-23,0\n")); err != nil {
			b.Fatal(err)
		}
		b.start(l)
		w := b.windowed(alter)
		known := func(than time.Duration) func(event.Event) bool {
			return func(e event.Event) bool {
				p, is := e.(event.Progress)
				return is && p.Phase == event.PhaseCopy && p.ETA > than
			}
		}
		b.awaited("a forecast", known(0))
		if err := w.control.Set(b.ctx(), map[string]string{"profile": "/none/such"}); err == nil {
			b.Error("a file that does not exist is a profile")
		}
		// When the window opens, a row takes longer than now.
		now := time.Now().UTC()
		w.set(hoursAfter())
		loads := fmt.Sprintf("zone,UTC\n0-23,100\n%d,0\n%d,0\n", now.Hour(), now.Add(time.Hour).Hour())
		b.awaited("the closed window", known(time.Hour))
		before := w.waits().ETA
		if err := w.control.Set(b.ctx(), map[string]string{"profile": name(loads)}); err != nil {
			b.Fatal(err)
		}
		b.awaited("a longer time by the load", known(before+10*time.Second))
		if err := w.control.Set(b.ctx(), map[string]string{"copy-share": "100%"}); err != nil {
			b.Fatal(err)
		}
		w.set("")
		if result := w.run.wait(b); !result.Swapped {
			b.Errorf("%+v", result)
		}
		b.mustMatchLedger(l)
	})
}
