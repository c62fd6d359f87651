package binlog

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"

	"midstream/internal/mysql/schema"
)

// sbtest is sysbench's table: id INT, k INT, c CHAR(120), pad CHAR(60), with one byte for each
// character.
var sbtest = Watch{Table: schema.Name{Schema: "s", Table: "sbtest"}, Columns: []int{0}, ColumnCount: 4}

func sbtestMap() []byte {
	return mapBody(9, "sbtest", []byte{mysql.MYSQL_TYPE_LONG, mysql.MYSQL_TYPE_LONG, mysql.MYSQL_TYPE_STRING, mysql.MYSQL_TYPE_STRING},
		[]byte{mysql.MYSQL_TYPE_STRING, 120, mysql.MYSQL_TYPE_STRING, 60})
}

func sbtestRow(id int) []byte {
	row := binary.LittleEndian.AppendUint32([]byte{0}, uint32(id))
	row = binary.LittleEndian.AppendUint32(row, 5)
	row = append(append(row, 119), bytes.Repeat([]byte{'c'}, 119)...)
	return append(append(row, 59), bytes.Repeat([]byte{'p'}, 59)...)
}

// benchmarkRows feeds rows events of about 8 KB, as the server makes them, with their
// checksums.
func benchmarkRows(b *testing.B, watch Watch, kind byte) {
	f := newFeed(b, Position{"b.000001", 4}, watch)
	f.handle = func(Event) error { return nil }
	f.must(eventTableMap, sbtestMap())
	f.checksum = true
	var data []byte
	rows := 0
	for ; len(data) < 8000; rows++ {
		data = append(data, sbtestRow(rows)...)
		if kind == eventUpdateRows2 {
			data = append(data, sbtestRow(rows)...)
		}
	}
	bitmaps := [][]byte{{15}}
	if kind == eventUpdateRows2 {
		bitmaps = append(bitmaps, []byte{15})
	}
	event := frame(kind, rowsBody(2, 9, 4, bitmaps, data))
	binary.LittleEndian.PutUint32(event[9:], uint32(len(event)+checksumSize))
	event = binary.LittleEndian.AppendUint32(event, crc32.ChecksumIEEE(event))
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		if err := f.event(event); err != nil {
			b.Fatal(err)
		}
	}
	if len(watch.Columns) > 0 {
		b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds(), "rows/s")
	}
}

// BenchmarkOtherTable measures rows of a table that is not watched.
func BenchmarkOtherTable(b *testing.B) { benchmarkRows(b, Watch{}, eventWriteRows2) }

// BenchmarkInsert and BenchmarkUpdate measure rows of the watched table.
func BenchmarkInsert(b *testing.B) { benchmarkRows(b, sbtest, eventWriteRows2) }
func BenchmarkUpdate(b *testing.B) { benchmarkRows(b, sbtest, eventUpdateRows2) }

// BenchmarkStream reads from a server: 200 MB of another table, then of the watched one.
func BenchmarkStream(b *testing.B) {
	for _, version := range versions {
		bench := setup(b, version)
		bench.numbers()
		for _, table := range []string{"other", "watched"} {
			bench.exec(
				"CREATE TABLE " + table + " (id INT PRIMARY KEY, k INT, c CHAR(120) CHARACTER SET latin1, pad CHAR(60) CHARACTER SET latin1)",
			)
			watch := bench.watch(table, "id")
			if table == "other" {
				watch.Table.Table = "nothing"
			}
			from := bench.position()
			for i := range 10 {
				bench.exec(fmt.Sprintf("INSERT INTO %s SELECT i + %d, i, REPEAT('c', 119), REPEAT('p', 59) FROM numbers",
					table, i*100000))
			}
			bench.exec("CREATE TABLE end_of_" + table + " (i INT)")
			b.Run(version+"/"+table, func(b *testing.B) {
				reader := bench.reader(watch)
				rows := 0
				for b.Loop() {
					err := reader.Run(context.Background(), from, func(e Event) error {
						switch e := e.(type) {
						case Rows:
							rows += len(e.Tuples)
						case Statement:
							if strings.HasPrefix(e.SQL, "CREATE TABLE end_of_"+table) && e.Schema == bench.schema {
								return errEnough
							}
						}
						return nil
					})
					if !errors.Is(err, errEnough) {
						b.Fatal(err)
					}
				}
				b.SetBytes(reader.BytesRead() / int64(b.N))
				b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// BenchmarkTransactions reads small transactions from a server, as an application makes them: four rows of another table are
// updated by each, and after ten of these one row of the watched table is.
func BenchmarkTransactions(b *testing.B) {
	for _, version := range versions {
		bench := setup(b, version)
		bench.numbers()
		bench.exec("SET GLOBAL sync_binlog = 0")
		bench.exec("SET GLOBAL innodb_flush_log_at_trx_commit = 0")
		for _, table := range []string{"other", "watched"} {
			bench.exec(
				"CREATE TABLE " + table + " (id INT PRIMARY KEY, k INT, c CHAR(120) CHARACTER SET latin1, pad CHAR(60) CHARACTER SET latin1)",
			)
			bench.exec("INSERT INTO " + table + " SELECT i, i, 'c', 'p' FROM numbers WHERE i < 1000")
		}
		bench.exec(
			"CREATE PROCEDURE application (n INT) BEGIN WHILE n > 0 DO " +
				"UPDATE other SET k = k + 1, c = REPEAT('c', 119), pad = REPEAT('p', 59) WHERE id BETWEEN n MOD 900 AND n MOD 900 + 3; " +
				"IF n MOD 10 = 0 THEN UPDATE watched SET k = k + 1 WHERE id = n MOD 900 + 1; END IF; " +
				"SET n = n - 1; END WHILE; END",
		)
		from := bench.position()
		bench.exec("CALL application(100000)")
		bench.exec("CREATE TABLE at_the_end (i INT)")
		b.Run(version, func(b *testing.B) {
			reader := bench.reader(bench.watch("watched", "id"))
			groups := 0
			for b.Loop() {
				err := reader.Run(context.Background(), from, func(e Event) error {
					switch e := e.(type) {
					case Commit:
						groups++
					case Statement:
						if strings.HasPrefix(e.SQL, "CREATE TABLE at_the_end") {
							return errEnough
						}
					}
					return nil
				})
				if !errors.Is(err, errEnough) {
					b.Fatal(err)
				}
			}
			b.SetBytes(reader.BytesRead() / int64(b.N))
			b.ReportMetric(float64(groups)/b.Elapsed().Seconds(), "groups/s")
		})
	}
}
