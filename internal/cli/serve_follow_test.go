package cli

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/followers"
	"midstream/internal/ops/queue"
)

// everyServer are the versions of servers.
var everyServer = []string{"9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8"}

// followed waits until a follower of the service follows the table, so.
func (q *queueing) followed(is func(followers.Standing) bool) (now followers.Standing) {
	q.t.Helper()
	var last string
	until(q.t, func() string { return last + "\n" + q.daemon.stdout.String() }, func() bool {
		found, err := followers.Ask(q.t.Context(), q.folder, "", q.name)
		if found != nil {
			now = *found
		}
		last = fmt.Sprintf("the follower is %+v (%v)", found, err)
		return err == nil && found != nil && is(now)
	})
	return now
}

func hasCompared(s followers.Standing) bool { return following(s) && s.Compared != nil }

// TestU3_ServeFollowsUntilTheUndo: a change of the queue with undo-mode=warm has a follower when it is done. The follower
// blocks no other change, comes back after a kill, outlives the daemon, gives way to a change of its own table, and takes
// the change back when the queue is asked for that.
func TestU3_ServeFollowsUntilTheUndo(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	for _, version := range mysqltest.InTurn(t, everyServer...) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			servesUntilTheUndo(t, queueOf(t, toControlIn(t, mysqltest.Server(t, version), 1000)))
		})
	}
}

func servesUntilTheUndo(t *testing.T, q *queueing) {
	q.serve()
	q.submit("warm", q.name+" ADD COLUMN c INT", "--option=undo=1h", "--option=undo-mode=warm", "--option=method=shadow")
	q.becomes("warm", queue.StateDone)
	first := q.followed(hasCompared)
	list, _ := q.undo(exit.Done, "--list")
	contains(t, list, "Unfit rows none, compared ")
	_, status, _ := midstream(t, "status", "--control-dir="+q.folder, q.name)
	contains(t, status, " compared ", " ago")
	q.submit("other", q.database()+".u ADD COLUMN c INT", "--option=method=shadow", "--option=drop-old")
	q.becomes("other", queue.StateDone)

	if err := syscall.Kill(first.Process, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := q.followed(func(s followers.Standing) bool { return hasCompared(s) && s.Process != first.Process })
	if first.Compared == nil || second.Compared == nil || !second.Compared.After(*first.Compared) {
		t.Errorf("it was compared at %v, and by the next process at %v", first.Compared, second.Compared)
	}
	q.kill()
	q.serve()
	q.submit("same", q.name+" ADD INDEX by_b (b(10))", "--option=method=inplace")
	q.becomes("same", queue.StateDone)
	q.followed(func(s followers.Standing) bool { return following(s) && s.Process != second.Process })

	if status, answer := q.http("POST", "/v1/changes/warm/undo", "{}"); status != 200 && status != 201 {
		t.Fatalf("undo: %d %s", status, answer)
	}
	if c := q.becomes("warm-undo", queue.StateDone); !strings.Contains(c.Why, "undo") {
		t.Errorf("the undo is %+v", c)
	} else if text, _, _ := strings.Cut(strings.TrimPrefix(c.Why, "its run took "), ";"); c.Began != nil && c.Ended != nil {
		took, err := time.ParseDuration(strings.ReplaceAll(text, " ", "")) // not the life of the process that has followed
		if most := c.Ended.Sub(*c.Began) + time.Second; err != nil || took > most {
			t.Errorf("an undo of %s: %s, %v", most, c.Why, err)
		}
	}
	if got := q.columns(); got != "id,a,b" {
		t.Errorf("the undo has left the columns %s", got)
	}
	q.undo(exit.Done, "--end")
}

// TestU1_AFollowerOfServeLosesNoWrite: while sessions write, serve and then its follower are killed, in each order. The undo
// that the queue is asked for afterwards gives the table its old definition with every row as its writers know it.
func TestU1_AFollowerOfServeLosesNoWrite(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	for _, version := range mysqltest.InTurn(t, everyServer...) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			d := beginDropInOn(t, mysqltest.Server(t, version), 3000)
			q := queueOf(t, &controlling{t: t, i: d.i, name: d.name, query: d.query, folder: t.TempDir() + "/c"})
			before := q.columns()
			q.serve()
			q.submit("warm", q.name+" ADD COLUMN extra INT, ADD INDEX by_extra (extra)",
				"--option=undo=1h", "--option=undo-mode=warm", "--option=method=shadow")
			q.becomes("warm", queue.StateDone)
			process := q.followed(hasCompared).Process
			killed := func() {
				t.Helper()
				if err := syscall.Kill(process, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			next := func(s followers.Standing) bool { return hasCompared(s) && s.Process != process }

			q.kill() // serve alone: its follower goes on
			if now := q.followed(following); now.Process != process {
				t.Errorf("without serve, process %d follows in place of %d", now.Process, process)
			}
			q.serve()
			if now := q.followed(following); now.Process != process {
				t.Errorf("serve has begun process %d next to %d", now.Process, process)
			}
			killed() // the follower alone
			process = q.followed(next).Process
			q.kill() // serve first, and then the follower
			killed()
			time.Sleep(300 * time.Millisecond) // writes that no process follows
			q.serve()
			process = q.followed(next).Process
			killed() // the follower first
			q.kill()
			q.serve()
			q.followed(next)

			if code, stdout, stderr := q.ask("submit", "--undo=warm", "--wait"); code != exit.Done {
				t.Fatalf("undo: exit code %d\n%s\n%s\n%s", code, stdout, stderr, &q.daemon.stdout)
			}
			if got := q.columns(); got != before {
				t.Errorf("the undo has left the columns %s, want %s", got, before)
			}
			if err := d.ledger.Stop(); err != nil {
				t.Error(err)
			}
			proof, err := d.ledger.Compare(t.Context())
			if err != nil || !proof.Equal() {
				t.Errorf("%s (%v)", proof, err)
			}
			t.Logf("%s; by the follower %d; %d transactions", proof, process, d.ledger.Stats().Transactions)
			q.undo(exit.Done, "--end")
		})
	}
}
