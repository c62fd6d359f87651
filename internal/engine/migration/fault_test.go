package migration_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// commands is about the number of commands of a short run. A longer run sends more, and a fault
// beyond the last command has no effect.
const commands = 250

// faultCount is the number of commands that each kind of fault hits; make soak has more.
var faultCount = flag.Int(
	"faults",
	2,
	fmt.Sprintf("commands of a short run that each kind of fault meets, one after the other; %d: all of them", commands),
)

// endings are the exit codes of a run that met a fault: done, failed with nothing left, stopped
// with its work kept, or with an unknown swap. None of them loses a row, and after each of them the
// same command may be repeated.
var endings = map[int]bool{0: true, 1: true, 14: true, 16: true}

// TestL9_FaultAtAnyCommand: one command of a short run, whichever it is, is cut off, loses its
// answer, is refused or delayed, or the wire stalls. The table is unchanged or altered, and the
// same command finishes the work.
func TestL9_FaultAtAnyCommand(t *testing.T) {
	sideBySide(t)
	kinds := map[string]fault.Rule{
		"cut": {Cut: true}, "answer lost": {Deaf: true}, "held up": {Delay: 1500 * time.Millisecond}, "stalled": {Stall: 3 * time.Second},
		"no connections": {Error: 1040}, "killed": {Error: 1317}, "read only": {Error: 1290}, "disk full": {Error: 1114},
	}
	for _, kind := range halfInTurn(t, slices.Sorted(maps.Keys(kinds))) {
		rule := kinds[kind]
		t.Run(kind, func(t *testing.T) {
			sideBySide(t)
			onTwo(t, func(b *bench) {
				rule, random := rule, b.random()
				l := b.ledger(ledger.Int(), 3000, ledger.Options{Rate: 200, Writers: 2})
				b.start(l)
				for i, n := range random.Perm(commands)[:min(*faultCount, commands)] {
					rule.Nth = n + 1
					clauses := fmt.Sprintf("ADD COLUMN added%d INT, ADD INDEX (added%[1]d)", i)
					if i > 0 {
						clauses += fmt.Sprintf(", DROP COLUMN added%d", i-1)
					}
					b.faultAt(rule, clauses)
				}
				b.mustMatchLedger(l)
			})
		})
	}
}

// random gives numbers of the test's own, and logs their seed.
func (b *bench) random() *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	b.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// faultAt runs an ALTER that meets a fault, and again without the fault.
func (b *bench) faultAt(rule fault.Rule, clauses string) {
	b.Helper()
	w := b.wire(rule)
	first := b.child(clauses, "", nil, "--chunk-time=20ms", "--checkpoint=50ms", "--reconnect=0s", "--drop-old", "--defer-indexes=yes")
	code, last := first.wait()
	said, is := w.Bent()
	if !endings[code] || rule.Stall > 0 && code == 1 { // a stalled wire loses no work
		b.Errorf("command %d, %q: exit code %d: %s", rule.Nth, said, code, last)
	}
	w.Close()
	b.address = b.server.Address
	if code == 0 {
		return
	}
	if !is {
		b.Errorf("exit code %d without a fault: %s", code, last)
	}
	if b.complete(clauses) {
		b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_old")
		return
	}
	if code, last := b.child(clauses, "", nil, "--drop-old").wait(); code != 0 {
		b.Fatalf("after command %d, %q: exit code %d: %s", rule.Nth, said, code, last)
	}
}

// complete reports whether a run that adds a column has done everything: the column exists, and
// nothing is left of the run. The run may have ended before it reported success.
func (b *bench) complete(clauses string) bool {
	b.Helper()
	column := strings.Fields(clauses)[2]
	there := b.value(
		"SELECT COUNT(*) FROM information_schema.columns WHERE table_name = 't' AND column_name = '" + column + "' AND table_schema = '" + b.schema + "'",
	)
	state := b.value(
		"SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 't_midstream' AND table_schema = '" + b.schema + "'",
	)
	return there == "1" && state == "0"
}

// TestL9_EveryConnectionMayBeKilled: whichever of its connections another session kills, again and
// again, the run finishes.
func TestL9_EveryConnectionMayBeKilled(t *testing.T) {
	mysqltest.Seldom(t)
	onEach(t, func(b *bench) {
		l := b.ledger(ledger.Int(), 20_000, ledger.Options{Rate: 200, Writers: 2})
		b.start(l)
		c := b.child(alter, "", nil, append(slowly, "--drop-old")...)
		c.await(phaseLine(event.PhaseCopy)) // before, it has nothing to resume
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for n := 0; n < 12; n++ {
				select {
				case <-stop:
					return
				case <-time.After(250 * time.Millisecond):
				}
				b.killOne()
			}
		}()
		c.mustEnd()
		close(stop)
		<-done
		c.log("resuming an earlier run")
		b.mustMatchLedger(l)
	})
}

// killOne kills one of the run's connections, if it has any.
func (b *bench) killOne() {
	ctx := context.Background()
	var id string
	err := b.db.QueryRowContext(ctx, "SELECT processlist_id FROM performance_schema.session_connect_attrs"+
		" WHERE attr_name = 'midstream_run' OR attr_value = 'go-mysql' ORDER BY RAND() LIMIT 1").Scan(&id)
	if err == nil {
		b.db.ExecContext(ctx, "KILL "+id)
	}
}

// TestL9_ServerRefusesForAWhile: for two seconds in the middle of a run, the server has no
// connections left, or refuses writes.
func TestL9_ServerRefusesForAWhile(t *testing.T) {
	mysqltest.Seldom(t)
	for name, how := range map[string][2]string{
		"read only":      {"SET GLOBAL super_read_only = ON", "SET GLOBAL read_only = OFF"},
		"no connections": {"SET GLOBAL max_connections = 3", "SET GLOBAL max_connections = 151"},
	} {
		for _, version := range inTurn(t, versions) {
			t.Run(name+"/"+version, func(t *testing.T) {
				t.Parallel()
				server := mysqltest.Own(t, version, sandbox.Options{})
				b := on(t, version, server)
				b.numbered(9999)
				admin := b.conn()
				c := b.child("ADD COLUMN added INT", phaseLine(event.PhaseCopy), func(*child) {
					admin.ExecContext(b.ctx(), how[0])
					time.Sleep(2 * time.Second)
					admin.ExecContext(b.ctx(), how[1])
				}, slowly...)
				c.mustEnd()
				b.equal()
			})
		}
	}
}
