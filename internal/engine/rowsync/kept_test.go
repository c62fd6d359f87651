package rowsync_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// all are the servers that a test of kept columns takes turns on.
var all = []string{"9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8"}

const sideMark = schema.Mark + "kept of test.t"

// undo is a source and a shadow that has more columns.
type undo struct {
	address string // by which the syncer reaches the server; "" for its own
	*testing.T
	db             *sql.DB
	server         *mysqltest.Instance
	pool           *dbconn.Pool
	source, shadow *schema.Table
	spec           *rowsync.Spec
	session        *dbconn.Session
	syncer         *rowsync.Syncer
	// outstanding is the syncer's.
	outstanding rowsync.Outstanding
	retries     int
}

// newUndo makes the two tables from their definitions; the shadow's may be followed by statements
// that fill it.
func newUndo(t *testing.T, server *mysqltest.Instance, source, shadow string, change func(u *undo), statements ...string) *undo {
	t.Helper()
	db, name := mysqltest.Database(t, server)
	db.SetMaxOpenConns(1)
	u := &undo{T: t, db: db, server: server}
	u.exec("SET SESSION sql_mode = 'ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO'", "SET SESSION time_zone = '+00:00'",
		"CREATE TABLE t ("+source+") ENGINE=InnoDB", "CREATE TABLE t_old ("+shadow+") ENGINE=InnoDB")
	u.exec(statements...)
	u.source, u.shadow = u.load(name, "t"), u.load(name, "t_old")
	primary := u.source.Keys[0]
	var parts []key.Part
	u.spec = &rowsync.Spec{Source: u.source.Name, Shadow: u.shadow.Name, SourceIndex: "PRIMARY", ShadowIndex: "PRIMARY",
		Side: u.source.Name.Sibling("t_kept"), Upsert: true}
	for _, p := range primary.Parts {
		column, _ := u.source.Column(p.Column)
		parts = append(parts, key.Part{Column: column})
		u.spec.ShadowKey = append(u.spec.ShadowKey, p.Column)
	}
	var err error
	if u.spec.Key, err = key.NewCodec(parts); err != nil {
		t.Fatal(err)
	}
	for _, c := range u.shadow.Columns {
		_, mapped := u.source.Column(c.Name)
		switch {
		case c.Generated != schema.NotGenerated:
		case mapped:
			u.spec.Columns = append(u.spec.Columns, rowsync.Column{Shadow: c.Name, Expr: schema.Quote(c.Name)})
		default:
			u.spec.Kept = append(u.spec.Kept, c)
		}
	}
	if change != nil {
		change(u)
	}
	u.pool, err = dbconn.Open(t.Context(), dbconn.Config{Network: server.Network, Address: cmp.Or(u.address, server.Address),
		User: server.User, Password: dbconn.Secret(server.Password)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.pool.Close() })
	first, err := u.pool.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	for range 2 {
		if _, err := rowsync.OpenSide(t.Context(), first, u.spec, u.shadow, sideMark, rowsync.Parked{}, false); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { u.exec("DROP TABLE t_kept") })
	u.session = u.open()
	u.syncer = rowsync.New(u.spec, func(ctx context.Context, _ func(key.Key) bool) ([]key.Key, error) {
		if u.outstanding == nil {
			return nil, nil
		}
		return u.outstanding(ctx, nil)
	}, func(event.Event) { u.retries++ })
	return u
}

func (u *undo) load(database, table string) *schema.Table {
	u.Helper()
	loaded, err := schema.Load(u.Context(), u.server.Open(u, database), schema.Name{Schema: database, Table: table})
	if err != nil {
		u.Fatal(err)
	}
	return loaded
}

// open returns a session that syncs.
func (u *undo) open() *dbconn.Session {
	u.Helper()
	session, err := u.pool.Session(u.Context(), u.spec.Setup()...)
	if err != nil {
		u.Fatal(err)
	}
	u.Cleanup(func() { session.Close() })
	return session
}

func (u *undo) exec(statements ...string) {
	u.Helper()
	for _, s := range statements {
		if _, err := u.db.ExecContext(context.Background(), s); err != nil {
			u.Fatalf("%s: %v", s, err)
		}
	}
}

// rows reads the rows of a query, with their columns as the server shows them.
func (u *undo) rows(query string) (all []string) {
	u.Helper()
	rows, err := u.db.QueryContext(context.Background(), query)
	if err != nil {
		u.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	for rows.Next() {
		values, targets := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			u.Fatal(err)
		}
		var texts []string
		for _, v := range values {
			if v.Valid {
				texts = append(texts, v.String)
			} else {
				texts = append(texts, "NULL")
			}
		}
		all = append(all, strings.Join(texts, "|"))
	}
	return all
}

// has fails if the query has other rows.
func (u *undo) has(query string, want ...string) {
	u.Helper()
	if got := u.rows(query); !slices.Equal(got, want) {
		u.Errorf("%s: got %q, want %q", query, got, want)
	}
}

// keys returns the keys of some values, each a tuple of literals.
func (u *undo) keys(tuples ...string) (keys []key.Key) {
	u.Helper()
	for _, tuple := range tuples {
		var texts [][]byte
		for _, text := range strings.Split(tuple, ",") {
			texts = append(texts, []byte(text))
		}
		k, err := u.spec.Key.FromText(texts)
		if err != nil {
			u.Fatal(err)
		}
		keys = append(keys, k)
	}
	return keys
}

func (u *undo) sync(tuples ...string) {
	u.Helper()
	if _, err := u.syncer.Keys(u.Context(), u.session, u.keys(tuples...)); err != nil {
		u.Fatal(err)
	}
}

func (u *undo) syncAll() {
	u.Helper()
	if err := u.tryAll(); err != nil {
		u.Fatal(err)
	}
}

// tryAll syncs all rows.
func (u *undo) tryAll() error {
	_, err := u.syncer.Range(u.Context(), u.session, key.Range{}, false)
	return err
}

// onAll runs a test on a server that has its turn.
func onAll(t *testing.T, test func(t *testing.T, server *mysqltest.Instance)) {
	for _, version := range mysqltest.InTurn(t, all...) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, mysqltest.Server(t, version))
		})
	}
}

// paths are the ways in which rows are synced.
var paths = []struct {
	name   string
	change func(u *undo)
	chunk  bool // of all rows
}{
	{"list, overwritten", nil, false},
	{"chunk, overwritten", nil, true},
	{"list, replaced", func(u *undo) { u.spec.Upsert = false }, false},
	{"chunk, replaced", func(u *undo) { u.spec.Upsert = false }, true},
	{"list, locking reads", func(u *undo) { u.spec.Locking = " LOCK IN SHARE MODE" }, false},
	{"list, converted keys", func(u *undo) { u.spec.Upsert, u.spec.KeyChanged = false, true }, false},
}

const (
	smallSource = "id INT NOT NULL PRIMARY KEY, v INT"
	smallShadow = "id INT NOT NULL PRIMARY KEY, v INT, status VARCHAR(10) NOT NULL, n INT DEFAULT 7," +
		" at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, twice INT AS (n * 2) STORED"
)

var smallRows = []string{
	"INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40)",
	"INSERT INTO t_old (id, v, status, n, at) VALUES (1, 10, 'a', 1, '2001-01-01'), (2, 20, 'b', 2, '2002-01-01')," +
		" (3, 30, 'c', NULL, '2003-01-01'), (4, 40, 'd', 4, '2004-01-01')",
}

// filled gives new rows a status.
func filled(u *undo) {
	u.spec.Fills = []rowsync.Column{{Shadow: "status", Expr: "CONCAT('new ', `v`)"}}
}

// filledBy gives new rows a status by a path; change may be nil.
func filledBy(change func(u *undo)) func(u *undo) {
	return func(u *undo) {
		filled(u)
		if change != nil {
			change(u)
		}
	}
}

// TestU5_EachPathKeepsValues: updates, deletes and inserts of old and new rows, by each path.
func TestU5_EachPathKeepsValues(t *testing.T) {
	onAll(t, func(t *testing.T, server *mysqltest.Instance) {
		for _, path := range paths {
			t.Run(path.name, func(t *testing.T) {
				u := newUndo(t, server, smallSource, smallShadow, filledBy(path.change), smallRows...)
				sync := func() {
					if path.chunk {
						u.syncAll()
					} else {
						u.sync("1", "2", "3", "4", "5")
					}
				}
				u.exec("UPDATE t SET v = v + 1", "DELETE FROM t WHERE id = 2", "INSERT INTO t VALUES (5, 50)")
				sync()
				const query = "SELECT id, v, status, n, twice, IF(id < 5, at, YEAR(at) > 2020) FROM t_old ORDER BY id"
				u.has(query, "1|11|a|1|2|2001-01-01 00:00:00", "3|31|c|NULL|NULL|2003-01-01 00:00:00", "4|41|d|4|8|2004-01-01 00:00:00",
					"5|50|new 50|7|14|1")
				sync()
				u.exec("REPLACE INTO t VALUES (2, 22), (5, 55)", "DELETE FROM t WHERE id = 3")
				sync()
				u.exec("INSERT INTO t VALUES (3, 33)")
				sync()
				u.has(query, "1|11|a|1|2|2001-01-01 00:00:00", "2|22|b|2|4|2002-01-01 00:00:00", "3|33|c|NULL|NULL|2003-01-01 00:00:00",
					"4|41|d|4|8|2004-01-01 00:00:00", "5|55|new 55|7|14|1")
			})
		}
	})
}

// TestU5_NewRowWithoutAValueIsRefused: without a fill, a new row is an error, and an old one is none.
func TestU5_NewRowWithoutAValueIsRefused(t *testing.T) {
	onAll(t, func(t *testing.T, server *mysqltest.Instance) {
		for _, path := range paths {
			t.Run(path.name, func(t *testing.T) {
				u := newUndo(t, server, smallSource, smallShadow, path.change, smallRows...)
				u.exec("UPDATE t SET v = v + 1", "INSERT INTO t VALUES (6, 1), (7, 1)")
				if !path.chunk {
					u.sync("1", "2", "3", "4")
					u.has("SELECT GROUP_CONCAT(v ORDER BY id) FROM t_old", "11,21,31,41")
				}
				var err error
				if path.chunk {
					err = u.tryAll()
				} else {
					_, err = u.syncer.Keys(u.Context(), u.session, u.keys("1", "4", "6", "7"))
				}
				if !errors.Is(err, rowsync.ErrNoValue) || !strings.Contains(err.Error(), "row with key (6)") {
					t.Errorf("got %v", err)
				}
				u.has("SELECT GROUP_CONCAT(id ORDER BY id) FROM t_old", "1,2,3,4")
			})
		}
	})
}

// TestU5_UnfitRowIsNamed: a value that the old column refuses is refused by each path.
func TestU5_UnfitRowIsNamed(t *testing.T) {
	onAll(t, func(t *testing.T, server *mysqltest.Instance) {
		for _, path := range paths {
			t.Run(path.name, func(t *testing.T) {
				u := newUndo(t, server, "id INT NOT NULL PRIMARY KEY, v BIGINT", "id INT NOT NULL PRIMARY KEY, v TINYINT NOT NULL, k INT NOT NULL",
					path.change, "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)", "INSERT INTO t_old VALUES (1, 1, 5), (2, 2, 6), (3, 3, 7)")
				for _, unfit := range []string{"1000", "NULL"} {
					u.exec("UPDATE t SET v = " + unfit + " WHERE id = 2")
					var err error
					if path.chunk {
						err = u.tryAll()
					} else {
						_, err = u.syncer.Keys(u.Context(), u.session, u.keys("1", "2", "3"))
					}
					if !dbconn.ValueRefused(err) || !strings.Contains(err.Error(), "row with key (2)") {
						t.Errorf("%s: got %v", unfit, err)
					}
				}
				u.has("SELECT * FROM t_old ORDER BY id", "1|1|5", "2|2|6", "3|3|7")
			})
		}
	})
}

// TestU5_RowsThatLeaveForAnotherKey: rows that go because they hold a unique value of another row
// come back with their values.
func TestU5_RowsThatLeaveForAnotherKey(t *testing.T) {
	ways := []struct {
		name   string
		unique string // of the source
		change func(u *undo)
	}{
		{"enforced", ", UNIQUE KEY u (u)", func(u *undo) {
			u.spec.Unique = []rowsync.UniqueKey{{Name: "u", Enforced: true, Parts: []rowsync.UniquePart{{Shadow: "`u`", Source: "`u`", Text: "`u`"}}}}
		}},
		{"stale", "", func(u *undo) {
			u.spec.Unique = []rowsync.UniqueKey{{Name: "u", Parts: []rowsync.UniquePart{{Shadow: "`u`", Source: "`u`", Text: "`u`"}}}}
		}},
		{"opaque", "", func(u *undo) { u.spec.Opaque = true }},
		{"converted keys", ", UNIQUE KEY u (u)", func(u *undo) {
			u.spec.Unique = []rowsync.UniqueKey{{Name: "u", Enforced: true, Parts: []rowsync.UniquePart{{Shadow: "`u`", Source: "`u`", Text: "`u`"}}}}
			u.spec.KeyChanged = true
		}},
		{"converted keys, stale", "", func(u *undo) {
			u.spec.Unique = []rowsync.UniqueKey{{Name: "u", Parts: []rowsync.UniquePart{{Shadow: "`u`", Source: "`u`", Text: "`u`"}}}}
			u.spec.KeyChanged = true
		}},
	}
	onAll(t, func(t *testing.T, server *mysqltest.Instance) {
		for _, way := range ways {
			t.Run(way.name, func(t *testing.T) {
				u := newUndo(t, server, "id INT NOT NULL PRIMARY KEY, u INT"+way.unique,
					"id INT NOT NULL PRIMARY KEY, u INT, k INT NOT NULL, UNIQUE KEY u (u)",
					func(u *undo) { u.spec.Upsert = false; way.change(u) },
					"INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)", "INSERT INTO t_old VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30)")
				u.exec("UPDATE t SET u = 9 WHERE id = 1", "UPDATE t SET u = 1 WHERE id = 2", "UPDATE t SET u = 2 WHERE id = 1")
				u.outstanding = func(context.Context, func(key.Key) bool) ([]key.Key, error) { return u.keys("1", "2"), nil }
				u.sync("2")
				u.has("SELECT * FROM t_old ORDER BY id", "2|1|20", "3|3|30")
				u.sync("1")
				u.has("SELECT * FROM t_old ORDER BY id", "1|2|10", "2|1|20", "3|3|30")
			})
		}
	})
}

// TestU5_RealDuplicateNamesBothRows: two rows that keep one value are still reported with their keys.
func TestU5_RealDuplicateNamesBothRows(t *testing.T) {
	onAll(t, func(t *testing.T, server *mysqltest.Instance) {
		u := newUndo(t, server, "id INT NOT NULL PRIMARY KEY, u INT", "id INT NOT NULL PRIMARY KEY, u INT, k INT NOT NULL, UNIQUE KEY u (u)",
			func(u *undo) { u.spec.Upsert, u.spec.Opaque = false, true },
			"INSERT INTO t VALUES (1, 1), (2, 2)", "INSERT INTO t_old VALUES (1, 1, 10), (2, 2, 20)", "UPDATE t SET u = 1 WHERE id = 2")
		_, err := u.syncer.Keys(u.Context(), u.session, u.keys("2"))
		if !errors.Is(err, rowsync.ErrDuplicate) || !strings.Contains(err.Error(), "(2) and the row with key (1)") {
			t.Errorf("got %v", err)
		}
		u.has("SELECT * FROM t_old ORDER BY id", "1|1|10", "2|2|20")
	})
}

// TestU5_UniqueKeptColumn: old rows have no duplicates among their kept values; a default that two
// new rows share is an ordinary error.
func TestU5_UniqueKeptColumn(t *testing.T) {
	onAll(t, func(t *testing.T, server *mysqltest.Instance) {
		u := newUndo(t, server, "id INT NOT NULL PRIMARY KEY, v INT", "id INT NOT NULL PRIMARY KEY, v INT, k INT NOT NULL DEFAULT 0, UNIQUE KEY k (k)",
			func(u *undo) { u.spec.Upsert, u.spec.Opaque = false, true },
			"INSERT INTO t VALUES (1, 1), (2, 2)", "INSERT INTO t_old VALUES (1, 1, 10), (2, 2, 20)", "DELETE FROM t WHERE id = 1", "UPDATE t SET v = 3")
		u.sync("1", "2")
		u.exec("INSERT INTO t VALUES (1, 4), (3, 5)")
		u.sync("1", "2", "3")
		u.has("SELECT * FROM t_old ORDER BY id", "1|4|10", "2|3|20", "3|5|0")
		u.exec("INSERT INTO t VALUES (4, 4)")
		if _, err := u.syncer.Keys(u.Context(), u.session, u.keys("4")); !errors.Is(err, rowsync.ErrDuplicate) {
			t.Errorf("got %v", err)
		}
	})
}

// TestU5_KeptNumber: a kept AUTO_INCREMENT column keeps its numbers, with 0, and numbers new rows.
func TestU5_KeptNumber(t *testing.T) {
	onAll(t, func(t *testing.T, server *mysqltest.Instance) {
		for _, upsert := range []bool{true, false} {
			u := newUndo(t, server, "id INT NOT NULL PRIMARY KEY", "id INT NOT NULL PRIMARY KEY, n INT NOT NULL AUTO_INCREMENT, KEY n (n)",
				func(u *undo) { u.spec.Upsert = upsert }, "INSERT INTO t VALUES (1), (2)", "INSERT INTO t_old VALUES (1, 0), (2, 50)",
				"INSERT INTO t VALUES (3)", "DELETE FROM t WHERE id = 1")
			u.sync("1", "2", "3")
			u.exec("INSERT INTO t VALUES (1)")
			u.sync("1", "2", "3")
			// 3 is new, and gets a number at each sync.
			u.has("SELECT * FROM t_old ORDER BY id", "1|0", "2|50", "3|52")
		}
	})
}

// TestU5_SideTable: the side table belongs to the run that has its mark.
func TestU5_SideTable(t *testing.T) {
	onAll(t, func(t *testing.T, server *mysqltest.Instance) {
		u := newUndo(t, server, smallSource, smallShadow, nil)
		if _, err := rowsync.OpenSide(t.Context(), u.session, u.spec, u.shadow, "another mark", rowsync.Parked{}, false); !errors.Is(err, rowsync.ErrSideTaken) {
			t.Errorf("got %v", err)
		}
		u.has("SELECT table_comment FROM information_schema.tables WHERE table_name = 't_kept' AND table_schema = DATABASE()", sideMark)
		// Values of another column, or of another old table, are none of this one: they are replaced, or not touched if an undo has begun.
		u.exec("INSERT INTO t_kept (midstream_key_0, midstream_value_0, midstream_value_new) VALUES (7, '77', 0)")
		open := func(begun bool) error {
			_, err := rowsync.OpenSide(t.Context(), u.session, u.spec, u.shadow, sideMark, rowsync.Parked{}, begun)
			if _, failed := u.session.Exec(t.Context(), "COMMIT"); failed != nil {
				t.Fatal(failed)
			}
			return err
		}
		for _, begun := range []bool{false, true} {
			if err := open(begun); err != nil {
				t.Error(err)
			}
			u.has("SELECT midstream_value_0 FROM t_kept", "77")
		}
		for _, other := range []string{
			"MODIFY midstream_value_0 VARCHAR(10) NOT NULL COMMENT 'other'", "MODIFY midstream_value_new TINYINT COMMENT 't_old2'",
			"ADD COLUMN midstream_value_3 INT",
		} {
			u.exec("ALTER TABLE t_kept "+other, "DELETE FROM t_kept",
				"INSERT INTO t_kept (midstream_key_0, midstream_value_0, midstream_value_new) VALUES (7, '77', 0)")
			if err := open(true); !errors.Is(err, rowsync.ErrSideTaken) {
				t.Errorf("%s: got %v", other, err)
			}
			u.has("SELECT midstream_value_0 FROM t_kept", "77")
			if err := open(false); err != nil {
				t.Errorf("%s: %v", other, err)
			}
			u.has("SELECT midstream_value_0 FROM t_kept")
			u.exec("ALTER TABLE t_kept " + other)
			if err := open(true); err != nil {
				t.Errorf("%s, without rows: %v", other, err)
			}
		}
		u.exec("ALTER TABLE t_kept MODIFY midstream_value_0 VARCHAR(10) NOT NULL, MODIFY midstream_value_1 INT NULL," +
			" MODIFY midstream_value_2 TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, MODIFY midstream_value_new TINYINT NOT NULL")
		if err := open(true); err != nil { // an earlier version has made it
			t.Error(err)
		}
	})
}

// TestU5_UnderTheLockOfTheSwap: the session that has locked the tables, without aliases, can do all
// of it.
func TestU5_UnderTheLockOfTheSwap(t *testing.T) {
	onAll(t, func(t *testing.T, server *mysqltest.Instance) {
		for _, path := range paths {
			t.Run(path.name, func(t *testing.T) {
				u := newUndo(t, server, smallSource, smallShadow, filledBy(path.change), smallRows...)
				moves := u.carry()
				u.exec("UPDATE t SET v = v + 1", "UPDATE t SET id = 6 WHERE id = 1", "DELETE FROM t WHERE id = 2", "INSERT INTO t VALUES (5, 50)")
				moves.add(u, 1, "1", "6")
				if _, err := u.session.Exec(t.Context(), schema.LockTables(u.source.Name, u.shadow.Name, u.spec.Side)); err != nil {
					t.Fatal(err)
				}
				if path.chunk {
					u.syncAll()
				} else {
					u.sync("1", "2", "3", "4", "5", "6")
				}
				if _, err := u.session.Exec(t.Context(), "UNLOCK TABLES"); err != nil {
					t.Fatal(err)
				}
				u.has("SELECT id, v, status, n FROM t_old ORDER BY id", "3|31|c|NULL", "4|41|d|4", "5|50|new 50|7", "6|11|a|1")
			})
		}
	})
}

// TestU5_RowsOfTheSourceAreNotLocked: a sync waits for no transaction of the application (decision 4).
func TestU5_RowsOfTheSourceAreNotLocked(t *testing.T) {
	onAll(t, func(t *testing.T, server *mysqltest.Instance) {
		for _, path := range paths {
			t.Run(path.name, func(t *testing.T) {
				u := newUndo(t, server, smallSource, smallShadow, filledBy(path.change), smallRows...)
				if u.spec.Locking != "" {
					return
				}
				u.exec("UPDATE t SET v = v + 1", "DELETE FROM t WHERE id = 2", "INSERT INTO t VALUES (5, 50)", "BEGIN", "UPDATE t SET v = 0")
				if _, err := u.session.Exec(t.Context(), "SET SESSION innodb_lock_wait_timeout = 1"); err != nil {
					t.Fatal(err)
				}
				if path.chunk {
					u.syncAll()
				} else {
					u.sync("1", "2", "3", "4", "5")
				}
				if u.retries > 0 {
					t.Errorf("%d retries", u.retries)
				}
				u.exec("ROLLBACK")
				u.has("SELECT id, v FROM t_old ORDER BY id", "1|11", "3|31", "4|41", "5|50")
			})
		}
	})
}

// TestL6_RowsThatTheServerLeavesAreDeletedAgain: a deletion that follows an INSERT from the same table in its
// transaction ends after its first row now and then (5.7.22). Unique values go from one range to another, so that a
// sync is tried again with such a deletion.
func TestL6_RowsThatTheServerLeavesAreDeletedAgain(t *testing.T) {
	mysqltest.Seldom(t)
	for _, version := range mysqltest.InTurn(t, "5.7", "8.0") {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			const columns = "id INT PRIMARY KEY, code INT NOT NULL, v VARCHAR(60) NOT NULL, UNIQUE KEY code (code)"
			u := newUndo(t, mysqltest.Server(t, version), columns, columns+", added VARCHAR(40) NOT NULL DEFAULT 'x', KEY added (added)",
				func(u *undo) {
					part := rowsync.UniquePart{Shadow: "`code`", Source: "`code`", Text: "`code`"}
					u.spec.Unique = []rowsync.UniqueKey{{Name: "code", Enforced: true, Parts: []rowsync.UniquePart{part}}}
				},
				"CREATE TABLE n (n INT PRIMARY KEY)", "INSERT INTO n VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
				"CREATE TABLE was LIKE t_old", "INSERT INTO was (id, code, v) "+
					"SELECT 100 * a.n + 10 * b.n + c.n, 7 * (100 * a.n + 10 * b.n + c.n), REPEAT('v', 40) FROM n a, n b, n c",
				"INSERT INTO t SELECT id, IF(id < 900, code, 10000 + id), v FROM was WHERE id % 77 <> 5",
				"UPDATE t SET code = 7 * (id + 100) WHERE id BETWEEN 800 AND 819")
			lower := key.Range{To: u.keys("900")[0]}
			for range 30 {
				u.exec("DELETE FROM t_old", "DELETE FROM t_kept", "INSERT INTO t_old SELECT * FROM was")
				if _, err := u.syncer.Range(u.Context(), u.session, lower, false); err != nil {
					t.Fatal(err)
				}
				u.has("SELECT id FROM t_old WHERE id < 900 AND id NOT IN (SELECT id FROM t)")
			}
			if u.retries < 30 {
				t.Errorf("%d syncs of 30 were tried again", u.retries)
			}
		})
	}
}
