package cli

import (
	"regexp"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/followers"
	"midstream/internal/ops/queue"
)

// commandIn is the last command for a shell in a text, from its first words on. It is one line of the text without the wraps.
func commandIn(t *testing.T, text, begin string) string {
	t.Helper()
	text = strings.Join(strings.Fields(text), " ")
	at := strings.LastIndex(text, begin)
	if at < 0 {
		t.Fatalf("no %q in:\n%s", begin, text)
	}
	return text[at:]
}

// fillsIn are the settings of --undo-fill in a command, as a shell hands them over.
func fillsIn(command string) (args []string) {
	for _, match := range regexp.MustCompile(`--undo-fill ("[^"]*"|'[^']*'|[^ '"]+)`).FindAllStringSubmatch(command, -1) {
		args = append(args, "--undo-fill="+strings.Trim(match[1], match[1][:1][:strings.Count(`"'`, match[1][:1])]))
	}
	return args
}

// TestAnUndoNamesTheValuesThatItNeedsBefore: the change has dropped columns that are NOT NULL without a default. Before an undo
// begins, --plan and --list have the command that gives rows which are new since the swap their values. It can be copied.
func TestAnUndoNamesTheValuesThatItNeedsBefore(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		all := map[string]string{
			"note": "VARCHAR(20)", "kind": "INT", "price": "DECIMAL(8,2)", "ratio": "DOUBLE", "made": "DATE", "at": "DATETIME(3)", "ts": "TIMESTAMP",
			"span": "TIME", "y": "YEAR", "state": "ENUM('it''s','b')", "flags": "SET('a','b')", "bits": "BIT(8)", "raw": "BLOB", "bin": "BINARY(4)",
			"body": "JSON", "spot": "POINT", "line": "LINESTRING", "area": "GEOMETRY",
		}
		var adds, drops []string
		for name, kind := range all {
			adds, drops = append(adds, "ADD COLUMN "+name+" "+kind+" NOT NULL"), append(drops, "DROP COLUMN "+name)
		}
		r.exec("DELETE FROM t")
		r.exec("ALTER TABLE t " + strings.Join(adds, ", "))
		if strings.Contains(r.query("SELECT COLUMN_DEFAULT IS NULL FROM information_schema.columns WHERE table_schema = DATABASE() AND column_name = 'ts'"), "0") {
			r.exec("ALTER TABLE t ALTER ts DROP DEFAULT")
		}
		r.says("run", exit.Done, "ALTER TABLE t "+strings.Join(drops, ", "), []string{"--undo=1h"})
		planned := r.says("undo", exit.Done, "t", []string{"--plan"}, "rows that are new since the swap", "no default", "--undo-fill")
		listed := r.says("undo", exit.Done, "t", []string{"--list"}, "New rows", "--undo-fill")
		for _, text := range []string{planned, listed} {
			fills := fillsIn(commandIn(r.T, text, "midstream undo --undo-fill"))
			if len(fills) != len(all) {
				r.Errorf("%d values for %d columns: %q", len(fills), len(all), fills)
			}
		}
		contains(r.T, r.says("undo", exit.Done, "t", []string{"--list", "--json"}), `"fills":["`)
		r.exec("INSERT INTO t (a) VALUES (1)")
		out := r.says("undo", exit.Unfit, "t", nil)
		lacks(r.T, out, "=expression")
		r.says("undo", exit.Done, "t", append(fillsIn(commandIn(r.T, listed, "midstream undo --undo-fill")), "--plan"))
		lacks(r.T, r.says("undo", exit.Done, "t", append(fillsIn(commandIn(r.T, listed, "midstream undo --undo-fill")), "--plan")), "no default")
		r.says("undo", exit.Done, "t", fillsIn(commandIn(r.T, planned, "midstream undo --undo-fill")))
		if got := r.query("SELECT CONCAT_WS(',', note, kind, state) FROM t"); got != ",0,it's" {
			r.Errorf("the new row has %s", got)
		}
		lacks(r.T, r.says("undo", exit.Done, "t", []string{"--list"}), "New rows")
		r.says("undo", exit.Done, "t", []string{"--end"})
	})
}

// TestTheAdviceAtAFollowerNamesTheValuesThatAnUndoNeeds: a process follows the table, and a row is new that has no value for a
// dropped column. No flag reaches that process, so the advice is to stop it, and to take the change back with the value.
func TestTheAdviceAtAFollowerNamesTheValuesThatAnUndoNeeds(t *testing.T) {
	t.Parallel()
	c := toControl(t, 100)
	c.stopWriting()
	database, _, _ := strings.Cut(c.name, ".")
	exec := executing(t, c.i, database)
	exec("ALTER TABLE t ADD COLUMN note VARCHAR(20) NOT NULL")
	c.begin("ALTER TABLE "+c.name+" DROP COLUMN note", "--method=shadow", "--undo=1h", "--undo-mode=warm")
	c.follower(following)
	exec("INSERT INTO t (id, a) VALUES (5001, 5)")
	c.follower(func(s followers.Standing) bool { return s.Unfit == 1 && following(s) })
	_, stderr := c.undo(exit.Unfit)
	contains(t, strings.Join(strings.Fields(stderr), " "), "lack a value for a column without a default", c.at("undo")+"--host=", " --plan "+c.name)
	stdout, _ := c.undo(exit.Done, "--plan")
	contains(t, strings.Join(strings.Fields(stdout), " "), "need a value for note (no default)", c.at("abort")+c.name)
	fills := fillsIn(commandIn(t, stdout, c.at("undo")+"--host="))
	if len(fills) != 1 || fills[0] != "--undo-fill=note=''" {
		t.Fatalf("%q in:\n%s", fills, stdout)
	}
	if code, _, stderr := midstream(t, "abort", "--control-dir="+c.folder, c.name); code != exit.Done {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	if code := c.run.exit(); code != exit.Done {
		t.Errorf("the run that followed ended with %d", code)
	}
	c.undo(exit.Done, fills...)
	c.undo(exit.Done, "--end")
}

// TestTheQueueNamesTheValuesThatAnUndoNeeds: the undo of a change of the queue lacks values for two dropped columns. The queue
// names them in its own form, which can be copied, with a follower and without.
func TestTheQueueNamesTheValuesThatAnUndoNeeds(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, mode := range []string{"lazy", "warm"} {
		q := toQueue(t, 10)
		exec := executing(t, q.i, q.database())
		exec("ALTER TABLE t ADD COLUMN note VARCHAR(20) NOT NULL, ADD COLUMN kind INT NOT NULL")
		q.serve()
		q.submit("a", q.name+" DROP COLUMN note, DROP COLUMN kind", "--option=method=shadow", "--option=undo=1h", "--option=undo-mode="+mode)
		q.becomes("a", queue.StateDone)
		exec("INSERT INTO t (a) VALUES (5)")
		u := *q.reaches("a", func(c queue.Change) bool {
			return c.Undo != nil && c.Undo.State == map[string]string{"lazy": "open", "warm": "unfit"}[mode]
		}).Undo
		contains(t, strings.Join(u.Warns, " "), "need a value for note, kind (no default): the option undo-fill gives it")
		code, stdout, stderr := q.ask("submit", "--undo=a", "--wait")
		if code != exit.Unfit {
			t.Fatalf("%s: exit code %d\n%s\n%s", mode, code, stdout, stderr)
		}
		next := `need a value for note, kind (no default): midstream submit` + q.here() + `--undo=a --option "undo-fill=note=''" --option undo-fill=kind=0`
		contains(t, strings.Join(strings.Fields(stdout+stderr), " "), next)
		contains(t, q.at("a-undo").Next, next)
		code, stdout, stderr = q.ask("submit", "--undo=a", "--option=undo-fill=kind=1 + 1", "--wait")
		if code != exit.Unfit {
			t.Fatalf("%s: exit code %d\n%s\n%s", mode, code, stdout, stderr)
		}
		contains(t, q.at("a-undo-2").Next,
			`a value for note (no default): midstream submit`+q.here()+`--undo=a --option 'undo-fill=kind=1 + 1' --option "undo-fill=note=''"`)
		if code, stdout, stderr := q.ask("submit", "--undo=a", "--option", "undo-fill=note=''", "--option", "undo-fill=kind=0", "--wait"); code != exit.Done {
			t.Fatalf("%s: exit code %d\n%s\n%s", mode, code, stdout, stderr)
		}
		if got := q.query("SELECT CONCAT(note, kind) FROM t WHERE a = 5 AND kind = 0"); got != "0" {
			t.Errorf("%s: the new row has %q", mode, got)
		}
		if code, _, stderr := midstream(t, append(append([]string{"undo"}, flagsTo(t, q.i)...), "--end", q.name)...); code != exit.Done {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
	}
}

// TestU5_TheValuesThatAnUndoGivesUpAreSaidBefore: the plan of an undo that does not know the former keys of rows does not say that
// it loses nothing. An undo that parks rows, or that reads the binlog, has their values. And the
// command that parks has the values of the undo before: without them it parks each row that is new.
func TestU5_TheValuesThatAnUndoGivesUpAreSaidBefore(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("DELETE FROM t")
		r.exec("ALTER TABLE t ADD COLUMN s SMALLINT, ADD COLUMN note VARCHAR(20) NOT NULL")
		r.exec("INSERT INTO t (a, s, note) VALUES (1, 1, 'precious'), (2, 2, 'kept')")
		r.says("run", exit.Done, "ALTER TABLE t MODIFY s INT, DROP COLUMN note", []string{"--undo=1h", "--method=shadow"})
		lacks(r.T, r.says("undo", exit.Done, "t", []string{"--plan"}), "former values of some rows")
		lacks(r.T, r.says("undo", exit.Done, "t", []string{"--plan", "--park"}), "former values of some rows")
		lacks(r.T, r.says("undo", exit.Done, "t", []string{"--plan", "--cold"}), "former values of some rows")
		r.exec("UPDATE t SET s = 70000 WHERE a = 1")
		r.exec("INSERT INTO t (a, s) VALUES (3, 3)")
		const fill = "--undo-fill=note='new'"
		r.says("undo", exit.Unfit, "t", []string{fill}, `or midstream undo --undo-fill "note='new'" --park `+r.database+".t copies them")
		r.says("undo", exit.Done, "t", []string{fill, "--park"}, "t_parked_values has the values of dropped columns")
		if got := r.query("SELECT GROUP_CONCAT(a, s, note ORDER BY a) FROM t"); got != "22kept,33new" {
			r.Errorf("the rows are %s", got)
		}
		if got := r.query("SELECT GROUP_CONCAT(note) FROM t_parked_values"); got != "precious" {
			r.Errorf("the values of the parked rows are %s", got)
		}
		r.says("undo", exit.Done, "t", nil)
		const lost = "rows that were parked and have come back lose their values of column note"
		r.exec("UPDATE t SET s = 1 WHERE s = 70000", "RENAME TABLE t_parked_values TO moved")
		r.says("undo", exit.Done, "t", []string{"--plan", fill}, "former values of some rows", lost, "t_parked_values, is gone")
		r.exec("RENAME TABLE moved TO t_parked_values")
		lacks(r.T, r.says("undo", exit.Done, "t", []string{"--plan", fill}), lost)
		r.exec("ALTER TABLE t_parked_values ADD COLUMN more INT")
		r.says("undo", exit.Done, "t", []string{"--plan", fill}, lost, "t_parked_values, is of another key", "SELECT * FROM `"+r.database+"`.`t_parked_values`")
		r.exec("ALTER TABLE t_parked_values DROP COLUMN more")
		r.says("undo", exit.Done, "t", []string{fill})
		if got := r.query("SELECT GROUP_CONCAT(s, note ORDER BY s) FROM t"); got != "1precious,2kept,3new" {
			r.Errorf("after the second undo, the rows are %s", got)
		}
		r.says("undo", exit.Done, "t", []string{"--end"})
		r.exec("DROP TABLE t_parked, t_parked_values, t_undone")
		r.says("run", exit.Done, "ALTER TABLE t DROP COLUMN note", []string{"--method=shadow"})
		r.says("undo", exit.Done, "t", []string{"--plan", "--cold", fill}, "former values of some rows", "whose key has changed since the swap lose their values of column note")
	})
}

// TestU5_AnUndoByAllRowsNeedsNoBinlogSinceTheSwap: the binlog since the swap shows writes without the keys of rows, writes to the old
// table, or a TRUNCATE. The undo by all rows then goes on without it, and says which values it may lose. A statement in STATEMENT format
// ends other runs on the server, so no test runs next to this one.
func TestU5_AnUndoByAllRowsNeedsNoBinlogSinceTheSwap(t *testing.T) {
	mysqltest.Seldom(t)
	onEachStatementRig(t, func(r *statementRig) {
		for _, c := range []struct {
			name, rows, says string
			writes           []string
		}{
			{"statement", "2first,2second,3third", "lose their values of column note", []string{"SET SESSION binlog_format = 'STATEMENT'", "UPDATE t SET v = 2 WHERE v = 1"}},
			{"old table", "1first,2other,3third", "no problems found", []string{"UPDATE t_old SET note = 'other', v = 9 WHERE v = 2"}},
			{"truncate", "5first", "lose their values of column note", []string{"TRUNCATE TABLE t", "INSERT INTO t (id, v) VALUES (1, 5)"}},
		} {
			r.exec("DROP TABLE IF EXISTS t, t_old, t_undone", "CREATE TABLE t (id INT PRIMARY KEY, v INT, note VARCHAR(20) NOT NULL DEFAULT 'd')",
				"INSERT INTO t VALUES (1, 1, 'first'), (2, 2, 'second'), (3, 3, 'third')")
			r.says("run", exit.Done, "ALTER TABLE t DROP COLUMN note", []string{"--undo=1h", "--method=shadow"})
			r.exec(append(c.writes, "SET SESSION binlog_format = 'ROW'")...)
			r.says("undo", exit.Done, "t", []string{"--cold"}, c.says)
			got := r.query("SELECT GROUP_CONCAT(v, note ORDER BY id) FROM t")
			if got != c.rows {
				r.Errorf("%s: the rows are %s, want %s", c.name, got, c.rows)
			}
			r.says("undo", exit.Done, "t", []string{"--end"})
		}
	})
}

// TestU4_ExpressionsOfAnUndoReadTheirOwnRowOnly: with an aggregate, a sync of several rows would have one row. What reads another
// table fails under the lock of the swap.
func TestU4_ExpressionsOfAnUndoReadTheirOwnRowOnly(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("ALTER TABLE t ADD COLUMN note VARCHAR(9) NOT NULL", "CREATE TABLE other (a INT)")
		r.says("run", exit.Done, "ALTER TABLE t DROP COLUMN note", []string{"--undo=1h"})
		r.exec("INSERT INTO t (a) VALUES (1), (2), (3)")
		for _, expr := range []string{"COUNT(*)", "MAX(a)", "1), (2", "(SELECT MAX(a) FROM " + r.database + ".other)", "a IN (select a FROM " + r.database + ".t)"} {
			r.says("undo", exit.Refused, "t", []string{"--undo-fill=note=" + expr}, "cannot use --undo-fill note=")
		}
		r.says("undo", exit.Done, "t", []string{"--undo-fill=note=CONCAT('select ', a)"})
		if got := r.query("SELECT COUNT(*) FROM t WHERE note = CONCAT('select ', a)"); got != "3" {
			r.Errorf("%s new rows have their value", got)
		}
		r.says("undo", exit.Done, "t", []string{"--end"})
	})
}
