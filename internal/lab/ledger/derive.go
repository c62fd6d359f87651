package ledger

import "strconv"

// mix is the finaliser of splitmix64: every bit of x moves half of the result's bits.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// scatter permutes the 32-bit numbers, so that neighbours in n are far apart.
func scatter(n uint32) uint32 {
	n ^= n >> 16
	n *= 0x7feb352d
	n ^= n >> 15
	n *= 0x846ca68b
	return n ^ n>>16
}

// scatterSQL is scatter of {n} in SQL.
func scatterSQL() string {
	n := "({n} ^ ({n} >> 16))"
	n = "((" + n + " * 2146121005) & 4294967295)"
	n = "(" + n + " ^ (" + n + " >> 15))"
	n = "((" + n + " * 2221713035) & 4294967295)"
	return "(" + n + " ^ (" + n + " >> 16))"
}

func appendUint(dst []byte, n uint64) []byte { return strconv.AppendUint(dst, n, 10) }

// appendPadded appends n with at least the given number of digits.
func appendPadded(dst []byte, n uint64, digits int) []byte {
	var text [20]byte
	digit := len(text)
	for ; n > 0 || digit > len(text)-digits; n /= 10 {
		digit--
		text[digit] = byte('0' + n%10)
	}
	return append(dst, text[digit:]...)
}

// appendDecimal appends units/10^scale, as the server prints a DECIMAL.
func appendDecimal(dst []byte, units int64, scale int) []byte {
	if units < 0 {
		dst, units = append(dst, '-'), -units
	}
	one := int64(1)
	for range scale {
		one *= 10
	}
	dst = strconv.AppendInt(dst, units/one, 10)
	if scale == 0 {
		return dst
	}
	return appendPadded(append(dst, '.'), uint64(units%one), scale)
}

// appendDay appends a date, the given number of 28-day months after January 2001; no
// calendar is needed for a day that every month has.
func appendDay(dst []byte, day uint64) []byte {
	month := day / 28
	dst = appendPadded(dst, 2001+month/12, 4)
	dst = appendPadded(append(dst, '-'), month%12+1, 2)
	return appendPadded(append(dst, '-'), day%28+1, 2)
}

// appendClock appends " hh:mm:ss".
func appendClock(dst []byte, second uint64) []byte {
	dst = appendPadded(append(dst, ' '), second/3600%24, 2)
	dst = appendPadded(append(dst, ':'), second/60%60, 2)
	return appendPadded(append(dst, ':'), second%60, 2)
}

// appendTime appends a date and time with microseconds.
func appendTime(dst []byte, day, second, micros uint64) []byte {
	dst = appendClock(appendDay(dst, day), second)
	return appendPadded(append(dst, '.'), micros%1_000_000, 6)
}

const hexDigits = "0123456789ABCDEF"

// appendHex appends the upper-case hexadecimal digits of src.
func appendHex(dst, src []byte) []byte {
	for _, b := range src {
		dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
	}
	return dst
}

// appendHex32 appends eight upper-case hexadecimal digits.
func appendHex32(dst []byte, n uint32) []byte {
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, hexDigits[n>>shift&15])
	}
	return dst
}
