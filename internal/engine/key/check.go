package key

import (
	"errors"
	"fmt"
	"strings"
)

// ErrForeign means that bytes are no key of the codec: they come from elsewhere, or were changed.
var ErrForeign = errors.New("not a key of this table")

// Check returns ErrForeign unless k has the form of the codec's keys. It is for keys that were
// stored, and may have been changed. The other methods trust any key, and write its contents into
// statements.
func (c *Codec) Check(k Key) error {
	rest := []byte(k)
	for i, col := range c.columns {
		value := rest
		if c.parts[i].Descending {
			value = append([]byte(nil), rest...)
			invert(value)
		}
		n, ok := wellFormed(col, string(value))
		if !ok {
			return fmt.Errorf("%w: column %s", ErrForeign, c.parts[i].Column.Name)
		}
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return fmt.Errorf("%w: %d bytes too many", ErrForeign, len(rest))
	}
	return nil
}

// wellFormed reports whether a value of the column is at the head of src, and how many bytes it
// has.
func wellFormed(col column, src string) (n int, ok bool) {
	fixed, is := col.(interface{ width() int })
	if !is {
		n = terminated(src, false)
		return n, strings.HasSuffix(src[:n], "\x00\x01")
	}
	if n = fixed.width(); n > len(src) {
		return 0, false
	}
	switch col.(type) {
	case temporalColumn:
		return n, only(src[:n], "0123456789-:. ")
	case decimalColumn:
		return n, strings.ContainsRune("0-", rune(src[0])) && only(src[1:n], "0123456789")
	}
	return n, true
}

// only reports whether a text has no other characters.
func only(text, characters string) bool {
	return strings.Trim(text, characters) == ""
}
