package prescan_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/failure"
	"midstream/internal/engine/migration"
)

// TestChecksAreTried: rows that violate a CHECK are found if it is new, or if its column is
// converted. A CHECK that stays unchanged costs nothing.
func TestChecksAreTried(t *testing.T) {
	onEach(t, func(b *bench) {
		if strings.HasPrefix(b.server.Release, "8.0.12") {
			b.Skip("the server drops CHECK constraints")
		}
		b.exec(
			"CREATE TABLE t (id INT PRIMARY KEY, v INT, d DECIMAL(5,2), k INT, CONSTRAINT kept CHECK (v < 100), CONSTRAINT small CHECK (d < 10))",
		)
		for i := range 30 {
			b.exec(fmt.Sprintf("INSERT INTO t VALUES (%d, %d, 9.5, %d)", i+1, i+1, i+1))
		}
		b.exec("UPDATE t SET v = NULL WHERE id = 30")
		for clauses, c := range map[string]struct {
			ids  []int
			list string
		}{
			"ADD CONSTRAINT big CHECK (v > 2)":                      {[]int{1, 2}, "WHERE NOT ((`v` > 2))"},
			"CHANGE k w INT, ADD CONSTRAINT big CHECK (w > 2)":      {[]int{1, 2}, "WHERE `id` IN (1, 2)"},
			"ADD CONSTRAINT big CHECK (v > 2), ADD c INT":           {[]int{1, 2}, "WHERE NOT ((`v` > 2))"},
			"ADD c INT NOT NULL DEFAULT 3, ADD CHECK (v <> c)":      {[]int{3}, "WHERE `id` IN (3)"},
			"ADD g INT AS (v * 2) STORED, ADD CHECK (g <> 8)":       {[]int{4}, "WHERE `id` IN (4)"},
			"MODIFY d DECIMAL(5,0), ADD INDEX (v)":                  {[]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30}, "IN (1, 2"},
			"ADD CONSTRAINT big CHECK (v > 2) NOT ENFORCED":         {nil, ""},
			"ADD CONSTRAINT big CHECK (v > 0), ADD c INT":           {nil, ""},
			"DROP CHECK kept, ADD CONSTRAINT other CHECK (v < 100)": {nil, ""},
		} {
			told, err := b.check(clauses)
			f, ok := told.find("check")
			if ok != (c.ids != nil) || errors.Is(err, failure.ErrUnfit) != ok {
				b.Errorf("%s: error is %v, findings %+v", clauses, err, told.findings)
			}
			if ok {
				b.want(f, c.ids)
			}
			if !strings.Contains(f.Query, c.list) {
				b.Errorf("%s: %s", clauses, f.Query)
			}
		}
	})
}

// TestManyRowsAreListedToABound: rows that no rule names are listed one by one, up to a bound.
func TestManyRowsAreListedToABound(t *testing.T) {
	onEach(t, func(b *bench) {
		b.cfg.Prescan.Listed = 20
		b.exec("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
		for i := range 100 {
			b.exec(fmt.Sprintf("INSERT INTO t VALUES (%d, 61)", i+1))
		}
		told, err := b.check("MODIFY v TIME")
		f, ok := told.find("invalid")
		if !errors.Is(err, failure.ErrUnfit) || !ok || f.Rows != 20 || !f.AtLeast || len(f.Keys) != 10 || len(b.texts(f.Query)) != 20 {
			b.Errorf("error is %v, %+v", err, f)
		}
	})
}

// TestRowsAreNotLocked: writers don't wait for a prescan, which reads committed rows, and the
// prescan doesn't wait for writers.
func TestRowsAreNotLocked(t *testing.T) {
	onEach(t, func(b *bench) {
		b.exec("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), k INT)", "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)")
		tx, err := b.db.BeginTx(b.ctx(), nil)
		if err != nil {
			b.Fatal(err)
		}
		defer tx.Rollback()
		for _, s := range []string{"UPDATE t SET v = 'too long', k = 3 WHERE id = 2", "DELETE FROM t WHERE id = 1", "INSERT INTO t VALUES (4, 'too long', 3)"} {
			if _, err := tx.ExecContext(b.ctx(), s); err != nil {
				b.Fatal(err)
			}
		}
		started := time.Now()
		// A plain CREATE TABLE .. LIKE and the reads don't wait for the open transaction.
		told, err := b.check("MODIFY v VARCHAR(3), ADD UNIQUE (k)")
		if err != nil || len(told.findings) > 0 || time.Since(started) > 30*time.Second {
			b.Errorf("error is %v, findings %+v, after %v", err, told.findings, time.Since(started))
		}
	})
}

// TestCheckCanBeAborted: nothing is left of it.
func TestCheckCanBeAborted(t *testing.T) {
	onEach(t, func(b *bench) {
		b.cfg.Prescan.Rows = 1
		b.exec("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20))")
		for i := range 10 {
			b.exec(fmt.Sprintf("INSERT INTO t VALUES (%d, 'a')", 10*i))
		}
		for range 6 {
			b.exec(
				"INSERT IGNORE INTO t SELECT id * 13 % 100003, a FROM t WHERE id > 0",
				"INSERT IGNORE INTO t SELECT id + 200003, a FROM t",
			)
		}
		ctx, abort := context.WithCancel(b.ctx())
		time.AfterFunc(300*time.Millisecond, abort)
		_, err := b.start("MODIFY a VARCHAR(3)", func(m *migration.Migration) error {
			_, err := m.Check(ctx)
			return err
		})
		if err == nil || errors.Is(err, failure.ErrLeftovers) {
			b.Errorf("error is %v", err)
		}
		b.untouched()
	})
}
