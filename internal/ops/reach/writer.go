package reach

import (
	"io"
	"strings"
)

// Writer returns a writer whose texts get the flags that known returns at that time: those of a line of JSON in its fields. A
// text must be written at once, as the functions of fmt do. It is safe for concurrent use if out is.
func Writer(out io.Writer, known func() Flags) io.Writer { return &writer{out, known} }

type writer struct {
	out   io.Writer
	known func() Flags
}

func (w *writer) Write(text []byte) (int, error) {
	flags := w.known()
	var b strings.Builder
	for line := range strings.Lines(string(text)) { // a quote that is cut off ends with its line
		escaped := bare
		if strings.HasPrefix(line, "{") {
			escaped = inJSON
		}
		b.WriteString(flags.in(line, escaped, true))
	}
	if _, err := io.WriteString(w.out, b.String()); err != nil {
		return 0, err
	}
	return len(text), nil
}
