package cli

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
)

// TestLightestWay: plan says how the table will be changed, and why not otherwise; it leaves nothing,
// and run does so.
func TestLightestWay(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onBoth(t, func(t *testing.T, i *mysqltest.Instance) {
		name, query := table(t, i, 20_000)
		for _, c := range []struct {
			clauses string
			flags   []string
			method  string
			says    string
			why     string
		}{
			{"ADD COLUMN c INT", nil, "instant", "INSTANT: ", "only its dictionary"},
			{"ALTER COLUMN c SET DEFAULT 5", nil, "instant", "INSTANT: ", "only its dictionary"},
			{"ALTER COLUMN c SET DEFAULT 5", nil, "none", "none: ", "already has this definition"},
			{"ADD INDEX (c)", nil, "inplace", "INPLACE: ", "while the table is used"},
			{"RENAME INDEX c TO d", nil, "inplace", "INPLACE: ", "only its dictionary"},
			{"FORCE", nil, "inplace", "INPLACE: ", "while the table is used"},
			{"MODIFY c BIGINT", nil, "shadow", "copy to a new table", "no lighter method"},
			{"ADD COLUMN e INT", []string{"--method=shadow"}, "shadow", "copy to a new table", "asked for"},
		} {
			flags := append(flagsTo(t, i), c.flags...)
			code, stdout, stderr := midstream(t, append(append([]string{"plan", "--json"}, flags...), "ALTER TABLE "+name+" "+c.clauses)...)
			var plan record.Plan
			if err := json.NewDecoder(strings.NewReader(stdout)).Decode(&plan); err != nil || code != exit.Done {
				t.Fatalf("%s: exit code %d, %v\n%s\n%s", c.clauses, code, err, stdout, stderr)
			}
			if plan.Method != c.method || !strings.Contains(plan.Why, c.why) {
				t.Errorf("%s: %s, %s; want %s, %s", c.clauses, plan.Method, plan.Why, c.method, c.why)
			}
			code, stdout, stderr = midstream(
				t,
				append(append([]string{"run", "--drop-old"}, flags...), "ALTER TABLE "+name+" "+c.clauses)...)
			if code != exit.Done {
				t.Fatalf("%s: exit code %d\n%s\n%s", c.clauses, code, stdout, stderr)
			}
			contains(t, stdout, c.says, "altered "+name)
			if got := query("SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != "t" {
				t.Errorf("%s: the tables are %s", c.clauses, got)
			}
		}
		if got := query("SELECT COUNT(*) FROM t"); got != "20000" {
			t.Errorf("%s rows", got)
		}
	})
}

// TestCalibration: what was measured is said to be, run tells beside it what it was, and nothing is
// left.
func TestCalibration(t *testing.T) {
	mysqltest.Seldom(t)
	onBoth(t, func(t *testing.T, i *mysqltest.Instance) {
		name, query := table(t, i, 20_000)
		for _, c := range []struct {
			clauses, method string
		}{{"ADD INDEX (b)", "inplace"}, {"MODIFY a BIGINT", "shadow"}} {
			args := append(flagsTo(t, i), "--calibrate", "--method="+c.method, "ALTER TABLE "+name+" "+c.clauses)
			code, stdout, stderr := midstream(t, append([]string{"plan", "--json"}, args...)...)
			var plan record.Plan
			if err := json.NewDecoder(strings.NewReader(stdout)).Decode(&plan); err != nil || code != exit.Done {
				t.Fatalf("%s: exit code %d, %v\n%s\n%s", c.clauses, code, err, stdout, stderr)
			}
			p := plan.Prediction
			if !p.Measured || p.LeastMS <= 0 || p.ElapsedMS <= p.LeastMS || p.MostMS <= p.ElapsedMS ||
				p.DiskBytes <= 0 || p.RedoBytes <= 0 ||
				p.LockedMS < 250 || len(p.Locks) == 0 ||
				(p.BinlogBytes > 0) != (c.method == "shadow") {
				t.Errorf("%s: %+v", c.clauses, p)
			}
			if got := query("SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != "t" {
				t.Errorf("%s: the tables are %s", c.clauses, got)
			}
			code, stdout, stderr = midstream(t, append([]string{"run", "--drop-old", "--verbose"}, args...)...)
			if code != exit.Done {
				t.Fatalf("%s: exit code %d\n%s\n%s", c.clauses, code, stdout, stderr)
			}
			contains(t, stdout, "measured with rows of this table", "Cost ", "of disk (predicted", "of redo log (predicted")
		}
	})
}

// TestShadowTakesOver: where the server comes to no end with its own build, a shadow does.
func TestShadowTakesOver(t *testing.T) {
	sideBySide(t)
	onBoth(t, func(t *testing.T, i *mysqltest.Instance) {
		name, query := table(t, i, 1000)
		wire := fault.New(t, i.Address, fault.Rule{At: "`t` ALGORITHM=INPLACE", Error: 1062})
		host, port, _ := strings.Cut(wire.Address, ":")
		code, stdout, stderr := midstream(
			t,
			append(flagsTo(t, i), "run", "--json", "--drop-old", "--host="+host, "--port="+port, "--ssl-mode=DISABLED",
				"ALTER TABLE "+name+" ADD INDEX (b)")...)
		if code != exit.Done {
			t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
		}
		contains(t, stdout, `"method":"inplace"`, "the run copies to a new table instead", `"phase":"cutover"`, `"method":"shadow","outcome":"done"`)
		if got := query(
			"SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name = 'b'",
		); got != "1" {
			t.Errorf("%s indexes", got)
		}
	})
}

// TestMethodAskedFor: it is taken although it is the heavier one, with a warning, or refused with the
// server's reason.
func TestMethodAskedFor(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 1000)
	run := func(args ...string) (int, string, string) {
		return midstream(t, append(append([]string{"run"}, flagsTo(t, i)...), args...)...)
	}
	code, stdout, stderr := run("--verbose", "--method=copy", "ALTER TABLE "+name+" ADD COLUMN c INT")
	if code != exit.Done {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stdout, "COPY by the server: --method=copy asks for it", "although the server could do it by instant")
	code, stdout, stderr = run("ALTER TABLE " + name + " ADD COLUMN d INT, ALGORITHM=INPLACE, LOCK=NONE")
	if code != exit.Done {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stdout, "INPLACE: ")
	code, _, stderr = run("--method=inplace", "ALTER TABLE "+name+" MODIFY a BIGINT")
	if code != exit.Refused {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr, "cannot do the ALTER by the method inplace", "Cannot change column type INPLACE", "--method=shadow")
	code, _, stderr = run("ALTER TABLE " + name + " MODIFY a INT DEFAULT 'x'")
	if code != exit.Refused {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr, "the server refuses the statement", "Invalid default", "left:  nothing was written", "correct the statement")
	if got := query("SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != "t" {
		t.Errorf("the tables are %s", got)
	}
}

// TestCleanupOfAClone: what a plan that was killed has left is found by its mark, or told by its name; what
// another plan has made just now is not touched.
func TestCleanupOfAClone(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "8.0")
	name, query := table(t, i, 10)
	database, _, _ := strings.Cut(name, ".")
	alive, err := dbconn.Open(
		t.Context(),
		dbconn.Config{Network: i.Network, Address: i.Address, User: i.User, Password: dbconn.Secret(i.Password)}, nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	dead := rand.Text()
	ofAlive, unmarked := alive.CloneOf(schema.Name{}, "").Table, "midstream_"+dead+"_wanted"
	exec := executing(t, i, database)
	for _, clone := range []string{"t_midstream_x", ofAlive, "midstream_" + dead} {
		exec("CREATE TABLE "+clone+" LIKE t", "ALTER TABLE "+clone+" COMMENT = 'midstream clone of "+name+"'")
	}
	exec("CREATE TABLE t_midstream_y LIKE t", "CREATE TABLE "+unmarked+" LIKE t")
	code, _, stderr := midstream(t, append([]string{"plan", "ALTER TABLE " + name + " ADD COLUMN z INT"}, flagsTo(t, i)...)...)
	if code != exit.Done {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	contains(t, stderr, "removed what a killed plan", "midstream_"+dead)
	if got := query(allTables); strings.Contains(got, "t_midstream_x") || !strings.Contains(got, ofAlive) {
		t.Errorf("after the next plan, the tables are %s", got)
	}
	exec("CREATE TABLE t_shadow LIKE t")
	for _, clone := range []string{"t_midstream_x", "midstream_" + dead} {
		exec("CREATE TABLE "+clone+" LIKE t", "ALTER TABLE "+clone+" COMMENT = 'midstream clone of "+name+"'")
	}
	code, stdout, stderr := midstream(t, append([]string{"cleanup", "--yes", name}, flagsTo(t, i)...)...)
	if code != exit.Done {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(
		t, stdout, ofAlive+" is left alone: a running plan",
		unmarked+" is left alone: a killed plan", "t_shadow is left alone: it has no mark",
		"Dropped 2 tables",
	)
	left := []string{"t", "t_midstream_y", "t_shadow", ofAlive, unmarked}
	slices.Sort(left)
	defer exec("DROP TABLE " + ofAlive)
	if got := strings.Split(query(allTables), ","); !slices.Equal(slices.Sorted(slices.Values(got)), left) {
		t.Errorf("the tables are %s", got)
	}
}

// TestInTwoStatements: where the whole is too heavy for the server, and not in two.
func TestInTwoStatements(t *testing.T) {
	sideBySide(t)
	onBoth(t, func(t *testing.T, i *mysqltest.Instance) {
		name, query := table(t, i, 20_000)
		code, stdout, stderr := midstream(
			t,
			append(flagsTo(t, i), "run", "--native-max-build=130ms", "ALTER TABLE "+name+" ADD COLUMN c INT, ADD INDEX (b)")...)
		if code != exit.Done {
			t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
		}
		contains(t, stdout, "INPLACE: in two statements", "next: ALTER TABLE", "Done in ")
		if got := query(
			"SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM information_schema.columns WHERE table_schema = DATABASE()",
		); got != "id,a,b,c" {
			t.Errorf("the columns are %s", got)
		}
		code, stdout, stderr = midstream(t, append(flagsTo(t, i), "run", "--native-max-build=130ms", "--host=127.0.0.1",
			"ALTER TABLE "+name+" ADD COLUMN d INT, ADD UNIQUE INDEX (b)")...)
		if code != exit.Unfit {
			t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
		}
		if got := query(
			"SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND column_name = 'd'",
		); got != "0" {
			t.Errorf("the table has the new column, and not the rest")
		}
	})
}

// TestCtrlCInTheServersOwnWay: while somebody is in the way, and while the server builds. The table is
// as it was, and the statement is gone from the server.
func TestCtrlCInTheServersOwnWay(t *testing.T) {
	mysqltest.Seldom(t)
	onBoth(t, func(t *testing.T, i *mysqltest.Instance) {
		name, query := table(t, i, 400_000)
		blocker, err := i.Open(t, "").BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer blocker.Rollback()
		var rows int
		if err := blocker.QueryRow("SELECT COUNT(*) FROM (SELECT 1 FROM " + name + " LIMIT 1) r").Scan(&rows); err != nil {
			t.Fatal(err)
		}
		interrupted := func(clauses, when string) {
			t.Helper()
			r := start(
				t,
				command(t, append([]string{"run", "--json", "--method=inplace", "ALTER TABLE " + name + " " + clauses}, flagsTo(t, i)...)...),
			)
			r.await(&r.stdout, when)
			r.interrupt()
			if code := r.exit(); code != exit.Aborted {
				t.Fatalf("exit code %d\n%s\n%s", code, &r.stdout, &r.stderr)
			}
			contains(t, r.stderr.String(), "aborted in phase native: ", name+" is untouched and nothing is left")
		}
		interrupted("ADD INDEX (b)", `"event":"blocked"`)
		if err := blocker.Rollback(); err != nil {
			t.Fatal(err)
		}
		interrupted("ADD INDEX (b)", `"build_step":"alter`)
		if got := query(
			"SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name = 'b'",
		); got != "0" {
			t.Errorf("the index is there")
		}
	})
}

// TestForeignKeys: the server changes what foreign keys don't stand on, a shadow what would be built anew, and
// nobody what they do stand on. Before 8.0.13 a table with foreign keys can't have a shadow.
func TestForeignKeys(t *testing.T) {
	sideBySide(t)
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0") {
		t.Run(version, func(t *testing.T) {
			t.Parallel() // each has a server to itself
			i := mysqltest.Server(t, version)
			name, query := table(t, i, 100)
			database, _, _ := strings.Cut(name, ".")
			executing(t, i, database)("CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES t (id))")
			built := map[string]int{"9.7": exit.Done, "8.0": exit.Refused}[version]
			for clauses, want := range map[string]int{
				"ADD COLUMN c INT": exit.Done, "ADD INDEX (b)": exit.Done,
				"FORCE": built, "MODIFY id BIGINT NOT NULL AUTO_INCREMENT": exit.Refused,
			} {
				code, stdout, stderr := midstream(t, append(flagsTo(t, i), "run", "ALTER TABLE "+name+" "+clauses)...)
				if code != want {
					t.Errorf("%s: exit code %d\n%s\n%s", clauses, code, stdout, stderr)
				}
				if want == exit.Refused {
					contains(t, stderr, "foreign key", "child")
				}
			}
			if got := query(
				"SELECT COUNT(*) FROM information_schema.referential_constraints WHERE constraint_schema = DATABASE()",
			); got != "1" {
				t.Errorf("%s foreign keys", got)
			}
			executing(t, i, database)("DROP TABLE child")
		})
	}
}
