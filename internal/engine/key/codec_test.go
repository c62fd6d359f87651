package key

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"midstream/internal/mysql/schema"
)

// value is a key column's value in all its forms.
type value struct {
	binlog any    // as go-mysql decodes it
	text   string // as a query over SelectExprs gives it
	order  any    // int64, uint64, float64, *big.Rat, or string by bytes
}

// sample is a column type with a source of values that prefers the edges.
type sample struct {
	column schema.Column
	draw   func(r *rand.Rand) value
}

func columnOf(dataType string, change ...func(*schema.Column)) schema.Column {
	c := schema.Column{Name: "c", DataType: dataType, Type: dataType}
	for _, f := range change {
		f(&c)
	}
	return c
}

func unsigned(c *schema.Column) { c.Unsigned = true }

func decimal(precision, scale int) func(*schema.Column) {
	return func(c *schema.Column) { c.Precision, c.Scale = precision, scale }
}

func fraction(n int) func(*schema.Column) { return func(c *schema.Column) { c.Fraction = n } }

func length(n int64) func(*schema.Column) { return func(c *schema.Column) { c.Length = n } }

func charset(s string) func(*schema.Column) { return func(c *schema.Column) { c.Charset = s } }

// ordered are the types whose keys the client compares as the server does.
var ordered = map[string]sample{
	"tinyint":            {columnOf("tinyint"), signed(8)},
	"smallint":           {columnOf("smallint"), signed(16)},
	"mediumint":          {columnOf("mediumint"), signed(24)},
	"int":                {columnOf("int"), signed(32)},
	"bigint":             {columnOf("bigint"), signed(64)},
	"tinyint unsigned":   {columnOf("tinyint", unsigned), unsignedValue(8)},
	"mediumint unsigned": {columnOf("mediumint", unsigned), unsignedValue(24)},
	"bigint unsigned":    {columnOf("bigint", unsigned), unsignedValue(64)},
	"set":                {columnOf("set"), unsignedValue(64)},
	"float":              {columnOf("float"), floating(32)},
	"double":             {columnOf("double"), floating(64)},
	"decimal(9,4)":       {columnOf("decimal", decimal(9, 4)), decimalValue(9, 4)},
	"decimal(5,0)":       {columnOf("decimal", decimal(5, 0)), decimalValue(5, 0)},
	"decimal(3,3)":       {columnOf("decimal", decimal(3, 3)), decimalValue(3, 3)},
	"date":               {columnOf("date"), temporal("%04d-%02d-%02d", 3, 0)},
	"datetime":           {columnOf("datetime"), temporal("%04d-%02d-%02d %02d:%02d:%02d", 6, 0)},
	"timestamp(3)":       {columnOf("timestamp", fraction(3)), temporal("%04d-%02d-%02d %02d:%02d:%02d", 6, 3)},
	"time":               {columnOf("time"), timeValue(0)},
	"time(2)":            {columnOf("time", fraction(2)), timeValue(2)},
	"binary(5)":          {columnOf("binary", length(5), charset("binary")), bytesValue(5)},
	"varbinary":          {columnOf("varbinary", charset("binary")), bytesValue(0)},
}

func edge(r *rand.Rand) uint64 {
	switch r.IntN(4) {
	case 0:
		return uint64(r.IntN(4)) - 2
	case 1:
		return 1<<r.IntN(64) - uint64(r.IntN(2))
	}
	return r.Uint64()
}

func signed(bits int) func(r *rand.Rand) value {
	return func(r *rand.Rand) value {
		v := int64(edge(r)) << (64 - bits) >> (64 - bits)
		return value{binlog: sized(bits, v), text: fmt.Sprint(v), order: v}
	}
}

// unsignedValue is an unsigned value that a row event shows as a signed one.
func unsignedValue(bits int) func(r *rand.Rand) value {
	return func(r *rand.Rand) value {
		v := edge(r) << (64 - bits) >> (64 - bits)
		return value{binlog: sized(bits, int64(v<<(64-bits))>>(64-bits)), text: fmt.Sprint(v), order: v}
	}
}

func sized(bits int, v int64) any {
	switch bits {
	case 8:
		return int8(v)
	case 16:
		return int16(v)
	case 24, 32:
		return int32(v)
	}
	return v
}

func floating(bits int) func(r *rand.Rand) value {
	return func(r *rand.Rand) value {
		v := []float64{0, math.Copysign(0, -1), 1, -1, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32,
			r.NormFloat64(), r.NormFloat64() * 1e9}[r.IntN(9)]
		if bits == 64 {
			return value{binlog: v, text: fmt.Sprintf("%.17g", v), order: v}
		}
		f := float32(v)
		return value{binlog: f, text: fmt.Sprintf("%.17g", float64(f)), order: float64(f)}
	}
}

func decimalValue(precision, scale int) func(r *rand.Rand) value {
	return func(r *rand.Rand) value {
		limit := int64(math.Pow10(precision))
		n := []int64{0, 1, limit - 1, r.Int64N(limit), r.Int64N(100) % limit}[r.IntN(5)]
		digits := fmt.Sprintf("%0*d", precision, n)
		whole := strings.TrimLeft(digits[:precision-scale], "0")
		if whole == "" {
			whole = "0"
		}
		text := whole
		if scale > 0 {
			text += "." + digits[precision-scale:]
		}
		if r.IntN(2) == 0 && n != 0 {
			text = "-" + text
		}
		order, _ := new(big.Rat).SetString(text)
		return value{binlog: text, text: text, order: order}
	}
}

func temporal(format string, fields, digits int) func(r *rand.Rand) value {
	return func(r *rand.Rand) value {
		parts := []any{r.IntN(10000), 1 + r.IntN(12), 1 + r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60)}
		if r.IntN(8) == 0 {
			parts = []any{0, 0, 0, 0, 0, 0}
		}
		text := fmt.Sprintf(format, parts[:fields]...)
		if digits > 0 {
			text += fmt.Sprintf(".%0*d", digits, r.IntN(int(math.Pow10(digits))))
		}
		return value{binlog: text, text: text, order: text}
	}
}

func timeValue(digits int) func(r *rand.Rand) value {
	return func(r *rand.Rand) value {
		h, m, s := r.IntN(839), r.IntN(60), r.IntN(60)
		f := r.IntN(int(math.Pow10(digits)))
		if r.IntN(4) == 0 {
			h, m, s = 0, 0, r.IntN(2)
		}
		text := fmt.Sprintf("%02d:%02d:%02d", h, m, s)
		if digits > 0 {
			text += fmt.Sprintf(".%0*d", digits, f)
		}
		order := int64(h*3600+m*60+s)*int64(math.Pow10(digits)) + int64(f)
		if r.IntN(2) == 0 && order > 0 {
			text, order = "-"+text, -order
		}
		return value{binlog: text, text: text, order: order}
	}
}

// bytesValue is a value of BINARY(n), which row events show without its trailing zeros, or of
// VARBINARY.
func bytesValue(n int) func(r *rand.Rand) value {
	return func(r *rand.Rand) value {
		b := make([]byte, r.IntN(max(n, 4)+1))
		for i := range b {
			b[i] = []byte{0, 1, 0xFE, 0xFF, 'a', byte(r.Uint32())}[r.IntN(6)]
		}
		stored := string(b)
		if n > 0 {
			stored += strings.Repeat("\x00", n-len(b))
			return value{binlog: strings.TrimRight(stored, "\x00"), text: fmt.Sprintf("%X", stored), order: stored}
		}
		return value{binlog: stored, text: fmt.Sprintf("%X", stored), order: stored}
	}
}

func compareOrder(a, b any) int {
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case uint64:
		return cmp.Compare(a, b.(uint64))
	case float64:
		return cmp.Compare(a, b.(float64))
	case *big.Rat:
		return a.Cmp(b.(*big.Rat))
	case string:
		return strings.Compare(a, b.(string))
	}
	panic("unknown order")
}

func codec(t *testing.T, parts ...Part) *Codec {
	t.Helper()
	c, err := NewCodec(parts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// encode encodes a key as a row event gives it and as a query gives it.
func encode(t *testing.T, c *Codec, values ...value) Key {
	t.Helper()
	var tuple []any
	var texts [][]byte
	for _, v := range values {
		tuple, texts = append(tuple, v.binlog), append(texts, []byte(v.text))
	}
	fromBinlog, err := c.FromBinlog(tuple)
	if err != nil {
		t.Fatal(err)
	}
	fromText, err := c.FromText(texts)
	if err != nil {
		t.Fatal(err)
	}
	if fromBinlog != fromText {
		t.Errorf("%v is %q from a row event and %q from a query", values, fromBinlog, fromText)
	}
	return fromBinlog
}

// Encoded keys compare as their values do, and backwards in a descending part.
func TestOrderOfKeysIsThatOfValues(t *testing.T) {
	for name, s := range ordered {
		up, down := codec(t, Part{Column: s.column}), codec(t, Part{Column: s.column, Descending: true})
		r := rand.New(rand.NewPCG(1, 2))
		for range 3000 {
			a, b := s.draw(r), s.draw(r)
			want := compareOrder(a.order, b.order)
			if got, known := up.Compare(encode(t, up, a), encode(t, up, b)); got != want || !known {
				t.Fatalf("%s: %s and %s compare as %d, %v, want %d", name, a.text, b.text, got, known, want)
			}
			if got, known := down.Compare(encode(t, down, a), encode(t, down, b)); got != -want || !known {
				t.Fatalf("%s descending: %s and %s compare as %d, %v, want %d", name, a.text, b.text, got, known, -want)
			}
			if got := strings.Compare(string(encode(t, down, a)), string(encode(t, down, b))); got != -want {
				t.Fatalf("%s descending: the bytes of %s and %s compare as %d, want %d", name, a.text, b.text, got, -want)
			}
		}
	}
}

// A key's literals are the texts of its values: read again, they give the same key.
func TestLiteralsRoundTrip(t *testing.T) {
	for name, s := range ordered {
		for _, descending := range []bool{false, true} {
			c := codec(t, Part{Column: columnOf("varchar", charset("utf8mb4"))}, Part{Column: s.column, Descending: descending},
				Part{Column: columnOf("varbinary", charset("binary")), Descending: true})
			r := rand.New(rand.NewPCG(3, 4))
			for range 500 {
				k := encode(t, c, bytesValue(0)(r), s.draw(r), bytesValue(0)(r))
				var texts [][]byte
				for _, l := range c.Literals(k) {
					texts = append(texts, textOf(t, l))
				}
				again, err := c.FromText(texts)
				if err != nil || again != k {
					t.Fatalf("%s: %q gives the literals %v, and they give %q, %v", name, k, c.Literals(k), again, err)
				}
			}
		}
	}
}

// textOf is what a query gives for a literal.
func textOf(t *testing.T, literal string) []byte {
	t.Helper()
	literal = strings.TrimPrefix(literal, "_utf8mb4 ")
	if digits, is := strings.CutPrefix(literal, "X'"); is {
		digits = strings.TrimSuffix(digits, "'")
		if _, err := hex.DecodeString(digits); err != nil {
			t.Fatal(err)
		}
		return []byte(digits)
	}
	return []byte(strings.Trim(literal, "'"))
}

// In a key of several columns the first difference decides. A column with a collation makes the
// order unknown, unless both values are equal byte for byte.
func TestCompareKnowsWhatItKnows(t *testing.T) {
	parts := []Part{
		{Column: columnOf("int")},
		{Column: columnOf("varchar", charset("utf8mb4"))},
		{Column: columnOf("bigint", unsigned), Descending: true},
	}
	c := codec(t, parts...)
	r := rand.New(rand.NewPCG(5, 6))
	number, text, last := signed(32), bytesValue(0), unsignedValue(64)
	for range 5000 {
		a := []value{number(r), text(r), last(r)}
		b := []value{number(r), text(r), last(r)}
		for i := range b {
			if r.IntN(2) == 0 {
				b[i] = a[i]
			}
		}
		want, known := 0, true
		for i := range a {
			if want = compareOrder(a[i].order, b[i].order); want != 0 {
				known = i != 1
				break
			}
		}
		if a[0].text == b[0].text && a[1].text == b[1].text {
			want = -want
		}
		got, sure := c.Compare(encode(t, c, a...), encode(t, c, b...))
		if sure != known || known && got != want {
			t.Fatalf("%v and %v compare as %d, %v, want %d, %v", a, b, got, sure, want, known)
		}
	}
	if c.Ordered() {
		t.Error("a key with a collated column is ordered")
	}
}

// Law L2: keys that the server may treat as equal go to one worker.
func TestL2_PartitionKeepsEqualKeysTogether(t *testing.T) {
	c := codec(t, Part{Column: columnOf("int")}, Part{Column: columnOf("varchar", charset("utf8mb4")), Descending: true},
		Part{Column: columnOf("datetime")})
	r := rand.New(rand.NewPCG(7, 8))
	date := temporal("%04d-%02d-%02d %02d:%02d:%02d", 6, 0)
	used := map[int]int{}
	for range 2000 {
		number, when := signed(32)(r), date(r)
		spelled := func(s string) Key {
			return encode(t, c, number, value{binlog: s, text: hex.EncodeToString([]byte(s))}, when)
		}
		first := c.Partition(spelled("Straße"), 7)
		for _, s := range []string{"strasse", "STRASSE ", "stra\x00sse", ""} {
			if got := c.Partition(spelled(s), 7); got != first {
				t.Fatalf("%q goes to worker %d, another spelling to %d", s, got, first)
			}
		}
		used[first]++
	}
	if len(used) != 7 || used[7] > 0 {
		t.Errorf("workers used: %v", used)
	}
	if got := c.Partition(encode(t, c, signed(32)(r), bytesValue(0)(r), date(r)), 1); got != 0 {
		t.Errorf("the only worker is %d", got)
	}
}

// A key of any bytes is split into the columns that it was made of.
func FuzzKeysComeApart(f *testing.F) {
	f.Add([]byte("a\x00b"), []byte(""), int64(-1))
	f.Add([]byte("\x00\x01"), []byte("\xff\xfe\x00"), int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, a, b []byte, n int64) {
		for _, descending := range []bool{false, true} {
			c := codec(t, Part{Column: columnOf("varbinary", charset("binary")), Descending: descending},
				Part{Column: columnOf("bigint"), Descending: !descending},
				Part{Column: columnOf("varchar", charset("utf8mb4")), Descending: descending})
			k, err := c.FromBinlog([]any{a, n, string(b)})
			if err != nil {
				t.Fatal(err)
			}
			want := []string{fmt.Sprintf("X'%X'", a), fmt.Sprint(n), fmt.Sprintf("_utf8mb4 X'%X'", b)}
			if got := c.Literals(k); strings.Join(got, ",") != strings.Join(want, ",") {
				t.Errorf("literals are %v, want %v", got, want)
			}
			if order, known := c.Compare(k, k); order != 0 || !known {
				t.Errorf("a key compares with itself as %d, %v", order, known)
			}
		}
	})
}

func TestKeysThatCantBeFollowed(t *testing.T) {
	for _, dataType := range []string{"text", "blob", "json", "geometry"} {
		if _, err := NewCodec([]Part{{Column: columnOf(dataType)}}); err == nil {
			t.Errorf("%s is taken for a key column", dataType)
		}
	}
	c := codec(t, Part{Column: columnOf("int")})
	for _, tuple := range [][]any{{nil}, {"text"}, {}, {int32(1), int32(2)}} {
		if k, err := c.FromBinlog(tuple); err == nil {
			t.Errorf("%v became the key %q", tuple, k)
		}
	}
	if k, err := c.FromText([][]byte{nil}); err == nil {
		t.Errorf("NULL became the key %q", k)
	}
}
