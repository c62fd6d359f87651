package migration_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
)

// TestL9_FinishSaysWhatIsKnown: a command that can't finish an earlier run reports a swap only if
// the swap is known, and reports that nothing was written only if nothing was.
func TestL9_FinishSaysWhatIsKnown(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, c := range []struct {
		name   string
		at     string // the run is killed at it
		spoil  string // run after the kill
		rule   fault.Rule
		code   int
		say    []string
		silent string
	}{
		{"no swap, no privilege", `"Phase":"cutover"`, "DROP TABLE %s.t_shadow", fault.Rule{At: "FROM performance_schema.threads", Error: 1142}, 14,
			[]string{`"swapped":false`, `"left":"nothing was written`, "is not known", "same command again"}, "has swapped the tables"},
		{"no swap, no connection", `"Phase":"cutover"`, "DROP TABLE %s.t_shadow", fault.Rule{At: "FOR UPDATE", Cut: true}, 14,
			[]string{`"swapped":false`, `"left":"nothing was written`, "is not known", "same command again"}, "has swapped the tables"},
		{"no list of tables", `"Phase":"cutover"`, "DO 1", fault.Rule{At: "table_name LIKE 'midstream", Error: 1040}, 1,
			[]string{`"swapped":false`, `"left":"nothing was written`}, "has swapped the tables"},
		{"swapped, no writes", "DROP TABLE IF EXISTS `%s`.`t_midstream`", "DO 1", fault.Rule{At: "DROP TABLE IF EXISTS `%s`.`t_midstream`", Error: 1290}, 15,
			[]string{`"swapped":true`, "has swapped the tables of", "was altered", "t_midstream", "same command again"}, "nothing was written"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(b *bench) {
				b.numbered(2000)
				b.killedAt(strings.ReplaceAll(c.at, "%s", b.schema), "ADD COLUMN added INT")
				b.exec(strings.ReplaceAll(c.spoil, "%s", b.schema))
				rule := c.rule
				rule.At = strings.ReplaceAll(rule.At, "%s", b.schema)
				w := b.wire(rule)
				code, last := b.child("ADD COLUMN added INT", "", nil).wait()
				if code != c.code || !bent(w) || strings.Contains(last, c.silent) {
					b.Errorf("exit code %d: %s", code, last)
				}
				for _, text := range c.say {
					if !strings.Contains(last, text) {
						b.Errorf("the message lacks %q: %s", text, last)
					}
				}
				b.address = b.server.Address
				b.child("ADD COLUMN added INT", "", nil, "--drop-old").mustEnd()
				b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_old")
			})
		})
	}
}

// TestL8_FinishSparesAYoungerTable: the old table was dropped before the run was killed, and
// another session has since created a table with its name and columns.
func TestL8_FinishSparesAYoungerTable(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(100)
		b.killedAt("DROP TABLE IF EXISTS `"+b.schema+"`.`t_midstream`", clauses, "--drop-old")
		b.exec("CREATE TABLE " + b.schema + ".t_old (id INT PRIMARY KEY, v INT NOT NULL, u INT UNIQUE) COMMENT 'a backup'")
		if code, last := b.child(clauses, "", nil, "--drop-old").wait(); code != 0 {
			b.Errorf("exit code %d: %s", code, last)
		}
		if got := b.tables(); got != "digits,t,t_old" {
			b.Errorf("the tables are %s", got)
		}
	})
}

// TestL8_FinishLeavesNoSentinel: a run is killed in its swap. The next run takes another name for
// the old table, and is killed after its own swap. The command after that removes the first run's
// sentinel too.
func TestL8_FinishLeavesNoSentinel(t *testing.T) {
	sideBySide(t)
	onThese(t, inTurn(t, twoSessions()), func(b *bench) {
		b.numbered(100)
		for _, at := range []string{"RENAME TABLE", "DROP TABLE IF EXISTS"} {
			b.killedAt(at, clauses)
			time.Sleep(300 * time.Millisecond) // until the server notices the kill
		}
		if got := unguarded(b.tables()); got != "digits,t,t_midstream,t_old,t_old2" {
			b.Errorf("the tables are %s", got)
		}
		b.child(clauses, "", nil).mustEnd()
		if got := b.tables(); got != "digits,t,t_old2" {
			b.Errorf("the tables are %s", got)
		}
	})
}

// TestL6_ConnectionsStayWithOneServer: if a proxy leads to another server, the first new connection
// notices it.
func TestL6_ConnectionsStayWithOneServer(t *testing.T) {
	b := setup(t, "9.7")
	w := b.wire(fault.Rule{Nth: 1 << 30})
	pool, err := b.open(b.ctx())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	w.LeadTo(mysqltest.Server(t, "8.0").Address)
	for range 3 {
		if _, err := pool.DB().ExecContext(b.ctx(), "DO 1"); !errors.Is(err, dbconn.ErrOtherServer) {
			t.Errorf("the error is %v", err)
		}
	}
}

// unguarded is a list of tables without the swap's guard table, which a run on MariaDB also leaves
// if it is killed in its swap.
func unguarded(tables string) string {
	return regexp.MustCompile(`midstream_guard_[0-9a-f]{16},`).ReplaceAllString(tables, "")
}
