package migration_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/onreplica"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// rehearse rehearses an ALTER of table t.
func (b *bench) rehearse(
	ctx context.Context,
	purpose plan.Purpose,
	how migration.Rehearsal,
	clauses string,
	listeners ...event.Listener,
) (migration.Result, error) {
	b.Helper()
	var variables map[string]string
	if purpose == plan.RehearsingOnReplica {
		variables = onreplica.Variables
	}
	pool, err := dbconn.Open(ctx, dbconn.Config{
		Network: "tcp", Address: b.address, User: b.server.User, Password: dbconn.Secret(b.server.Password)}, variables)
	if err != nil {
		return migration.Result{}, err
	}
	defer pool.Close()
	p, err := b.plan(pool, clauses, plan.Options{Purpose: purpose})
	if err != nil {
		return migration.Result{}, err
	}
	m := migration.New(pool, b.binlogServer(), p, b.cfg, b.control(), event.Tee(append(listeners, b.told.listen)...))
	return m.Rehearse(ctx, how)
}

// binlogServer is where a run finds the binlog.
func (b *bench) binlogServer() binlog.Server {
	return binlog.Server{Network: "tcp", Address: cmp.Or(b.binlog, b.address), User: b.server.User, Password: b.server.Password}
}

// mustRehearse is rehearse, on the server itself, for tests that expect it to succeed.
func (b *bench) mustRehearse(how migration.Rehearsal, clauses string, listeners ...event.Listener) migration.Result {
	b.Helper()
	result, err := b.rehearse(b.ctx(), plan.Rehearsing, how, clauses, listeners...)
	if err != nil {
		b.Fatalf("rehearse ALTER TABLE t %s: %v", clauses, err)
	}
	return result
}

// definition is SHOW CREATE of table t.
func (b *bench) definition() string {
	b.Helper()
	var name, text string
	if err := b.db.QueryRowContext(b.ctx(), "SHOW CREATE TABLE "+b.schema+".t").Scan(&name, &text); err != nil {
		b.Fatal(err)
	}
	return text
}

// TestRehearsalUnderTraffic: under the writers of a ledger, a rehearsal does everything that a run
// does except for the swap. It leaves only the table and its rows.
func TestRehearsalUnderTraffic(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		l := b.ledger(ledger.Orders(), 20_000, ledger.Options{Writers: 2, Rate: 200, Seed: 7})
		before, _ := schema.SplitAutoIncrement(b.definition())
		b.start(l)
		time.Sleep(200 * time.Millisecond)
		renames := b.wire(fault.Rule{At: "RENAME TABLE"})
		result := b.mustRehearse(migration.Rehearsal{Lock: true}, "ADD COLUMN added INT, ADD INDEX (added)")
		if bent(renames) {
			b.Error("there was a RENAME")
		}
		if after, _ := schema.SplitAutoIncrement(b.definition()); after != before {
			b.Errorf("the table was\n%s\nand is\n%s", before, after)
		}
		b.hasTables("t")
		seen := result.Rehearsed
		if result.Swapped || result.Old != "" || result.RowsCopied < 19_000 || result.Verified < 19_000 || result.Captured == 0 ||
			result.Attempts < 1 || result.LockHeld <= 0 || seen.LockWaited <= 0 && !isMariaDB(b.version) /* which grants it at once or not */ || seen.CaptureDelay <= 0 || seen.ShadowBytes < 1<<20 || seen.Shadow != "" {
			b.Errorf("result %+v", result)
		}
		b.mustMatchLedger(l)
	})
}

// TestRehearsalChangesNothing: not even the table's counter, or the rows of its statistics.
func TestRehearsalChangesNothing(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".t (id INT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL) AUTO_INCREMENT=1000",
			"INSERT INTO "+b.schema+".t (v) VALUES (1), (2), (3)")
		before := b.definition()
		for _, lock := range []bool{false, true} {
			result := b.mustRehearse(migration.Rehearsal{Lock: lock}, "MODIFY id BIGINT AUTO_INCREMENT")
			if locked := result.Attempts > 0; locked != lock {
				b.Errorf("asked for the lock: %t, want %t", locked, lock)
			}
		}
		if after := b.definition(); after != before {
			b.Errorf("the table was\n%s\nand is\n%s", before, after)
		}
		b.hasTables("t")
		if got := b.value("SELECT GROUP_CONCAT(id, ' ', v ORDER BY id) FROM " + b.schema + ".t"); got != "1000 1,1001 2,1002 3" {
			b.Errorf("rows are %s", got)
		}
	})
}

// TestRunAndRehearsalAreNotMistaken: a plan for one of them can't be used for the other.
func TestRunAndRehearsalAreNotMistaken(t *testing.T) {
	b := setup(t, "9.7")
	b.numbered(10)
	if _, err := b.rehearse(b.ctx(), plan.Altering, migration.Rehearsal{}, clauses); err == nil {
		t.Error("the plan of a run was rehearsed")
	}
	pool, err := b.open(b.ctx())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	p, err := b.plan(pool, clauses, plan.Options{Purpose: plan.Rehearsing})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migration.New(pool, binlog.Server{}, p, b.cfg, b.control(), event.Discard).Run(b.ctx()); err == nil {
		t.Error("the plan of a rehearsal was run")
	}
	b.hasTables("digits,t")
}

// TestRehearsedLockWithinTheBudget: a rehearsal asks for the lock as a run does. It names and
// counts blockers, and no query waits for longer than the budget.
func TestRehearsedLockWithinTheBudget(t *testing.T) {
	onEachAlone(t, func(b *bench) {
		b.numbered(1000)
		b.hurried()
		s := b.query(20)
		blocker := b.conn()
		ended := make(chan struct{})
		statements := []string{"BEGIN", "SELECT COUNT(*) FROM %s.t WHERE id = 1"}
		once := onPhase(event.PhaseCatchUp, func() { b.block(blocker, statements, ended) })
		result := b.mustRehearse(migration.Rehearsal{Lock: true}, clauses, once)
		<-ended
		s.within(b, 250*time.Millisecond)
		if seen := result.Rehearsed; seen.Blockers < 1 || seen.Blocked < time.Second {
			b.Errorf("%d blockers were seen, for %s", seen.Blockers, seen.Blocked)
		}
		b.hasTables("beside,digits,t")
		b.Logf("longest wait %s; lock held for %s", s.worst, result.LockHeld)
	})
}

// TestRehearsalIsAborted: nothing is left, even if the shadow was to be kept.
func TestRehearsalIsAborted(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(1000)
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(b.ctx())
		_, err := b.rehearse(
			ctx, plan.Rehearsing, migration.Rehearsal{Lock: true, Keep: true}, clauses,
			onPhase(event.PhaseLock, func() { cancel(enough) }),
		)
		if !errors.Is(err, enough) || !strings.Contains(err.Error(), "nothing is left") {
			b.Errorf("error is %v", err)
		}
		b.hasTables("digits,t")
	})
}

// unclaimed waits until the server has noticed that a run was killed.
func (b *bench) unclaimed() {
	b.Helper()
	lock := schema.Literal(plan.LockName(schema.Name{Schema: b.schema, Table: "t"}))
	for deadline := time.Now().Add(time.Minute); b.value("SELECT IS_USED_LOCK("+lock+") IS NULL") != "1"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatal("the killed run holds its lock still")
		}
	}
}

// rehearsing are the flags of a rehearsal that is slow enough to be killed.
var rehearsing = append([]string{"--rehearse"}, slowly...)

// killedRehearsal starts a rehearsal, with a concurrent writer, and kills it while it copies.
func (b *bench) killedRehearsal() {
	b.Helper()
	defer b.writer(b.db)()
	c := b.child(clauses, "", nil, rehearsing...)
	c.await(phaseLine(event.PhaseCopy))
	time.Sleep(300 * time.Millisecond)
	c.kill()
	c.wait()
	b.unclaimed()
	b.hasTables("digits,t,t_midstream,t_shadow")
}

// TestL5_RehearsalGoesOnWithARehearsal: after kill -9 the same command resumes, and leaves nothing.
func TestL5_RehearsalGoesOnWithARehearsal(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(9999)
		b.killedRehearsal()
		defer b.writer(b.db)()
		c := b.child(clauses, "", nil, "--rehearse-lock", "--method=shadow")
		c.mustEnd()
		if !c.heard("resuming an earlier rehearsal") || c.heard("run starts again") {
			c.log("note")
			b.Error("it did not resume")
		}
		b.hasTables("digits,t")
	})
}

// TestL5_RunGoesOnWithARehearsal: a run resumes a rehearsal. Its rows are as good as a run's, and
// are compared.
func TestL5_RunGoesOnWithARehearsal(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(9999)
		b.killedRehearsal()
		stop := b.writer(b.db)
		c := b.child(clauses, phaseLine(event.PhaseCleanup), func(*child) { stop() }, "--method=shadow")
		c.mustEnd()
		if !c.heard("resuming an earlier rehearsal") || c.heard("run starts again") || !c.heard(`"event":"verified"`) {
			c.log("note")
			b.Error("it did not resume")
		}
		b.hasTables("digits,t,t_old")
	})
}

// TestL8_RehearsalLeavesAStoppedRunAlone: a rehearsal neither resumes the work of a run nor drops
// it.
func TestL8_RehearsalLeavesAStoppedRunAlone(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(9999)
		c := b.child(clauses, phaseLine(event.PhaseCopy), (*child).kill, "--method=shadow", "--checkpoint=20ms")
		c.wait()
		b.unclaimed()
		state := b.value("SELECT GROUP_CONCAT(run, state ORDER BY id) FROM " + b.schema + ".t_midstream")
		code, last := b.child(clauses, "", nil, "--rehearse", "--method=shadow").wait()
		if code != 11 || !strings.Contains(last, "an earlier run was stopped") || !strings.Contains(last, "run its command again") {
			b.Errorf("exit code %d: %s", code, last)
		}
		// As if the stopped run came between the plan and the claim.
		_, err := b.rehearse(b.ctx(), plan.Rehearsing, migration.Rehearsal{}, clauses)
		if !errors.Is(err, failure.ErrStopped) {
			b.Errorf("error is %v", err)
		}
		if got := b.value("SELECT GROUP_CONCAT(run, state ORDER BY id) FROM " + b.schema + ".t_midstream"); got != state {
			b.Error("it has written to the state table")
		}
		b.exec("UPDATE " + b.schema + ".t_midstream SET state = REPLACE(state, '\"Version\":2', '\"Version\":1')")
		if _, err := b.rehearse(b.ctx(), plan.Rehearsing, migration.Rehearsal{}, clauses); err == nil {
			b.Error("what another version has left was taken for a rehearsal's")
		}
		b.exec("UPDATE " + b.schema + ".t_midstream SET state = REPLACE(state, '\"Version\":1', '\"Version\":2')")
		c = b.child(clauses, "", nil, "--method=shadow")
		c.mustEnd()
		if !c.heard("resuming an earlier run") {
			b.Error("the run did not resume")
		}
		b.equal()
	})
}

// TestL5_RunGoesOnWithAKeptRehearsal: the kept shadow of a rehearsal has its mark, and is equal to
// the table at that time. A run of the same ALTER resumes it; a run of another ALTER doesn't.
func TestL5_RunGoesOnWithAKeptRehearsal(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(3000)
		result := b.mustRehearse(migration.Rehearsal{Lock: true, Keep: true}, clauses)
		if result.Rehearsed.Shadow != b.schema+".t_shadow" {
			b.Errorf("the result names %q", result.Rehearsed.Shadow)
		}
		b.hasTables("digits,t,t_midstream,t_shadow")
		if source, shadow := b.sums("t"), b.sums("t_shadow"); source != shadow {
			b.Errorf("rows and checksum are %s, of the shadow %s", source, shadow)
		}
		if mark := b.value(
			"SELECT table_comment FROM information_schema.tables WHERE table_name = 't_shadow' AND table_schema = '" + b.schema + "'",
		); !strings.HasPrefix(
			mark, "midstream shadow of",
		) {
			b.Errorf("its comment is %q", mark)
		}
		b.exec(
			"DELETE FROM "+b.schema+".t WHERE id % 7 = 0", "UPDATE "+b.schema+".t SET v = 5 WHERE id % 3 = 0",
			"INSERT INTO "+b.schema+".t VALUES (99999, 1, 99999)",
		)
		_, err := b.migrate(b.ctx(), "ADD COLUMN another INT")
		if !errors.Is(err, failure.ErrOtherAlter) || !strings.Contains(err.Error(), "the rehearsal of ALTER TABLE") {
			b.Errorf("error is %v", err)
		}
		if result := b.mustMigrate(clauses); !result.Resumed || result.Verified == 0 {
			b.Errorf("result %+v", result)
		}
		b.equal()
		b.hasTables("digits,t,t_old")
	})
}

// TestL5_RehearsalsTimeIsNotTheRuns: a run does not take over rows that have the time at which the
// rehearsal began.
func TestL5_RehearsalsTimeIsNotTheRuns(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(100)
		const dated = "ADD COLUMN since DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6)"
		b.mustRehearse(migration.Rehearsal{Keep: true}, dated)
		again := b.mustRehearse(migration.Rehearsal{Keep: true}, dated)
		if !again.Resumed {
			b.Error("a rehearsal did not resume a rehearsal")
		}
		before := b.value("SELECT NOW(6)")
		if result := b.mustMigrate(dated); result.Resumed {
			b.Error("a run resumed it")
		}
		if got := b.value("SELECT COUNT(*) FROM " + b.schema + ".t WHERE since < '" + before + "'"); got != "0" {
			b.Errorf("%s rows have the time of the rehearsal", got)
		}
	})
}

// TestL7_RehearsalIsNeverTakenForASwap: no state of the tables after a rehearsal is mistaken for a
// swap.
func TestL7_RehearsalIsNeverTakenForASwap(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(100)
		b.killedAt("UNLOCK TABLES", clauses, "--rehearse-lock", "--method=shadow")
		b.unclaimed()
		b.exec(
			"UPDATE "+b.schema+".t SET v = 7 WHERE id = 1", // no session holds the lock
			"UPDATE "+b.schema+".t_midstream SET state = JSON_SET(state, '$.Phase', 'cutover') WHERE id = 2",
			"CREATE TABLE "+b.schema+".t_old LIKE "+b.schema+".t",
			"ALTER TABLE "+b.schema+".t "+clauses,
			"DROP TABLE "+b.schema+".t_shadow",
		)
		pool, err := b.open(b.ctx())
		if err != nil {
			b.Fatal(err)
		}
		defer pool.Close()
		finished, err := leftovers.Finish(
			b.ctx(), pool, schema.Name{Schema: b.schema, Table: "t"}, leftovers.Ending{DropOld: true},
			func(string) {},
		)
		if finished != nil || err != nil {
			b.Errorf("finished %+v, %v", finished, err)
		}
		found, err := leftovers.Cleanup(
			b.ctx(), pool, schema.Name{Schema: b.schema, Table: "t"}, false,
			func([]leftovers.Table) bool { return true }, func(string) {},
		)
		if err != nil || len(found) != 1 {
			b.Errorf("cleanup found %+v, %v", found, err)
		}
		b.hasTables("digits,t,t_old")
	})
}
