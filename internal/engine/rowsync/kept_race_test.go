package rowsync_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
)

// TestU5_ARowTakesTheValueThatAnotherSyncKeepsMeanwhile: two syncs have two keys that only the shadow's collation holds equal. One removes
// the row of the former key, and has not committed when the other looks for the value of the new row. That row waits for the lock of the
// former one, and has its value.
func TestU5_ARowTakesTheValueThatAnotherSyncKeepsMeanwhile(t *testing.T) {
	onAll(t, func(t *testing.T, server *mysqltest.Instance) {
		const charset = "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE "
		var remove func()
		u := newUndo(t, server, "k "+charset+"utf8mb4_bin NOT NULL PRIMARY KEY, v INT",
			"k "+charset+"utf8mb4_general_ci NOT NULL PRIMARY KEY, v INT, note VARCHAR(20) NOT NULL DEFAULT 'none', m SET('x','y') NOT NULL DEFAULT 'x'",
			func(u *undo) {
				u.spec.Upsert, u.spec.KeyChanged = false, true
				u.address = fault.New(t, server.Address, fault.Rule{At: "LEFT JOIN", Call: func() { remove() }}).Address
			},
			"INSERT INTO t VALUES ('B', 22), ('C', 33)", "INSERT INTO t_old VALUES ('b', 2, 'of b', 'y')")
		other := u.open()
		do := func(statements ...string) {
			for _, s := range statements {
				if _, err := other.Exec(t.Context(), s); err != nil {
					t.Errorf("%s: %v", s, err)
				}
			}
		}
		var removing sync.WaitGroup
		remove = func() {
			do("USE "+u.source.Name.Schema, "START TRANSACTION",
				"INSERT INTO t_kept (midstream_key_0, midstream_value_0, midstream_value_1, midstream_value_new) SELECT k, note, m + 0, 0 FROM t_old WHERE k = 'b'",
				"DELETE FROM t_old WHERE k = 'b'")
			removing.Go(func() {
				waits := "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND trx_query LIKE '%" + u.source.Name.Schema + "%'"
				// The server renews its answer 100 ms after it was read.
				for end := time.Now().Add(10 * time.Second); !slices.Equal(u.rows(waits), []string{"1"}); time.Sleep(200 * time.Millisecond) {
					if time.Now().After(end) {
						t.Error("the insertion does not wait for the lock")
						break
					}
				}
				do("COMMIT")
			})
		}
		u.sync("42", "43") // B and C
		removing.Wait()
		u.has("SELECT k, v, note, m FROM t_old ORDER BY k", "B|22|of b|y", "C|33|none|x")
		u.exec("UPDATE t SET v = v + 1")
		u.sync("42", "43")
		u.has("SELECT k, v, note, m FROM t_old ORDER BY k", "B|23|of b|y", "C|34|none|x")
	})
}
