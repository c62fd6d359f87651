package cli

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/retention"
)

// TestL8_OldTablesOfEndedUndosGo: the old table of a change with --undo goes when its time as an old table and that of the undo
// are over, with all that was kept for the undo. While the undo is open, both stay.
func TestL8_OldTablesOfEndedUndosGo(t *testing.T) {
	onBoth(t, func(t *testing.T, i *mysqltest.Instance) {
		_, database := mysqltest.Database(t, i)
		exec := executing(t, i, database)
		for name, args := range map[string][]string{"over": {"--undo=1s"}, "dropped": {"--undo=1s", "--drop-old"}, "open": {"--undo=1h"}} {
			exec("CREATE TABLE `" + name + "` (id INT PRIMARY KEY, a INT)")
			if code, _, stderr := midstream(t, append(append(append([]string{"run", "--method=shadow"}, args...), flagsTo(t, i)...),
				"ALTER TABLE "+database+".`"+name+"` MODIFY a BIGINT")...); code != exit.Done {
				t.Fatal(stderr)
			}
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		var mu sync.Mutex
		var notes string
		k := retention.Keeper{
			Servers: func() []retention.Server {
				return []retention.Server{{Name: "main", Keep: 2 * time.Second, Config: dbconn.Config{
					Network: "tcp", Address: i.Address, User: i.User, Password: dbconn.Secret(i.Password),
				}}}
			},
			File: filepath.Join(t.TempDir(), "old.json"), Every: 200 * time.Millisecond, Between: 600 * time.Millisecond,
			Note: func(text string) { mu.Lock(); defer mu.Unlock(); notes += text + "\n" },
		}
		said := func(text string) bool { mu.Lock(); defer mu.Unlock(); return strings.Contains(notes, text) }
		var running sync.WaitGroup
		running.Go(func() { k.Run(ctx) })
		for ctx.Err() == nil && !(said("dropped "+database+".over_old") && said("dropped "+database+".dropped_old") && said("because an undo needs it")) {
			time.Sleep(100 * time.Millisecond)
		}
		stop()
		running.Wait()
		_, left, _ := midstream(t, append([]string{"undo", "--list", "--quiet"}, flagsTo(t, i)...)...)
		if strings.Contains(left, "over ") || strings.Contains(left, "dropped ") || !strings.Contains(left, "open open ") {
			t.Errorf("these can be undone: %s", left)
		}
		exec("SELECT 1 FROM open_old", "DROP TABLE open_undo", "DROP TABLE open_old")
		if t.Failed() {
			t.Log(notes)
		}
	})
}
