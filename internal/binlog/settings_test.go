package binlog

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"midstream/internal/mysqltest"
	"midstream/internal/sandbox"
)

// TestChecksumSwitched: a server may change its checksums, file by file.
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

// TestCompressedMariaDB: MariaDB compresses event by event.
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

// TestRealPositionsBeyond4GiB writes binlogs of more than 4 GiB, plain and compressed.
func TestRealPositionsBeyond4GiB(t *testing.T) {
	if os.Getenv("MIDSTREAM_TEST_HUGE") == "" {
		t.Skip("takes minutes and 10 GB of disk; MIDSTREAM_TEST_HUGE=1 runs it")
	}
	b := setupOn(t, mysqltest.Own(t, "9.7", sandbox.Options{}))
	b.numbers()
	b.exec("CREATE TABLE holes (id INT PRIMARY KEY, b LONGBLOB) ENGINE=BLACKHOLE")
	b.exec("CREATE TABLE t (id INT PRIMARY KEY)")
	watches := []Watch{b.watch("holes", "id"), b.watch("t", "id")}
	for _, set := range []string{"SET binlog_transaction_compression = OFF", "SET binlog_transaction_compression = ON"} {
		b.exec(set)
		b.exec("FLUSH BINARY LOGS")
		from := b.position()
		start := time.Now()
		b.exec("BEGIN")
		b.exec("INSERT INTO holes SELECT i, REPEAT('x', 16 << 20) FROM numbers WHERE i < 280 ORDER BY i")
		b.exec("INSERT INTO t VALUES (1)")
		b.exec("COMMIT")
		end := b.position()
		t.Logf("%s: written in %s, ends at %s", set, time.Since(start).Round(time.Second), end)

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		rows, last := 0, Position{}
		reader := b.reader(watches...)
		start = time.Now()
		err := reader.Run(ctx, from, func(e Event) error {
			switch e := e.(type) {
			case Rows:
				rows += len(e.Tuples)
			case Commit:
				last = e.End
				return errEnough
			}
			return nil
		})
		cancel()
		t.Logf("read in %s, %d bytes", time.Since(start).Round(time.Millisecond), reader.BytesRead())
		if !errors.Is(err, errEnough) || rows != 281 || last.File != from.File {
			t.Errorf("%v, %d rows, ends at %s", err, rows, last)
		}
		b.exec("DELETE FROM t")
		b.exec("INSERT INTO t VALUES (2)")
		b.exec("DELETE FROM t")
		start = time.Now()
		b.expect(b.read(last, watches), "1:-[[1]]; commit\n1:+[[2]]; commit\n1:-[[2]]; commit")
		t.Logf("read on behind it in %s", time.Since(start).Round(time.Millisecond))
	}
}
