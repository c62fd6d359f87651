package binlog

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"midstream/internal/mysql/schema"
)

// FuzzImage: whatever the bytes are, the walker stays within them. If go-mysql decodes the complete
// rows, the watched columns have the same values.
func FuzzImage(f *testing.F) {
	all := []byte{
		mysql.MYSQL_TYPE_TINY, mysql.MYSQL_TYPE_SHORT, mysql.MYSQL_TYPE_INT24, mysql.MYSQL_TYPE_LONG,
		mysql.MYSQL_TYPE_LONGLONG, mysql.MYSQL_TYPE_FLOAT, mysql.MYSQL_TYPE_DOUBLE, mysql.MYSQL_TYPE_NEWDECIMAL,
		mysql.MYSQL_TYPE_BIT, mysql.MYSQL_TYPE_YEAR, mysql.MYSQL_TYPE_DATE, mysql.MYSQL_TYPE_TIME, mysql.MYSQL_TYPE_DATETIME,
		mysql.MYSQL_TYPE_TIMESTAMP, mysql.MYSQL_TYPE_TIME2, mysql.MYSQL_TYPE_DATETIME2, mysql.MYSQL_TYPE_TIMESTAMP2,
		mysql.MYSQL_TYPE_VARCHAR, mysql.MYSQL_TYPE_VAR_STRING, mysql.MYSQL_TYPE_STRING, mysql.MYSQL_TYPE_STRING,
		mysql.MYSQL_TYPE_STRING, mysql.MYSQL_TYPE_STRING, mysql.MYSQL_TYPE_BLOB, mysql.MYSQL_TYPE_JSON,
		mysql.MYSQL_TYPE_GEOMETRY, mysql.MYSQL_TYPE_VECTOR,
	}
	metadata := []byte{4, 8, 10, 2, 3, 1, 3, 0, 6, 20, 0, 44, 1, 254, 9, 0xce, 0xfc, 247, 1, 248, 8, 2, 4, 4, 4}
	f.Add(all, metadata, byte(eventWriteRows2), uint64(1), append([]byte{255, 255, 255, 255}, make([]byte, 400)...))
	f.Add(
		all, metadata, byte(eventUpdateRows2), uint64(1<<7|1<<20),
		append([]byte{255, 255, 255, 255, 255, 255, 255, 255}, make([]byte, 400)...),
	)
	f.Add(
		[]byte{3, 15, 3}, []byte{20, 0}, byte(eventDeleteRows1), uint64(2),
		append([]byte{7}, "\x00\x01\x00\x00\x00\x02ab\x05\x00\x00\x00"...),
	)
	f.Add([]byte{3, 245, 245}, []byte{4, 4}, byte(eventPartialUpdate), uint64(1),
		append([]byte{7, 6}, "\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x03\x00\x02\x00\x00\x00ab\x00\x00\x00\x00"...))

	f.Fuzz(func(t *testing.T, types, metadata []byte, kind byte, watched uint64, rest []byte) {
		shape, ok := shapes[kind]
		if !ok || shape.compressed || len(types) == 0 || len(types) > 64 || len(metadata) > 250 {
			return
		}
		watch := Watch{Table: schema.Name{Schema: "s", Table: "t"}, ColumnCount: len(types)}
		for i := range types {
			if watched>>i&1 == 1 && types[i] != mysql.MYSQL_TYPE_JSON { // go-mysql takes hours on garbage there
				watch.Columns = append(watch.Columns, i)
			}
		}
		if len(watch.Columns) == 0 {
			return
		}
		tableMap := mapBody(7, "t", types, metadata)
		rows := rowsBody(shape.version, 7, len(types), [][]byte{rest}, nil)

		feed := newFeed(t, Position{"b.000001", 4}, watch)
		if feed.send(eventTableMap, tableMap) != nil {
			return
		}
		err := feed.send(kind, rows)
		if shape.kind == Update || bytes.IndexByte(types, mysql.MYSQL_TYPE_JSON) >= 0 {
			// The two differ in what a row is: ours has no tuple after a row without changes.
			return
		}
		if len(rest) < bitmapSize(len(types)) || ones(rest, len(types)) == 0 {
			return // go-mysql would loop on empty rows
		}
		want, ok := decodeAll(tableMap, kind, rows)
		if !ok {
			return
		}
		if err != nil {
			return // go-mysql accepts a cut last value
		}
		var got [][]any
		for _, e := range feed.events {
			got = append(got, e.(Rows).Tuples...)
		}
		if len(want) == 0 {
			return // no data: one row of defaults
		}
		for i, row := range want {
			for slot, ordinal := range watch.Columns {
				g, w := fmt.Sprintf("%#v", got[i][slot]), fmt.Sprintf("%#v", row[ordinal])
				if _, isDefault := got[i][slot].(Default); !isDefault && g != w {
					t.Fatalf("row %d, column %d: %s, go-mysql has %s", i, ordinal, g, w)
				}
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d rows, go-mysql has %d", len(got), len(want))
		}
	})
}

// decodeAll decodes all columns of a rows event with go-mysql alone, with TIMESTAMP as our decoder
// returns it.
func decodeAll(tableMap []byte, kind byte, rows []byte) (tuples [][]any, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false // it trusts what it reads
		}
	}()
	decoder, err := newRowDecoder()
	if err != nil {
		return nil, false
	}
	parser := replication.NewBinlogParser()
	format := make([]byte, 2+50+4+1, 128)
	copy(format[2:], "8.0.0")
	format[2+50+4] = headerSize
	for range eventTaggedGTID {
		format = append(format, 8)
	}
	if _, err := parser.Parse(frame(eventFormat, append(format, 0, 0, 0, 0, 0))); err != nil {
		return nil, false
	}
	parser.SetRowsEventDecodeFunc(func(e *replication.RowsEvent, data []byte) error {
		pos, err := e.DecodeHeader(data)
		if err != nil {
			return err
		}
		whole := *decoder
		whole.Table, whole.ColumnCount, whole.ColumnBitmap1 = e.Table, e.ColumnCount, e.ColumnBitmap1
		err = whole.DecodeData(pos, data)
		tuples, ok = whole.Rows, err == nil
		return err
	})
	if _, err := parser.Parse(frame(eventTableMap, tableMap)); err != nil {
		return nil, false
	}
	_, _ = parser.Parse(frame(kind, rows))
	return tuples, ok
}

// FuzzEvents: no sequence of events makes the stream panic.
func FuzzEvents(f *testing.F) {
	var plain []byte
	for _, e := range [][]byte{
		frame(eventGTID, make([]byte, 42)),
		frame(eventQuery, queryBody("s", "BEGIN")),
		frame(eventTableMap, mapBody(7, "ints", intTypes, nil)),
		frame(eventWriteRows2, rowsBody(2, 7, 2, [][]byte{{3}}, intRow(5, 6))),
		frame(eventMariaUpdate, rowsBody(1, 7, 2, [][]byte{{3}, {3}}, intRow(5, 6))),
		frame(eventXAPrepare, make([]byte, 20)),
		frame(eventXID, make([]byte, 8)),
	} {
		plain = append(plain, e...)
	}
	f.Add(plain)
	f.Add(frame(eventPayload, append([]byte{payloadCompression, 3, 0xfc, 255, 0, payloadEndMark}, plain...)))
	f.Add(frame(eventPayload, append([]byte{payloadCompression, 1, 0, payloadEndMark}, plain...)))
	f.Add(frame(eventFormat, make([]byte, 130)))
	f.Add(frame(eventRotate, []byte("\x04\x00\x00\x00\x00\x00\x00\x00b.000002")))
	f.Fuzz(func(t *testing.T, data []byte) {
		after := ints
		after.After = true
		for _, watch := range []Watch{ints, after} {
			feed := newFeed(t, Position{"b.000001", 4}, watch)
			for data := data; len(data) >= headerSize; {
				h, _ := readHeader(data)
				size := min(max(int(h.size), headerSize), len(data))
				_ = feed.event(data[:size])
				data = data[size:]
			}
			feed.payload.close()
		}
	})
}
