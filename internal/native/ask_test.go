package native_test

import (
	"errors"
	"strings"
	"testing"

	"midstream/internal/dbconn"
	"midstream/internal/ddl"
	"midstream/internal/mysqltest"
	"midstream/internal/native"
	"midstream/internal/plan"
	"midstream/internal/schema"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// asked is a statement, and how the server would carry it out.
type asked struct {
	clauses   string
	algorithm map[string]string // by version; "" for the rest
	effect    plan.Effect
}

var answers = []asked{
	{"COMMENT 'x'", map[string]string{"": "INPLACE NONE"}, plan.Metadata},
	{"ADD COLUMN n INT", map[string]string{"": "INSTANT"}, plan.Metadata},
	{"ADD COLUMN n INT FIRST", map[string]string{"9.7": "INSTANT", "8.0": "INPLACE NONE"}, plan.Metadata},
	{"DROP COLUMN v", map[string]string{"9.7": "INSTANT", "8.0": "INPLACE NONE"}, plan.Metadata},
	{"RENAME COLUMN v TO w", map[string]string{"9.7": "INSTANT", "8.0": "INPLACE NONE"}, plan.Metadata},
	{"RENAME COLUMN s TO w", map[string]string{"9.7": "INSTANT", "8.0": "INPLACE NONE"}, plan.Metadata},
	{"ALTER COLUMN v SET DEFAULT 5", map[string]string{"": "INSTANT"}, plan.Metadata},
	{"ADD INDEX (v)", map[string]string{"": "INPLACE NONE"}, plan.Index},
	{"ADD INDEX again (s)", map[string]string{"": "INPLACE NONE"}, plan.Index},
	{"DROP INDEX s, ADD INDEX other (s)", map[string]string{"": "INPLACE NONE"}, plan.Index},
	{"DROP INDEX s", map[string]string{"": "INPLACE NONE"}, plan.Metadata},
	{"RENAME INDEX s TO r", map[string]string{"": "INPLACE NONE"}, plan.Metadata},
	{"ADD FULLTEXT (s)", map[string]string{"": "INPLACE SHARED"}, plan.Rebuild}, // a column for the rows' numbers
	{"MODIFY v INT NOT NULL", map[string]string{"": "INPLACE NONE"}, plan.Rebuild},
	{"FORCE", map[string]string{"": "INPLACE NONE"}, plan.Rebuild},
	{"MODIFY v BIGINT", map[string]string{"": "COPY"}, plan.Rebuild},
	{"MODIFY s VARCHAR(50)", map[string]string{"": "INPLACE NONE"}, plan.Metadata},
	{"PARTITION BY HASH (id) PARTITIONS 2", map[string]string{"": "COPY"}, plan.Rebuild}, // no comma before it
	{"MODIFY v INT", map[string]string{"": "INSTANT"}, plan.Nothing},
}

// of returns what is expected of a server of the version.
func (a asked) of(version string) (algorithm string, effect plan.Effect) {
	algorithm, is := a.algorithm[version]
	if !is {
		algorithm = a.algorithm[""]
	}
	effect = a.effect
	if algorithm != "INSTANT" && a.algorithm["9.7"] == "INSTANT" && !strings.HasPrefix(a.clauses, "RENAME") {
		effect = plan.Rebuild
	}
	return algorithm, effect
}

// TestAsk: the server's own answers, and nothing is left of the clone.
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
					continue // InnoDB has none on partitions
				}
				algorithm, effect := c.of(r.version)
				answer, err := r.ask(pool, c.clauses)
				if err != nil {
					r.Errorf("%s%s: %v", c.clauses, kind, err)
					continue
				}
				if got := strings.TrimSpace(strings.ToUpper(string(answer.Method)) + " " + answer.Lock); got != algorithm || answer.Effect != effect {
					r.Errorf("%s%s: by %s with effect %d, want %s with %d; refused: %v", c.clauses, kind, got, answer.Effect, algorithm, effect, answer.Refused)
				}
			}
			if _, err := r.ask(pool, "ADD COLUMN v INT"); !errors.Is(err, native.ErrRefused) {
				r.Errorf("a column that is there: %v", err)
			}
		}
		var left int
		if err := r.db.QueryRow("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ? AND table_name <> 't-1'", r.table.Schema).Scan(&left); err != nil || left != 0 {
			r.Errorf("%d tables are left (%v)", left, err)
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

// TestSplit: two statements where that spares the table's rebuild, and only where they make the same
// table.
func TestSplit(t *testing.T) {
	onEach(t, func(r *rig) {
		pool := r.pool()
		defer pool.Close()
		for clauses, want := range map[string]string{
			"ADD COLUMN n INT, ADD INDEX (v)":                        "ADD COLUMN n INT | ADD INDEX (v)",
			"ADD INDEX (n), ADD COLUMN n INT":                        "ADD COLUMN n INT | ADD INDEX (n)",
			"ADD INDEX (v), ALTER v SET DEFAULT 1, ADD COLUMN n INT": "ALTER v SET DEFAULT 1, ADD COLUMN n INT | ADD INDEX (v)",
			"ADD COLUMN n INT, ADD INDEX ((v + 1))":                  "", // likewise
			"ADD COLUMN n INT AS (v + 1) VIRTUAL, ADD INDEX (n)":     "", // likewise
			"ADD COLUMN n INT, ADD FULLTEXT (s)":                     "", // nobody could write
			"ADD COLUMN n INT, ADD UNIQUE (v)":                       "", // rows may refuse it
			"ADD COLUMN n INT, FORCE":                                "", // the rest builds the table too
			"ADD COLUMN n INT, ADD COLUMN m INT":                     "", // INSTANT as a whole
			"ADD INDEX (v), ADD INDEX (s)":                           "", // builds indexes only
			"ADD COLUMN n INT, MODIFY v BIGINT":                      "",
		} {
			if r.version == "8.0" && strings.Contains(clauses, "((") {
				continue // 8.0.12 has no indexes on expressions
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
		if err := r.db.QueryRow("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ? AND table_name <> 't'", r.table.Schema).Scan(&left); err != nil || left != 0 {
			r.Errorf("%d tables are left (%v)", left, err)
		}
	})
}

// TestStatementWithAWayOfItsOwn: of two ALGORITHM or LOCK clauses the server takes the last, the statement's
// own: it is not asked for another way, which it would seem to take.
func TestStatementWithAWayOfItsOwn(t *testing.T) {
	onEach(t, func(r *rig) {
		pool := r.pool()
		defer pool.Close()
		for clauses, want := range map[string]string{
			"ADD INDEX (v), ALGORITHM=INPLACE": "inplace NONE", "ADD INDEX (v), ALGORITHM=INPLACE, LOCK=SHARED": "inplace SHARED",
			"ADD INDEX (v), LOCK=EXCLUSIVE": "inplace EXCLUSIVE", "ADD COLUMN n INT, ALGORITHM=COPY": "copy ", "ADD COLUMN n INT, algorithm = default": "instant ",
		} {
			if r.version == "8.0" && strings.Contains(clauses, "((") {
				continue // 8.0.12 has no indexes on expressions
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
