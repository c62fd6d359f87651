package binlog

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"strings"
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/klauspost/compress/zstd"

	"midstream/internal/mysql/schema"
)

// feed is a stream under test, with the events that it returned.
type feed struct {
	*stream
	t      testing.TB
	events []Event
	file   uint64 // offset in the file written so far
}

func newFeed(t testing.TB, from Position, watches ...Watch) *feed {
	f := &feed{t: t, file: from.Offset}
	var err error
	f.stream, err = newStream(watches, GTIDs{}, from, func(e Event) error {
		f.events = append(f.events, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// send makes an event of the file and feeds it.
func (f *feed) send(kind byte, body []byte) error {
	event := frame(kind, body)
	f.file += uint64(len(event))
	binary.LittleEndian.PutUint32(event[13:], uint32(f.file))
	return f.event(event)
}

func (f *feed) must(kind byte, body []byte) {
	f.t.Helper()
	if err := f.send(kind, body); err != nil {
		f.t.Fatal(err)
	}
}

func (f *feed) expect(want ...Event) {
	f.t.Helper()
	for i, e := range f.events {
		if r, ok := e.(Rows); ok {
			r.At = Rows{}.At
			f.events[i] = r
		}
	}
	if !reflect.DeepEqual(f.events, want) {
		f.t.Errorf("got %+v\nwant %+v", f.events, want)
	}
	f.events = nil
}

// mapBody is the body of a table map. The metadata is as in the event.
func mapBody(id uint64, table string, types, metadata []byte) []byte {
	body := binary.LittleEndian.AppendUint64(nil, id)[:6]
	body = append(body, 0, 0)
	body = append(append(append(body, 1), "s"...), 0)
	body = append(append(append(body, byte(len(table))), table...), 0)
	body = append(append(body, byte(len(types))), types...)
	body = append(append(body, byte(len(metadata))), metadata...)
	return append(body, make([]byte, bitmapSize(len(types)))...)
}

// rowsBody is the body of a rows event of version 2, or 1.
func rowsBody(version int, id uint64, columns int, bitmaps [][]byte, data []byte) []byte {
	body := binary.LittleEndian.AppendUint64(nil, id)[:6]
	body = append(body, 1, 0)
	if version == 2 {
		body = append(body, 2, 0)
	}
	body = append(body, byte(columns))
	for _, b := range bitmaps {
		body = append(body, b...)
	}
	return append(body, data...)
}

func queryBody(schemaName, sql string) []byte {
	body := append(make([]byte, 8), byte(len(schemaName)), 0, 0, 0, 0)
	return append(append(append(body, schemaName...), 0), sql...)
}

// ints is a watched table of two INT columns.
var ints = Watch{Table: schema.Name{Schema: "s", Table: "ints"}, Columns: []int{0}, ColumnCount: 2}

var intTypes = []byte{mysql.MYSQL_TYPE_LONG, mysql.MYSQL_TYPE_LONG}

func intRow(id, v uint32) []byte {
	row := binary.LittleEndian.AppendUint32([]byte{0}, id)
	return binary.LittleEndian.AppendUint32(row, v)
}

func (f *feed) insert(id, v uint32) {
	f.t.Helper()
	f.must(eventTableMap, mapBody(7, "ints", intTypes, nil))
	f.must(eventWriteRows2, rowsBody(2, 7, 2, [][]byte{{3}}, intRow(id, v)))
}

// TestPositionsBeyond4GiB: the header's 32 bits wrap, the position doesn't.
func TestPositionsBeyond4GiB(t *testing.T) {
	for _, start := range []uint64{1<<32 - 200, 1<<32 - 19, 1<<32 - 100, 3<<32 - 1} {
		f := newFeed(t, Position{"b.000001", 4}, ints)
		f.at.Offset, f.file = start, start
		for range 5 {
			f.must(eventAnonymousGTID, make([]byte, 42))
			f.must(eventXID, make([]byte, 8))
			f.expect(Commit{End: Position{"b.000001", f.file}})
		}
	}
}

// TestStartBeyond4GiB: the server sends the file from its beginning, and the reader skips what is
// before the start.
func TestStartBeyond4GiB(t *testing.T) {
	start := uint64(1<<32 + 300)
	f := newFeed(t, Position{"b.000001", start}, ints)
	f.file = 4
	f.must(eventAnonymousGTID, make([]byte, 42))
	f.insert(1, 1)
	f.at.Offset, f.file = start-50, start-50
	f.must(eventXID, make([]byte, 31)) // ends there
	f.expect()
	f.must(eventAnonymousGTID, make([]byte, 42))
	f.insert(2, 1)
	f.must(eventXID, make([]byte, 8))
	f.expect(Rows{Kind: Insert, Tuples: [][]any{{int32(2)}}}, Commit{End: Position{"b.000001", f.file}})

	f = newFeed(t, Position{"b.000001", start}, ints)
	f.file = 4
	next := append(binary.LittleEndian.AppendUint64(nil, 4), "b.000002"...)
	if err := f.send(eventRotate, next); !errors.Is(err, ErrPurged) {
		t.Errorf("file ends before the start: %v", err)
	}

	f = newFeed(t, Position{"b.000001", start}, ints)
	f.at.Offset, f.file = start-50, start-50
	f.must(eventXID, make([]byte, 31)) // the file's last event
	f.must(eventRotate, next)
	f.expect(Rotated{To: Position{"b.000002", 4}})
}

// TestForeignPositions: events that the dump thread creates don't move the position.
func TestForeignPositions(t *testing.T) {
	start := Position{"b.000001", 1000}
	f := newFeed(t, start)
	format := make([]byte, 2+50+4+1+40+5)
	if err := f.event(frame(eventFormat, format)); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []byte{eventMariaGTIDList, eventHeartbeat, eventHeartbeat2} {
		event := frame(kind, []byte("b.000001"))
		event[17] = flagArtificial
		event[13] = 77
		if err := f.event(event); err != nil {
			t.Fatal(err)
		}
		if f.began != (kind != eventMariaGTIDList) {
			t.Errorf("began %t after event %d", f.began, kind)
		}
	}
	same := frame(eventRotate, append(binary.LittleEndian.AppendUint64(nil, 4), start.File...))
	if err := f.event(same); err != nil {
		t.Fatal(err)
	}
	if f.at != start {
		t.Errorf("at %s", f.at)
	}
	other := frame(eventRotate, append(binary.LittleEndian.AppendUint64(nil, 4), "b.000002"...))
	if err := f.event(other); err != nil {
		t.Fatal(err)
	}
	f.expect(Rotated{To: Position{"b.000002", 4}})
}

func TestRefusedEvents(t *testing.T) {
	for _, c := range []struct {
		name string
		kind byte
		body []byte
		want error
	}{
		{"incident", eventIncident, []byte{1, 0, 0}, ErrIncident},
		{"unknown", 43, nil, ErrUnsupported},
		{"rows of version 0", 20, nil, ErrUnsupported},
		{"no table map", eventWriteRows2, rowsBody(2, 9, 2, [][]byte{{3}}, intRow(1, 1)), errGarbled},
		{"short rows", eventWriteRows2, rowsBody(2, 7, 2, [][]byte{{3}}, intRow(1, 1)[:7]), errGarbled},
		{"other width", eventWriteRows2, rowsBody(2, 7, 3, [][]byte{{3}}, intRow(1, 1)), errGarbled},
		{"drift", eventTableMap, mapBody(8, "ints", append(intTypes, 1), nil), ErrSchemaDrift},
		{"a column type that nobody knows", eventTableMap, mapBody(8, "ints", []byte{3, 142}, []byte{1}), ErrUnsupported},
		{"unknown compression", eventPayload, []byte{payloadCompression, 1, 7, 0}, ErrUnsupported},
	} {
		f := newFeed(t, Position{"b.000001", 4}, ints)
		f.must(eventTableMap, mapBody(7, "ints", intTypes, nil))
		if err := f.send(c.kind, c.body); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	f := newFeed(t, Position{"b.000001", 4}, ints)
	ignorable := frame(43, nil)
	ignorable[17] = flagIgnorable
	if err := f.event(ignorable); err != nil {
		t.Error(err)
	}
	for _, id := range []uint64{noTable3, noTable6} { // a statement's end without rows
		f.must(eventWriteRows2, rowsBody(2, id, 0, nil, nil))
	}
	f.expect()
}

func TestChecksum(t *testing.T) {
	f := newFeed(t, Position{"b.000001", 4}, ints)
	sum := func(event []byte) []byte {
		event = bytes.Clone(event)
		binary.LittleEndian.PutUint32(event[9:], uint32(len(event)+checksumSize))
		return binary.LittleEndian.AppendUint32(event, crc32.ChecksumIEEE(event))
	}
	format := frame(eventFormat, append(make([]byte, 2+50+4+1+40), 1))
	if err := f.event(sum(format)); err != nil {
		t.Fatal(err)
	}
	if err := f.event(sum(frame(eventXID, make([]byte, 8)))); err != nil {
		t.Error(err)
	}
	damaged := sum(frame(eventXID, make([]byte, 8)))
	damaged[20]++
	if err := f.event(damaged); !errors.Is(err, errGarbled) {
		t.Errorf("damaged event: %v", err)
	}
}

// TestPayload: a compressed transaction, and one packed without compression.
func TestPayload(t *testing.T) {
	var plain []byte
	plain = append(plain, frame(eventQuery, queryBody("s", "BEGIN"))...)
	plain = append(plain, frame(eventTableMap, mapBody(7, "ints", intTypes, nil))...)
	plain = append(plain, frame(eventWriteRows2, rowsBody(2, 7, 2, [][]byte{{3}}, intRow(5, 6)))...)
	plain = append(plain, frame(eventXID, make([]byte, 8))...)
	encoder, _ := zstd.NewWriter(nil)
	defer encoder.Close()
	for compression, content := range map[byte][]byte{0: encoder.EncodeAll(plain, nil), 255: plain} {
		head := []byte{payloadCompression, 1, compression, payloadEndMark}
		if compression == 255 {
			head = []byte{payloadCompression, 3, 0xfc, 255, 0, payloadEndMark}
		}
		f := newFeed(t, Position{"b.000001", 4}, ints)
		f.must(eventGTID, make([]byte, 42))
		f.must(eventPayload, append(bytes.Clone(head), content...))
		f.expect(Begun{}, Rows{Kind: Insert, Tuples: [][]any{{int32(5)}}}, Commit{End: Position{"b.000001", f.file}})
		if err := f.send(eventPayload, append(bytes.Clone(head), content[:len(content)-3]...)); !errors.Is(err, errGarbled) {
			t.Errorf("cut off: %v", err)
		}
		f.payload.close()
	}
}

// TestMariaDB: GTID events that mean BEGIN, compressed events, and a transaction that a crash cut
// off.
func TestMariaDB(t *testing.T) {
	pack := func(data []byte) []byte {
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		_, _ = w.Write(data)
		_ = w.Close()
		return append([]byte{0x80 | 2, byte(len(data) >> 8), byte(len(data))}, b.Bytes()...)
	}
	gtid := func(flags byte) []byte { return []byte{7, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, flags, 0, 0, 0, 0, 0, 0} }
	begun := Begun{GTID{Origin: Origin{Domain: 3}, Number: 7}}
	f := newFeed(t, Position{"b.000001", 4}, ints)
	end := func() Position { return Position{"b.000001", f.file} }

	f.must(eventMariaGTID, gtid(0))
	f.must(eventMariaAnnotate, []byte("INSERT ..."))
	f.must(eventTableMap, mapBody(7, "ints", intTypes, nil))
	f.must(eventMariaWrite, rowsBody(1, 7, 2, [][]byte{{3}}, pack(append(intRow(1, 2), intRow(3, 4)...))))
	f.must(eventMariaUpdate, rowsBody(1, 7, 2, [][]byte{{3}, {2}}, pack(append(intRow(1, 2), 0, 9, 9, 9, 9))))
	f.must(eventMariaDelete, rowsBody(1, 7, 2, [][]byte{{3}}, pack(intRow(8, 2))))
	sql := "INSERT INTO x VALUES (1)"
	body := queryBody("s", sql)
	f.must(eventMariaQuery, append(body[:len(body)-len(sql)], pack([]byte(sql))...))
	statementEnd := end()
	f.must(eventXID, make([]byte, 8))
	f.expect(begun, Rows{Kind: Insert, Tuples: [][]any{{int32(1)}, {int32(3)}}},
		Rows{Kind: Update, Tuples: [][]any{{int32(1)}}},
		Rows{Kind: Delete, Tuples: [][]any{{int32(8)}}},
		Statement{Schema: "s", SQL: sql, End: statementEnd},
		Commit{End: end()})

	f.must(eventMariaGTID, gtid(1)) // standalone
	f.must(eventQuery, queryBody("s", "# Dummy event replacing event type 160 that slave cannot handle."))
	f.must(eventQuery, queryBody("s", "DROP TABLE x"))
	f.expect(begun, Statement{Schema: "s", SQL: "DROP TABLE x", End: end()}, Commit{End: end()})

	f.must(eventMariaGTID, gtid(0))
	f.insert(1, 1)
	cut := end()
	f.must(eventMariaGTID, gtid(0))
	f.insert(2, 1)
	f.must(eventXID, make([]byte, 8))
	f.expect(begun, Rows{Kind: Insert, Tuples: [][]any{{int32(1)}}}, Commit{End: cut}, begun,
		Rows{Kind: Insert, Tuples: [][]any{{int32(2)}}}, Commit{End: end()})
}

// TestTableIDs: an id is valid within its group, whatever it meant before.
func TestTableIDs(t *testing.T) {
	f := newFeed(t, Position{"b.000001", 4}, ints)
	f.insert(1, 1)
	f.must(eventTableMap, mapBody(7, "other", intTypes, nil))
	f.must(eventWriteRows2, rowsBody(2, 7, 2, [][]byte{{3}}, intRow(2, 2)))
	f.must(eventXID, make([]byte, 8))
	if err := f.send(eventWriteRows2, rowsBody(2, 7, 2, [][]byte{{3}}, intRow(3, 3))); !errors.Is(err, errGarbled) {
		t.Errorf("rows without a table map: %v", err)
	}
	f.expect(
		Rows{Kind: Insert, Tuples: [][]any{{int32(1)}}},
		Commit{End: Position{"b.000001", f.at.Offset - uint64(headerSize+len(rowsBody(2, 7, 2, [][]byte{{3}}, intRow(3, 3))))}},
	)
}

// TestTuplesAreKept: returned tuples stay valid when the buffers are used again.
func TestTuplesAreKept(t *testing.T) {
	watch := Watch{Table: schema.Name{Schema: "s", Table: "strings"}, Columns: []int{1, 0}, ColumnCount: 2}
	f := newFeed(t, Position{"b.000001", 4}, watch)
	types := []byte{mysql.MYSQL_TYPE_VARCHAR, mysql.MYSQL_TYPE_BLOB}
	f.must(eventTableMap, mapBody(7, "strings", types, []byte{20, 0, 1}))
	body := rowsBody(2, 7, 2, [][]byte{{3}}, []byte("\x00\x03abc\x04blob"))
	f.must(eventWriteRows2, body)
	f.must(eventWriteRows2, rowsBody(2, 7, 2, [][]byte{{3}}, []byte("\x00\x03xyz\x04BLOB\x02\x01z")))
	for i := range body {
		body[i] = '?'
	}
	f.expect(Rows{Kind: Insert, Tuples: [][]any{{[]byte("blob"), "abc"}}},
		Rows{Kind: Insert, Tuples: [][]any{{[]byte("BLOB"), "xyz"}, {nil, "z"}}})
}

func TestMeaningOf(t *testing.T) {
	for sql, want := range map[string]string{
		"BEGIN":                        "1 ",
		"COMMIT":                       "4 ",
		"ROLLBACK":                     "4 ",
		"ROLLBACK TO `s`":              "3 `s`",
		"SAVEPOINT `s`":                "3 `s`",
		"XA START X'61',X'',1":         "2 X'61',X'',1",
		"XA END X'61',X'',1":           "3 X'61',X'',1",
		"XA COMMIT X'61',X'',1":        "5 X'61',X'',1",
		"xa rollback X'61',X'',1":      "6 X'61',X'',1",
		"BEGINNING":                    "0 ",
		"SAVEPOINT":                    "0 ",
		"COMMIT AND CHAIN":             "0 ",
		"ALTER TABLE t":                "0 ",
		"":                             "0 ",
		"XA ":                          "0 ",
		"DROP TABLE `XA COMMIT `":      "0 ",
		strings.Repeat("SAVEPOINT", 2): "0 ",
	} {
		m, rest := meaningOf(sql)
		if got := fmt.Sprintf("%d %s", m, rest); got != want {
			t.Errorf("%q: %q, want %q", sql, got, want)
		}
	}
	if got := canonicalXID("X'AB', X'',1"); got != "X'ab',X'',1" {
		t.Error(got)
	}
}

func TestRefusedWatches(t *testing.T) {
	name := schema.Name{Schema: "s", Table: "t"}
	good := Watch{Table: name, Columns: []int{1, 0}, ColumnCount: 2}
	for _, c := range []struct {
		from    Position
		watches []Watch
	}{
		{Position{}, []Watch{good}},
		{Position{"b.1", 4}, []Watch{good, good}},
		{Position{"b.1", 4}, []Watch{{Table: name, ColumnCount: 2}}},
		{Position{"b.1", 4}, []Watch{{Table: name, ColumnCount: 2, Columns: []int{2}}}},
		{Position{"b.1", 4}, []Watch{{Table: name, ColumnCount: 2, Columns: []int{-1}}}},
		{Position{"b.1", 4}, []Watch{{Table: name, ColumnCount: 2, Columns: []int{0, 0}}}},
	} {
		err := NewReader(Server{Address: "127.0.0.1:1"}, c.watches, GTIDs{}).Run(t.Context(), c.from, ignore)
		if err == nil || errors.Is(err, ErrConnection) {
			t.Errorf("%v: %v", c, err)
		}
	}
}
