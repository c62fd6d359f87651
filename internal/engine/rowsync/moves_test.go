package rowsync_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"midstream/internal/engine/rowsync"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/binlog"
)

// carrying is the moves of an undo under test.
type carrying struct{ *rowsync.Moves }

// carry makes the syncer carry moves: those after what is in the side table.
func (u *undo) carry() carrying {
	u.Helper()
	session := u.open()
	defer session.Close()
	moves, err := rowsync.LoadMoves(u.Context(), session, u.spec)
	if err != nil {
		u.Fatal(err)
	}
	u.syncer.Carry(moves, func(ctx context.Context) (err error) {
		if u.outstanding != nil {
			_, err = u.outstanding(ctx, nil)
		}
		return err
	})
	return carrying{moves}
}

func place(group int) binlog.Position {
	return binlog.Position{File: "binlog.000009", Offset: uint64(100 * group)}
}

const server = "3e11fa47-71ca-11e1-9e33-c80aa9429562"

func named(group int) string { return fmt.Sprintf("%s:%d", server, group) }

// add adds a transaction with changes of keys: from, to, from, to...
func (c carrying) add(u *undo, group int, tuples ...string) uint64 {
	u.Helper()
	keys := u.keys(tuples...)
	var moves []rowsync.Move
	for i := 0; i < len(keys); i += 2 {
		moves = append(moves, rowsync.Move{From: keys[i], To: keys[i+1]})
	}
	return c.Add(moves, place(group), named(group))
}

// TestU5_KeysThatChange: values follow their rows through chains and swaps, in every order of syncs.
func TestU5_KeysThatChange(t *testing.T) {
	mysqltest.Seldom(t)
	cases := []struct {
		name       string
		statements []string
		moves      string
		want       []string // id and k
	}{
		{"one", []string{"UPDATE t SET id = 9 WHERE id = 1"}, "1>9", []string{"2|20", "3|30", "9|10"}},
		{"swap", []string{"UPDATE t SET id = 9 WHERE id = 1", "UPDATE t SET id = 1 WHERE id = 2", "UPDATE t SET id = 2 WHERE id = 9"},
			"1>9 2>1 9>2", []string{"1|20", "2|10", "3|30"}},
		{"shift", []string{"UPDATE t SET id = id + 1 ORDER BY id DESC"}, "3>4 2>3 1>2", []string{"2|10", "3|20", "4|30"}},
		{"chain", []string{"UPDATE t SET id = 7 WHERE id = 1", "UPDATE t SET id = 8 WHERE id = 7", "UPDATE t SET id = 9 WHERE id = 8"},
			"1>7 7>8 8>9", []string{"2|20", "3|30", "9|10"}},
		{"there and back", []string{"UPDATE t SET id = 7 WHERE id = 1", "UPDATE t SET id = 1 WHERE id = 7"}, "1>7 7>1", []string{"1|10", "2|20", "3|30"}},
		{"a new row in the old place", []string{"UPDATE t SET id = 9 WHERE id = 1", "INSERT INTO t VALUES (1, 1)"},
			"1>9", []string{"1|-1", "2|20", "3|30", "9|10"}},
		{"new rows in an old place, one after the other", []string{"UPDATE t SET id = 9 WHERE id = 1", "INSERT INTO t VALUES (1, 1)",
			"UPDATE t SET id = 8 WHERE id = 1", "INSERT INTO t VALUES (1, 1)"}, "1>9 1>8", []string{"1|-1", "2|20", "3|30", "8|-1", "9|10"}},
		{"cycle", []string{"UPDATE t SET id = 9 WHERE id = 3", "UPDATE t SET id = 3 WHERE id = 2", "UPDATE t SET id = 2 WHERE id = 1",
			"UPDATE t SET id = 1 WHERE id = 9"}, "3>9 2>3 1>2 9>1", []string{"1|30", "2|10", "3|20"}},
		{"a new row", []string{"INSERT INTO t VALUES (7, 7)", "UPDATE t SET id = 8 WHERE id = 7"}, "7>8", []string{"1|10", "2|20", "3|30", "8|-1"}},
		{"a new row to a deleted row's key", []string{"DELETE FROM t WHERE id = 1", "INSERT INTO t VALUES (7, 7)", "UPDATE t SET id = 1 WHERE id = 7"},
			"7>1", []string{"1|10", "2|20", "3|30"}},
		{"an old row to a new row's key", []string{"INSERT INTO t VALUES (7, 7)", "DELETE FROM t WHERE id = 7", "UPDATE t SET id = 7 WHERE id = 1"},
			"1>7", []string{"2|20", "3|30", "7|10"}},
		{"deleted and moved", []string{"DELETE FROM t WHERE id = 3", "UPDATE t SET id = 3 WHERE id = 2", "DELETE FROM t WHERE id = 3", "INSERT INTO t VALUES (3, 3)"},
			"2>3", []string{"1|10", "3|20"}},
	}
	onAll(t, func(t *testing.T, server *mysqltest.Instance) {
		for _, path := range mysqltest.HalfInTurn(t, paths...) {
			for _, c := range cases {
				for _, early := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, %s, synced between: %t", path.name, c.name, early), func(t *testing.T) {
						u := newUndo(t, server, "id INT NOT NULL PRIMARY KEY, v INT", "id INT NOT NULL PRIMARY KEY, v INT, k INT NOT NULL", func(u *undo) {
							u.spec.Fills = []rowsync.Column{{Shadow: "k", Expr: "-1"}}
							if path.change != nil {
								path.change(u)
							}
						}, "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)", "INSERT INTO t_old VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30)")
						sync := func() {
							if path.chunk {
								u.syncAll()
							} else {
								u.sync("9", "8", "7", "4", "3", "2", "1")
							}
						}
						moves := u.carry()
						for _, s := range c.statements {
							u.exec(s)
							if early {
								sync() // for earlier changes of these keys
							}
						}
						for i, pair := range strings.Fields(c.moves) {
							from, to, _ := strings.Cut(pair, ">")
							moves.add(u, i+1, from, to)
						}
						sync()
						u.has("SELECT id, k FROM t_old ORDER BY id", c.want...)
						sync()
						u.has("SELECT id, k FROM t_old ORDER BY id", c.want...)
					})
				}
			}
		}
	})
}

// TestU5_MovesThatAreReadTwice: who resumes from an older position carries no move again, on the same
// server or on another one, and misses none.
func TestU5_MovesThatAreReadTwice(t *testing.T) {
	mysqltest.Seldom(t)
	swap := []string{"1", "9", "2", "1", "9", "2"}
	onAll(t, func(t *testing.T, server *mysqltest.Instance) {
		for _, byGTID := range []bool{false, true} {
			for carried := 0; carried <= 4; carried++ {
				for from := 0; from <= carried; from++ {
					t.Run(fmt.Sprintf("by GTID: %t, %d carried, read from %d", byGTID, carried, from), func(t *testing.T) {
						u := newUndo(t, server, "id INT NOT NULL PRIMARY KEY", "id INT NOT NULL PRIMARY KEY, k INT NOT NULL", nil,
							"INSERT INTO t_old VALUES (1, 10), (2, 20), (3, 30)", "INSERT INTO t VALUES (1), (2), (5)")
						// Groups 1 and 3 exchange two rows, group 2 moves a row that does not exist, group 4 another row.
						groups := [][]string{swap, {"77", "78"}, swap, {"3", "5"}}
						moves := u.carry()
						for i, tuples := range groups[:carried] {
							moves.add(u, i+1, tuples...)
						}
						u.sync("1", "2")
						if got := moves.Carried(); got != uint64(carried) {
							t.Errorf("%d groups are carried, want %d", got, carried)
						}
						moves = u.carry()
						if byGTID {
							var before binlog.GTIDs
							if from > 0 {
								var err error
								if before, err = binlog.ParseGTIDs(named(1) + fmt.Sprintf("-%d", from)); err != nil {
									t.Fatal(err)
								}
							} else if before, err := binlog.ParseGTIDs("00000000-71ca-11e1-9e33-c80aa9429562:1"); err == nil {
								moves.Begin(&before)
							}
							moves.Begin(&before)
						}
						for i, tuples := range groups[from:] {
							moves.add(u, from+i+1, tuples...)
						}
						u.sync("1", "2", "3", "5")
						u.has("SELECT id, k FROM t_old ORDER BY id", "1|10", "2|20", "5|30")
					})
				}
			}
		}
	})
}
