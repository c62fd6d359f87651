package migration_test

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
)

// family is table t with parents p and q, itself among its parents, and children c, and far in
// another database; and an application that depends on the constraints.
type family struct {
	*bench
	other string // the other database

	stops []context.CancelFunc
	done  sync.WaitGroup
	// The application's counts: answers with unexpected errors, and expected refusals.
	refused atomic.Int64
	// grown are rows of t that it added and has not deleted since.
	grown atomic.Int64
	kept  atomic.Int64 // sum of their parents in q
	sons  atomic.Int64 // rows of c that it added
	// replaced are the parents that it deleted and inserted again.
	replaced atomic.Int64
}

const (
	noParent = 1452
	hasChild = 1451
)

// family makes the tables, with rows. They are dropped before the databases, in creation order.
func (b *bench) family(rows int) *family { return b.familyOf(rows, "ON DELETE SET NULL") }

// familyOf is family with an action for rows whose parent in the table itself is deleted.
func (b *bench) familyOf(rows int, itself string) *family {
	b.Helper()
	_, other := mysqltest.Database(b.T, b.server)
	f := &family{bench: b, other: other}
	b.exec(
		"CREATE TABLE p (id INT PRIMARY KEY)",
		"CREATE TABLE q (id INT PRIMARY KEY)",
		"INSERT INTO p VALUES (1), (2)",
		"INSERT INTO q VALUES (1), (2)",
		`CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, pid INT NOT NULL, qid INT NOT NULL, up INT, v INT NOT NULL DEFAULT 0,
			CONSTRAINT chosen FOREIGN KEY (pid) REFERENCES p (id), FOREIGN KEY (qid) REFERENCES q (id) ON DELETE CASCADE ON UPDATE CASCADE,
			FOREIGN KEY (up) REFERENCES t (id) `+itself+`)`,
		"CREATE TABLE c (id INT PRIMARY KEY AUTO_INCREMENT, tid INT, FOREIGN KEY (tid) REFERENCES t (id))",
		"CREATE TABLE "+other+".far (id INT PRIMARY KEY AUTO_INCREMENT, tid INT, x INT NOT NULL DEFAULT 0, KEY (tid, x), CONSTRAINT far FOREIGN KEY (tid) REFERENCES "+b.schema+".t (id) ON DELETE CASCADE)",
		"SET SESSION cte_max_recursion_depth = 1000000",
	)
	conn := b.conn()
	for _, s := range []string{"SET SESSION cte_max_recursion_depth = 1000000",
		fmt.Sprintf("INSERT INTO t (id, pid, qid, up) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i, 1 + i %% 2, 1, NULLIF(i DIV 2, 0) FROM n", rows),
		"INSERT INTO c (tid) SELECT id FROM t WHERE id <= 50", "INSERT INTO " + other + ".far (tid) SELECT id FROM t WHERE id <= 50"} {
		if _, err := conn.ExecContext(b.ctx(), s); err != nil {
			b.Fatalf("%s: %v", s, err)
		}
	}
	b.Cleanup(func() {
		b.db.Exec("DROP TABLE " + other + ".far")
	})
	return f
}

// live starts parts of the application.
func (f *family) live(parts ...func(conn *sql.Conn, n int)) {
	ctx, stop := context.WithCancel(context.Background())
	f.stops = append(f.stops, stop)
	for _, part := range parts {
		conn := f.conn()
		f.done.Go(func() {
			for n := 1; ctx.Err() == nil; n++ {
				part(conn, n)
				rest(time.Millisecond)
			}
		})
	}
	f.Cleanup(f.rest)
}

func (f *family) rest() {
	for _, stop := range f.stops {
		stop()
	}
	f.done.Wait()
}

// do runs a statement that the server must accept, or must refuse with the error number want.
func (f *family) do(conn *sql.Conn, want uint16, query string, args ...any) int64 {
	result, err := conn.ExecContext(context.Background(), query, args...)
	if got := dbconn.Number(err); err != nil && got == 0 || got != want {
		f.Errorf("%s %v: error %v, want number %d", query, args, err, want)
		return 0
	}
	if err != nil {
		f.refused.Add(1)
		return 0
	}
	id, _ := result.LastInsertId()
	return id
}

// sow adds rows to t, and children to these and to other rows.
func (f *family) sow(conn *sql.Conn, n int) {
	id := f.do(conn, 0, "INSERT INTO t (pid, qid, up) VALUES (1, 2, ?)", 1+n%50)
	f.grown.Add(1)
	f.kept.Add(2)
	for _, parent := range []int64{id, int64(1 + n%50)} {
		f.do(conn, 0, "INSERT INTO c (tid) VALUES (?)", parent)
		f.sons.Add(1)
	}
	f.do(conn, 0, "INSERT INTO "+f.other+".far (tid) VALUES (?)", id)
}

// forbid does what the constraints forbid.
func (f *family) forbid(conn *sql.Conn, n int) {
	f.do(conn, noParent, "INSERT INTO c (tid) VALUES (1000000000)")
	f.do(conn, noParent, "INSERT INTO "+f.other+".far (tid) VALUES (1000000000)")
	f.do(conn, noParent, "INSERT INTO t (pid, qid) VALUES (3, 1)")
	f.do(conn, noParent, "INSERT INTO t (pid, qid, up) VALUES (1, 1, 1000000000)")
	f.do(conn, hasChild, "DELETE FROM p WHERE id = 2")
	f.do(conn, hasChild, "DELETE FROM t WHERE id = ?", 1+n%50)
	f.do(conn, hasChild, "UPDATE t SET id = id + 500000000 WHERE id = ?", 1+n%50)
}

// cascade changes parents of t, which changes their rows and the children of these rows.
func (f *family) cascade(conn *sql.Conn, n int) {
	const away = 1000000
	f.do(conn, 0, "INSERT INTO q VALUES (?)", 10+n)
	for range 3 {
		id := f.do(conn, 0, "INSERT INTO t (pid, qid) VALUES (2, ?)", 10+n)
		f.do(conn, 0, "INSERT INTO "+f.other+".far (tid) VALUES (?)", id)
	}
	f.do(conn, 0, "UPDATE q SET id = id + ? WHERE id = ?", away, 10+n)
	if n%2 == 0 {
		f.do(conn, 0, "DELETE FROM q WHERE id = ?", away+10+n)
		return
	}
	f.grown.Add(3)
	f.kept.Add(int64(3 * (away + 10 + n)))
}

// doomed adds a parent of t, and rows of it.
func (f *family) doomed(conn *sql.Conn, n int) (id int) {
	id = -int(f.replaced.Add(1))
	f.do(conn, 0, "INSERT INTO q VALUES (?)", id)
	for range 3 {
		f.do(conn, 0, "INSERT INTO t (pid, qid) VALUES (2, ?)", id)
	}
	time.Sleep(time.Duration(n%7) * time.Millisecond)
	return id
}

// replace deletes parents of t and inserts them again, in one transaction: this deletes their rows
// in t.
func (f *family) replace(conn *sql.Conn, n int) {
	id := f.doomed(conn, n)
	for _, s := range []string{"START TRANSACTION", fmt.Sprintf("DELETE FROM q WHERE id = %d", id), fmt.Sprintf("INSERT INTO q VALUES (%d)", id), "COMMIT"} {
		f.do(conn, 0, s)
	}
}

var autoIncrement = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

// create is a table's definition.
func (b *bench) create(table string) string {
	b.Helper()
	var name, text string
	if err := b.db.QueryRow("SHOW CREATE TABLE "+table).Scan(&name, &text); err != nil {
		b.Fatal(err)
	}
	return autoIncrement.ReplaceAllString(text, "")
}

// proved checks that the family is complete after so many rows.
func (f *family) proved(rows int) {
	f.Helper()
	f.rest()
	for query, want := range map[string]int64{
		"SELECT COUNT(*) FROM t":                                              int64(rows) + f.grown.Load(),
		"SELECT SUM(qid) FROM t":                                              int64(rows) + f.kept.Load(),
		"SELECT COUNT(*) FROM c":                                              50 + f.sons.Load(),
		"SELECT COUNT(*) FROM " + f.other + ".far":                            50 + f.grown.Load(),
		"SELECT COUNT(*) FROM c LEFT JOIN t ON t.id = tid WHERE t.id IS NULL": 0,
		"SELECT COUNT(*) FROM " + f.other + ".far LEFT JOIN t ON t.id = tid WHERE t.id IS NULL":                                      0,
		"SELECT COUNT(*) FROM t LEFT JOIN q ON q.id = qid WHERE q.id IS NULL":                                                        0,
		"SELECT COUNT(*) FROM information_schema.referential_constraints WHERE constraint_schema IN (DATABASE(), '" + f.other + "')": 5,
	} {
		if got := f.value(query); got != fmt.Sprint(want) {
			f.Errorf("%s: %s, want %d", query, got, want)
		}
	}
	if f.refused.Load() == 0 {
		f.Error("nothing was refused")
	}
}
