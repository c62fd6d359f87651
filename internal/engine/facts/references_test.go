package facts_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
)

// misnamed are the server's errors about columns and indexes that a table lacks, or already has.
var misnamed = []uint16{1054, 1060, 1061, 1068, 1072, 1091, 1176}

func (r alters) one(of ...string) string { return of[r.IntN(len(of))] }

func (r alters) index() string { return r.one("ka", "KA", "kb", "kc", "kd", "ke", "`kf`", "b") }

// indexClause makes a random clause about indexes, defaults or places.
func (r alters) indexClause() string {
	parts := "(" + r.column()
	for r.IntN(2) == 0 {
		parts += ", " + r.one(r.column(), r.column(), r.column(), "g", "e", "my_row_id")
	}
	parts += ")"
	switch n := r.IntN(11); {
	case n == 0:
		return r.one("DROP INDEX ", "DROP KEY ") + r.index()
	case n == 1:
		return "RENAME " + r.one("INDEX ", "KEY ") + r.index() + " TO " + r.index()
	case n == 2 && r.renames:
		return "ALTER INDEX " + r.index() + r.one(" VISIBLE", " INVISIBLE")
	case n == 3:
		return "ALTER " + r.one("", "COLUMN ") + r.column() + " SET DEFAULT 5"
	case n == 4:
		return "ADD " + r.one(
			"UNIQUE ", "UNIQUE KEY ", "CONSTRAINT kb UNIQUE ", "CONSTRAINT kx UNIQUE INDEX ",
		) + r.one(
			"", r.index(),
		) + " " + parts
	case n == 5:
		return r.one("DROP PRIMARY KEY", "ADD PRIMARY KEY "+parts, "DROP PRIMARY KEY, ADD PRIMARY KEY "+parts)
	case n == 6:
		return "ADD FULLTEXT " + r.one("", r.index()) + " (c)"
	case n == 7 && r.odd:
		return "ADD INDEX " + r.index() + " ((" + r.column() + " + 1), " + r.column() + ")"
	case n == 8:
		return "ADD (" + r.column() + " INT, KEY " + r.index() + " " + parts + ")"
	default:
		return "ADD " + r.one("INDEX ", "KEY ") + r.one("", r.index()) + " " + parts
	}
}

func (r alters) mixture() string {
	var clauses []string
	for range 1 + r.IntN(4) {
		clauses = append(clauses, r.one(r.clause(), r.indexClause(), r.indexClause()))
	}
	return strings.Join(clauses, ", ")
}

// The plan refuses no ALTER because of its names if the server accepts it. It refuses most of the
// ALTERs that the server refuses because of their names.
func TestPlanRefusesNoAlterThatTheServerTakes(t *testing.T) {
	tables := map[string]string{
		"":              "id INT PRIMARY KEY, A INT NOT NULL, b INT, c VARCHAR(20), d BIGINT, KEY ka (a), KEY KB (b, a), UNIQUE kc (c), KEY kd (b), KEY b (d)",
		"generated key": "A INT NOT NULL, b INT, c VARCHAR(20), d BIGINT, UNIQUE ka (a), KEY kb (b)",
		"expression":    "id INT PRIMARY KEY, a INT, b INT, c VARCHAR(20), d INT AS (a + 1), KEY ka ((a * 2)), KEY kb (b, (c + 1)), KEY kc (d)",
	}
	// Not on MariaDB: the plan refuses nothing there, because its IF EXISTS and its second clauses
	// work differently.
	onReleases(t, []string{"9.7", "8.0", "5.7"}, func(t *testing.T, s *server) {
		s.SetMaxOpenConns(1) // for the session's variable
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := alters{Rand: rand.New(rand.NewPCG(seed, 0)), renames: s.release != "5.7", odd: s.release == "9.7"}
		for kind, columns := range tables {
			if kind != "" && s.release != "9.7" {
				continue
			}
			s.do("DROP TABLE IF EXISTS t")
			if kind == "generated key" {
				s.do("SET SESSION sql_generate_invisible_primary_key = ON")
			}
			s.do("CREATE TABLE t (" + columns + ")")
			s.neverTooStrict(random)
			if kind == "generated key" {
				s.do("SET SESSION sql_generate_invisible_primary_key = OFF")
			}
		}
	})
}

// neverTooStrict tries random ALTERs of table t.
func (s *server) neverTooStrict(random alters) {
	s.t.Helper()
	source := s.load("t")
	known, err := facts.Gather(s.t.Context(), s.DB, source.Name)
	if err != nil {
		s.t.Fatal(err)
	}
	taken, refused, foreseen, fresh := 0, 0, 0, false
	for tries := 0; tries < 2000 && (taken < enough/2 || refused < 2*enough); tries++ {
		clauses := random.mixture()
		alter, err := ddl.Parse("ALTER TABLE t " + clauses)
		if err != nil {
			s.t.Fatalf("%s: %v", clauses, err)
		}
		_, err = plan.Make(known, source, alter, plan.Options{})
		why := misnames(err)
		if !fresh {
			s.do("DROP TABLE IF EXISTS native", "CREATE TABLE native LIKE t")
			fresh = true
		}
		_, err = s.ExecContext(s.t.Context(), "ALTER TABLE native "+clauses)
		switch {
		case err == nil:
			taken++
			fresh = false
			if why != "" {
				s.t.Errorf("ALTER TABLE t %s: the server accepts it, the plan refuses: %s", clauses, why)
			}
		case slices.Contains(misnamed, dbconn.Number(err)):
			refused++
			if why != "" {
				foreseen++
			} else if alter.Parsed {
				s.t.Logf("not foreseen: ALTER TABLE t %s: %v", clauses, err)
			}
		}
	}
	s.t.Logf("%d taken, %d refused for names, %d of them foreseen", taken, refused, foreseen)
	if taken < enough/2 || foreseen < refused*7/10 {
		s.t.Error("too few")
	}
}

// misnames returns why a plan was refused for names in the ALTER, or "".
func misnames(err error) string {
	var refused *plan.Refused
	if !errors.As(err, &refused) {
		return ""
	}
	var all []string
	for _, r := range refused.Blocking {
		if r.Code == plan.CodeColumn || r.Code == plan.CodeIndex {
			all = append(all, r.String())
		}
	}
	return strings.Join(all, "; ")
}
