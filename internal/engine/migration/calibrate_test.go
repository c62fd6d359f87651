package migration_test

import (
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/native"
	"midstream/internal/engine/throttle"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
)

// TestCalibrationMeasuresTheCurve: while writers are at work, a calibration measures how fast rows
// are copied at several drives and what that costs the writers. It takes less than a minute, and
// leaves nothing.
func TestCalibrationMeasuresTheCurve(t *testing.T) {
	mysqltest.Seldom(t)
	onEachAlone(t, func(b *bench) {
		b.steered = true
		l := b.ledger(ledger.Int(), 60_000, ledger.Options{Rate: 300, Writers: 4})
		b.cfg.RowCopy.MaxRows, b.cfg.RowCopy.MinRows = 3, 3 // so that the rows last
		b.settings.RowCopy.Workers = 2
		b.start(l)
		pool, p := b.planned(alter)
		began := time.Now()
		pace, err := migration.New(pool, b.binlogServer(), p, b.cfg, b.control(), event.Discard).Calibrate(b.ctx(), native.Question{})
		took := time.Since(began)
		if err != nil {
			b.Fatal(err)
		}
		b.mustMatchLedger(l)
		c := pace.Curve
		b.Logf("in %s: %+v", took, c)
		if !c.Complete || len(c.Points) != 3 || c.Statements < 50 || c.Mean <= 0 || took > time.Minute {
			b.Fatalf("in %s it measured %+v", took, c)
		}
		low, full := c.Points[0], c.Full()
		if low.Drive != 0.3 || full.Drive != 3 || low.Rows <= 0 || full.Rows <= low.Rows {
			b.Errorf("it measured %+v", c.Points)
		}
		if free := (throttle.Slowdown{Part: 100}).Within(c); free.Drive != full.Drive || pace.Shadow.Rows <= 0 {
			b.Errorf("without a limit it copies %+v, as the plan says %.0f rows a second, and at full speed %+v", free, pace.Shadow.Rows, full)
		}
		if b.version != "5.7" && !isMariaDB(b.version) && c.P99 <= 0 {
			b.Errorf("p99 is not known")
		}
	})
}
