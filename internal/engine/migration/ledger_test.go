package migration_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
)

// alter is a change that every profile's table allows: it adds a column and an index.
const alter = "ADD COLUMN added VARCHAR(40) NOT NULL DEFAULT 'x', ADD INDEX added (added)"

// everyPair tries each kind of key on every version, and each point of the tests of kills, as make
// soak does.
var everyPair = flag.Bool("every-pair", false, "no kind of key and no kill waits for its turn")

// TestLedgerSurvives runs a change under a writer at full speed, for every kind of key. The
// versions take turns, from a random first one.
func TestLedgerSurvives(t *testing.T) {
	sideBySide(t)
	turn := rand.IntN(len(all))
	for _, profile := range ledger.Profiles() {
		turn++
		for n, version := range all {
			if !*everyPair && n != turn%len(all) {
				continue
			}
			profile, has := in(profile, version)
			if !has {
				continue
			}
			t.Run(profile.Name+"/"+version, func(t *testing.T) {
				sideBySide(t)
				b := setup(t, version)
				l := b.ledger(profile, 6000, ledger.Options{})
				b.cfg.RowCopy.MaxRows = 500            // many chunks, so that changes meet them
				b.cfg.NoVerify = profile.Name == "int" // one run does not verify
				b.start(l)
				result := b.mustMigrate(alter)
				b.mustMatchLedger(l)
				if result.Captured == 0 {
					t.Error("no change was captured: the writer did not write")
				}
			})
		}
	}
}

// TestLedgerSurvivesOverwriting: the ALTER leaves the key as the shadow's only unique key, so apply
// overwrites rows instead of deleting and inserting them.
func TestLedgerSurvivesOverwriting(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, version := range inTurn(t, versions) {
		for _, profile := range []ledger.Profile{ledger.Int(), ledger.Composite(), ledger.StringAI()} {
			profile, has := in(profile, version)
			if !has {
				continue
			}
			t.Run(version+"/"+profile.Name, func(t *testing.T) {
				sideBySide(t)
				b := setup(t, version)
				l := b.ledger(profile, 6000, ledger.Options{})
				b.cfg.RowCopy.MaxRows = 500
				b.start(l)
				// The writer needs the index, and pauses before it is dropped.
				b.mustMigrate("DROP INDEX code, "+alter, onPhase(event.PhaseCutover, func() { l.Pause(b.ctx()) }))
				b.mustMatchLedger(l)
			})
		}
	}
}

// TestLedgerSurvivesSizes covers tables of a few rows and of none.
func TestLedgerSurvivesSizes(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		for _, rows := range []int{0, 1, 3} {
			l := b.ledger(ledger.Int(), rows, ledger.Options{Writers: 2})
			b.start(l)
			b.mustMigrate(alter)
			b.mustMatchLedger(l)
			b.exec("DROP TABLE "+b.schema+".t", "DROP TABLE "+b.schema+".t_old")
		}
	})
}

// TestLedgerSurvivesHotRows puts 90 % of the writes on 20 rows.
func TestLedgerSurvivesHotRows(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		l := b.ledger(ledger.Int(), 20_000, ledger.Options{HotRows: 20, HotShare: 90})
		b.cfg.RowCopy.MaxRows = 500
		b.start(l)
		result := b.mustMigrate(alter)
		b.mustMatchLedger(l)
		if result.Merged == 0 {
			b.Error("no changes were merged")
		}
	})
}

// TestLedgerSurvivesHugeTransactions has transactions that change 30,000 rows, with a backlog that
// holds a tenth of that.
func TestLedgerSurvivesHugeTransactions(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		mix := ledger.DefaultMix()
		mix[ledger.OpHuge] = 1
		l := b.ledger(ledger.Int(), 60_000, ledger.Options{Writers: 2, Mix: mix, HugeRows: 30_000})
		b.cfg.BacklogLimit = 3000
		b.cfg.RowCopy.MaxRows = 2000
		b.start(l)
		r := b.background(b.ctx(), alter)
		// Make two of them for certain during the copy.
		b.awaited("row copy", entered(event.PhaseCopy))
		for range 2 {
			err := l.Do(context.Background(), ledger.OpHuge)
			for dbconn.Contended(err) { // contended by the other writers
				err = l.Do(context.Background(), ledger.OpHuge)
			}
			if err != nil {
				b.Error(err)
			}
		}
		time.AfterFunc(4*time.Second, func() { l.Pause(context.Background()) })
		r.wait(b)
		l.Resume()
		b.mustMatchLedger(l)
	})
}

// TestLedgerSurvivesSwitches runs without the rules that save work: the result must not depend on
// them.
func TestLedgerSurvivesSwitches(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.cfg.ApplyAhead, b.cfg.KeepRepeats = true, true
		b.cfg.RowCopy.MaxRows = 500
		l := b.ledger(ledger.ThreeUnique(), 10_000, ledger.Options{Rate: 100}) // without merging, apply is slower
		b.start(l)
		b.mustMigrate(alter)
		b.mustMatchLedger(l)
	})
}

// TestLedgerSurvivesAnotherCollation: the key's charset and collation change, and only the server
// knows which keys the row copy has yet to read. Changes during the copy wait for its end, and no
// longer.
func TestLedgerSurvivesAnotherCollation(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		l := b.ledger(ledger.StringLatin1(), 4000, ledger.Options{Rate: 200})
		b.cfg.RowCopy.MaxRows = 100
		b.cfg.BacklogLimit = 20_000
		b.settings.Lock.Work = 2 * time.Second // allow for a busy machine
		b.start(l)
		// The writer needs the old collation, and pauses before it is gone.
		result := b.mustMigrate(
			"MODIFY word VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL",
			onPhase(event.PhaseCutover, func() { l.Pause(b.ctx()) }),
		)
		b.mustMatchLedger(l)
		if result.Captured == 0 {
			b.Error("no change was captured: the writer did not write")
		}
	})
}
