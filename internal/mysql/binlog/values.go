package binlog

import (
	"bytes"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"
)

// decode turns row images of the watched columns into tuples. The strings and bytes of the tuples
// are in images, so images must not be written to again.
func (t *table) decode(rows *replication.RowsEvent, images []byte) ([][]any, error) {
	event := *rows
	event.Table = t.reduced
	event.ColumnCount = t.reduced.ColumnCount
	event.ColumnBitmap1 = bytes.Repeat([]byte{0xff}, bitmapSize(t.slots))
	if err := event.DecodeData(0, images); err != nil {
		return nil, err
	}
	return event.Rows, nil
}

// newRowDecoder returns an event without rows. Its DecodeData reads images one after the other and
// gives TIMESTAMP in UTC. Only go-mysql's parser makes such an event, so newRowDecoder gives a
// parser the head of a binlog and the head of a WRITE_ROWS event.
func newRowDecoder() (*replication.RowsEvent, error) {
	var decoder *replication.RowsEvent
	parser := replication.NewBinlogParser()
	parser.SetTimestampStringLocation(time.UTC)
	parser.SetRowsEventDecodeFunc(func(e *replication.RowsEvent, _ []byte) error {
		decoder = e
		return nil
	})
	format := make([]byte, 2+50+4+1, 128)
	copy(format[2:], "8.0.0")
	format[2+50+4] = headerSize
	format = append(format, bytes.Repeat([]byte{8}, eventTaggedGTID)...) // header lengths by type
	format = append(format, 0, 0, 0, 0, 0)                               // no checksums
	for _, event := range [][]byte{frame(eventFormat, format), frame(eventWriteRows2, nil)} {
		if _, err := parser.Parse(event); err != nil {
			return nil, err
		}
	}
	return decoder, nil
}

// frame puts a header before an event's body.
func frame(kind byte, body []byte) []byte {
	size := headerSize + len(body)
	event := make([]byte, headerSize, size)
	event[4] = kind
	event[9], event[10], event[11], event[12] = byte(size), byte(size>>8), byte(size>>16), byte(size>>24)
	return append(event, body...)
}
