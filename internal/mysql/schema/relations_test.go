package schema_test

import (
	"strings"
	"testing"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

func TestLoadGeneratedInvisibleAndChecks(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		s.do("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT AS (a + 1) VIRTUAL, " +
			"c VARCHAR(20) AS (concat(a, ', STORED)', 'x')) STORED COMMENT 'AS (y)', as_ INT DEFAULT 3)")
		if s.release == "9.7" {
			s.do("ALTER TABLE t ADD i INT INVISIBLE DEFAULT 5, ADD CONSTRAINT `c k` CHECK (a > 0 AND c <> ')'), " +
				"ADD CONSTRAINT n CHECK (as_ in (1,2,3)) NOT ENFORCED")
		}
		table := s.load("t")
		for name, want := range map[string]schema.Generated{"id": schema.NotGenerated, "a": schema.NotGenerated,
			"b": schema.Virtual, "c": schema.Stored, "as_": schema.NotGenerated} {
			equal(t, name, column(t, table, name).Generated, want)
		}
		if e := column(t, table, "b").Expression; !strings.Contains(e, "`a` + 1") {
			t.Errorf("expression of b: %q", e)
		}
		if e := column(t, table, "c").Expression; !strings.HasPrefix(e, "concat(`a`,") || !strings.Contains(e, "', STORED)'") {
			t.Errorf("expression of c: %q", e)
		}
		equal(t, "expression of as_", column(t, table, "as_").Expression, "")
		if s.release != "9.7" {
			return
		}
		equal(t, "invisible", column(t, table, "i").Invisible, true)
		equal(t, "visible", column(t, table, "a").Invisible, false)
		equal(t, "checks", len(table.Checks), 2)
		equal(t, "enforced", table.Checks[0].Enforced, true)
		equal(t, "name", table.Checks[0].Name, "c k")
		equal(t, "not enforced", table.Checks[1].Enforced, false)
		if c := table.Checks[0].Clause; !strings.Contains(c, "`a` > 0") {
			t.Errorf("clause: %q", c)
		}
	})
}

func TestLoadPartitioned(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		s.do("CREATE TABLE t (id INT PRIMARY KEY, a INT, KEY k (a)) AUTO_INCREMENT=7 COMMENT='x' " +
			"PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10) COMMENT = 'AUTO_INCREMENT=3', PARTITION p1 VALUES LESS THAN MAXVALUE)")
		table := s.load("t")
		equal(t, "partitioned", table.Partitioned, true)
		equal(t, "keys", keyNames(table), []string{"PRIMARY", "k"})
		s.readdKeys(table)
	})
}

func TestLoadForeignKeysInBothDirections(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		_, other := mysqltest.Database(t, s.instance)
		s.do("CREATE TABLE p (id INT PRIMARY KEY, parent INT, CONSTRAINT self FOREIGN KEY (parent) REFERENCES p (id))",
			"CREATE TABLE q (id INT PRIMARY KEY)",
			"ALTER TABLE p ADD CONSTRAINT up FOREIGN KEY (parent) REFERENCES q (id)",
			"CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT down FOREIGN KEY (p) REFERENCES p (id))",
			"CREATE TABLE `"+other+"`.`far` (id INT PRIMARY KEY, p INT, CONSTRAINT far FOREIGN KEY (p) REFERENCES DB.p (id))")
		// The child's database is dropped first.
		defer s.do("DROP TABLE `" + other + "`.`far`")
		table := s.load("p")
		own := map[string]schema.Name{}
		for _, fk := range table.ForeignKeys {
			equal(t, "child", fk.Child, s.name("p"))
			own[fk.Constraint] = fk.Parent
		}
		equal(t, "own", own, map[string]schema.Name{"self": s.name("p"), "up": s.name("q")})
		from := map[string]schema.Name{}
		for _, fk := range table.ReferencedBy {
			equal(t, "parent", fk.Parent, s.name("p"))
			from[fk.Constraint] = fk.Child
		}
		equal(t, "referencing", from, map[string]schema.Name{"self": s.name("p"), "down": s.name("c"),
			"far": {Schema: other, Table: "far"}})
		alone, err := schema.LoadOwn(t.Context(), s.DB, s.name("p"))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "own, alone", alone.ForeignKeys, table.ForeignKeys)
		for _, fk := range alone.ReferencedBy {
			equal(t, "referencing, alone", fk.Child, s.name("p"))
		}
		alone.ForeignKeys, alone.ReferencedBy, table.ForeignKeys, table.ReferencedBy = nil, nil, nil, nil
		equal(t, "all else", alone, table)
		equal(t, "keys without the foreign keys' names", table.Keys[0].Name, "PRIMARY")
		equal(t, "number of keys", len(table.Keys), 2)
	})
}

func TestLoadTriggers(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		s.do("CREATE TABLE t (id INT PRIMARY KEY)", "CREATE TABLE u (id INT PRIMARY KEY)",
			"CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW SET @a = 1",
			"CREATE TRIGGER `a x` AFTER DELETE ON t FOR EACH ROW SET @a = 1",
			"CREATE TRIGGER c AFTER DELETE ON u FOR EACH ROW SET @a = 1")
		equal(t, "triggers", s.load("t").TriggerNames(), []string{"a x", "b"})
	})
}

// The sizes are current: MySQL 8 returns cached sizes of up to a day ago unless the session forbids
// it.
func TestLoadSizesAreFresh(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		s.do("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(200)) STATS_PERSISTENT=1")
		s.load("t")
		s.do("INSERT INTO t (a) VALUES (REPEAT('x', 200))")
		for range 11 {
			s.do("INSERT INTO t (a) SELECT a FROM t")
		}
		s.do("ANALYZE TABLE t")
		table := s.load("t")
		if table.Rows < 1000 || table.Rows > 4000 || table.DataBytes < 200_000 {
			t.Errorf("%d rows, %d bytes", table.Rows, table.DataBytes)
		}
		if table.AutoIncrement < 2049 {
			t.Errorf("AUTO_INCREMENT %d", table.AutoIncrement)
		}
	})
}

// An account with a privilege on a few columns sees a table of only those columns.
func TestLoadSeesAllColumnsOrFails(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		s.do("CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT)")
		user := "few_" + s.database[len(s.database)-8:]
		s.do("CREATE USER '"+user+"'@'%' IDENTIFIED BY 'x'", "GRANT SELECT (a, b), INSERT (a) ON DB.t TO '"+user+"'@'%'")
		defer s.do("DROP USER '" + user + "'@'%'")
		config := s.instance.Config(s.database)
		config.User, config.Passwd = user, "x"
		db := openAs(t, config)
		if _, err := schema.Load(t.Context(), db, s.name("t")); err == nil {
			t.Error("a part of the columns was taken for all")
		}
	})
}
