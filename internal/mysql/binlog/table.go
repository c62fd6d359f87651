package binlog

import (
	"bytes"
	"fmt"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
)

// table is the content of one table map about a watched table.
type table struct {
	watch   int
	name    string
	columns []column
	slots   int  // watched columns
	json    int  // JSON columns, for partial updates
	after   bool // of updates, only the row after
	lax     bool // rows may lack watched columns

	// reduced has the watched columns only, in the order of the watch.
	reduced *replication.TableMapEvent

	// definition is the table map from its names on, to recognize it when it comes again.
	definition []byte
}

// column is one column of a row image.
type column struct {
	layout
	slot int // place in the tuple; -1: not watched
	// json means that a partial update may hold a difference instead of a value.
	json bool
}

// tableMap records the table of a TABLE_MAP event under its id: nil if the table is not watched.
func (s *stream) tableMap(body []byte) error {
	c := cursor{data: body}
	id := c.uint(6)
	c.bytes(2) // flags
	definition := c.data
	schemaName := c.bytes(c.uint(1))
	c.bytes(1)
	tableName := c.bytes(c.uint(1))
	c.bytes(1)
	if c.short {
		return fmt.Errorf("%w: table map", errGarbled)
	}
	for i, w := range s.watches {
		if string(tableName) != w.Table.Table || string(schemaName) != w.Table.Schema {
			continue
		}
		if known := s.known[i]; known != nil && bytes.Equal(known.definition, definition) {
			s.tables[id] = known
			return nil
		}
		t, err := newTable(i, w, c)
		if err != nil {
			return fmt.Errorf("table %s: %w", w.Table, err)
		}
		t.definition = bytes.Clone(definition)
		s.known[i], s.tables[id] = t, t
		return nil
	}
	s.tables[id] = nil
	if s.weight != nil && string(tableName) == s.weighed.Table && string(schemaName) == s.weighed.Schema {
		s.tables[id] = onScales
	}
	return nil
}

// onScales represents the table with rows that are counted, and not decoded.
var onScales = &table{}

// newTable reads the columns of a table map.
func newTable(watch int, w Watch, c cursor) (*table, error) {
	count := c.packed()
	columns, known := w.columns(count)
	if !c.short && !known {
		return nil, fmt.Errorf("%w: the binlog shows %d columns, %d are known", ErrSchemaDrift, count, w.ColumnCount)
	}
	types := c.bytes(count)
	metadata := cursor{data: c.bytes(c.packed())}
	if c.short {
		return nil, fmt.Errorf("%w: table map", errGarbled)
	}

	t := &table{
		watch:   watch,
		name:    w.Table.String(),
		columns: make([]column, count),
		slots:   len(columns),
		after:   w.After,
		lax:     w.Lax,
		reduced: &replication.TableMapEvent{
			ColumnCount: uint64(len(columns)),
			ColumnType:  make([]byte, len(columns)),
			ColumnMeta:  make([]uint16, len(columns)),
		},
	}
	for i, typ := range types {
		meta := uint16(metadata.uint(metaSize(typ)))
		if typ == mysql.MYSQL_TYPE_STRING || typ == mysql.MYSQL_TYPE_NEWDECIMAL {
			meta = meta<<8 | meta>>8 // two values of a byte, the first one high
		}
		l, err := layoutOf(typ, meta)
		if err != nil {
			return nil, fmt.Errorf("column %d: %w", i, err)
		}
		col := column{layout: l, slot: -1, json: typ == mysql.MYSQL_TYPE_JSON}
		if col.json {
			t.json++
		}
		for slot, ordinal := range columns {
			if ordinal == i {
				col.slot = slot
				t.reduced.ColumnType[slot], t.reduced.ColumnMeta[slot] = typ, meta
			}
		}
		if col.slot >= 0 && typ == mysql.MYSQL_TYPE_TIME {
			// go-mysql takes a negative one for a number of 24 bits. Tables older than 5.6 only.
			return nil, fmt.Errorf("column %d: %w: TIME in the format of MySQL 5.5", i, ErrUnsupported)
		}
		t.columns[i] = col
	}
	if metadata.short {
		return nil, fmt.Errorf("%w: metadata of a table map", errGarbled)
	}
	return t, nil
}
