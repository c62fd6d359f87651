package migration_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/engine/leftovers"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

// definitions are SHOW CREATE of both tables.
func (b *bench) definitions() (all string) {
	b.Helper()
	for _, table := range []string{"t", "u"} {
		var name, text string
		if err := b.db.QueryRowContext(b.ctx(), "SHOW CREATE TABLE "+b.schema+"."+table).Scan(&name, &text); err != nil {
			b.Fatal(err)
		}
		all += text + "\n"
	}
	return all
}

// TestL8_ARehearsalOfAGroupChangesNothing: sessions write to two tables. Their change is rehearsed, by statements and by files, with the
// lock and without. There is no RENAME, nothing is left, the tables are unchanged, and one result has the figures of both.
func TestL8_ARehearsalOfAGroupChangesNothing(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.pair(2000)
		before, writes := b.definitions(), b.pairing(2, 2500)
		renames := b.wire(fault.Rule{At: "RENAME TABLE"})
		for _, args := range [][]string{
			append(b.together("utf8mb4"), "--rehearse"), append(b.together("utf8mb4"), "--rehearse-lock"), append(b.wanting("utf8mb4", true), "--rehearse-lock"),
		} {
			code, last := b.process("", nil, args...).wait()
			var result struct {
				Rehearsal string
				Swapped   bool
				Old       string
				Attempts  int
				Held      float64 `json:"lock_held_ms"`
				Rows      int64   `json:"rows_copied"`
				Bytes     int64   `json:"shadow_bytes"`
				Tables    []struct{ Table, State string }
			}
			if err := json.Unmarshal([]byte(last), &result); err != nil || code != 0 {
				b.Fatalf("exit code %d, %v: %s", code, err, last)
			}
			locks := args[len(args)-1] == "--rehearse-lock"
			if result.Rehearsal != "rehearsal" || result.Swapped || result.Old != "" || result.Rows < 1000 || result.Bytes < 64<<10 ||
				locks != (result.Attempts > 0) || locks != (result.Held > 0) {
				b.Errorf("%s: %s", args, last)
			}
			states := map[string]string{}
			for _, table := range result.Tables {
				states[strings.TrimPrefix(table.Table, b.schema+".")] = table.State
			}
			if states["t"] != "rehearsed" || states["u"] != "rehearsed" || len(states) > 2 && (states["v"] != "planned" || states["w"] != "planned") {
				b.Errorf("%s: the states are %v", args, states)
			}
			b.hasTables("t,u")
		}
		if bent(renames) {
			b.Error("there was a RENAME")
		}
		if writes(); b.definitions() != before {
			b.Errorf("the tables were\n%s\nand are\n%s", before, b.definitions())
		}
		b.mustPair()
	})
}

// TestL5_ARunGoesOnWithAKeptRehearsalOfAGroup: the same rehearsal resumes the work on both tables, and so does the run. A run on one table
// does not.
func TestL5_ARunGoesOnWithAKeptRehearsalOfAGroup(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.pair(2000)
		writes := b.pairing(2, 2500)
		kept := append(b.together("utf8mb4"), "--rehearse-lock", "--keep-shadow")
		resumes := func(c *child) {
			b.Helper()
			c.mustEnd()
			c.mu.Lock()
			defer c.mu.Unlock()
			if n := strings.Count(strings.Join(c.said, "\n"), `"event":"resumed"`); n != 2 {
				b.Errorf("%d tables were resumed", n)
			}
		}
		b.process("", nil, kept...).mustEnd()
		b.hasTables("t,t_midstream,t_shadow,u,u_midstream,u_shadow")
		resumes(b.process("", nil, kept...))
		code, last := b.process("", nil, "run", "--method=shadow", "ALTER TABLE "+b.schema+".t MODIFY c VARCHAR(20) CHARACTER SET utf8mb4").wait()
		if code != 11 || !strings.Contains(last, "together with") {
			b.Errorf("exit code %d: %s", code, last)
		}
		resumes(b.process("", nil, b.together("utf8mb4")...))
		if got := b.charsets(); got != "utf8mb4,utf8mb4" {
			b.Errorf("the tables have %s", got)
		}
		b.hasTables("t,t_old,u,u_old")
		writes()
		b.mustPair()
	})
}

// TestL8_ARehearsalOfAGroupThatFailsLeavesNothing: a row of one table does not fit, one table is refused, or the run of one is aborted.
// That ends the rehearsal of the other, and its new table is not kept.
func TestL8_ARehearsalOfAGroupThatFailsLeavesNothing(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.pair(1000)
		b.exec("UPDATE " + b.schema + ".u SET v = 1000 WHERE id = 7")
		for clause, want := range map[string]int{"MODIFY v TINYINT NOT NULL": 17, "ADD COLUMN id INT": 11} {
			for _, flags := range [][]string{{"--no-prescan"}, {}} {
				code, last := b.process("", nil, append([]string{"run", "--together", "--rehearse-lock", "--keep-shadow", fmt.Sprintf(
					"ALTER TABLE %[1]s.t MODIFY v SMALLINT NOT NULL; ALTER TABLE %[1]s.u %s", b.schema, clause)}, flags...)...).wait()
				if code != want && (len(flags) == 0 || code == 0) {
					b.Errorf("%s: exit code %d: %s", clause, code, last)
				}
				b.hasTables("t,u")
			}
		}
		sockets := "--control-dir=" + filepath.Join(b.TempDir(), "sockets")
		reader := b.conn() // keeps the lock from being granted
		for _, s := range []string{"START TRANSACTION", "SELECT 1 FROM " + b.schema + ".u LIMIT 1"} {
			if _, err := reader.ExecContext(b.ctx(), s); err != nil {
				b.Fatal(err)
			}
		}
		held := b.process("", nil, append(b.together("utf8mb4"), "--rehearse-lock", "--keep-shadow", sockets)...)
		for _, table := range []string{"t", "u"} {
			held.await("ready for the lock, together with " + b.schema + "." + table)
		}
		if code := b.commanding("abort", b.schema+".u", sockets); code != 0 {
			b.Errorf("exit code %d of the abort", code)
		}
		if code, last := held.wait(); code != 12 {
			b.Errorf("exit code %d: %s", code, last)
		}
		b.hasTables("t,u")
	})
}

// TestL8_AKilledRehearsalOfAGroupIsCleanedUp: kill -9 at several points. The same command ends the rehearsal, or cleanup finds everything.
func TestL8_AKilledRehearsalOfAGroupIsCleanedUp(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.pair(2000)
		writes := b.pairing(2, 2500)
		for _, at := range []string{"CREATE TABLE " + schema.Quote(b.schema) + ".`u_shadow`", "LOCK TABLES", "UNLOCK TABLES"} {
			for _, resumes := range []bool{true, false} {
				args := append(b.together("utf8mb4"), "--rehearse-lock")
				if code, last := b.killIf(fault.Rule{At: at}, func() *child { return b.process("", nil, args...) }); code != -1 {
					b.Fatalf("%s: exit code %d: %s", at, code, last)
				}
				if resumes {
					b.process("", nil, args...).mustEnd()
				} else {
					pool, err := b.open(b.ctx())
					if err != nil {
						b.Fatal(err)
					}
					defer pool.Close()
					for _, table := range []string{"t", "u"} {
						found, err := leftovers.Cleanup(b.ctx(), pool, schema.Name{Schema: b.schema, Table: table}, false,
							func([]leftovers.Table) bool { return true }, func(string) {})
						if err != nil || len(found) == 0 {
							b.Errorf("killed at %s: cleanup of %s found %v: %v", at, table, found, err)
						}
					}
				}
				b.hasTables("t,u")
			}
		}
		if writes(); b.charsets() != "latin1,latin1" {
			b.Errorf("the tables have %s", b.charsets())
		}
		b.mustPair()
	})
}
