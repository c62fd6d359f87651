package cli

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/leftovers"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/followers"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/socket"
)

// stepPrinted is a command in a text for people: its words up to the table or the id that it names.
var stepPrinted = regexp.MustCompile(`midstream (?:submit --undo=\S+(?: --option=\S+)?|(?:undo|cleanup|abort|queue|status)(?: --\S+)* [^\s,;]+)`)

// steps are the commands that the next step of a change has.
func (q *queueing) steps(id string) []string {
	return stepPrinted.FindAllString(strings.NewReplacer(q.here(), " ", " --control-dir="+q.folder, "").Replace(q.at(id).Next), -1)
}

// here are the flags of a command that reaches the service.
func (q *queueing) here() string { return " --to='" + q.url + "' " }

// fromElsewhere fails the test unless a command of the next step, which needs the server, has its address and the folder of its
// sockets, and one for the service has its URL.
func (q *queueing) fromElsewhere(id string) {
	q.t.Helper()
	cmd := command(q.t, "queue", "--to="+q.url, id)
	cmd.Env = append(cmd.Env, "HOME="+q.home, "XDG_STATE_HOME=")
	r := start(q.t, cmd)
	r.exit()
	host, port, _ := strings.Cut(q.i.Address, ":")
	contains(q.t, r.stdout.all(), "midstream undo --host="+host+" --port="+port+" --control-dir="+q.folder+" --end "+q.name, "midstream submit"+q.here()+"--undo="+id)
}

// takes gives a command that was printed, which must succeed.
func (q *queueing) takes(printed string) {
	q.t.Helper()
	words := strings.Fields(printed)[1:]
	var code int
	var stdout, stderr string
	switch verb := words[0]; verb {
	case "submit":
		code, stdout, stderr = q.ask(verb, append(words[1:], "--wait")...)
	case "queue":
		code, stdout, stderr = q.ask(verb, words[1:]...)
	case "abort", "status":
		code, stdout, stderr = midstream(q.t, append(words, "--control-dir="+q.folder)...)
	case "undo":
		code, stdout, stderr = midstream(q.t, append(append(words, "--control-dir="+q.folder), flagsTo(q.t, q.i)...)...)
	default:
		code, stdout, stderr = midstream(q.t, append(append(words, "--yes"), flagsTo(q.t, q.i)...)...)
	}
	if code != exit.Done {
		q.t.Errorf("%s: exit code %d\n%s\n%s", printed, code, stdout, stderr)
	}
}

// nextIs waits until the next step of a change has these commands.
func (q *queueing) nextIs(id string, want ...string) {
	q.t.Helper()
	var got []string
	told := func() string {
		return fmt.Sprintf("the next step of %s is %q (%q), want %q", id, q.at(id).Next, got, want)
	}
	until(q.t, told, func() bool { got = q.steps(id); return fmt.Sprint(got) == fmt.Sprint(want) })
}

// followsOnce waits until a process other than this one follows the table.
func (q *queueing) followsOnce(former int) (process int) {
	q.t.Helper()
	return q.followed(func(s followers.Standing) bool { return following(s) && s.Process != former }).Process
}

// TestU3_TheNextStepOfAChangeIsPermitted: what the queue prints as the next step of a change with an undo is a command that the
// state of the undo permits: while it is open, undone, made again, stopped, or given up.
func TestU3_TheNextStepOfAChangeIsPermitted(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	q := toQueue(t, 1000)
	q.serve()
	const undo, redo = "midstream submit --undo=a", "midstream submit --undo=a-undo"
	end := "midstream undo --end " + q.name
	q.submit("a", q.name+" MODIFY a BIGINT", "--option=undo=1h", "--option=method=shadow")
	q.becomes("a", queue.StateDone)
	q.nextIs("a", undo, end)
	q.fromElsewhere("a")
	q.takes(undo)
	q.nextIs("a", redo, end)
	q.takes(redo)
	q.nextIs("a", "midstream submit --undo=a-undo-2", end)
	q.nextIs("a-undo-2", "midstream submit --undo=a-undo-2", end)
	contains(t, q.at("a-undo-2").Next, "takes the change back")

	// An undo that is at work, and then killed.
	if code, _, stderr := q.ask("submit", "--undo=a-undo-2", "--option=hold"); code != exit.Done {
		t.Fatal(stderr)
	}
	q.nextIs("a", "midstream queue a-undo-3")
	q.takes("midstream queue a-undo-3")
	held := q.holds("a-undo-3") // its process prints how people elsewhere reach the server, and not the option file of the service
	runs, err := socket.Find(t.Context(), q.folder)
	if host, port, _ := strings.Cut(q.i.Address, ":"); err != nil || len(runs) != 1 || string(runs[0].Found.Reach) != "--host="+host+" --port="+port+" --control-dir="+q.folder {
		t.Errorf("the run prints commands for others: %+v, %v", runs, err)
	}
	if err := syscall.Kill(held.Process, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	q.becomes("a-undo-3", queue.StateUnknown)
	cleanup := "midstream cleanup " + q.name
	q.nextIs("a", "midstream submit --undo=a-undo-2", cleanup)
	q.nextIs("a-undo-3", "midstream submit --undo=a-undo-2", cleanup)
	if u := q.undoIs("a-undo-2", string(leftovers.UndoStopped)); !strings.HasPrefix(u.Text, "undo: stopped, because its process is gone") {
		t.Errorf("the undo of a change whose undo was killed: %+v", u)
	}
	list, _ := q.undo(exit.Done, "--list")
	contains(t, strings.Join(strings.Fields(list), " "), ": stopped Change", "--control-dir="+q.folder, " "+q.name+" takes the change back now", "midstream cleanup "+q.name)
	q.takes("midstream submit --undo=a-undo-2")
	q.becomes("a-undo-4", queue.StateDone)
	if got := q.query("SELECT column_type FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 't' AND column_name = 'a'"); got != "int" {
		t.Errorf("the undo that was resumed has left the type %s", got)
	}

	q.takes(end)
	q.nextIs("a", "midstream cleanup --old "+q.name)
	q.takes("midstream cleanup --old " + q.name)
}

// TestU3_TheNextStepNextToAFollowerIsPermitted: a follower that is killed is started again, and the service writes that. Its killed
// undo is stopped until then. The next step next to a follower takes the change back; or it ends the follower before it gives
// the undo up.
func TestU3_TheNextStepNextToAFollowerIsPermitted(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	q := toQueue(t, 1000)
	q.serve()
	q.submit("w", q.name+" MODIFY a BIGINT", "--option=undo=1h", "--option=undo-mode=warm", "--option=method=shadow")
	q.becomes("w", queue.StateDone)
	first := q.followsOnce(0)
	undo, abort, end := "midstream submit --undo=w", "midstream abort "+q.name, "midstream undo --end "+q.name
	q.nextIs("w", undo, abort, end)
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	q.daemon.await(&q.daemon.stdout, "its process was killed or has crashed. It is started again")
	second := q.followsOnce(first)
	q.daemon.await(&q.daemon.stdout, fmt.Sprintf("process %d follows the table again", second))

	// One that another service has begun.
	q.kill()
	q.serve()
	q.nextIs("w", undo, abort, end)
	if err := syscall.Kill(second, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	q.daemon.await(&q.daemon.stdout, "its process was killed or has crashed. It is started again")
	third := q.followsOnce(second)
	q.daemon.await(&q.daemon.stdout, fmt.Sprintf("process %d follows the table again", third))
	if text := q.daemon.stdout.String(); strings.Contains(text, "Run the same command") {
		t.Errorf("the service advises to run by hand what it starts itself:\n%s", text)
	}

	// midstream cutover does not take the change back.
	code, _, stderr := midstream(t, "cutover", "--control-dir="+q.folder, q.name)
	if code != exit.NotNow {
		t.Errorf("cutover of a follower: exit code %d", code)
	}
	contains(t, stderr, "follows the table for an undo", "midstream undo --control-dir="+q.folder+" "+q.name, "midstream abort --control-dir="+q.folder+" "+q.name)
	executing(t, q.i, q.database())("INSERT INTO t (id, a) VALUES (5001, 5000000000)")
	park := undo + " --option=park"
	q.nextIs("w", park)
	_, status, _ := midstream(t, "status", "--control-dir="+q.folder, q.name)
	contains(t, status, "1, with the key (id=5001)")
	q.takes(park)
	q.nextIs("w", "midstream submit --undo=w-undo", end)
	q.takes("midstream submit --undo=w-undo") // made again

	// A follower that its operator ends, to give the undo up.
	q.nextIs("w", "midstream submit --undo=w-undo-2", end)
	q.takes(end)
	executing(t, q.i, q.database())("DROP TABLE IF EXISTS t_parked")
	q.submit("x", q.name+" ADD COLUMN z INT", "--option=undo=1h", "--option=undo-mode=warm", "--option=method=shadow", "--option=old-name=t_older")
	q.becomes("x", queue.StateDone)
	q.followsOnce(third)
	q.nextIs("x", "midstream submit --undo=x", abort, end)
	q.takes(abort)
	q.nextIs("x", "midstream submit --undo=x", end)
	q.takes(end)
	if runs, err := socket.Find(t.Context(), q.folder); err != nil || len(runs) > 0 {
		t.Errorf("%d runs are left (%v)", len(runs), err)
	}
}
