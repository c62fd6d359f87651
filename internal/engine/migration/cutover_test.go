package migration_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// stall is the longest time that one of many querying connections waited.
type stall struct {
	mu    sync.Mutex
	worst time.Duration
	what  string
	// beside is the longest wait of connections that do the same on another table.
	beside time.Duration
	stop   context.CancelFunc
	done   sync.WaitGroup
	failed error
}

// query starts connections that continuously read and write table t.
func (b *bench) query(connections int) *stall {
	ctx, stop := context.WithCancel(context.Background())
	s := &stall{stop: stop}
	b.exec("CREATE TABLE "+b.schema+".beside LIKE "+b.schema+".t", "INSERT INTO "+b.schema+".beside SELECT * FROM "+b.schema+".t")
	statements := []string{
		"SELECT v FROM " + b.schema + ".%s WHERE id = %d",
		"UPDATE " + b.schema + ".%s SET v = v + 1 WHERE id = %d",
		"SELECT COUNT(*) FROM " + b.schema + ".%s WHERE id < %d",
	}
	for n := range connections + 4 {
		conn, table, took := b.conn(), "t", s.took
		if n >= connections {
			table, took = "beside", s.tookBeside
		}
		s.done.Go(func() {
			for i := n; ctx.Err() == nil; i++ {
				statement := fmt.Sprintf(statements[i%len(statements)], table, 1+i%1000)
				started := time.Now()
				_, err := conn.ExecContext(context.Background(), statement)
				took(time.Since(started), statement, err)
				time.Sleep(10 * time.Millisecond) // the bound is about locks, not load
			}
		})
	}
	b.Cleanup(s.end)
	return s
}

func (s *stall) took(d time.Duration, statement string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d > s.worst {
		s.worst, s.what = d, statement
	}
	if err != nil && s.failed == nil {
		s.failed = err
	}
}

func (s *stall) tookBeside(d time.Duration, _ string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beside = max(s.beside, d)
	if err != nil && s.failed == nil {
		s.failed = err
	}
}

func (s *stall) end() {
	s.stop()
	s.done.Wait()
}

// slack is what a query may wait in addition to the budget: the time that KILL QUERY takes to work.
const slack = 150 * time.Millisecond

// within fails the test if a query of the table waited for longer than the bound and the machine's
// own delays.
func (s *stall) within(b *bench, bound time.Duration) {
	b.Helper()
	s.end()
	if s.failed != nil {
		b.Errorf("a query failed: %v", s.failed)
	}
	if bound += slack + s.beside; s.worst > bound {
		b.Errorf("a query waited %s, more than %s (%s on another table): %s", s.worst, bound, s.beside, s.what)
	}
}

// TestNoQueryWaitsLongerThanTheBudget: sessions hold a metadata lock for seconds while the run
// wants to cut over and 20 connections continue to query. The run names these sessions, and swaps
// as soon as they are gone.
func TestNoQueryWaitsLongerThanTheBudget(t *testing.T) {
	mysqltest.Seldom(t)
	blockers := map[string][]string{
		"long SELECT on the source":      {"SELECT SLEEP(4) FROM %s.t LIMIT 1"},
		"idle transaction on the source": {"BEGIN", "SELECT COUNT(*) FROM %s.t WHERE id = 1"},
		"idle transaction on the shadow": {"BEGIN", "SELECT COUNT(*) FROM %s.t_shadow WHERE id = 1"},
	}
	for name, statements := range blockers {
		t.Run(name, func(t *testing.T) {
			onEachAlone(t, func(b *bench) {
				b.numbered(1000)
				s := b.query(20)
				b.hurried()
				blocker := b.conn()
				ended := make(chan struct{})
				r := b.background(
					b.ctx(), "ADD COLUMN added INT",
					onPhase(event.PhaseCatchUp, func() { b.block(blocker, statements, ended) }),
				)
				told := b.awaited("word of the blocker", func(e event.Event) bool {
					_, is := e.(event.Blocked)
					return is
				}).(event.Blocked)
				b.identify(blocker, told.Blockers)
				<-ended
				r.wait(b)
				after := time.Now()
				s.within(b, 250*time.Millisecond)
				b.Logf("longest wait %s; swapped %s after the blocker was gone", s.worst, after.Sub(b.freed))
			})
		})
	}
}

// block makes the connection a blocker for some seconds, whatever its statements are.
func (b *bench) block(blocker *sql.Conn, statements []string, ended chan struct{}) {
	running := make(chan error, 1)
	go func() {
		var err error
		for _, statement := range statements {
			if _, err = blocker.ExecContext(context.Background(), strings.ReplaceAll(statement, "%s", b.schema)); err != nil {
				break
			}
		}
		running <- err
	}()
	if len(statements) > 1 {
		if err := <-running; err != nil {
			b.Error(err)
		}
		running <- nil
	} else {
		time.Sleep(500 * time.Millisecond)
	}
	go func() {
		defer close(ended)
		if err := <-running; err != nil {
			b.Error(err)
		}
		if len(statements) > 1 {
			time.Sleep(3 * time.Second)
			if _, err := blocker.ExecContext(context.Background(), "COMMIT"); err != nil {
				b.Error(err)
			}
		}
		b.freed = time.Now()
	}()
}

// identify checks that the run named the right session.
func (b *bench) identify(blocker *sql.Conn, told []event.Blocker) {
	b.Helper()
	for _, t := range told {
		if t.User == "" || t.ConnectionID == 0 {
			b.Errorf("the blocker is reported as %+v", t)
		}
		if strings.Contains(t.Statement, b.schema) {
			return
		}
	}
	b.Errorf("the blocker's statement is missing: %+v", told)
}

// TestL10_OldSnapshotDoesNotReadPart: a transaction whose read view is from the middle of the copy,
// and that uses the table only after the swap, must not see a part of it.
func TestL10_OldSnapshotDoesNotReadPart(t *testing.T) {
	onEach(t, func(b *bench) {
		b.numbered(3000)
		r, release := b.heldAt(1999)
		old := b.conn()
		for _, s := range []string{"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT"} {
			if _, err := old.ExecContext(b.ctx(), s); err != nil {
				b.Fatal(err)
			}
		}
		release()
		b.awaited("word of the old snapshot", func(e event.Event) bool {
			blocked, is := e.(event.Blocked)
			return is && strings.Contains(blocked.Blockers[0].Why, "snapshot")
		})
		var rows int
		if err := old.QueryRowContext(b.ctx(), "SELECT COUNT(*) FROM "+b.schema+".t").Scan(&rows); err != nil || rows != 3000 {
			b.Errorf("the old snapshot sees %d of 3000 rows (%v)", rows, err)
		}
		if _, err := old.ExecContext(b.ctx(), "COMMIT"); err != nil {
			b.Fatal(err)
		}
		r.wait(b)
		b.equal()
	})
}

// TestL10_DumpIsWhole: a mysqldump --single-transaction that overlaps the run holds every row of
// every table.
func TestL10_DumpIsWhole(t *testing.T) {
	b := setup(t, "9.7")
	b.numbered(3000)
	b.exec("CREATE TABLE "+b.schema+".a_first (id INT PRIMARY KEY, filler LONGTEXT)",
		"INSERT INTO "+b.schema+".a_first SELECT id, REPEAT('x', 200000) FROM "+b.schema+".t WHERE id <= 200")
	b.cfg.RowCopy.MaxRows = 500
	var dump *exec.Cmd
	var out strings.Builder
	r := b.background(b.ctx(), "ADD COLUMN added INT", onPhase(event.PhaseCopy, func() {
		dump = b.server.Sandbox.Build.Client(b.ctx(), "mysqldump", append(b.server.Sandbox.ClientArgs(),
			"--single-transaction", "--skip-extended-insert", "--set-gtid-purged=OFF", b.schema)...)
		dump.Stdout = &out
		if err := dump.Start(); err != nil {
			b.Error(err)
		}
	}))
	b.awaited("row copy", entered(event.PhaseCopy))
	r.wait(b)
	err := dump.Wait()
	rows := strings.Count(out.String(), "INSERT INTO `t` VALUES") + strings.Count(out.String(), "INSERT INTO `t` (")
	if err == nil && rows != 3000 {
		b.Errorf("the dump ended well and holds %d of 3000 rows", rows)
	}
}

// TestL7_LostAnswerIsResolvedByLooking: the connection is lost at a statement of the cut-over,
// before or after the server gets it. The run finds out what has happened, makes another attempt if
// nothing has, and ends with the swap.
func TestL7_LostAnswerIsResolvedByLooking(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, statement := range []string{"LOCK TABLES `%s`", "RENAME TABLE `%s`", "UNLOCK TABLES", "DROP TABLE `%s`.`t_old`"} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/answer lost %t", strings.Fields(statement)[0], lost), func(t *testing.T) {
				onEach(t, func(b *bench) {
					if isNew(b.version) && strings.HasPrefix(statement, "DROP") {
						return // only servers before 8.0.13 need it
					}
					l := b.ledger(ledger.Int(), 1000, ledger.Options{Rate: 400})
					b.cfg.NoVerify = true                  // the ledger checks the rows
					b.settings.Lock.Work = 2 * time.Second // allow for a busy machine
					w := b.cutAt(strings.ReplaceAll(statement, "%s", b.schema), lost)
					b.start(l)
					b.mustMigrate(alter)
					if !bent(w) {
						b.Error("the statement did not come")
					}
					b.mustMatchLedger(l)
				})
			})
		}
	}
}

// killer kills the first connection that runs such a statement.
func (b *bench) killer(like string, stop chan struct{}) func() {
	conn := b.conn()
	return func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			var id int64
			err := conn.QueryRowContext(context.Background(), "SELECT processlist_id FROM performance_schema.threads"+
				" WHERE processlist_info LIKE '"+like+"'").Scan(&id)
			if err == nil {
				conn.ExecContext(context.Background(), fmt.Sprintf("KILL %d", id))
				return
			}
		}
	}
}

// backup returns functions that make a backup block every DDL, and end it; nil if the server has no
// such lock (5.7).
func (b *bench) backup() (begin, end func()) {
	b.Helper()
	beginning, ending := []string{"LOCK INSTANCE FOR BACKUP"}, "UNLOCK INSTANCE"
	switch {
	case b.version == "5.7":
		return nil, nil
	case isMariaDB(b.version):
		beginning, ending = []string{"BACKUP STAGE START", "BACKUP STAGE FLUSH", "BACKUP STAGE BLOCK_DDL"}, "BACKUP STAGE END"
	}
	session := b.conn()
	exec := func(statements ...string) {
		for _, s := range statements {
			if _, err := session.ExecContext(context.Background(), s); err != nil {
				b.Errorf("%s: %v", s, err)
			}
		}
	}
	return func() { exec(beginning...) }, func() { exec(ending) }
}

// TestNoQueryWaitsForABackup: LOCK INSTANCE FOR BACKUP comes just when the run asks for its lock.
// It does not block LOCK TABLES, but it blocks the RENAME, under the lock.
func TestNoQueryWaitsForABackup(t *testing.T) {
	mysqltest.Seldom(t)
	onEachAlone(t, func(b *bench) {
		b.numbered(1000)
		s := b.query(20)
		b.hurried()
		begin, end := b.backup()
		if begin == nil {
			return
		}
		r := b.background(b.ctx(), "ADD COLUMN added INT", onPhase(event.PhaseCutover, begin))
		b.awaited("word of the backup", func(e event.Event) bool {
			told, is := e.(event.Blocked)
			return is &&
				slices.ContainsFunc(
					told.Blockers,
					func(one event.Blocker) bool { return strings.Contains(strings.ToUpper(one.Why), "BACKUP") },
				)
		})
		time.Sleep(2 * time.Second)
		end()
		r.wait(b)
		s.within(b, 500*time.Millisecond)
	})
}

// TestL6_FailedSwapLosesNothing: one RENAME is withdrawn because of a backup, the next one is
// killed. What is written between the attempts arrives.
func TestL6_FailedSwapLosesNothing(t *testing.T) {
	onEach(t, func(b *bench) {
		l := b.ledger(ledger.Int(), 2000, ledger.Options{})
		b.start(l)
		begin, end := b.backup()
		if begin == nil {
			return
		}
		r := b.background(b.ctx(), alter, onPhase(event.PhaseCutover, begin))
		b.awaited("a failed attempt", func(e event.Event) bool {
			n, is := e.(event.Note)
			return is && strings.Contains(n.Text, "attempt 1")
		})
		stop := make(chan struct{})
		var killer sync.WaitGroup
		killer.Go(b.killer("RENAME TABLE `"+b.schema+"`%", stop))
		end()
		r.wait(b)
		close(stop)
		killer.Wait()
		b.mustMatchLedger(l)
	})
}

// TestAbortLeavesNothing: an abort at the beginning of each phase leaves the source unchanged and
// nothing else. The error is the reason of the abort.
func TestAbortLeavesNothing(t *testing.T) {
	sideBySide(t)
	enough := errors.New("enough")
	for _, phase := range []event.Phase{event.PhaseCheck, event.PhaseShadow, event.PhaseStart, event.PhaseCopy, event.PhaseIndex,
		event.PhaseCatchUp, event.PhaseCutover} {
		t.Run(string(phase), func(t *testing.T) {
			onEach(t, func(b *bench) {
				b.numbered(2000)
				b.cfg.Indexes = migration.DeferYes
				before := b.sums("t")
				ctx, cancel := context.WithCancelCause(b.ctx())
				defer cancel(nil)
				result, err := b.migrate(ctx, "ADD COLUMN added INT, ADD INDEX (v)", onPhase(phase, func() { cancel(enough) }))
				if err == nil {
					if phase != event.PhaseCutover {
						b.Fatalf("the run continued: %+v", result)
					}
					return // the swap was faster than the abort
				}
				if !errors.Is(err, enough) {
					b.Errorf("aborted by %v", err)
				}
				if after := b.sums("t"); after != before {
					b.Errorf("the source was %s, is %s", before, after)
				}
				if got := b.value("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '" + b.schema + "'"); got != "2" {
					b.Errorf("%s tables exist, want t and digits", got)
				}
			})
		})
	}
}

// TestWhoForbidsTheShadowIsNamed: while a session blocks all reads of the source, or all new
// tables, the run ends soon and names this session.
func TestWhoForbidsTheShadowIsNamed(t *testing.T) {
	for statement, release := range map[string]string{
		"LOCK TABLES %s.t WRITE": "UNLOCK TABLES", "FLUSH TABLES WITH READ LOCK": "UNLOCK TABLES", "LOCK INSTANCE FOR BACKUP": "UNLOCK INSTANCE",
	} {
		t.Run(statement, func(t *testing.T) {
			onEach(t, func(b *bench) {
				if (b.version == "5.7" || isMariaDB(b.version)) && strings.Contains(statement, "INSTANCE") {
					return // they have no such lock
				}
				b.numbered(10)
				blocker := b.conn()
				var id int
				if err := blocker.QueryRowContext(b.ctx(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
					b.Fatal(err)
				}
				exec := func(statement string) {
					if _, err := blocker.ExecContext(b.ctx(), strings.ReplaceAll(statement, "%s", b.schema)); err != nil {
						b.Error(err)
					}
				}
				_, err := b.migrate(b.ctx(), "ADD COLUMN added INT", onPhase(event.PhaseShadow, func() { exec(statement) }))
				exec(release)
				if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("connection %d of %s@", id, b.server.User)) {
					b.Errorf("connection %d isn't named: %v", id, err)
				}
			})
		})
	}
}

// TestL6_BackupAsksAsTheTablesAreSwapped: a RENAME that waits for a backup loses its place in the
// queue, and a session behind it writes to the old table (MariaDB). Then no swap is made, and the
// session's row is in the new table.
func TestL6_BackupAsksAsTheTablesAreSwapped(t *testing.T) {
	t.Parallel()
	server := mysqltest.Own(t, "mariadb-10.11", sandbox.Options{}) // a backup locks the complete server
	for _, c := range []struct{ name, begin, end, at string }{
		{"backup", "BACKUP STAGE START", "BACKUP STAGE END", "DROP TABLE `%s`.`t_old`"},
		{"read lock", "FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES", "DROP TABLE `%s`.`t_old`"},
		{"backup at the last moment", "BACKUP STAGE START", "BACKUP STAGE END", "UNLOCK TABLES"},
		{"read lock at the last moment", "FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES", "UNLOCK TABLES"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := on(t, "mariadb-10.11", server)
			b.numbered(1000)
			b.settings.Lock.Work = 2 * time.Second
			var done sync.WaitGroup
			// run executes statements in a session of its own, and returns once the first waits so.
			run := func(state string, statements ...string) {
				session := b.conn()
				done.Go(func() {
					for _, s := range statements {
						if _, err := session.ExecContext(b.ctx(), s); err != nil {
							b.Errorf("%s: %v", s, err)
						}
					}
				})
				for b.value("SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_state = '"+state+"' AND processlist_info = '"+statements[0]+"'") == "0" {
					time.Sleep(time.Millisecond)
				}
			}
			w := b.wire(fault.Rule{After: "LOCK TABLES `" + b.schema, At: strings.ReplaceAll(c.at, "%s", b.schema), Call: func() {
				run("Waiting for table metadata lock", "INSERT INTO "+b.schema+".t VALUES (5000, 1, 5000)")
				run("Waiting for backup lock", c.begin, "DO SLEEP(0.1)", c.end)
			}})
			b.mustMigrate("ADD COLUMN added INT")
			done.Wait()
			if !bent(w) {
				b.Error("no backup asked")
			}
			if n := b.value("SELECT COUNT(*) FROM " + b.schema + ".t WHERE id = 5000"); n != "1" {
				b.Errorf("the new table has the written row %s times", n)
			}
		})
	}
}
