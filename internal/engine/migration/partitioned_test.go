package migration_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
)

// inYears is PARTITION BY years of a column: more than 32 partitions.
func inYears(column string) string {
	var years []string
	for year := 1990; year < 2030; year++ {
		years = append(years, fmt.Sprintf("PARTITION y%d VALUES LESS THAN (%[1]d)", year))
	}
	return "PARTITION BY RANGE (YEAR(" + column + ")) (" + strings.Join(years, ", ") + ", PARTITION rest VALUES LESS THAN MAXVALUE)"
}

// TestL2_RowsMoveBetweenPartitions: a table gets partitions, and their column becomes a part of its primary key, while each update moves
// a row to another partition. No row stays in the partition that it has left. gh-ost #1540 fails for primary keys of several columns.
func TestL2_RowsMoveBetweenPartitions(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	const byVersion = " PARTITION BY HASH (version) PARTITIONS 40"
	for _, c := range []struct {
		name, key, follows string
		profile            ledger.Profile
		partitions         string
		capture            plan.Capture
	}{
		{"by number", "id, version", "id,version", ledger.Int(), byVersion, ""},
		{"by date", "id, changed", "id,changed", ledger.Int(), inYears("changed"), ""},
		{"the column before the key", "version, id", "id,version", ledger.Int(), byVersion, ""},
		{"a column between", "id, changed, version", "id,changed,version", ledger.Int(), byVersion, ""},
		{"few partitions", "id, version", "id", ledger.Int(), " PARTITION BY HASH (version) PARTITIONS 3", ""},
		{"a text as key", "", "", ledger.StringAI(), byVersion, ""},
		{"several columns (gh-ost #1540)", "", "", ledger.Composite(), byVersion, ""},
		{"by triggers", "id, version", "id,version", ledger.Int(), byVersion, plan.CaptureTrigger},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onThese(t, inTurn(t, everyKind), func(b *bench) {
				profile, has := in(c.profile, b.version)
				if !has {
					t.Skip("it has no such collation")
				}
				b.capture, b.cfg.RowCopy.MaxRows, b.settings.Lock.Work = c.capture, 200, 20*time.Second
				if c.key == "" {
					c.key = strings.Join(profile.Key, ", ") + ", version"
					c.follows = strings.ReplaceAll(c.key, " ", "")
				}
				l := b.ledger(profile, 3000, ledger.Options{Rate: 300, Writers: 3})
				clauses := "DROP PRIMARY KEY, ADD PRIMARY KEY (" + c.key + "), DROP KEY code, ADD KEY code (code)" + c.partitions
				_, p := b.planned(clauses)
				if got := strings.Join(p.Key.Columns(), ","); got != c.follows {
					b.Errorf("the run follows (%s), want (%s)", got, c.follows)
				}
				if !slices.ContainsFunc(p.Risks, func(r plan.Risk) bool { return strings.Contains(r.What, "is no longer unique") }) {
					b.Errorf("no warning that the key is no longer unique: %v", p.Risks)
				}
				b.start(l)
				b.mustMigrate(clauses)
				b.mustMatchLedger(l)
			})
		})
	}
}
