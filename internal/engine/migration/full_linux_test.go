package migration_test

import (
	"os/signal"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// TestL9_DiskFull: in the middle of the copy, the server's files may not grow beyond a size. The
// run stops, and reports that the server has no room and that its work is kept. It resumes when
// there is room again. The new table is larger than the old one. (RLIMIT_FSIZE simulates the full
// disk: a write beyond it fails, and InnoDB reports that the table is full. Binlogs are kept small,
// because the server ends itself if it can't write them.)
func TestL9_DiskFull(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	signal.Ignore(unix.SIGXFSZ) // the server inherits it: errors only
	t.Cleanup(func() { signal.Reset(unix.SIGXFSZ) })
	for _, version := range inTurn(t, versions) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := mysqltest.Own(
				t, version,
				sandbox.Options{Settings: map[string]string{"max_binlog_size": "16M", "innodb_buffer_pool_size": "64M"}},
			)
			b := on(t, version, server)
			schema := b.schema
			b.exec("CREATE TABLE "+schema+".t (id INT AUTO_INCREMENT PRIMARY KEY, body LONGTEXT) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4",
				"INSERT INTO "+schema+".t (body) VALUES (REPEAT('x', 60000))")
			for range 11 {
				b.exec("INSERT INTO " + schema + ".t (body) SELECT body FROM " + schema + ".t")
			}
			limit := func(bytes uint64) {
				var now unix.Rlimit
				if err := unix.Prlimit(server.Sandbox.PID(), unix.RLIMIT_FSIZE, nil, &now); err != nil {
					t.Fatal(err)
				}
				now.Cur = bytes
				if err := unix.Prlimit(server.Sandbox.PID(), unix.RLIMIT_FSIZE, &now, nil); err != nil {
					t.Fatal(err)
				}
			}
			limit(96 << 20)
			code, last := b.child("ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE=0", "", nil, "--reconnect=0s", "--checkpoint=100ms").wait()
			if code != 16 || !strings.Contains(last, "are kept") {
				t.Errorf("exit code %d: %s", code, last)
			}
			if strings.Contains(last, "is full") {
				limit(unix.RLIM_INFINITY)
			} else if isNew(version) {
				t.Errorf("it did not report that the table is full: %s", last)
			} else if err := server.Sandbox.Restart(b.ctx()); err != nil {
				// 5.7.22, 8.0.12, and sometimes MariaDB, end themselves by a failed assertion
				t.Fatal(err)
			}
			again := b.child("ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE=0", "", nil)
			again.mustEnd()
			if !again.heard("resuming an earlier run") {
				t.Error("it did not report that it resumes")
			}
			if new, old := b.value(
				"SELECT CONCAT(COUNT(*), SUM(CRC32(body))) FROM "+schema+".t",
			), b.value(
				"SELECT CONCAT(COUNT(*), SUM(CRC32(body))) FROM "+schema+".t_old",
			); new != old {
				t.Errorf("rows are %s instead of %s", new, old)
			}
		})
	}
}
