package migration_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"midstream/internal/engine/park"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/fault"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// TestU4_DuplicatesAreSetApartAtOnce: the change has dropped a unique key and altered the key, and the application has written
// duplicates among many other changes. The undo does not look for each of them by halves of the list: that takes thousands of statements.
func TestU4_DuplicatesAreSetApartAtOnce(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		table := b.schema + ".t"
		var rows []string
		for i := range 300 {
			rows = append(rows, fmt.Sprintf("('k%d', %[1]d, %[1]d)", i))
		}
		b.exec("CREATE TABLE "+table+" (k VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_german2_ci PRIMARY KEY, u INT, d INT, UNIQUE KEY uq (u))",
			"INSERT INTO "+table+" VALUES "+strings.Join(rows, ", "))
		b.cfg.Undo = time.Hour
		b.mustMigrate("DROP COLUMN d, DROP INDEX uq, MODIFY k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL")
		var twins []string
		for _, n := range []string{"250", "251", "260", "270", "280", "290"} {
			twins = append(twins, "('new"+n+"', "+n+")")
		}
		b.exec("UPDATE "+table+" SET u = u + 1000 WHERE u < 200", "INSERT INTO "+table+" VALUES "+strings.Join(twins, ", "))
		var syncs atomic.Int64
		b.wire(fault.Rule{Seen: func(_ int, command []byte) {
			if text := string(command); strings.Contains(text, "INTO `"+b.schema+"`.`t_old`") {
				syncs.Add(1)
			}
		}})
		if _, err := b.undo(b.ctx(), planning.Undo{}); !errors.Is(err, park.ErrUnfit) {
			b.Fatal(err)
		}
		if n := syncs.Load(); n > 1500 { // 440; by halves, 4,500
			b.Errorf("%d statements write to the old table", n)
		}
		b.mustUndo(planning.Undo{Park: true})
		if n := b.value("SELECT GROUP_CONCAT(k ORDER BY k) FROM " + table + "_parked"); n != "new250,new251,new260,new270,new280,new290" {
			b.Errorf("%s are parked", n)
		}
		b.exec("DROP TABLE "+table+"_undo", "DROP TABLE "+table+"_parked")
	})
}

// TestU4_ManyDuplicatesOfAFormerKey: the change has given the key a collation that distinguishes more, and the application has
// written hundreds of rows that the former one holds equal to rows which did not change, or to others among them. The undo ends with the
// list of exactly these rows, and does not take them for rows that are written faster than it sets them apart.
func TestU4_ManyDuplicatesOfAFormerKey(t *testing.T) {
	sideBySide(t)
	const twins, pairs = 200, 20
	for name, c := range map[string]struct{ former, now, row, twin string }{
		"collation": {
			"k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL, PRIMARY KEY (k)",
			"MODIFY k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL", "'k%d'", "'K%d'",
		},
		"two columns": {
			"k VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_german1_ci NOT NULL, PRIMARY KEY (k, v)",
			"MODIFY k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL", "'k%d'", "'K%d'",
		},
	} {
		t.Run(name, func(t *testing.T) {
			onTwo(t, func(b *bench) {
				table := b.schema + ".t"
				var rows, more []string
				for i := range 500 {
					rows = append(rows, fmt.Sprintf("("+c.row+", %[1]d, 'note %[1]d')", i))
				}
				for i := range twins {
					more = append(more, fmt.Sprintf("("+c.twin+", %[1]d)", i))
				}
				for i := 600; i < 600+pairs; i++ { // both are new
					more = append(more, fmt.Sprintf("("+c.row+", %[1]d)", i), fmt.Sprintf("("+c.twin+", %[1]d)", i))
				}
				b.exec("CREATE TABLE "+table+" (v INT NOT NULL, note VARCHAR(20) NOT NULL DEFAULT 'none', "+c.former+")",
					"INSERT INTO "+table+" (k, v, note) VALUES "+strings.Join(rows, ", "))
				b.cfg.Undo = time.Hour
				b.mustMigrate("DROP COLUMN note, " + c.now)
				b.exec("INSERT INTO "+table+" (k, v) VALUES "+strings.Join(more, ", "), "UPDATE "+table+" SET v = 1 WHERE v BETWEEN 450 AND 499")
				if _, err := b.undo(b.ctx(), planning.Undo{}); !errors.Is(err, park.ErrUnfit) || !strings.Contains(err.Error(), fmt.Sprintf("do not fit: %d,", twins+pairs)) {
					b.Fatal(err)
				}
				b.mustUndo(planning.Undo{Park: true})
				if n := b.value("SELECT COUNT(*) FROM " + table + "_parked"); n != fmt.Sprint(twins+pairs) {
					b.Errorf("%s are parked", n)
				}
				if n := b.value("SELECT CONCAT(COUNT(*), ' ', SUM(note LIKE 'note %')) FROM " + table); n != "520 500" {
					b.Errorf("%s rows have their values", n)
				}
				redo := b.planOfUndo(planning.Undo{})
				if !slices.ContainsFunc(redo.Risks, func(r plan.Risk) bool { return r.What == "after this, the change cannot be undone again" }) {
					b.Errorf("the plan of the redo has the risks %v", redo.Risks)
				}
				b.mustUndo(planning.Undo{})
				if n := b.value("SELECT COUNT(*) FROM " + table); n != fmt.Sprint(520+twins+pairs) {
					b.Errorf("the redo has left %s rows", n)
				}
				b.exec("DROP TABLE "+table+"_undo", "DROP TABLE "+table+"_parked", "DROP TABLE IF EXISTS "+table+"_parked_values")
			})
		})
	}
}

// planOfUndo is the plan of the undo, or redo, of the table's last change.
func (b *bench) planOfUndo(how planning.Undo) *plan.Plan {
	b.Helper()
	pool, err := b.open(b.ctx())
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	server := planning.Server{Pool: pool, Binlog: b.binlogServer(), Address: b.address}
	options := planning.Options{Undo: &how, Config: b.cfg, Settings: b.settings, FactsOnly: true}
	p, err := planning.Make(b.ctx(), server, &ddl.Alter{Table: schema.Name{Schema: b.schema, Table: "t"}}, options)
	if err != nil {
		b.Fatal(err)
	}
	return p
}
