package binlog

import (
	"testing"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// TestChecksumSwitched: a server may change its checksums from file to file.
func TestChecksumSwitched(t *testing.T) {
	onServers(t, func(t *testing.T, b *bundle) {
		if b.server.Sandbox == nil {
			t.Skip("others use this server")
		}
		b.exec("CREATE TABLE t (id INT PRIMARY KEY)")
		watches := []Watch{b.watch("t", "id")}
		groups := b.record(watches, func() {
			defer b.exec("SET GLOBAL binlog_checksum = CRC32")
			b.exec("INSERT INTO t VALUES (1)")
			b.exec("SET GLOBAL binlog_checksum = NONE")
			b.exec("INSERT INTO t VALUES (2)")
			b.exec("FLUSH BINARY LOGS")
			b.exec("INSERT INTO t VALUES (3)")
			b.exec("SET GLOBAL binlog_checksum = CRC32")
			b.exec("INSERT INTO t VALUES (4)")
			b.exec("SET GLOBAL binlog_checksum = NONE")
			b.exec("INSERT INTO t VALUES (5)")
			from := b.position()
			b.exec("INSERT INTO t VALUES (6)")
			b.expect(b.read(from, watches), "0:+[[6]]; commit")
		})
		b.expect(groups, "0:+[[1]]; commit\n0:+[[2]]; commit\n0:+[[3]]; commit\n0:+[[4]]; commit\n0:+[[5]]; commit\n0:+[[6]]; commit")
	})
}

// TestCompressedMariaDB: MariaDB compresses each event separately.
func TestCompressedMariaDB(t *testing.T) {
	b := setupOn(t, mysqltest.Own(t, "mariadb-10.11", sandbox.Options{Settings: map[string]string{
		"log_bin_compress": "ON", "log_bin_compress_min_len": "10",
	}}))
	b.exec("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(2000))")
	groups := b.record([]Watch{b.watch("t", "id")}, func() {
		b.exec("INSERT INTO t VALUES (1, REPEAT('x', 1000)), (2, REPEAT('y', 1000))")
		b.exec("UPDATE t SET v = REPEAT('z', 2000), id = id + 1 ORDER BY id DESC")
		b.exec("DELETE FROM t")
		b.exec("ALTER TABLE t COMMENT = 'a comment that is long enough'")
	})
	b.expect(groups, `0:+[[1] [2]]; commit
0:~[[2] [3] [1] [2]]; commit
0:-[[2] [3]]; commit
ALTER TABLE t COMMENT = 'a comment that is long enough'; commit`)
}

// TestAlterInTwoPhases: MariaDB may log an ALTER at its beginning, so that replicas begin too, and
// again at its end. Commits of other sessions are between the two.
func TestAlterInTwoPhases(t *testing.T) {
	b := setupOn(t, mysqltest.Own(t, "mariadb-10.11", sandbox.Options{Settings: map[string]string{"binlog_alter_two_phase": "ON"}}))
	b.exec("CREATE TABLE t (id INT PRIMARY KEY)")
	groups := b.record([]Watch{b.watch("t", "id")}, func() {
		b.exec("INSERT INTO t VALUES (1)")
		b.exec("ALTER TABLE t COMMENT = 'two', ALGORITHM = COPY")
		b.exec("INSERT INTO t VALUES (2)")
	})
	b.expect(groups, `0:+[[1]]; commit
ALTER TABLE t COMMENT = 'two', ALGORITHM = COPY; commit
ALTER TABLE t COMMENT = 'two', ALGORITHM = COPY; commit
0:+[[2]]; commit`)
}
