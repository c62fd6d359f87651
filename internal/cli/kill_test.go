package cli

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/event"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// blockedNow is who blocks the swap, by the status of the run.
func (c *controlling) blockedNow() (b event.Blocked) {
	c.t.Helper()
	c.await("it is blocked", func() (is bool) {
		b, is = record.EventOf(c.status().Blocked).(event.Blocked)
		return is && len(b.Blockers) == 1
	})
	return b
}

// kill asks the run to kill a session.
func (c *controlling) kill(command socket.KillCommand) string {
	c.t.Helper()
	runs, err := socket.Find(c.t.Context(), c.folder)
	if err != nil || len(runs) != 1 {
		c.t.Fatalf("%d runs, %v", len(runs), err)
	}
	var answer socket.Answer
	if err := runs[0].Call(c.t.Context(), http.MethodPost, "kill", command, &answer); err != nil {
		return err.Error()
	}
	return answer.Text
}

// TestAKillHitsOnlyTheSessionThatWasShown: a session of another account or host, with a younger transaction, one that the settings
// spare, and one that holds no lock, live. Between two events, the age of a blocker counts in each status.
func TestAKillHitsOnlyTheSessionThatWasShown(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, everyServer...) {
		t.Run(version, func(t *testing.T) {
			c := toControlIn(t, mysqltest.Server(t, version), 100)
			c.begin("ALTER TABLE "+c.name+" ADD COLUMN c INT", "--method=shadow", "--hold", "--drop-old")
			c.phase("hold")
			app := c.session("BEGIN", "SELECT COUNT(*) FROM "+c.name+" LIMIT 0")
			idle := c.session("BEGIN")
			c.obeys("cutover", nil)
			first := c.blockedNow()
			time.Sleep(3 * time.Second)
			now := c.blockedNow()
			if more := now.Waiting - first.Waiting; more < 2*time.Second {
				t.Errorf("three seconds later it is blocked for %s more", more)
			}
			if now.Run != c.name {
				t.Errorf("status prints commands for the table %q", now.Run)
			}
			b := now.Blockers[0]
			shown := socket.KillCommand{Connection: b.ConnectionID, User: b.User, Host: b.Host, AgeMS: b.Age.Milliseconds()}
			wrong := func(change func(*socket.KillCommand)) socket.KillCommand {
				other := shown
				change(&other)
				return other
			}
			for want, command := range map[string]socket.KillCommand{
				"it belongs to ":             wrong(func(k *socket.KillCommand) { k.User = "another" }),
				"belongs to ":                wrong(func(k *socket.KillCommand) { k.Host = "elsewhere" }),
				"runs another one":           wrong(func(k *socket.KillCommand) { k.AgeMS += time.Hour.Milliseconds() }),
				"holds no lock of the table": wrong(func(k *socket.KillCommand) { k.Connection = idle.ID() }),
			} {
				if got := c.kill(command); !strings.Contains(got, want) || !strings.Contains(got, "was not killed") {
					t.Errorf("%+v: %q", command, got)
				}
			}
			c.obeys("set", []string{"kill-user=nightly_%"})
			if got := c.kill(shown); !strings.Contains(got, "its user is not in --kill-user") {
				t.Error(got)
			}
			c.obeys("set", []string{"kill-user="})
			if got := c.kill(shown); !strings.Contains(got, "killed connection ") {
				t.Error(got)
			}
			c.ends(exit.Done)
			if _, err := app.Exec(t.Context(), "DO 1"); err == nil {
				t.Error("it lives")
			}
			c.lives(idle, "a session without a lock")
		})
	}
}
