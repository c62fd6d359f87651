package key

import (
	"errors"
	"strings"
	"testing"

	"midstream/internal/mysql/schema"
)

// FuzzCheck: whatever passes Check can be written, compared and formatted without a panic, and its
// literals have no text from the key outside of quotes.
func FuzzCheck(f *testing.F) {
	kinds := []schema.Column{
		{Name: "i", DataType: "int", Type: "int"},
		{Name: "u", DataType: "bigint", Type: "bigint unsigned", Unsigned: true},
		{Name: "d", DataType: "decimal", Type: "decimal(6,2)", Precision: 6, Scale: 2},
		{Name: "m", DataType: "datetime", Type: "datetime(3)", Fraction: 3},
		{Name: "t", DataType: "time", Type: "time"},
		{Name: "f", DataType: "double", Type: "double"},
		{Name: "b", DataType: "binary", Type: "binary(4)", Charset: "binary", Collation: "binary", Length: 4},
		{Name: "s", DataType: "varchar", Type: "varchar(9)", Charset: "latin1", Collation: "latin1_swedish_ci", Length: 9},
	}
	for i := range kinds {
		f.Add(uint8(i), uint8(i+1), i%2 == 0, []byte("\x80\x00\x00\x00\x00\x00\x00\x01\x80\x00\x00\x00\x00\x00\x00\x02"))
	}
	f.Add(uint8(3), uint8(2), false, []byte("2020-01-01 00:00:00.0000000123"))
	f.Add(uint8(3), uint8(3), false, []byte("2020-01-01' OR 1 -- .02020-01-01 00:00:00.000"))
	f.Add(uint8(6), uint8(7), true, []byte("a\x00\xff\x00\x01b\x00\x01"))
	f.Add(uint8(7), uint8(6), false, []byte("a\x00"))
	f.Fuzz(func(t *testing.T, a, b uint8, descending bool, data []byte) {
		codec, err := NewCodec([]Part{{Column: kinds[int(a)%len(kinds)], Descending: descending}, {Column: kinds[int(b)%len(kinds)]}})
		if err != nil {
			t.Fatal(err)
		}
		k := Key(data)
		if err := codec.Check(k); err != nil {
			if !errors.Is(err, ErrForeign) {
				t.Fatal(err)
			}
			return
		}
		for _, l := range codec.Literals(k) {
			if strings.Count(l, "'") != 0 && strings.Count(l, "'") != 2 || strings.Contains(l, "--") {
				t.Fatalf("literal %q", l)
			}
		}
		codec.Format(k)
		codec.Partition(k, 3)
		if order, known := codec.Compare(k, k); order != 0 || !known {
			t.Fatalf("a key compared with itself is %d, %t", order, known)
		}
	})
}
