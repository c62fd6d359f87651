package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/groups"
	"midstream/internal/ops/history"
	"midstream/internal/ops/queue"
)

// together puts a group of the tables t and u into the queue.
func (q *queueing) together(id, clauses string, more ...string) {
	q.t.Helper()
	args := append([]string{"--together", "ALTER TABLE " + q.name + " " + clauses, "ALTER TABLE " + q.database() + ".u " + clauses, "--server=main", "--id=" + id}, more...)
	if code, stdout, stderr := q.ask("submit", args...); code != exit.Done {
		q.t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

// stands is the status of a group.
func (q *queueing) stands(id string) (now groups.ChangeStatus) {
	q.t.Helper()
	if status, text := q.http("GET", "/v1/changes/"+id+"/status", ""); status == http.StatusOK {
		if err := json.Unmarshal([]byte(text), &now); err != nil {
			q.t.Fatal(err)
		}
	}
	return now
}

// obey has a group do something by the API, and returns what it says.
func (q *queueing) obey(id, command, body string) string {
	q.t.Helper()
	status, text := q.http("POST", "/v1/changes/"+id+"/"+command, body)
	if status != http.StatusOK {
		q.t.Fatalf("%s: %d %s", command, status, text)
	}
	return text
}

// groupHolds waits until a group waits with its swap.
func (q *queueing) groupHolds(id string) queue.Change {
	q.t.Helper()
	q.becomes(id, queue.StateRunning)
	var now groups.ChangeStatus
	until(q.t, func() string { return fmt.Sprintf("%+v\n%s", now, &q.daemon.stdout) }, func() bool {
		now = q.stands(id)
		return now.State == "held" && len(now.Tables) == 2
	})
	return q.at(id)
}

// twoTables is a queue next to writers on both tables.
func twoTables(t *testing.T, rows int) *queueing {
	t.Helper()
	q := queueOf(t, toControlIn(t, mysqltest.Server(t, "9.7"), rows))
	executing(t, q.i, q.database())("INSERT INTO u (a, b) SELECT a, b FROM t LIMIT 300")
	db := q.i.Open(t, q.database())
	ctx, stopped := t.Context(), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 1; ctx.Err() == nil; n++ {
			_, _ = db.ExecContext(ctx, fmt.Sprintf("INSERT INTO u (a, b) VALUES (%d, 'new')", n%500))
			_, _ = db.ExecContext(ctx, fmt.Sprintf("UPDATE u SET b = 'changed' WHERE a = %d", n%400))
			time.Sleep(5 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { <-stopped })
	return q
}

// bothHave fails unless both tables have these columns.
func (q *queueing) bothHave(want string) {
	q.t.Helper()
	got := q.query("SELECT GROUP_CONCAT(text ORDER BY text SEPARATOR ' ') FROM (SELECT CONCAT(table_name, ':', GROUP_CONCAT(column_name ORDER BY ordinal_position)) AS text " +
		"FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name IN ('t', 'u') GROUP BY table_name) AS tables")
	if got != "t:"+want+" u:"+want {
		q.t.Errorf("the columns are %s", got)
	}
}

// TestL6_AQueueSwapsAGroupInOneStep: a group is one change of the queue. Its status has both tables, a command acts on both, a change that
// shares a table waits, and the result and the report have the swap once.
func TestL6_AQueueSwapsAGroupInOneStep(t *testing.T) {
	sideBySide(t)
	q := twoTables(t, 2000)
	q.serve("--limit=3")
	q.together("g", "ADD COLUMN c INT", "--option=hold")
	q.together("g", "ADD COLUMN c INT", "--option=hold") // it is there
	q.submit("later", q.database()+".u ADD COLUMN d INT")
	g := q.groupHolds("g")
	both := []string{q.name, q.database() + ".u"}
	if !g.Together || !slices.Equal(g.Tables, both) || g.History == "" {
		t.Errorf("%+v", g)
	}
	contains(t, q.at("later").Why, "g, which was submitted earlier, also changes "+q.database()+".u")
	_, list, _ := q.ask("queue")
	contains(t, list, "running   g  "+strings.Join(both, ", ")+" on main")
	q.await("the queue to say that it is held", func() bool { return strings.Contains(q.at("g").Why, "on hold: ") })

	contains(t, q.obey("g", "pause", "{}"), "the run is paused")
	if now := q.stands("g"); now.State != "paused" || now.Tables[0].State != "paused" || now.Tables[1].State != "paused" {
		t.Errorf("%+v", now)
	}
	q.obey("g", "resume", "{}")
	contains(t, q.obey("g", "set", `{"settings":{"lock-wait":"300ms"}}`), "lock-wait is")
	_, settings := q.http("GET", "/v1/changes/g/settings", "")
	contains(t, settings, `"value":"300ms"`)
	if status, text := q.http("GET", "/v1/changes/g/blockers", ""); status != http.StatusOK || !strings.Contains(text, `"tables":["`+strings.Join(both, `","`)+`"]`) {
		t.Errorf("%d %s", status, text)
	}
	if status, text := q.http("POST", "/v1/changes/g/pause", `{"stop_capture":true}`); status != http.StatusConflict {
		t.Errorf("%d %s", status, text)
	}
	_, metrics := q.http("GET", "/metrics", "")
	for _, table := range both {
		contains(t, metrics, `change="g",rehearsal="",server="`+q.i.Address+`",table="`+table+`"`)
	}
	_, page := q.http("GET", "/changes/g", "")
	contains(t, page, "<h1 id=\"named\" tabindex=\"-1\">"+strings.Join(both, ", "), "All tables are swapped in one step", `data-together="true"`)

	contains(t, q.obey("g", "cutover", "{}"), "all tables are swapped in one step")
	g = q.becomes("g", queue.StateDone)
	contains(t, g.Why, "the old tables are kept as "+q.name+"_old, "+q.database()+".u_old")
	contains(t, g.Next, "midstream cleanup", "--old "+q.name+", ", "--old "+q.database()+".u")
	q.becomes("later", queue.StateDone)
	story, err := history.Whole(g.History)
	if err != nil || len(story.Together) != 1 || story.Result == nil || !story.Result.Swapped {
		t.Fatalf("%+v, %v", story, err)
	}
	_, report := q.http("GET", "/v1/changes/g/report.md", "")
	contains(t, report, "# "+strings.Join(both, ", "), "All tables were swapped in one step: ")
	if strings.Count(report, "held for") != 1 {
		t.Errorf("the swap is there again:\n%s", report)
	}
	_, events := q.http("GET", "/v1/changes/g/events", "")
	for _, table := range both {
		contains(t, events, `"member":"`+table+`"`, `"told":"`+table+`: `)
	}
	contains(t, events, "event: end\n")
	if status, text := q.http("POST", "/v1/changes/g/undo", "{}"); status != http.StatusConflict || !strings.Contains(text, "a group keeps none") {
		t.Errorf("%d %s", status, text)
	}
}

// TestL9_ServeIsKilledWhileAGroupCopies: the runs of the group continue, and the next serve finds them. If they are killed as well, no
// table is changed, and the same statements resume both.
func TestL9_ServeIsKilledWhileAGroupCopies(t *testing.T) {
	sideBySide(t)
	q := twoTables(t, 20000)
	q.serve()
	slow := []string{"--option=chunk-time=10ms", "--option=workers=1", "--option=copy-share=2%", "--option=checkpoint=100ms"}
	q.together("g", "ADD COLUMN c INT", append(slow, "--option=drop-old")...)
	copied := func(id string) {
		t.Helper()
		q.await("the first rows of "+id, func() bool {
			now := q.stands(id)
			progress, _ := now.Progress.(map[string]any)
			rows, _ := progress["rows_copied"].(float64)
			return len(now.Tables) == 2 && now.Phase == "copy" && rows > 100
		})
	}
	copied("g")
	before := q.at("g")
	q.kill()
	q.serve()
	if now := q.at("g"); now.State != queue.StateRunning || now.Process != before.Process {
		t.Fatalf("%+v", now)
	}
	copied("g")
	if err := syscall.Kill(before.Process, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	g := q.becomes("g", queue.StateUnknown)
	contains(t, g.Next, "--again --id=g resumes it", q.name+", midstream cleanup", q.database()+".u")
	q.bothHave("id,a,b")
	q.together("again", "ADD COLUMN c INT", "--option=drop-old", "--option=hold")
	q.groupHolds("again")
	q.bothHave("id,a,b")
	q.obey("again", "cutover", "{}")
	again := q.becomes("again", queue.StateDone)
	q.bothHave("id,a,b,c")
	story, err := history.Whole(again.History)
	if err != nil || len(story.Together) != 1 {
		t.Fatalf("%+v, %v", story, err)
	}
	for _, one := range append(story.Together, story) {
		if len(one.Earlier) != 1 || one.Earlier[0].Run.Process != before.Process {
			t.Errorf("the run on %s resumed nothing: %+v", one.Run.Table, one.Earlier)
		}
	}
}

// TestL8_AnAbortedGroupLeavesNothing: abort ends the runs of all tables, keeps both tables and drops what the runs have made.
func TestL8_AnAbortedGroupLeavesNothing(t *testing.T) {
	sideBySide(t)
	q := twoTables(t, 2000)
	q.serve()
	q.together("g", "ADD COLUMN c INT", "--option=hold")
	q.groupHolds("g")
	q.obey("g", "abort", "{}")
	if g := q.becomes("g", queue.StateAborted); *g.ExitCode != exit.Aborted {
		t.Errorf("%+v", g)
	}
	q.bothHave("id,a,b")
	if got := q.query(allTables); got != "t,u" {
		t.Errorf("the tables are %s", got)
	}
}

// TestRefusedGroups: what is no group is refused at the submission; what the plan refuses fails, and names the complete statements.
func TestRefusedGroups(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 10)
	executing(t, q.i, q.database())("CREATE TABLE child (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES t (id))")
	main := q.home + "/main.cnf"
	text, err := os.ReadFile(main)
	if err == nil {
		err = os.WriteFile(q.home+"/undone.cnf", []byte(string(text)+"[midstream]\nundo = 24h\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	q.serve("--server=undone=" + q.home + "/undone.cnf")
	alter := func(table string) string { return "ALTER TABLE " + q.database() + "." + table + " ADD COLUMN c INT" }
	for want, args := range map[string][]string{
		"--together needs several statements":        {alter("t"), "--together", "--server=main"},
		"is altered twice":                           {alter("t"), alter("t"), "--together", "--server=main"},
		"--together takes ALTER TABLE only":          {alter("t"), "DROP TABLE shop.x", "--together", "--server=main"},
		"--together and --method exclude each other": {alter("t"), alter("u"), "--together", "--server=main", "--option=method=copy"},
		"--together excludes --undo":                 {alter("t"), alter("u"), "--together", "--server=main", "--option=undo=1h"},
		"the option undo=0s":                         {alter("t"), alter("u"), "--together", "--server=undone"},
		"it does not name its table":                 {alter("t"), alter("u"), "--together", "--server=main", "--option=key=x"},
		"or add --together for several":              {alter("t"), alter("u"), "--server=main"},
		"--undo takes no statement":                  {"--undo=g", "--together"},
	} {
		code, _, stderr := q.ask("submit", args...)
		if code != exit.WrongUsage || !strings.Contains(strings.Join(strings.Fields(stderr), " "), want) {
			t.Errorf("%q: exit code %d\n%s", want, code, stderr)
		}
	}
	bigger := "ALTER TABLE " + q.name + " MODIFY id BIGINT NOT NULL AUTO_INCREMENT"
	body, _ := json.Marshal(map[string]any{"server": "main", "together": true, "statements": []string{bigger, alter("u")}})
	status, answer := q.http("POST", "/v1/plans", string(body))
	var plan queue.PlanAnswer
	err = json.Unmarshal([]byte(answer), &plan)
	if err != nil || status != http.StatusOK || len(plan.Plans) != 3 || plan.Result.Needed == nil {
		t.Errorf("%d %s, %v", status, answer, err)
	}
	contains(t, plan.Text, "One swap of 3 tables", "The complete command")
	if code, _, stderr := q.ask("submit", "--together", bigger, alter("u"), "--server=main", "--id=needs", "--option=copy-share=50%"); code != exit.Done {
		t.Fatal(stderr)
	}
	needs := q.becomes("needs", queue.StateFailed)
	contains(t, needs.Why, "column parent of "+q.database()+".child (int) needs the type bigint as well")
	contains(t, needs.Next, "--server=main --together --option='copy-share=50%' '"+bigger+"'", "ALTER TABLE "+q.database()+".child MODIFY")
	if *needs.ExitCode != exit.Refused {
		t.Errorf("%+v", needs)
	}
}

// TestAGroupOnAServerWithoutGroupsFails: its plan refuses it, and the queue says so.
func TestAGroupOnAServerWithoutGroupsFails(t *testing.T) {
	sideBySide(t)
	q := queueOf(t, toControlIn(t, mysqltest.Server(t, "8.0"), 10))
	q.serve()
	q.together("g", "ADD COLUMN c INT")
	g := q.becomes("g", queue.StateFailed)
	contains(t, g.Why, "8.0.13")
	if *g.ExitCode != exit.Refused {
		t.Errorf("%+v", g)
	}
}

// TestAFreezeEndsEarlierReleasesOfAGroup: no table of a group swaps on a frozen server.
func TestAFreezeEndsEarlierReleasesOfAGroup(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 300)
	q.serve()
	q.together("g", "ADD COLUMN c INT", "--option=drop-old", "--option=hold")
	q.groupHolds("g")
	q.obey("g", "pause", "{}")
	q.obey("g", "cutover", `{"now":true}`)
	if status, text := q.http("POST", "/v1/freezes", `{"server":"main","reason":"x"}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	q.obey("g", "resume", "{}")
	for range 10 {
		time.Sleep(200 * time.Millisecond)
		if c := q.at("g"); c.State != queue.StateRunning {
			t.Fatalf("it is %s (%s)", c.State, c.Why)
		}
	}
	if status, text := q.http("DELETE", "/v1/freezes/main", ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	q.becomes("g", queue.StateDone)
}
