package desired_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"midstream/internal/engine/desired"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

// TestRefused: Find refuses what can't be known or changed, names it, and leaves no table.
func TestRefused(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0") {
		t.Run(version, func(t *testing.T) {
			b := newBench(t, version)
			b.must(b.db, "CREATE TABLE p (id INT PRIMARY KEY)")
			for _, c := range []struct {
				name     string
				from, to string
				says     map[string]string
				code     plan.Code
				want     string
			}{
				{name: "rename", from: "(" + base + ")", to: "(id INT PRIMARY KEY, c INT, d INT)", code: desired.CodeRename,
					want: "columns a, b would be dropped and columns c, d added: it may be a rename, and the names alone do not show it. " +
						"Use for column c: --map a=c or --map b=c, or --map =c if it is new; for column d: --map a=d or --map b=d, or --map =d if it is new"},
				{name: "rename, and the old name as an alias", from: "(" + base + ")", to: "(id INT PRIMARY KEY, c INT, a INT AS (c) VIRTUAL, b VARCHAR(20))", code: desired.CodeRename,
					want: "column a would be dropped and column c added: it may be a rename"},
				{name: "half said", from: "(" + base + ")", to: "(id INT PRIMARY KEY, c INT, d INT)", says: map[string]string{"c": "a"}, code: desired.CodeRename,
					want: "column b would be dropped and column d added"},
				{name: "no such new", from: "(" + base + ")", to: "(" + base + ", c INT)", says: map[string]string{"x": "a"}, code: desired.CodeRename,
					want: "--map a=x: the file's table has no column x"},
				{name: "no such old", from: "(" + base + ")", to: "(" + base + ", c INT)", says: map[string]string{"c": "x"}, code: desired.CodeRename,
					want: "--map x=c: the table has no column x"},
				{name: "it stays", from: "(" + base + ")", to: "(" + base + ", c INT)", says: map[string]string{"c": "a"}, code: desired.CodeRename,
					want: "--map a=c: the file has column a too, so this is not a rename"},
				{name: "both are there", from: "(" + base + ", c INT)", to: "(id INT PRIMARY KEY, c INT, b VARCHAR(20))", says: map[string]string{"c": "a"}, code: desired.CodeRename,
					want: "--map a=c: the table has both columns"},
				{name: "foreign key that comes", from: "(" + base + ")", to: "(" + base + ", FOREIGN KEY (a) REFERENCES p (id))", code: desired.CodeForeign,
					want: "the table lacks FOREIGN KEY (a) REFERENCES p (id): a run compares foreign keys, and does not change them"},
				{name: "foreign key that goes", from: "(" + base + ", CONSTRAINT fk FOREIGN KEY (a) REFERENCES p (id))", to: "(" + base + ")", code: desired.CodeForeign,
					want: "the file has no CONSTRAINT `fk` FOREIGN KEY (`a`) REFERENCES `p` (`id`)"},
				{name: "foreign key in a column", from: "(" + base + ")", to: "(id INT PRIMARY KEY, a INT REFERENCES p (id))", code: desired.CodeFile,
					want: "column a has REFERENCES, which servers before 9.0 ignore"},
				{name: "virtual to stored by hand", from: "(" + base + ", g INT AS (a))", to: "(" + base + ", g INT)", code: desired.CodeComputed,
					want: "column g is a virtual generated column, and would become a normal column"},
				{name: "tablespace", from: "(" + base + ") TABLESPACE innodb_system", to: "(" + base + ")", code: desired.CodeOption,
					want: "the table and the file differ in option TABLESPACE (`innodb_system`)"},
				{name: "syntax", from: "(" + base + ")", to: "(\nid INT PRIMARY KEY,\na INTT)", code: desired.CodeFile, want: "t.sql:3: You have an error in your SQL syntax"},
				{name: "no such type of key", from: "(" + base + ")", to: "(\nid INT PRIMARY KEY, KEY (x))", code: desired.CodeFile, want: "t.sql:1: Key column 'x' doesn't exist"},
			} {
				b.says = c.says
				b.must(b.db, "DROP TABLE IF EXISTS t", "CREATE TABLE t "+c.from)
				found, err := b.find("CREATE TABLE t " + c.to)
				var refused *plan.Refused
				switch {
				case !errors.As(err, &refused):
					t.Errorf("%s: %v, %s", c.name, err, clauses(found))
				case refused.Blocking[0].Code != c.code || !strings.Contains(refused.Blocking[0].String(), c.want):
					t.Errorf("%s: %s: %s, want %s", c.name, refused.Blocking[0].Code, refused.Blocking[0], c.want)
				}
			}
			b.onlyTables("p, t")
		})
	}
}

// onlyTables fails unless the database has these tables.
func (b *bench) onlyTables(want string) {
	b.t.Helper()
	var got string
	if err := b.db.QueryRow(
		"SELECT GROUP_CONCAT(table_name ORDER BY table_name SEPARATOR ', ') FROM information_schema.tables WHERE table_schema = DATABASE()",
	).Scan(
		&got,
	); err != nil ||
		got != want {
		b.t.Errorf("the tables are %s, want %s (%v)", got, want, err)
	}
}

// TestForeignKeys: equal foreign keys block nothing, however they are spelt. The index that the
// server made for them doesn't either.
func TestForeignKeys(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0") {
		t.Run(version, func(t *testing.T) {
			b := newBench(t, version)
			b.must(b.db, "CREATE TABLE p (id INT PRIMARY KEY)")
			const create = "CREATE TABLE t (" + base + ", up INT, CONSTRAINT fk FOREIGN KEY (a) REFERENCES p (id) ON DELETE RESTRICT ON UPDATE CASCADE, FOREIGN KEY own (up) REFERENCES t (id))"
			b.must(b.db, create)
			for _, to := range []string{create,
				"CREATE TABLE `t` (" + base + ", up INT, FOREIGN KEY (up) REFERENCES " + b.name + ".t (id), FOREIGN KEY (`a`) REFERENCES `p`(`id`) ON UPDATE CASCADE)",
				"CREATE TABLE t (" + base + ", up INT, FOREIGN KEY (up) REFERENCES t (id), KEY fk (a), CONSTRAINT fk FOREIGN KEY (a) REFERENCES p (id) ON UPDATE CASCADE)",
			} {
				if found, err := b.find(to); err != nil || found.Alter != nil {
					t.Errorf("%s: %v, %s", to, err, clauses(found))
				}
			}
			found, err := b.find(strings.Replace(create, "up INT", "up INT, KEY (b)", 1))
			if err != nil || clauses(found) != "ADD KEY `b` (`b`)" {
				t.Errorf("%v, %s", err, clauses(found))
			}
		})
	}
}

// TestRisks: an ALTER that loses values has a risk that names the loss.
func TestRisks(t *testing.T) {
	b := newBench(t, "9.7")
	b.says = map[string]string{"n": ""}
	if _, err := b.reach(
		"CREATE TABLE t (id INT PRIMARY KEY, gone INT, c VARCHAR(9), d BIGINT, e ENUM('a','b'), g INT, h INT AS (1), i VARCHAR(9) COLLATE utf8mb4_bin)",
		"CREATE TABLE t (id INT PRIMARY KEY, n INT, c VARCHAR(8), d INT, e ENUM('a'), g INT AS (1) STORED, i VARCHAR(9))",
	); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range b.last.Risks {
		got = append(got, string(r.Code)+": "+r.What)
	}
	want := []string{
		"drops-column: column g becomes generated: its values are lost",
		"drops-column: column gone and its values are dropped",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

// TestInterrupted: the scratch table is dropped even if the context ends.
func TestInterrupted(t *testing.T) {
	b := newBench(t, "9.7")
	b.must(b.db, "CREATE TABLE t ("+base+")")
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = b.findIn(ctx, "CREATE TABLE t ("+base+", c INT)") // it may be done before
		}()
		for n := 0; n == 0; { // until the table exists
			select {
			case <-done:
				n = 1
			default:
				if err := b.direct.QueryRow(
					"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ? AND table_name <> 't'",
					b.name,
				).Scan(
					&n,
				); err != nil {
					t.Fatal(err)
				}
			}
		}
		cancel()
		<-done
		b.onlyTables("t")
	}
}

// TestSweep: Sweep drops what a killed program has left, and nothing else.
func TestSweep(t *testing.T) {
	b := newBench(t, "9.7")
	b.must(
		b.db, "CREATE TABLE midstream_X_wanted (a INT) COMMENT 'midstream clone of a.b'",
		"CREATE TABLE midstream_Y_wanted (a INT) COMMENT 'mine'",
		"CREATE TABLE other (a INT) COMMENT 'midstream clone of a.b'", "CREATE TABLE t ("+base+")",
		"CREATE TABLE `50% a``_` (a INT)",
	)
	statements := []desired.Statement{{Name: schema.Name{Schema: b.name, Table: "t"}}}
	finder := desired.Finder{Pool: b.pool}
	if err := finder.Sweep(t.Context(), statements, desired.Stale); err != nil {
		t.Fatal(err)
	}
	b.onlyTables("50% a`_, midstream_X_wanted, midstream_Y_wanted, other, t")
	if err := finder.Sweep(t.Context(), statements, 0); err != nil {
		t.Fatal(err)
	}
	b.onlyTables("50% a`_, midstream_Y_wanted, other, t")
	left, err := finder.Left(t.Context(), statements)
	if err != nil || len(left) != 2 || left[0].Table != "50% a`_" || left[1].Table != "midstream_Y_wanted" {
		t.Errorf("left alone: %v, %v", left, err)
	}
	b.must(b.db, "DROP TABLE other")
}
