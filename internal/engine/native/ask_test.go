package native_test

import (
	"cmp"
	"errors"
	"strings"
	"testing"

	"midstream/internal/engine/native"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// asked is a statement, and how each server carries it out: the algorithm, the lock, and the
// effect. "" means the first server's answer, and - a statement that the server doesn't know.
type asked struct {
	clauses                  string
	new, old, older, mariaDB string // 9.7.4, 8.0.12, 5.7.22, MariaDB 10.11
}

var answers = []asked{
	{"COMMENT 'x'", "INPLACE NONE metadata", "", "", "INSTANT metadata"},
	{"ADD COLUMN n INT", "INSTANT metadata", "", "INPLACE NONE rebuild", ""},
	{"ADD COLUMN n INT FIRST", "INSTANT metadata", "INPLACE NONE rebuild", "INPLACE NONE rebuild", ""},
	{"DROP COLUMN v", "INSTANT metadata", "INPLACE NONE rebuild", "INPLACE NONE rebuild", ""},
	{"RENAME COLUMN v TO w", "INSTANT metadata", "INPLACE NONE metadata", "-", ""},
	{"RENAME COLUMN s TO w", "INSTANT metadata", "INPLACE NONE metadata", "-", ""},
	{"CHANGE v w INT", "INSTANT metadata", "INPLACE NONE metadata", "INPLACE NONE metadata", ""},
	{"ALTER COLUMN v SET DEFAULT 5", "INSTANT metadata", "", "INPLACE NONE metadata", ""},
	{"ADD INDEX (v)", "INPLACE NONE index", "", "", ""},
	{"ADD INDEX again (s)", "INPLACE NONE index", "", "", ""},
	{"DROP INDEX s, ADD INDEX other (s)", "INPLACE NONE index", "", "", "INSTANT metadata"}, // a new name
	{"DROP INDEX s", "INPLACE NONE metadata", "", "", ""},
	{"RENAME INDEX s TO r", "INPLACE NONE metadata", "", "", "INSTANT metadata"},
	{"ADD FULLTEXT (s)", "INPLACE SHARED rebuild", "", "", ""}, // a column numbers the rows
	{"MODIFY v INT NOT NULL", "INPLACE NONE rebuild", "", "", ""},
	{"FORCE", "INPLACE NONE rebuild", "", "", ""},
	{"MODIFY v BIGINT", "COPY rebuild", "", "", ""},
	{"MODIFY s VARCHAR(50)", "INPLACE NONE metadata", "", "INPLACE NONE index", "INSTANT metadata"},
	// No comma precedes the clause. MariaDB mistakes INSTANT for a name, and copies.
	{"PARTITION BY HASH (id) PARTITIONS 2", "COPY rebuild", "", "", ""},
	{"MODIFY v INT", "INSTANT nothing", "", "INPLACE NONE nothing", ""},
}

// of returns what is expected of a server of the version.
func (a asked) of(version string) string {
	return cmp.Or(map[string]string{"8.0": a.old, "5.7": a.older, "mariadb-10.11": a.mariaDB}[version], a.new)
}

// effects are the words for the effects.
var effects = map[plan.Effect]string{plan.Nothing: "nothing", plan.Metadata: "metadata", plan.Index: "index", plan.Rebuild: "rebuild"}

// TestAsk: the answers are the server's own, and nothing is left of the clone.
func TestAsk(t *testing.T) {
	onEach(t, func(r *rig) {
		pool := r.pool()
		defer pool.Close()
		for _, kind := range []string{"", " PARTITION BY HASH (id) PARTITIONS 3"} {
			r.exec("DROP TABLE " + r.table.Quoted())
			r.table.Table = "t-1"
			r.exec("DROP TABLE IF EXISTS " + r.table.Quoted())
			r.exec("CREATE TABLE " + r.table.Quoted() + " (id INT PRIMARY KEY, v INT, s VARCHAR(20), KEY s (s)) CHARSET utf8mb4" + kind)
			r.exec("INSERT INTO " + r.table.Quoted() + " VALUES (1, 1, 'x')")
			for _, c := range answers {
				if kind != "" && strings.Contains(c.clauses, "FULLTEXT") {
					continue // InnoDB has none for partitions
				}
				want := c.of(r.version)
				if want == "-" {
					continue
				}
				answer, err := r.ask(pool, c.clauses)
				if err != nil {
					r.Errorf("%s%s: %v", c.clauses, kind, err)
					continue
				}
				got := strings.Join(strings.Fields(strings.ToUpper(string(answer.Method))+" "+answer.Lock+" "+effects[answer.Effect]), " ")
				if got != want {
					r.Errorf("%s%s: %s, want %s; refused: %v", c.clauses, kind, got, want, answer.Refused)
				}
			}
			if _, err := r.ask(pool, "ADD COLUMN v INT"); !errors.Is(err, native.ErrRefused) {
				r.Errorf("an existing column: %v", err)
			}
		}
		var left int
		if err := r.db.QueryRow(
			"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ? AND table_name <> 't-1'",
			r.table.Schema,
		).Scan(
			&left,
		); err != nil ||
			left != 0 {
			r.Errorf("%d tables are left (%v)", left, err)
		}
	})
}

// ofPartitions are statements on partitions by RANGE, or HASH. 5.7 and MariaDB take them without ALGORITHM and LOCK only.
var ofPartitions = []struct{ by, clauses, new, plain string }{
	{"RANGE", "ADD PARTITION (PARTITION p2 VALUES LESS THAN (3000))", "INPLACE NONE metadata", "INPLACE NONE metadata"},
	{"RANGE", "REORGANIZE PARTITION p1 INTO (PARTITION a VALUES LESS THAN (1500), PARTITION b VALUES LESS THAN (2000))", "INPLACE SHARED rebuild", "COPY rebuild"},
	{"HASH", "ADD PARTITION PARTITIONS 2", "INPLACE SHARED rebuild", "COPY rebuild"},
	{"HASH", "COALESCE PARTITION 1", "INPLACE SHARED rebuild", "COPY rebuild"},
}

// TestAskOfPartitions: a new partition copies nothing, and the reason of a refusal is the statement's own.
func TestAskOfPartitions(t *testing.T) {
	onEach(t, func(r *rig) {
		pool := r.pool()
		defer pool.Close()
		kinds := map[string]string{"RANGE": "RANGE (id) (PARTITION p0 VALUES LESS THAN (1000), PARTITION p1 VALUES LESS THAN (2000))", "HASH": "HASH (id) PARTITIONS 4"}
		for _, c := range ofPartitions {
			r.exec("DROP TABLE " + r.table.Quoted())
			r.exec("CREATE TABLE " + r.table.Quoted() + " (id INT PRIMARY KEY, v INT, KEY (v)) PARTITION BY " + kinds[c.by])
			answer, err := r.ask(pool, c.clauses)
			if err != nil {
				r.Errorf("%s: %v", c.clauses, err)
				continue
			}
			want, plain := c.new, r.version == "5.7" || strings.HasPrefix(r.version, "mariadb")
			if plain {
				want = c.plain
			}
			got := strings.Join(strings.Fields(strings.ToUpper(string(answer.Method))+" "+answer.Lock+" "+effects[answer.Effect]), " ")
			if got != want || answer.Plain != plain || plain != (answer.How() == "") {
				r.Errorf("%s: %s (plain: %v, %q), want %s", c.clauses, got, answer.Plain, answer.How(), want)
			}
		}
		if _, err := r.ask(pool, "ADD PARTITION (PARTITION p5 VALUES LESS THAN (7))"); !errors.Is(err, native.ErrRefused) ||
			!strings.Contains(err.Error(), "VALUES LESS THAN") && !strings.Contains(err.Error(), "partitions must") && !strings.Contains(err.Error(), "HASH") {
			r.Errorf("another kind of partition: %v", err)
		}
	})
}

// ask asks how the server would change the table.
func (r *rig) ask(pool *dbconn.Pool, clauses string) (*plan.Answer, error) {
	r.Helper()
	return native.Ask(r.Context(), pool, r.question(clauses))
}

func (r *rig) question(clauses string) native.Question {
	r.Helper()
	source, err := schema.Load(r.Context(), r.db, r.table)
	if err != nil {
		r.Fatal(err)
	}
	alter, err := ddl.Parse("ALTER TABLE t " + clauses)
	if err != nil {
		r.Fatal(err)
	}
	return native.Question{Table: source, Alter: alter,
		Clone:      schema.Name{Schema: r.table.Schema, Table: "midstream_clone_1"},
		ClausesFor: func(a *ddl.Alter, _ *schema.Table) string { return a.Clauses }}
}

// TestSplit: Ask splits an ALTER into two statements if that avoids rebuilding the table, and only
// if they make the same table.
func TestSplit(t *testing.T) {
	onEach(t, func(r *rig) {
		pool := r.pool()
		defer pool.Close()
		for clauses, want := range map[string]string{
			"ADD COLUMN n INT, ADD INDEX (v)":                        "ADD COLUMN n INT | ADD INDEX (v)",
			"ADD INDEX (n), ADD COLUMN n INT":                        "ADD COLUMN n INT | ADD INDEX (n)",
			"ADD INDEX (v), ALTER v SET DEFAULT 1, ADD COLUMN n INT": "ALTER v SET DEFAULT 1, ADD COLUMN n INT | ADD INDEX (v)",
			"ADD COLUMN n INT, ADD INDEX ((v + 1))":                  "",
			"ADD COLUMN n INT AS (v + 1) VIRTUAL, ADD INDEX (n)":     "",
			"ADD COLUMN n INT, ADD FULLTEXT (s)":                     "", // writes would wait
			"ADD COLUMN n INT, ADD UNIQUE (v)":                       "", // rows may violate it
			"ADD COLUMN n INT, FORCE":                                "", // the rest rebuilds the table too
			"ADD COLUMN n INT, ADD COLUMN m INT":                     "", // INSTANT does all of it
			"ADD INDEX (v), ADD INDEX (s)":                           "", // builds indexes only
			"ADD COLUMN n INT, MODIFY v BIGINT":                      "",
		} {
			if r.version != "9.7" && strings.Contains(clauses, "((") {
				continue // only 9.7 has indexes on expressions
			}
			if r.version == "5.7" {
				want = "" // it can't use INSTANT
			}
			answer, err := r.ask(pool, clauses)
			if err != nil {
				r.Fatalf("%s: %v", clauses, err)
			}
			split, err := native.Split(r.Context(), pool, r.question(clauses), answer)
			if err != nil {
				r.Fatalf("%s: %v", clauses, err)
			}
			got := ""
			if split != nil {
				got = split.First.Clauses + " | " + split.Rest.Clauses
			}
			if got != want {
				r.Errorf("%s: %q, want %q", clauses, got, want)
			}
		}
		var left int
		if err := r.db.QueryRow(
			"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ? AND table_name <> 't'",
			r.table.Schema,
		).Scan(
			&left,
		); err != nil ||
			left != 0 {
			r.Errorf("%d tables are left (%v)", left, err)
		}
	})
}

// TestStatementWithAWayOfItsOwn: of two ALGORITHM or LOCK clauses the server uses the last one, the
// statement's own. So Ask does not try other methods, which the server would seem to accept.
func TestStatementWithAWayOfItsOwn(t *testing.T) {
	onEach(t, func(r *rig) {
		pool := r.pool()
		defer pool.Close()
		for clauses, want := range map[string]string{
			"ADD INDEX (v), ALGORITHM=INPLACE": "inplace NONE", "ADD INDEX (v), ALGORITHM=INPLACE, LOCK=SHARED": "inplace SHARED",
			"ADD INDEX (v), LOCK=EXCLUSIVE": "inplace EXCLUSIVE", "ADD COLUMN n INT, ALGORITHM=COPY": "copy ", "ADD COLUMN n INT, algorithm = default": "instant ",
		} {
			if r.version == "5.7" && want == "instant " {
				want = "inplace NONE"
			}
			answer, err := r.ask(pool, clauses)
			if err != nil {
				r.Errorf("%s: %v", clauses, err)
			} else if got := string(answer.Method) + " " + answer.Lock; got != want {
				r.Errorf("%s: %s, want %s", clauses, got, want)
			}
		}
	})
}

// TestCopiesOnline: from 11.2 on, MariaDB's own copy follows the changes.
func TestCopiesOnline(t *testing.T) {
	on(t, "mariadb-11.8", func(r *rig) {
		pool := r.pool()
		defer pool.Close()
		question := r.question("MODIFY v BIGINT")
		for _, online := range []bool{false, true} {
			want := map[bool]string{false: "", true: "NONE"}[online]
			question.CopiesOnline = online
			answer, err := native.Ask(r.Context(), pool, question)
			if err != nil || answer.Method != plan.MethodCopy || answer.Lock != want || answer.Effect != plan.Rebuild {
				r.Errorf("online %t: %+v, %v", online, answer, err)
			}
		}
	})
}
