package binlog

import (
	"fmt"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// layout is the size of a column's value in a row image, in bytes. It is either fixed, or the value
// of the little-endian integer of prefix bytes before it.
type layout struct {
	fixed  int
	prefix int
}

// layoutOf returns the layout of a column type with the metadata of its table map.
func layoutOf(typ byte, meta uint16) (layout, error) {
	high, low := int(meta>>8), int(meta&0xff)
	switch typ {
	case mysql.MYSQL_TYPE_NULL:
		return layout{}, nil
	case mysql.MYSQL_TYPE_TINY, mysql.MYSQL_TYPE_YEAR:
		return layout{fixed: 1}, nil
	case mysql.MYSQL_TYPE_SHORT:
		return layout{fixed: 2}, nil
	case mysql.MYSQL_TYPE_INT24, mysql.MYSQL_TYPE_DATE, mysql.MYSQL_TYPE_TIME:
		return layout{fixed: 3}, nil
	case mysql.MYSQL_TYPE_LONG, mysql.MYSQL_TYPE_FLOAT, mysql.MYSQL_TYPE_TIMESTAMP:
		return layout{fixed: 4}, nil
	case mysql.MYSQL_TYPE_LONGLONG, mysql.MYSQL_TYPE_DOUBLE, mysql.MYSQL_TYPE_DATETIME:
		return layout{fixed: 8}, nil
	case mysql.MYSQL_TYPE_TIME2:
		return layout{fixed: 3 + (low+1)/2}, nil
	case mysql.MYSQL_TYPE_TIMESTAMP2:
		return layout{fixed: 4 + (low+1)/2}, nil
	case mysql.MYSQL_TYPE_DATETIME2:
		return layout{fixed: 5 + (low+1)/2}, nil
	case mysql.MYSQL_TYPE_NEWDECIMAL:
		if low > high || high == 0 || high > 65 {
			return layout{}, fmt.Errorf("%w: DECIMAL(%d,%d)", errGarbled, high, low)
		}
		return layout{fixed: decimalSize(high-low) + decimalSize(low)}, nil
	case mysql.MYSQL_TYPE_BIT:
		return layout{fixed: high + (low+7)/8}, nil
	case mysql.MYSQL_TYPE_VARCHAR, mysql.MYSQL_TYPE_VAR_STRING, varcharCompressed:
		return stringLayout(int(meta)), nil
	case mysql.MYSQL_TYPE_STRING:
		return packedStringLayout(high, low)
	case mysql.MYSQL_TYPE_BLOB, mysql.MYSQL_TYPE_GEOMETRY, mysql.MYSQL_TYPE_JSON, mysql.MYSQL_TYPE_VECTOR, blobCompressed:
		if meta < 1 || meta > 4 {
			return layout{}, fmt.Errorf("%w: length in %d bytes", errGarbled, meta)
		}
		return layout{prefix: int(meta)}, nil
	}
	return layout{}, fmt.Errorf("%w: column type %d", ErrUnsupported, typ)
}

// These are the types of MariaDB's COMPRESSED columns (its enum_field_types). Their layouts are
// those of the types that they compress.
const (
	blobCompressed    = 140
	varcharCompressed = 141
)

// decimalSize returns the bytes of n digits on one side of a DECIMAL's point: four for
// every nine digits, fewer for the rest.
func decimalSize(n int) int {
	rest := [...]int{0, 1, 1, 2, 2, 3, 3, 4, 4}
	return n/9*4 + rest[n%9]
}

func stringLayout(length int) layout {
	if length < 256 {
		return layout{prefix: 1}
	}
	return layout{prefix: 2}
}

// packedStringLayout is the layout of CHAR and BINARY, and of ENUM and SET, which have the same
// type. The metadata's high byte is the real type. A length beyond 255 has its two upper bits there
// too, inverted, in bits 4 and 5. All types that can occur have these bits set.
func packedStringLayout(high, low int) (layout, error) {
	switch {
	case high == 0:
		return stringLayout(low), nil
	case high&0x30 != 0x30:
		low |= (high&0x30 ^ 0x30) << 4
		high |= 0x30
	}
	switch byte(high) {
	case mysql.MYSQL_TYPE_STRING:
		return stringLayout(low), nil
	case mysql.MYSQL_TYPE_ENUM, mysql.MYSQL_TYPE_SET:
		return layout{fixed: low & 0xff}, nil
	}
	return layout{}, fmt.Errorf("%w: column type %d", ErrUnsupported, high)
}

// metaSize returns the number of bytes of a column type in a table map's metadata. layoutOf judges
// the type itself. An unknown type there would shift the metadata of all later columns.
func metaSize(typ byte) uint64 {
	switch typ {
	case mysql.MYSQL_TYPE_STRING, mysql.MYSQL_TYPE_NEWDECIMAL, mysql.MYSQL_TYPE_VAR_STRING,
		mysql.MYSQL_TYPE_VARCHAR, mysql.MYSQL_TYPE_BIT, varcharCompressed:
		return 2
	case mysql.MYSQL_TYPE_BLOB, mysql.MYSQL_TYPE_DOUBLE, mysql.MYSQL_TYPE_FLOAT, mysql.MYSQL_TYPE_GEOMETRY,
		mysql.MYSQL_TYPE_VECTOR, mysql.MYSQL_TYPE_JSON, mysql.MYSQL_TYPE_TIME2,
		mysql.MYSQL_TYPE_DATETIME2, mysql.MYSQL_TYPE_TIMESTAMP2, blobCompressed:
		return 1
	}
	return 0
}
