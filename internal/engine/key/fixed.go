package key

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
)

// addressColumn encodes INET4 and INET6 (MariaDB) as their bytes, whose order is the server's.
type addressColumn struct{ bytes int }

func (addressColumn) ordered() bool { return true }
func (c addressColumn) width() int  { return c.bytes }

func (c addressColumn) selectExpr(q string) string {
	return fmt.Sprintf("HEX(CAST(%s AS BINARY(%d)))", q, c.bytes)
}

func (c addressColumn) fromText(dst, text []byte) ([]byte, error) {
	return appendFixed(dst, text, c.bytes)
}

func (c addressColumn) fromBinlog(dst []byte, value any) ([]byte, error) {
	record, err := recordOf(value, c.bytes)
	return append(dst, record...), err
}

func (c addressColumn) literal(src string) (string, string) {
	address, _ := netip.AddrFromSlice([]byte(src[:c.bytes]))
	return "'" + address.String() + "'", src[c.bytes:]
}

// uuidColumn encodes UUID (MariaDB) as the server stores and compares it (MDEV-29959): a UUID of the
// versions 1 to 5 with its five groups in the opposite order, and others as they are written.
type uuidColumn struct{}

const uuidBytes = 16

func (uuidColumn) ordered() bool              { return true }
func (uuidColumn) width() int                 { return uuidBytes }
func (uuidColumn) selectExpr(q string) string { return addressColumn{uuidBytes}.selectExpr(q) }

func (uuidColumn) fromText(dst, text []byte) ([]byte, error) {
	written, err := appendFixed(nil, text, uuidBytes)
	if err != nil {
		return dst, err
	}
	if v := written[6]; v > 0 && v < 0x60 && written[8]&0x80 != 0 {
		written = stored(written)
	}
	return append(dst, written...), nil
}

// fromBinlog refuses values that a table of MariaDB 10.7 to 10.11.4 stores in another way than
// later ones. Neither the binlog nor the server shows which of them a table is.
func (uuidColumn) fromBinlog(dst []byte, value any) ([]byte, error) {
	record, err := recordOf(value, uuidBytes)
	if err != nil {
		return dst, err
	}
	written, turned := record, isTurned(record)
	if turned {
		written = writtenOf(record)
	}
	known := written[8]&0xC0 == 0x80 && written[6] >= 0x10 && written[6] < 0x80
	if !known && !bytes.Equal(record, writtenOf(record)) {
		return dst, fmt.Errorf("the UUID %s has none of the versions 1 to 7", uuidText(written))
	}
	return uuidColumn{}.fromText(dst, []byte(hex.EncodeToString(written)))
}

func (uuidColumn) literal(src string) (string, string) {
	record := []byte(src[:uuidBytes])
	if isTurned(record) {
		record = writtenOf(record)
	}
	return "'" + uuidText(record) + "'", src[uuidBytes:]
}

// isTurned reports whether a stored UUID has its groups in the opposite order.
func isTurned(record []byte) bool { return record[6]&0x80 != 0 && -record[8]&0x80 != 0 }

// stored turns the groups of a UUID as it is written, and writtenOf turns them back.
func stored(written []byte) []byte {
	return bytes.Join([][]byte{written[10:], written[8:10], written[6:8], written[4:6], written[:4]}, nil)
}

func writtenOf(record []byte) []byte {
	return bytes.Join([][]byte{record[12:], record[10:12], record[8:10], record[6:8], record[:6]}, nil)
}

func uuidText(written []byte) string {
	h := hex.EncodeToString(written)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// appendFixed appends the bytes of a text in hexadecimal digits.
func appendFixed(dst, text []byte, size int) ([]byte, error) {
	v, err := hex.DecodeString(string(text))
	if err == nil && len(v) != size {
		err = fmt.Errorf("%q has not %d bytes", text, size)
	}
	return append(dst, v...), err
}

// recordOf returns the bytes of a row event, which lacks zeros at the end.
func recordOf(value any, size int) ([]byte, error) {
	var v []byte
	switch value := value.(type) {
	case string:
		v = []byte(value)
	case []byte:
		v = bytes.Clone(value)
	}
	if v == nil || len(v) > size {
		return nil, fmt.Errorf("unexpected value %v (%T) in a row event", value, value)
	}
	return append(v, make([]byte, size-len(v))...), nil
}
