package key

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"midstream/internal/mysql/schema"
)

// columnFor returns the encoding of a column's type, or the reason why the type can't be part of a
// key that Midstream follows.
func columnFor(c schema.Column) (column, error) {
	switch c.DataType {
	case "tinyint":
		return integer(c, 8), nil
	case "smallint":
		return integer(c, 16), nil
	case "mediumint":
		return integer(c, 24), nil
	case "int", "integer":
		return integer(c, 32), nil
	case "bigint":
		return integer(c, 64), nil
	case "bit", "enum", "set", "year":
		if c.DataType == "set" && len(c.Members) > 53 {
			// The server compares a SET with a number as DOUBLE.
			return nil, fmt.Errorf("column %s is a SET of more than 53 members, which can't be followed as a key", c.Name)
		}
		return unsignedColumn{bits: 64}, nil
	case "float", "double", "real":
		return floatColumn{}, nil
	case "decimal", "numeric":
		return decimalColumn{precision: c.Precision, scale: c.Scale}, nil
	case "date":
		return temporalColumn{fraction: -1}, nil
	case "datetime", "timestamp":
		return temporalColumn{fraction: c.Fraction}, nil
	case "time":
		return timeColumn{fraction: c.Fraction}, nil
	case "inet4":
		return addressColumn{bytes: 4}, nil
	case "inet6":
		return addressColumn{bytes: 16}, nil
	case "uuid":
		return uuidColumn{}, nil
	case "binary":
		return bytesColumn{pad: int(c.Length), binary: true}, nil
	case "varbinary":
		return bytesColumn{binary: true}, nil
	case "char", "varchar":
		if c.Charset == "binary" {
			return bytesColumn{binary: true}, nil
		}
		return bytesColumn{charset: c.Charset, char: c.DataType == "char"}, nil
	}
	return nil, fmt.Errorf("column %s has type %s, which can't be followed as a key", c.Name, c.Type)
}

func integer(c schema.Column, bits int) column {
	if c.Unsigned {
		return unsignedColumn{bits: bits, whole: true}
	}
	return signedColumn{}
}

// signedColumn encodes a signed integer in 8 bytes with the sign bit flipped.
type signedColumn struct{}

func (signedColumn) ordered() bool              { return true }
func (signedColumn) width() int                 { return 8 }
func (signedColumn) selectExpr(q string) string { return q }

// fromText also reads the text of a wider type, which a key of the shadow may have: 8.00 of a
// DECIMAL.
func (signedColumn) fromText(dst, text []byte) ([]byte, error) {
	v, err := strconv.ParseInt(wholeText(text), 10, 64)
	return appendUint(dst, uint64(v)^signBit), err
}

// wholeText is the text of an integer that a DECIMAL may have written; a text that is no integer stays as it is.
func wholeText(text []byte) string {
	whole, fraction, _ := strings.Cut(string(text), ".")
	if strings.Trim(fraction, "0") != "" {
		return string(text)
	}
	return whole
}

func (c signedColumn) fromBinlog(dst []byte, value any) ([]byte, error) {
	if text, is := value.(string); is { // of a DECIMAL
		return c.fromText(dst, []byte(text))
	}
	v, ok := asInt(value)
	if !ok {
		return nil, fmt.Errorf("unexpected value %v (%T) in a row event", value, value)
	}
	return appendUint(dst, uint64(v)^signBit), nil
}

func (signedColumn) literal(src string) (string, string) {
	v, rest := readUint(src)
	return strconv.FormatInt(int64(v^signBit), 10), rest
}

// unsignedColumn encodes an unsigned integer, or the number behind a BIT, ENUM, SET or YEAR value,
// in 8 bytes.
type unsignedColumn struct {
	bits  int
	whole bool // an integer type
}

func (unsignedColumn) ordered() bool { return true }
func (unsignedColumn) width() int    { return 8 }

// selectExpr casts: ENUM, SET and BIT give their number. (Adding zero would use floating point,
// which loses bits of a SET of 64 members.)
func (c unsignedColumn) selectExpr(q string) string {
	if c.whole { // a cast would wrap -1, which the old table of an undo may have
		return q
	}
	return "CAST(" + q + " AS UNSIGNED)"
}

func (unsignedColumn) fromText(dst, text []byte) ([]byte, error) {
	v, err := strconv.ParseUint(wholeText(text), 10, 64)
	return appendUint(dst, v), err
}

func (c unsignedColumn) fromBinlog(dst []byte, value any) ([]byte, error) {
	if text, is := value.(string); is { // of a DECIMAL
		return c.fromText(dst, []byte(text))
	}
	v, ok := asInt(value)
	if !ok {
		return nil, fmt.Errorf("unexpected value %v (%T) in a row event", value, value)
	}
	u := uint64(v)
	if c.bits < 64 {
		u &= 1<<c.bits - 1 // row events may show it negative
	}
	return appendUint(dst, u), nil
}

func (unsignedColumn) literal(src string) (string, string) {
	v, rest := readUint(src)
	return strconv.FormatUint(v, 10), rest
}

// asInt widens any integer type; unsigned 64-bit values keep their bits.
func asInt(value any) (int64, bool) {
	switch v := value.(type) {
	case int8:
		return int64(v), true
	case int16:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case int:
		return int64(v), true
	case uint8:
		return int64(v), true
	case uint16:
		return int64(v), true
	case uint32:
		return int64(v), true
	case uint64:
		return int64(v), true
	case uint:
		return int64(v), true
	}
	return 0, false
}

// floatColumn encodes FLOAT and DOUBLE in the 8 bytes of a float64, ordered. A FLOAT is compared
// with the DOUBLE of the same value: WHERE f = 0.1 finds nothing in a FLOAT column, WHERE f =
// 0.10000000149011612e0 does.
type floatColumn struct{}

func (floatColumn) ordered() bool              { return true }
func (floatColumn) width() int                 { return 8 }
func (floatColumn) selectExpr(q string) string { return q + "+0e0" }

func (floatColumn) append(dst []byte, v float64) []byte {
	if v == 0 {
		v = 0 // -0 and 0 are one key
	}
	bits := math.Float64bits(v)
	if bits&signBit != 0 {
		return appendUint(dst, ^bits)
	}
	return appendUint(dst, bits|signBit)
}

func (c floatColumn) fromText(dst, text []byte) ([]byte, error) {
	v, err := strconv.ParseFloat(string(text), 64)
	return c.append(dst, v), err
}

func (c floatColumn) fromBinlog(dst []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case float32:
		return c.append(dst, float64(v)), nil
	case float64:
		return c.append(dst, v), nil
	}
	return nil, fmt.Errorf("unexpected value %v (%T) in a row event", value, value)
}

func (floatColumn) literal(src string) (string, string) {
	bits, rest := readUint(src)
	if bits&signBit != 0 {
		bits &^= signBit
	} else {
		bits = ^bits
	}
	return strconv.FormatFloat(math.Float64frombits(bits), 'e', -1, 64), rest
}

// decimalColumn encodes DECIMAL(p,s) as a sign byte and p digits; the digits of a negative number
// are complemented.
type decimalColumn struct{ precision, scale int }

func (decimalColumn) ordered() bool              { return true }
func (c decimalColumn) width() int               { return 1 + c.precision }
func (decimalColumn) selectExpr(q string) string { return q }

// fromText also reads the text of a wider type, with more zeros.
func (c decimalColumn) fromText(dst, text []byte) ([]byte, error) {
	s := string(text)
	negative := strings.HasPrefix(s, "-")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	for len(fraction) > c.scale && strings.HasSuffix(fraction, "0") {
		fraction = fraction[:len(fraction)-1]
	}
	whole = strings.TrimLeft(whole, "0")
	if len(whole) > c.precision-c.scale || len(fraction) > c.scale {
		return nil, fmt.Errorf("%s does not fit DECIMAL(%d,%d)", s, c.precision, c.scale)
	}
	digits := []byte(strings.Repeat("0", c.precision-c.scale-len(whole)) + whole +
		fraction + strings.Repeat("0", c.scale-len(fraction)))
	zero := true
	for _, d := range digits {
		if d < '0' || d > '9' {
			return nil, fmt.Errorf("%q is not a decimal number", s)
		}
		zero = zero && d == '0'
	}
	if negative && !zero {
		for i := range digits {
			digits[i] = '9' - (digits[i] - '0')
		}
		return append(append(dst, '-'), digits...), nil
	}
	// '-' (0x2d) sorts before '0' (0x30), which marks a number that is not negative.
	return append(append(dst, '0'), digits...), nil
}

func (c decimalColumn) fromBinlog(dst []byte, value any) ([]byte, error) {
	s, ok := value.(string)
	if !ok {
		return nil, fmt.Errorf("unexpected value %v (%T) in a row event", value, value)
	}
	return c.fromText(dst, []byte(s))
}

func (c decimalColumn) literal(src string) (string, string) {
	digits := []byte(src[1 : 1+c.precision])
	sign := ""
	if src[0] == '-' {
		sign = "-"
		for i := range digits {
			digits[i] = '9' - (digits[i] - '0')
		}
	}
	whole := strings.TrimLeft(string(digits[:c.precision-c.scale]), "0")
	if whole == "" {
		whole = "0"
	}
	rest := src[1+c.precision:]
	if c.scale == 0 {
		return sign + whole, rest
	}
	return sign + whole + "." + string(digits[c.precision-c.scale:]), rest
}

// temporalColumn encodes DATE, DATETIME and TIMESTAMP (in UTC) as their text of fixed length.
// fraction is -1 for DATE.
type temporalColumn struct{ fraction int }

func (temporalColumn) ordered() bool              { return true }
func (temporalColumn) selectExpr(q string) string { return q }

func (c temporalColumn) width() int {
	switch {
	case c.fraction < 0:
		return len("2006-01-02")
	case c.fraction == 0:
		return len("2006-01-02 15:04:05")
	}
	return len("2006-01-02 15:04:05.") + c.fraction
}

// fromText also reads the text of a wider type, with more zeros.
func (c temporalColumn) fromText(dst, text []byte) ([]byte, error) {
	s := string(text)
	if len(s) > c.width() && strings.Trim(s[c.width():], " :.0") == "" {
		s = s[:c.width()]
	}
	if c.fraction > 0 && len(s) == len("2006-01-02 15:04:05") {
		s += "."
	}
	if missing := c.width() - len(s); missing > 0 && c.fraction > 0 {
		s += strings.Repeat("0", missing)
	}
	if len(s) != c.width() {
		return nil, fmt.Errorf("%q has not the length of its type", text)
	}
	return append(dst, s...), nil
}

func (c temporalColumn) fromBinlog(dst []byte, value any) ([]byte, error) {
	s, ok := value.(string)
	if !ok {
		return nil, fmt.Errorf("unexpected value %v (%T) in a row event", value, value)
	}
	return c.fromText(dst, []byte(s))
}

func (c temporalColumn) literal(src string) (string, string) {
	return "'" + src[:c.width()] + "'", src[c.width():]
}

// timeColumn encodes TIME, which may be negative, as microseconds.
type timeColumn struct{ fraction int }

func (timeColumn) ordered() bool              { return true }
func (timeColumn) width() int                 { return 8 }
func (timeColumn) selectExpr(q string) string { return q }

func (timeColumn) fromText(dst, text []byte) ([]byte, error) {
	s := string(text)
	unsigned := strings.TrimPrefix(s, "-")
	clock, fraction, _ := strings.Cut(unsigned, ".")
	fields := strings.Split(clock, ":")
	if len(fields) != 3 || len(fraction) > 6 {
		return nil, fmt.Errorf("%q is not a time", s)
	}
	var n [4]int64
	for i, f := range append(fields, (fraction + "000000")[:6]) {
		v, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a time", s)
		}
		n[i] = v
	}
	micros := ((n[0]*60+n[1])*60+n[2])*1e6 + n[3]
	if len(unsigned) != len(s) {
		micros = -micros
	}
	return appendUint(dst, uint64(micros)^signBit), nil
}

func (c timeColumn) fromBinlog(dst []byte, value any) ([]byte, error) {
	s, ok := value.(string)
	if !ok {
		return nil, fmt.Errorf("unexpected value %v (%T) in a row event", value, value)
	}
	return c.fromText(dst, []byte(s))
}

func (c timeColumn) literal(src string) (string, string) {
	bits, rest := readUint(src)
	micros := int64(bits ^ signBit)
	sign := ""
	if micros < 0 {
		sign, micros = "-", -micros
	}
	seconds := micros / 1e6
	s := fmt.Sprintf("'%s%02d:%02d:%02d", sign, seconds/3600, seconds/60%60, seconds%60)
	if c.fraction > 0 {
		s += "." + fmt.Sprintf("%06d", micros%1e6)[:c.fraction]
	}
	return s + "'", rest
}

// bytesColumn encodes CHAR, VARCHAR, BINARY and VARBINARY: 0x00 becomes 0x00 0xFF and 0x00 0x01
// ends the value. Only binary columns are ordered.
type bytesColumn struct {
	// Row events have BINARY(n) without its trailing zeros.
	pad     int
	binary  bool
	charset string
	char    bool
}

func (c bytesColumn) ordered() bool { return c.binary }

// selectExpr takes off the blanks that the sql_mode PAD_CHAR_TO_FULL_LENGTH puts behind a CHAR: a row event does not have them.
func (c bytesColumn) selectExpr(q string) string {
	if c.char {
		q = "TRIM(TRAILING ' ' FROM " + q + ")"
	}
	return "HEX(" + q + ")"
}

func (c bytesColumn) append(dst, v []byte) []byte {
	n := len(v)
	for _, b := range v {
		if dst = append(dst, b); b == 0 {
			dst = append(dst, 0xFF)
		}
	}
	for ; n < c.pad; n++ {
		dst = append(dst, 0, 0xFF)
	}
	return append(dst, 0, 1)
}

func (c bytesColumn) fromText(dst, text []byte) ([]byte, error) {
	v, err := hex.DecodeString(string(text))
	if err != nil {
		return nil, err
	}
	return c.append(dst, v), nil
}

func (c bytesColumn) fromBinlog(dst []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case string:
		return c.append(dst, []byte(v)), nil
	case []byte:
		return c.append(dst, v), nil
	}
	return nil, fmt.Errorf("unexpected value %v (%T) in a row event", value, value)
}

func (c bytesColumn) literal(src string) (string, string) {
	end := terminated(src, false)
	raw := strings.ReplaceAll(src[:end-2], "\x00\xff", "\x00")
	introducer := ""
	if c.charset != "" {
		introducer = "_" + c.charset + " "
	}
	return introducer + "X'" + strings.ToUpper(hex.EncodeToString([]byte(raw))) + "'", src[end:]
}

// terminated returns the length in bytes of the terminated value at the head of src, its end mark
// included.
func terminated(src string, inverted bool) int {
	var flip byte
	if inverted {
		flip = 0xFF
	}
	for i := 0; i+1 < len(src); i++ {
		if src[i]^flip != 0 {
			continue
		}
		if src[i+1]^flip == 1 {
			return i + 2
		}
		i++
	}
	return len(src)
}
