package facts_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

func TestGather(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		s.do(
			"CREATE TABLE orders (id INT PRIMARY KEY)", "CREATE TABLE orders_old (id INT) COMMENT 'mine'",
			"CREATE VIEW orders_shadow AS SELECT 1",
			"CREATE TABLE child (id INT PRIMARY KEY, CONSTRAINT f FOREIGN KEY (id) REFERENCES orders (id))",
		)
		f, err := facts.Gather(t.Context(), s.DB, s.name("orders"))
		if err != nil {
			t.Fatal(err)
		}
		mariadb := strings.HasPrefix(s.release, "mariadb")
		if !strings.HasPrefix(s.instance.Release, fmt.Sprintf("%d.%d.%d", f.Version.Major, f.Version.Minor, f.Version.Patch)) ||
			f.Version.MariaDB != mariadb {
			t.Errorf("version %+v of %s", f.Version, s.instance.Release)
		}
		if !f.LogBin || f.BinlogFormat != "ROW" || f.RowImage != "FULL" || !f.CommitOrder || f.ReadOnly || f.SuperReadOnly ||
			f.Galera || f.MultiPrimary || f.IsReplica || f.ReplicasUnknown || len(f.Replicas) > 0 || f.ServerID == 0 || f.TimeZone == "" || f.SystemTimeZone == "" {
			t.Errorf("%+v", f)
		}
		if f.UUID == "" {
			t.Error("the server has no name")
		}
		if !f.Grants.Global("SELECT") || !f.Grants.On("LOCK TABLES", s.database, "") || len(f.Grants.Unread) > 0 {
			t.Errorf("%+v", f.Grants)
		}
		want := []plan.Taken{{Name: s.name("orders_old"), Comment: "mine"}, {Name: s.name("orders_shadow"), Comment: "VIEW"}}
		if !slices.Equal(f.Taken, want) {
			t.Errorf("taken: %+v", f.Taken)
		}
		fk := schema.ForeignKey{Constraint: "f", Child: s.name("child"), Parent: s.name("orders")}
		if s.release[0] != '5' && !mariadb && !slices.EqualFunc(f.Referencing, []schema.ForeignKey{fk}, schema.ForeignKey.Is) {
			t.Errorf("referencing: %+v", f.Referencing)
		}
	})
}

// TestU3_TheHoursForWhichRDSKeepsBinlogs: Amazon's servers have a procedure that shows them; here it is one of the test.
func TestU3_TheHoursForWhichRDSKeepsBinlogs(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		s.do("CREATE TABLE t (id INT PRIMARY KEY)")
		for hours, want := range map[string]time.Duration{"'24'": 24 * time.Hour, "NULL": time.Second} {
			s.do("CREATE PROCEDURE mysql.rds_show_configuration() SELECT 'source delay' AS name, '0' AS value, 'seconds' AS description " +
				"UNION ALL SELECT 'binlog retention hours', " + hours + ", 'of binlogs'")
			f, err := facts.Gather(t.Context(), s.DB, s.name("t"))
			s.do("DROP PROCEDURE mysql.rds_show_configuration")
			if err != nil || f.BinlogExpire != want || !f.BinlogManaged {
				t.Errorf("%s hours: binlogs for %s, %v", hours, f.BinlogExpire, err)
			}
		}
		if f, err := facts.Gather(t.Context(), s.DB, s.name("t")); err != nil || f.BinlogManaged {
			t.Errorf("without the procedure: %v", err)
		}
	})
}

// TestForeignFacts: the facts have the tables that the server locks with the tables at the other
// ends, as far as rows change there, and the tables that don't exist.
func TestForeignFacts(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		conn, err := s.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, statement := range []string{"SET foreign_key_checks = 0", "CREATE TABLE p (id INT PRIMARY KEY)",
			"CREATE TABLE t (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id), FOREIGN KEY (p) REFERENCES gone (id))"} {
			if _, err := conn.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		s.do("CREATE TABLE brother (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES p (id) ON DELETE CASCADE)",
			"CREATE TABLE nephew (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES brother (id) ON UPDATE CASCADE)",
			"CREATE TABLE strict (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES p (id))")
		f, err := facts.Gather(t.Context(), s.DB, s.name("t"))
		if err != nil {
			t.Fatal(err)
		}
		var linked, missing []schema.Name
		if s.release != "8.0" { // 8.0.12 moves no foreign keys
			missing = []schema.Name{s.name("gone")}
		}
		if len(missing) > 0 && !f.Version.WritersApart() {
			linked = []schema.Name{s.name("brother"), s.name("nephew")}
		}
		if !slices.Equal(f.Foreign.Linked, linked) || !slices.Equal(f.Foreign.Missing, missing) || f.Foreign.Native {
			t.Errorf("%+v", f.Foreign)
		}
	})
}

// TestRowVersions: columns that were added by INSTANT are counted, whatever the table's name.
func TestRowVersions(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		for _, table := range []string{"plain", "t-1 #p#x", "parts"} {
			kind := ""
			if table == "parts" {
				kind = " PARTITION BY HASH (id) PARTITIONS 2"
			}
			s.do(
				"CREATE TABLE `"+table+"` (id INT PRIMARY KEY)"+kind, "INSERT INTO `"+table+"` VALUES (1)",
				"ALTER TABLE `"+table+"` ADD a INT", "ALTER TABLE `"+table+"` ADD b INT",
			)
			f, err := facts.Gather(t.Context(), s.DB, s.name(table))
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			if !f.Version.MariaDB && f.Version.AtLeast(8, 0, 29) {
				want = 2
			}
			if f.RowVersions != want {
				t.Errorf("%s: %d row versions, want %d", table, f.RowVersions, want)
			}
		}
	})
}

// From an account without any privilege to an account that lacks none, by the statements in the
// refusals.
func TestMissingGrantsCanBePasted(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		s.do("CREATE TABLE orders (id INT PRIMARY KEY)")
		user := "grow_" + s.database[len(s.database)-6:]
		account := s.account(user)
		table := s.load("orders")
		alter, err := ddl.Parse("ALTER TABLE orders ADD a INT")
		if err != nil {
			t.Fatal(err)
		}
		for round := range 2 {
			known, err := facts.Gather(t.Context(), account, s.name("orders"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = plan.Make(known, table, alter, plan.Options{})
			var refused *plan.Refused
			if !errors.As(err, &refused) {
				if round == 0 || err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				break
			}
			for _, r := range append(refused.Blocking, refused.Others...) {
				if r.Code != plan.CodeGrants {
					if r.Code != plan.CodeVersion && r.Code != plan.CodeCaptureTrigger { // why no other way is possible
						t.Errorf("%s", r)
					}
					continue
				}
				s.do(r.Fix)
			}
			account.SetMaxIdleConns(0) // a global privilege is for new sessions
		}
		// What the plan considers enough is enough.
		for _, statement := range []string{
			"CREATE TABLE DB.orders_shadow LIKE DB.orders", "ALTER TABLE DB.orders_shadow ADD a INT, ADD INDEX (a)",
			"CREATE TABLE DB.orders_midstream (id INT PRIMARY KEY)", "INSERT INTO DB.orders_shadow (id) SELECT id FROM DB.orders",
			"DELETE FROM DB.orders_shadow", "UPDATE DB.orders_midstream SET id = 1", "LOCK TABLES DB.orders WRITE", "UNLOCK TABLES",
			"RENAME TABLE DB.orders TO DB.orders_old, DB.orders_shadow TO DB.orders", "DROP TABLE DB.orders_old, DB.orders_midstream",
			"ANALYZE TABLE DB.orders", "SHOW PROCESSLIST", "SELECT COUNT(*) FROM information_schema.innodb_trx",
			"SELECT COUNT(*) FROM performance_schema.metadata_locks", "SELECT COUNT(*) FROM performance_schema.threads",
			"XA RECOVER", "CREATE TEMPORARY TABLE DB.midstream_held (id INT)",
		} {
			if _, err := account.ExecContext(t.Context(), strings.ReplaceAll(statement, "DB.", schema.Quote(s.database)+".")); err != nil {
				t.Errorf("%s: %v", statement, err)
			}
		}
		if loaded, err := schema.Load(t.Context(), account, s.name("orders")); err != nil || len(loaded.Columns) != 2 {
			t.Errorf("%+v, %v", loaded, err)
		}
	})
}

// TestConnectionsAreCountedDuringAnyStatement: the server has no answer from information_schema.processlist while a session runs a
// statement with a letter that is not in utf8mb3. The connections are counted all the same.
func TestConnectionsAreCountedDuringAnyStatement(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = s.ExecContext(ctx, "SELECT SLEEP(60), '🎁'")
		}()
		defer func() { stop(); <-ended }()
		const works = "SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_info LIKE 'SELECT SLEEP(60)%'"
		for at := "0"; at == "0"; time.Sleep(10 * time.Millisecond) {
			if err := s.QueryRowContext(t.Context(), works).Scan(&at); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := facts.CountOfAccount(t.Context(), s); err != nil || n < 2 {
			t.Errorf("%d connections, %v", n, err)
		}
	})
}

// If an account may read only some of the tables of performance_schema, the plan names each table
// that it may not read, and does not claim that the server records no metadata locks. The plan asks
// for no privilege that the server does not require.
func TestTablesThatTellOfBlockersMustBeReadable(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		s.do("CREATE TABLE orders (id INT PRIMARY KEY)")
		table := s.load("orders")
		alter, err := ddl.Parse("ALTER TABLE orders ADD a INT")
		if err != nil {
			t.Fatal(err)
		}
		user := "half_" + s.database[len(s.database)-6:]
		account := s.account(user)
		account.SetMaxIdleConns(0)
		s.do("GRANT ALL ON DB.* TO '"+user+"'@'%'", "GRANT REPLICATION SLAVE, REPLICATION CLIENT, PROCESS ON *.* TO '"+user+"'@'%'",
			"GRANT SELECT ON performance_schema.threads TO '"+user+"'@'%'")
		known, err := facts.Gather(t.Context(), account, s.name("orders"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = plan.Make(known, table, alter, plan.Options{})
		var refused *plan.Refused
		if !errors.As(err, &refused) {
			t.Fatalf("not refused: %v", err)
		}
		if got := len(refused.Blocking); got != 5 {
			t.Errorf("%d problems: %v", got, err)
		}
		for _, r := range refused.Others {
			if r.Code == plan.CodeMDL {
				t.Errorf("a warning of what can't be known: %s", r)
			}
		}
		for _, r := range refused.Blocking {
			name, _, _ := strings.Cut(strings.TrimPrefix(r.Fix, "GRANT SELECT ON "), " TO ")
			if _, err := account.ExecContext(t.Context(), "SELECT 1 FROM "+name+" LIMIT 1"); !dbconn.Denied(err) {
				t.Errorf("%s, but the server answers %v", r.What, err)
			}
			s.do(r.Fix)
			if _, err := account.ExecContext(t.Context(), "SELECT 1 FROM "+name+" LIMIT 1"); err != nil {
				t.Errorf("%s: %v", r.Fix, err)
			}
		}
		if known, err = facts.Gather(t.Context(), account, s.name("orders")); err != nil {
			t.Fatal(err)
		}
		if _, err = plan.Make(known, table, alter, plan.Options{}); err != nil {
			t.Error(err)
		}
	})
}

// Without TRIGGER the server shows no triggers, as if none existed: so the plan requires the
// privilege.
func TestTriggersAreHiddenWithoutThePrivilege(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		s.do("CREATE TABLE orders (id INT PRIMARY KEY)", "CREATE TRIGGER t BEFORE INSERT ON orders FOR EACH ROW SET @a = 1")
		user := "blind_" + s.database[len(s.database)-6:]
		account := s.account(user)
		s.do("GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, LOCK TABLES ON DB.* TO '" + user + "'@'%'")
		if n := len(s.load("orders").Triggers); n != 1 {
			t.Errorf("%d triggers seen with all privileges", n)
		}
		table, err := schema.Load(t.Context(), account, s.name("orders"))
		if err != nil {
			t.Fatal(err)
		}
		known, err := facts.Gather(t.Context(), account, s.name("orders"))
		if err != nil {
			t.Fatal(err)
		}
		if len(table.Triggers) == 0 && known.Grants.On("TRIGGER", s.database, "orders") {
			t.Error("triggers hidden, and the plan doesn't know")
		}
	})
}

// The server itself decides which of several grants on schemas count. The plan may assume a
// privilege that is missing, but only in the known cases. It must never refuse an account that has
// the privilege.
func TestGrantsAsTheServerSeesThem(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		s.do("CREATE TABLE t (id INT PRIMARY KEY)")
		exact := strings.ReplaceAll(s.database, "_", `\_`)
		head := s.database[:12]
		patterns := []string{exact, s.database, head + "%", "%", "%" + s.database[14:], strings.Replace(s.database, "a", "_", 1),
			head[:3] + "%", strings.Replace(exact, "t", "%", 1), "other"}
		privileges := []string{"SELECT", "INSERT", "DELETE", "UPDATE"}
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		for i := range 16 {
			var grants []string
			for range 1 + random.IntN(3) {
				object := "`" + patterns[random.IntN(len(patterns))] + "`.*"
				switch random.IntN(8) {
				case 0:
					object = "*.*"
				case 1:
					object = "`" + s.database + "`.`t`"
				}
				grants = append(grants, privileges[random.IntN(4)]+", "+privileges[random.IntN(4)]+" ON "+object)
			}
			role := i%2 == 1 && (s.release == "9.7" || s.release == "8.0") // others have no roles, or one only
			user := fmt.Sprintf("g%d_%s", i, s.database[len(s.database)-6:])
			account := s.account(user)
			s.grant(user, grants, role)
			known, err := facts.Gather(t.Context(), account, s.name("t"))
			if err != nil {
				t.Fatal(err)
			}
			for privilege, statement := range map[string]string{
				"SELECT": "SELECT id FROM DB.t LIMIT 0", "INSERT": "INSERT INTO DB.t VALUES (1)",
				"DELETE": "DELETE FROM DB.t", "UPDATE": "UPDATE DB.t SET id = 1"} {
				_, err := account.ExecContext(t.Context(), strings.ReplaceAll(statement, "DB.", schema.Quote(s.database)+"."))
				may, denied := known.Grants.On(privilege, s.database, "t"), dbconn.Denied(err)
				generous := known.Grants.AllMatches || strings.Count(strings.Join(grants, " "), "`%") > 1
				if may == denied && !(may && generous) {
					t.Errorf("seed %d: %q, roles %v: %s: the plan expects %v, the server answers %v", seed, grants, role, privilege, may, err)
				}
			}
		}
	})
}

// grant gives an account privileges, each by a role of its own if role is set.
func (s *server) grant(user string, grants []string, role bool) {
	s.t.Helper()
	at := "'" + user + "'@'%'"
	for i, g := range grants {
		if !role {
			s.do("GRANT " + g + " TO " + at)
			continue
		}
		r := fmt.Sprintf("'%s_%d'", user, i)
		s.do("CREATE ROLE "+r, "GRANT "+g+" TO "+r, "GRANT "+r+" TO "+at)
		s.t.Cleanup(func() { s.instance.Open(s.t, "").Exec("DROP ROLE " + r) })
	}
	if role {
		s.do("SET DEFAULT ROLE ALL TO " + at)
	}
}
