package ledger

// The functions here make values of plain columns: each from the hash of a nonce and of
// a number of its own (salt), so that two columns of a row don't follow each other.

type maker = func(dst []byte, n uint64) ([]byte, bool)

func hash(n, salt uint64) uint64 { return mix(n ^ salt<<40) }

// itself is the number as it is.
func itself(dst []byte, n uint64) ([]byte, bool) { return appendUint(dst, n), true }

// or makes NULL of one value in so many.
func or(make maker, oneIn, salt uint64) maker {
	return func(dst []byte, n uint64) ([]byte, bool) {
		if hash(n, salt+100)%oneIn == 0 {
			return dst, false
		}
		return make(dst, n)
	}
}

// below is a number from 0 up to a limit.
func below(salt, limit uint64) maker {
	return func(dst []byte, n uint64) ([]byte, bool) { return appendUint(dst, hash(n, salt)%limit), true }
}

// decimal is a number with a sign, of up to so many units of 10^-scale.
func decimal(salt uint64, limit int64, scale int) maker {
	return func(dst []byte, n uint64) ([]byte, bool) {
		return appendDecimal(dst, int64(hash(n, salt)%uint64(2*limit+1))-limit, scale), true
	}
}

func oneOf(salt uint64, members ...string) maker {
	return func(dst []byte, n uint64) ([]byte, bool) {
		return append(dst, members[hash(n, salt)%uint64(len(members))]...), true
	}
}

func setOf(salt uint64, members ...string) maker {
	return func(dst []byte, n uint64) ([]byte, bool) {
		h, from := hash(n, salt), len(dst)
		for i, m := range members {
			if h>>i&1 == 0 {
				continue
			}
			if len(dst) > from {
				dst = append(dst, ',')
			}
			dst = append(dst, m...)
		}
		return dst, true
	}
}

// eighths is a DOUBLE that every server prints in the same way: a number of eighths.
func eighths(dst []byte, n uint64) ([]byte, bool) {
	h := hash(n, 50)
	dst = appendUint(dst, h>>3%1_000_000)
	return append(dst, []string{"", ".125", ".25", ".375", ".5", ".625", ".75", ".875"}[h%8]...), true
}

func year(dst []byte, n uint64) ([]byte, bool) { return appendUint(dst, 1990+hash(n, 51)%120), true }

func day(dst []byte, n uint64) ([]byte, bool) { return appendDay(dst, hash(n, 52)%10_000), true }

// moment is a DATETIME(6).
func moment(dst []byte, n uint64) ([]byte, bool) {
	h := hash(n, 53)
	return appendTime(dst, h%20_000, h>>16%86_400, h>>36), true
}

// second is a TIMESTAMP, in the range of the type.
func second(dst []byte, n uint64) ([]byte, bool) {
	h := hash(n, 54)
	return appendClock(appendDay(dst, h%8_000), h>>16%86_400), true
}
