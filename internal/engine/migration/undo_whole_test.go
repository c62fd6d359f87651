package migration_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/failure"
	"midstream/internal/engine/park"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
)

// TestL5_KilledUndoAtAnyMoment: undos and redos are killed at random moments while writers work. The same command again
// comes to its end, and no row is lost.
func TestL5_KilledUndoAtAnyMoment(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	moments := *kills
	if *servers == "" {
		moments /= 3
	}
	onTwo(t, func(b *bench) {
		random := b.random()
		l := b.ledger(ledger.Int(), 1000, ledger.Options{Rate: 200, Writers: 2})
		b.exec("ALTER TABLE " + b.schema + ".t COMMENT 'orders'")
		b.start(l)
		b.child(alter, "", nil, "--undo=1h").mustEnd()
		takes, killed := 2*time.Second, 0
		for n := range moments {
			var flags []string
			if random.IntN(3) == 0 {
				flags = []string{"--cold"}
			}
			began := time.Now()
			c := b.undoing(flags...)
			time.Sleep(rand.N(takes))
			c.kill()
			if code, last := c.wait(); code == -1 {
				killed++
				began = time.Now()
				if code, last := b.undoing(flags...).wait(); code != 0 {
					b.Fatalf("after kill %d: exit code %d: %s", n, code, last)
				}
			} else if code != 0 {
				b.Fatalf("kill %d came too late: exit code %d: %s", n, code, last)
			}
			takes = min(time.Since(began), 5*time.Second)
			b.mustBeUndoable("kill", "")
		}
		b.Logf("%d of %d undos were killed", killed, moments)
		b.mustMatchLedger(l)
		b.undoing("--end").mustEnd()
	})
}

// whole is a table, a change, and what happens after it.
type whole struct {
	name   string
	create []string // %s is the database
	change string
	then   []string // in the window
	// want are queries on what must hold after each undo, with their answers.
	want map[string]string
	// other is another table whose definition must come back.
	other string
	// last is done after all undos, and ends must hold then.
	last []string
	ends map[string]string
	// on are the servers; nil for all.
	on []string
}

var wholes = []whole{
	{
		name: "numbers never go back",
		create: []string{
			"CREATE TABLE %s.t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT)", "INSERT INTO %s.t (v) VALUES (1), (2), (3)",
		},
		change: "MODIFY v BIGINT",
		then:   []string{"INSERT INTO %s.t (id, v) VALUES (700, 1)", "INSERT INTO %s.t (v) VALUES (9)", "DELETE FROM %s.t WHERE id > 3"},
		last:   []string{"INSERT INTO %s.t (v) VALUES (77)"},
		ends:   map[string]string{"SELECT id > 701 FROM %s.t WHERE v = 77": "1"},
	},
	{
		name: "a default of bytes",
		create: []string{
			"CREATE TABLE %s.t (id INT PRIMARY KEY, b VARBINARY(4) NOT NULL DEFAULT X'FF00', v INT)", "INSERT INTO %s.t (id, v) VALUES (1, 1)",
		},
		change: "MODIFY v BIGINT",
		then:   []string{"INSERT INTO %s.t (id, v) VALUES (2, 2)"},
		want:   map[string]string{"SELECT COUNT(*) FROM %s.t WHERE b = X'FF00'": "2"},
	},
	{
		name: "generated columns",
		create: []string{
			"CREATE TABLE %s.t (id INT PRIMARY KEY, v INT, s INT AS (v + 1) STORED, w INT AS (v + 2) VIRTUAL, x INT AS (v + 3) STORED, KEY (w))",
			"INSERT INTO %s.t (id, v) VALUES (1, 1), (2, 2), (3, 3)",
		},
		change: "DROP COLUMN s, DROP COLUMN w, ADD COLUMN n INT AS (v * 10) STORED, ADD COLUMN m INT AS (v * 100) VIRTUAL",
		then:   []string{"UPDATE %s.t SET v = 20 WHERE id = 2", "INSERT INTO %s.t (id, v) VALUES (4, 4)"},
		want:   map[string]string{"SELECT GROUP_CONCAT(CONCAT_WS(' ', id, v, x) ORDER BY id) FROM %s.t": "1 1 4,2 20 23,3 3 6,4 4 7"},
	},
	{
		name: "partitions by the changed column",
		create: []string{
			"CREATE TABLE %s.t (id INT, v INT, PRIMARY KEY (id, v)) PARTITION BY RANGE (v) (PARTITION a VALUES LESS THAN (10)," +
				" PARTITION b VALUES LESS THAN (20), PARTITION c VALUES LESS THAN MAXVALUE)",
			"INSERT INTO %s.t VALUES (1, 1), (2, 12), (3, 30)",
		},
		change: "MODIFY v BIGINT NOT NULL REMOVE PARTITIONING",
		then:   []string{"UPDATE %s.t SET v = 15 WHERE id = 1", "INSERT INTO %s.t VALUES (4, 4)"},
		want:   map[string]string{"SELECT CONCAT_WS(' ', COUNT(*), SUM(v)) FROM %s.t": "4 61"},
	},
	{
		name: "collation, full text and a hidden view",
		create: []string{
			"CREATE TABLE %s.t (id INT PRIMARY KEY, c VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_bin, d TEXT, gone INT, FULLTEXT KEY f (d))",
			"INSERT INTO %s.t VALUES (1, 'a', 'one two', 1), (2, 'B', 'three', 2)", "CREATE VIEW %s.seen AS SELECT id, gone FROM %s.t",
		},
		change: "MODIFY c VARCHAR(20) CHARACTER SET utf8mb4, DROP KEY f, DROP COLUMN gone",
		then:   []string{"UPDATE %s.t SET d = 'four words' WHERE id = 2", "UPDATE %s.t SET c = 'b' WHERE id = 1"},
		want: map[string]string{
			"SELECT COUNT(*) FROM %s.t WHERE MATCH (d) AGAINST ('words')": "1", "SELECT COUNT(*) FROM %s.t WHERE c = 'B'": "1",
			"SELECT GROUP_CONCAT(gone ORDER BY id) FROM %s.seen": "1,2",
		},
	},
	{
		name: "triggers that changed in the window",
		create: []string{
			"CREATE TABLE %s.t (id INT PRIMARY KEY, v INT)", "INSERT INTO %s.t VALUES (1, 1), (2, 2)",
			"CREATE TABLE %s.log (id INT, what VARCHAR(20))",
			"CREATE TRIGGER %s.tr BEFORE UPDATE ON %s.t FOR EACH ROW INSERT INTO log VALUES (NEW.id, 'former')",
			"CREATE TRIGGER %s.ins BEFORE INSERT ON %s.t FOR EACH ROW INSERT INTO log VALUES (NEW.id, 'insert')",
		},
		change: "MODIFY v BIGINT",
		then: []string{
			"DROP TRIGGER %s.tr", "CREATE TRIGGER %s.tr BEFORE UPDATE ON %s.t FOR EACH ROW INSERT INTO log VALUES (NEW.id, 'later')",
			"UPDATE %s.t SET v = 5 WHERE id = 1", "INSERT INTO %s.t VALUES (3, 3)", "DELETE FROM %s.log",
		},
		want: map[string]string{
			"SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = '%s' AND event_object_table = 't'":        "2",
			"SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = '%s' AND action_statement LIKE '%later%'": "1",
			"SELECT COUNT(*) FROM %s.log": "0",
		},
	},
	{
		name: "foreign keys of a parent, of children and of itself",
		create: []string{
			"CREATE TABLE %s.p (id INT PRIMARY KEY)", "INSERT INTO %s.p VALUES (1), (2)",
			"CREATE TABLE %s.t (id INT PRIMARY KEY, p INT, up INT, v INT, gone INT, CONSTRAINT tp FOREIGN KEY (p) REFERENCES %s.p (id)," +
				" CONSTRAINT self FOREIGN KEY (up) REFERENCES %s.t (id))",
			"INSERT INTO %s.t VALUES (1, 1, NULL, 1, 1), (2, 2, 1, 2, 2), (3, 1, 2, 3, 3)",
			"CREATE TABLE %s.child (id INT PRIMARY KEY, t INT, CONSTRAINT ct FOREIGN KEY (t) REFERENCES %s.t (id) ON DELETE CASCADE)",
			"INSERT INTO %s.child VALUES (1, 1), (3, 3)",
		},
		change: "MODIFY v BIGINT, DROP COLUMN gone",
		then:   []string{"UPDATE %s.t SET v = 9 WHERE id = 2", "DELETE FROM %s.t WHERE id = 3", "INSERT INTO %s.t VALUES (4, 2, 1, 4)"},
		want: map[string]string{
			"SELECT GROUP_CONCAT(CONCAT_WS(' ', id, p, IFNULL(up, 'NULL'), v, IFNULL(gone, 'NULL')) ORDER BY id) FROM %s.t": "1 1 NULL 1 1,2 2 1 9 2,4 2 1 4 NULL",
			"SELECT COUNT(*) FROM %s.child": "1",
		},
		other: "child",
		on:    []string{"9.7"},
	},
	{
		name: "checks and invisible columns",
		create: []string{
			"CREATE TABLE %s.t (id INT PRIMARY KEY, v INT, h INT INVISIBLE DEFAULT 3, CONSTRAINT positive CHECK (v > 0))",
			"INSERT INTO %s.t (id, v, h) VALUES (1, 1, 1), (2, 2, 2)",
		},
		change: "DROP CONSTRAINT positive, MODIFY v BIGINT, MODIFY h INT",
		then:   []string{"UPDATE %s.t SET v = 5, h = 6 WHERE id = 1"},
		want:   map[string]string{"SELECT GROUP_CONCAT(CONCAT_WS(' ', id, v, h) ORDER BY id) FROM %s.t": "1 5 6,2 2 2"},
		on:     []string{"9.7", "mariadb-10.11"},
	},
}

// TestU4_AllOfTheTableComesBack: what belongs to a table besides its rows is after an undo as it was, and after the redo
// as the change has left it.
func TestU4_AllOfTheTableComesBack(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, w := range wholes {
		t.Run(w.name, func(t *testing.T) {
			sideBySide(t)
			servers := all
			if w.on != nil {
				servers = w.on
			}
			onThese(t, inTurn(t, servers), func(b *bench) { b.goesAndComes(w) })
		})
	}
}

func (b *bench) goesAndComes(w whole) {
	b.Helper()
	of := func(list []string) (statements []string) {
		for _, s := range list {
			statements = append(statements, strings.ReplaceAll(s, "%s", b.schema))
		}
		return statements
	}
	definitions := func() string {
		if w.other == "" {
			return b.shown("t")
		}
		return b.shown("t") + b.shown(w.other)
	}
	conn := b.conn() // triggers name tables of the database
	for _, s := range append([]string{"USE " + b.schema}, of(w.create)...) {
		if _, err := conn.ExecContext(b.ctx(), s); err != nil {
			b.Fatalf("%s: %v", s, err)
		}
	}
	before := definitions()
	b.cfg.Undo = time.Hour
	b.mustMigrate(w.change)
	after := definitions()
	for _, s := range of(w.then) {
		if _, err := conn.ExecContext(b.ctx(), s); err != nil {
			b.Fatalf("%s: %v", s, err)
		}
	}
	for i, want := range []string{before, after, before} {
		b.mustUndo(planning.Undo{Cold: i == 2})
		if got := definitions(); got != want {
			b.Errorf("undo %d: the tables are\n%s\nand should be\n%s", i+1, got, want)
		}
		if i == 1 {
			continue
		}
		b.mustAnswer(w.want)
	}
	b.exec(of(w.last)...)
	b.mustAnswer(w.ends)
	b.exec("DROP TABLE " + b.schema + ".t_undo")
}

// mustAnswer fails the test unless queries have these answers.
func (b *bench) mustAnswer(answers map[string]string) {
	b.Helper()
	for query, answer := range answers {
		query = strings.ReplaceAll(query, "%s", b.schema)
		if got := b.value(query); got != answer {
			b.Errorf("%s gives %s, want %s", query, got, answer)
		}
	}
}

// TestU4_RowsAreParkedAsTheyAre: a row that the old definition refuses has a date that the sql_mode does not take.
func TestU4_RowsAreParkedAsTheyAre(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		conn := b.conn()
		for _, s := range []string{
			"SET SESSION sql_mode = 'ALLOW_INVALID_DATES'", "CREATE TABLE " + b.schema + ".t (id INT PRIMARY KEY, d DATE, n TINYINT)",
		} {
			if _, err := conn.ExecContext(b.ctx(), s); err != nil {
				b.Fatal(err)
			}
		}
		b.cfg.Undo = time.Hour
		b.mustMigrate("MODIFY n INT")
		if _, err := conn.ExecContext(b.ctx(), "INSERT INTO "+b.schema+".t VALUES (1, '2020-02-30', 1000), (2, NULL, 2)"); err != nil {
			b.Fatal(err)
		}
		b.settings.When.Park = true
		b.mustUndo(planning.Undo{Park: true})
		if got := b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, d, n)) FROM " + b.schema + ".t_parked"); got != "1 2020-02-30 1000" {
			b.Errorf("parked is %s", got)
		}
		b.exec("DROP TABLE "+b.schema+".t_undo", "DROP TABLE "+b.schema+".t_parked")
	})
}

// TestU4_ParkedRowsThatHaveComeBackAreFoundAgain: an undo has parked a row, and its redo has brought it back. The next undo
// does not lose it, although it has not changed since.
func TestU4_ParkedRowsThatHaveComeBackAreFoundAgain(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, n TINYINT, d DECIMAL(10,4))", "INSERT INTO "+b.schema+".t VALUES (1, 1, 1.2345)")
		b.cfg.Undo = time.Hour
		b.mustMigrate("MODIFY n INT, MODIFY d DECIMAL(10,2)")
		b.exec("INSERT INTO " + b.schema + ".t VALUES (2, 1000, 2)")
		b.mustUndo(planning.Undo{Park: true})
		b.mustUndo(planning.Undo{})
		if got := b.value("SELECT GROUP_CONCAT(id ORDER BY id) FROM " + b.schema + ".t"); got != "1,2" {
			b.Errorf("after the redo the rows are %s", got)
		}
		b.exec("DROP TABLE " + b.schema + ".t_parked")
		if _, err := b.undo(b.ctx(), planning.Undo{}); !errors.Is(err, park.ErrUnfit) && !errors.Is(err, failure.ErrUnfit) {
			b.Fatalf("the second undo: %v", err)
		}
		b.mustUndo(planning.Undo{Park: true})
		if got := b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, n)) FROM " + b.schema + ".t_parked"); got != "2 1000" {
			b.Errorf("parked is %s", got)
		}
		b.exec("DROP TABLE "+b.schema+".t_undo", "DROP TABLE "+b.schema+".t_parked")
	})
}

// TestU4_RowsThatTheRedoHasParkedComeBack: the new definition refuses a row that has come after the undo. The redo parks it, and
// the next undo brings it back.
func TestU4_RowsThatTheRedoHasParkedComeBack(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, n INT)", "INSERT INTO "+b.schema+".t VALUES (1, 1)")
		b.cfg.Undo = time.Hour
		b.mustMigrate("MODIFY n TINYINT")
		b.mustUndo(planning.Undo{})
		b.exec("INSERT INTO " + b.schema + ".t VALUES (2, 1000)")
		b.mustUndo(planning.Undo{Park: true})
		b.mustUndo(planning.Undo{})
		if got := b.value("SELECT GROUP_CONCAT(n ORDER BY id) FROM " + b.schema + ".t"); got != "1,1000" {
			b.Errorf("the rows are %s", got)
		}
		b.exec("DROP TABLE "+b.schema+".t_undo", "DROP TABLE "+b.schema+".t_parked")
	})
}

// TestU4_ParkedRowsComeBackWhereverTheirTableIs: the table with the rows that an undo has parked is renamed before the redo. The rows
// come back, and the next undo finds them. If the undo has parked none, another table of that name proves nothing.
func TestU4_ParkedRowsComeBackWhereverTheirTableIs(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, n TINYINT)", "INSERT INTO "+b.schema+".t VALUES (1, 1)")
		b.cfg.Undo = time.Hour
		b.mustMigrate("MODIFY n INT")
		b.exec("INSERT INTO " + b.schema + ".t VALUES (2, 1000)")
		b.mustUndo(planning.Undo{Park: true})
		b.exec("RENAME TABLE " + b.schema + ".t_parked TO " + b.schema + ".mine")
		const rows = "SELECT GROUP_CONCAT(CONCAT_WS(' ', id, n) ORDER BY id) FROM "
		b.mustUndo(planning.Undo{})
		if got := b.value(rows + b.schema + ".t"); got != "1 1,2 1000" {
			b.Errorf("after the redo the rows are %s", got)
		}
		b.mustUndo(planning.Undo{Park: true})
		if got := b.value(rows + b.schema + ".t_parked"); got != "2 1000" {
			b.Errorf("parked is %s", got)
		}
		b.mustUndo(planning.Undo{Cold: true}) // brings none back, and parks none
		b.exec("DROP TABLE "+b.schema+".t_parked", "CREATE TABLE "+b.schema+".t_parked (id INT)")
		b.feeder().exec("SET SESSION sql_log_bin = 0", "UPDATE t SET n = 7", "SET SESSION sql_log_bin = 1")
		if _, err := b.undo(b.ctx(), planning.Undo{}); !errors.Is(err, failure.ErrMismatch) {
			b.Errorf("after an unlogged write, an undo ends with %v", err)
		}
		b.exec("DROP TABLE "+b.schema+".t_undo", "DROP TABLE "+b.schema+".t_parked", "DROP TABLE "+b.schema+".mine")
	})
}
