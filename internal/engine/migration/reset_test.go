package migration_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/capture"
	"midstream/internal/engine/event"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
	"midstream/internal/mysql/binlog"
)

// resets are ways in which a server begins its binlog again, behind writes that a reader has not received perhaps. The first
// file of the binlog gets its former name. It stays shorter than it was, or becomes longer.
func (b *bench) resets() map[string]func() {
	reset := "RESET " + b.resetWord()
	write := func() { b.exec("UPDATE " + b.schema + ".t SET v = v + 1 WHERE id % 3 = 0") }
	return map[string]func(){
		"shorter": func() { b.exec(reset); write() },
		"longer": func() {
			b.exec(reset)
			for range 20 {
				b.exec("UPDATE " + b.schema + ".t SET v = v + 1")
			}
			write()
		},
		"later files": func() {
			b.exec(reset)
			write()
			b.exec("FLUSH BINARY LOGS", "FLUSH BINARY LOGS", "FLUSH BINARY LOGS")
			write()
		},
	}
}

// onOwn runs a test on servers of its own, in turn: it changes their binlogs.
func onOwn(t *testing.T, settings map[string]string, test func(b *bench)) {
	for _, version := range inTurn(t, all) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(on(t, version, mysqltest.Own(t, version, sandbox.Options{Settings: settings})))
		})
	}
}

// TestL6_AResetOfTheBinlogsEndsTheRun: the server begins its binlog again while a run reads it. The run ends before its swap with that
// cause, also if the new file grows past the place where the run was.
func TestL6_AResetOfTheBinlogsEndsTheRun(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	onOwn(t, nil, func(b *bench) {
		for name, reset := range b.resets() {
			for _, files := range []int{0, 1} {
				for _, phase := range halfInTurn(t, []event.Phase{
					event.PhaseCopy, event.PhaseVerify, event.PhaseCatchUp, event.PhaseHold, event.PhaseCutover,
				}) {
					b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema, "RESET "+b.resetWord())
					for range files {
						b.exec("FLUSH BINARY LOGS")
					}
					b.numbered(1000)
					time.Sleep(time.Second) // a binlog's time of creation has no fractions
					b.settings.When.Hold = phase == event.PhaseHold
					ctx, cancel := context.WithTimeout(b.ctx(), 20*time.Second)
					_, err := b.migrate(ctx, "ADD COLUMN added INT", onPhase(phase, reset))
					cancel()
					if !errors.Is(err, binlog.ErrPurged) {
						b.Errorf("%s, file %d, %s: %v", name, files+1, phase, err)
						continue
					}
					b.failedBeforeTheSwap(err, binlog.ErrPurged)
				}
			}
		}
	})
}

// resetAt resets the binlogs, writes, and has the state in a table begin where an event of the new binlog begins, as it may be by
// chance: without GTIDs only the time of the file's creation shows that it is another one.
func (b *bench) resetAt(table string) {
	b.Helper()
	write := "UPDATE " + b.schema + ".t SET v = v + 1"
	time.Sleep(time.Second)
	b.exec(write, "RESET "+b.resetWord(), write+" WHERE id % 3 = 0")
	end, err := capture.End(b.ctx(), b.db)
	if err != nil {
		b.Fatal(err)
	}
	b.exec("UPDATE "+b.schema+"."+table+" SET state = JSON_SET(state, '$.GTIDs', '', '$.Executed', '', '$.Position', '"+end.String()+"')"+
		" WHERE id = 2", write+" WHERE id % 5 = 0")
}

// TestL5_AStoppedRunNoticesAReset: the binlogs are reset after a run was killed. The run that resumes it begins again.
func TestL5_AStoppedRunNoticesAReset(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	onOwn(t, nil, func(b *bench) {
		b.exec("FLUSH BINARY LOGS", "RESET "+b.resetWord())
		b.numbered(5000)
		b.killedInCopy()
		b.resetAt("t_midstream")
		b.anew("DO 1", "were reset since")
	})
}

// TestU3_AnUndoNoticesAResetByTheFile: the binlogs are reset between the swap and the undo, and the new one has an event where the
// swap was. The undo looks at all rows.
func TestU3_AnUndoNoticesAResetByTheFile(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	onOwn(t, nil, func(b *bench) {
		b.exec("RESET " + b.resetWord())
		b.changed("ADD COLUMN added INT")
		b.resetAt("t_undo")
		rows := b.sums("t")
		c := b.undoing()
		c.mustEnd()
		b.mustMatch("t", rows)
		if !c.heard("were reset since") {
			b.Error("the undo did not report why it looks at all rows")
		}
	})
}

// TestU3_AResetOfTheBinlogsMakesAnUndoCold: the server begins its binlog again while an undo reads some MB of it, or waits for its
// release. The undo begins again by all rows, or ends if it is to be lazy.
func TestU3_AResetOfTheBinlogsMakesAnUndoCold(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	onOwn(t, nil, func(b *bench) {
		for name, reset := range b.resets() {
			for _, held := range []bool{false, true} {
				for _, lazy := range []bool{false, true} {
					what := fmt.Sprintf("%s, held %t, lazy %t", name, held, lazy)
					b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema, "RESET "+b.resetWord())
					b.changed("ADD COLUMN added INT")
					for range 20 { // some MB
						b.exec("UPDATE " + b.schema + ".t SET v = v + 1")
					}
					sockets, phase := "--control-dir="+filepath.Join(b.TempDir(), "sockets"), event.PhaseStart
					flags := []string{sockets}
					if lazy {
						flags = append(flags, "--lazy")
					}
					if held {
						flags, phase = append(flags, "--hold"), event.PhaseHold
					}
					undo := b.undoing(flags...)
					undo.await(phaseLine(phase))
					reset()
					rows := b.sums("t")
					if lazy {
						if code, last := undo.wait(); code == 0 || !strings.Contains(last, "--cold") {
							b.Errorf("%s: exit code %d: %s", what, code, last)
						}
						b.mustMatch("t", rows)
						continue
					}
					undo.await("begins again, by all rows")
					if held {
						b.releasing(sockets).mustEnd()
					}
					undo.mustEnd()
					b.mustMatch("t", rows)
				}
			}
		}
	})
}
