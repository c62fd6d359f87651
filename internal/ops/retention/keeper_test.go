package retention_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/retention"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// TestL8_OldTablesGo: an old table goes when its time is over and nobody reads it. A table that is read, that an undo
// needs, that was renamed, whose source is gone, or that has no mark stays.
func TestL8_OldTablesGo(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			server := mysqltest.Server(t, version)
			db, name := mysqltest.Database(t, server)
			source := func(table string) schema.Name { return schema.Name{Schema: name, Table: table} }
			create := func(table, comment, partitions string) {
				for _, s := range []string{
					"CREATE TABLE " + table + " (id INT PRIMARY KEY) COMMENT = " + schema.Literal(comment) + partitions, "INSERT INTO " + table + " VALUES (1), (2)",
				} {
					if _, err := db.Exec(s); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, table := range []string{"a", "b", "c", "d", "g"} {
				create(table, "", "")
			}
			create("a_old", schema.MarkOld(source("a"), "x"), " PARTITION BY HASH (id) PARTITIONS 3")
			create("b_old", schema.MarkOld(source("b"), ""), "")
			create("c_old", schema.MarkOld(source("c"), ""), "")
			create("g_live", schema.MarkOld(source("g"), ""), "") // it was renamed since
			create("c_undo", schema.MarkFor(checkpoint.UndoKind, source("c")), "")
			create("d_old", "another table's", "")
			create("e_old", schema.MarkDropped(source("e"), ""), "")
			create("f_old", schema.MarkOld(source("f"), ""), "") // there is no table f
			var reads bool                                       // MariaDB does not record them by default
			if err := db.QueryRow("SELECT @@GLOBAL.performance_schema").Scan(&reads); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			var mu sync.Mutex
			var notes []string
			said := func() string { mu.Lock(); defer mu.Unlock(); return strings.Join(notes, "\n") }
			k := retention.Keeper{
				Servers: func() []retention.Server {
					return []retention.Server{{Name: "main", Keep: 3 * time.Second, Config: dbconn.Config{
						Network: "tcp", Address: server.Address, User: server.User, Password: dbconn.Secret(server.Password),
					}}}
				},
				File: filepath.Join(t.TempDir(), "old.json"), Every: 200 * time.Millisecond, Between: 600 * time.Millisecond,
				Note: func(text string) { mu.Lock(); defer mu.Unlock(); notes = append(notes, text) },
			}
			var running sync.WaitGroup
			running.Go(func() { k.Run(ctx) })
			running.Go(func() {
				for reads && ctx.Err() == nil {
					_, _ = db.Exec("DO (SELECT SUM(id) FROM b_old)")
					time.Sleep(100 * time.Millisecond)
				}
			})
			for began := time.Now(); (strings.Count(said(), "dropped ") < 2 || !strings.Contains(said(), "e_old; ") || !strings.Contains(said(), "does not exist") || !strings.Contains(said(), "it was renamed")) && time.Since(began) < 40*time.Second; {
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(time.Second)
			stop()
			running.Wait()
			var left string
			if err := db.QueryRow("SELECT GROUP_CONCAT(table_name ORDER BY 1) FROM information_schema.tables WHERE table_schema = DATABASE()").
				Scan(&left); err != nil {
				t.Fatal(err)
			}
			want := "a,b,b_old,c,c_old,c_undo,d,d_old,f_old,g,g_live"
			if !reads {
				want = "a,b,c,c_old,c_undo,d,d_old,f_old,g,g_live"
			}
			if left != want {
				t.Errorf("%s are left, want %s; %s", left, want, said())
			}
			for _, text := range []string{"a_old is kept for 3s", "because an undo needs it", "dropped " + name + ".e_old"} {
				if !strings.Contains(said(), text) {
					t.Errorf("not said: %s; %s", text, said())
				}
			}
			if reads && !strings.Contains(said(), "b_old is still used") {
				t.Error(said())
			}
			for _, table := range []string{"c_old", "c_undo", "f_old", "b_old", "d_old", "g_live"} {
				_, _ = db.Exec("DROP TABLE IF EXISTS " + table)
			}
		})
	}
}
