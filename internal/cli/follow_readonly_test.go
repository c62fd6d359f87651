package cli

import (
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
	"midstream/internal/ops/followers"
)

// TestU3_AFollowerWaitsForAReadOnlyServer: while its server is read-only, a follower waits and reports the reason, and its undo is
// refused. It follows on by itself once the server can be written, and the undo keeps what was written then.
func TestU3_AFollowerWaitsForAReadOnlyServer(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	for _, version := range mysqltest.InTurn(t, everyServer...) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := toControlIn(t, mysqltest.Own(t, version, sandbox.Options{}), 1000)
			c.begin("ALTER TABLE "+c.name+" ADD COLUMN c INT", "--method=shadow", "--undo=1h", "--undo-mode=warm")
			c.follower(following)
			variable := "super_read_only"
			if strings.HasPrefix(version, "mariadb") {
				variable = "read_only"
			}
			database, _, _ := strings.Cut(c.name, ".")
			exec := executing(t, c.i, database)
			exec("SET GLOBAL " + variable + " = ON")
			now := c.follower(func(s followers.Standing) bool { return s.State == followers.Waiting })
			contains(t, now.Why, "the server is read-only, and the run continues once it can be written")
			_, status, _ := midstream(t, "status", "--control-dir="+c.folder, c.name)
			contains(t, strings.Join(strings.Fields(status), " "), "state waiting: for its server: the server is read-only", "this process follows the table")
			_, stderr := c.undo(exit.NotNow)
			contains(t, stderr, "its process waits for its server: the server is read-only")
			contains(t, c.run.stdout.String()+c.run.stderr.String(), "the server is read-only")
			if variable == "super_read_only" { // read_only stays ON: each new attempt is refused, and so is the undo
				exec("SET GLOBAL super_read_only = OFF")
				for range 40 {
					c.undo(exit.NotNow)
				}
			}
			exec("SET GLOBAL read_only = OFF")
			c.follower(following)
			exec("INSERT INTO t (id, a) VALUES (5000, -6)")
			c.undo(exit.Done)
			if got := c.query("SELECT COUNT(*) FROM t WHERE id = 5000"); got != "1" || c.columns() != "id,a,b" {
				t.Errorf("the undo has left %s of the row, and the columns %s", got, c.columns())
			}
			if code := c.run.exit(); code != exit.Done {
				t.Errorf("the run that followed ended with %d\n%s\n%s", code, &c.run.stdout, &c.run.stderr)
			}
			c.undo(exit.Done, "--end")
		})
	}
}
