// Package escape has the one rule for showing text from others: names, statements, comments, error
// messages, accounts, and output of hooks. What a terminal, a log or a page would obey or hide becomes visible; letters of every
// language stay as they are.
//
// A character that cannot be seen becomes \uXXXX, as in JSON, so that the value of a JSON text
// stays the same. A byte that is not UTF-8 becomes \xXX.
package escape

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Joiners of letters and of emoji, which cannot be seen and change what is seen.
const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
)

// Shown reports whether a character may be shown as it is. Newlines and tabs are not: they end a line or a cell.
func Shown(r rune) bool {
	return unicode.IsPrint(r) || unicode.Is(unicode.Zs, r) || r == nonJoiner || r == joiner
}

// Line returns a text of others as a part of one line.
func Line(text string) string { return visible(text, "") }

// Text returns a text of several lines that we made. REQUIRES: its parts from others went through
// Line, so that none begins a line.
func Text(text string) string { return visible(text, "\n\t") }

// Lines returns a text of others of which each line is shown as a line, after indent.
func Lines(text, indent string) string {
	return strings.ReplaceAll(Text(strings.ReplaceAll(text, "\r\n", "\n")), "\n", "\n"+indent)
}

// visible escapes all that is not shown, but for the characters in kept.
func visible(text, kept string) string {
	plain := true
	for i, r := range text {
		if r == utf8.RuneError && !encoded(text[i:]) || !Shown(r) && !strings.ContainsRune(kept, r) {
			plain = false
			break
		}
	}
	if plain {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case Shown(r) || strings.ContainsRune(kept, r):
			b.WriteString(text[i : i+size])
		default:
			b.WriteString(code(r))
		}
		i += size
	}
	return b.String()
}

// encoded reports whether a text begins with U+FFFD itself, and not with a byte that is not UTF-8.
func encoded(text string) bool {
	_, size := utf8.DecodeRuneInString(text)
	return size > 1
}

// code is a character as JSON escapes it.
func code(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Args returns the arguments of a format so that no text of others begins a line or is obeyed by a
// terminal. Types with a String of their own stay: theirs is fit to be shown.
func Args(args ...any) []any {
	escaped := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case Ours:
			escaped[i] = Text(string(arg))
		case string:
			escaped[i] = Line(arg)
		case error:
			escaped[i] = Error(arg)
		default:
			escaped[i] = arg
		}
	}
	return escaped
}

// Ours is an argument of several lines whose parts from others are escaped already.
type Ours string

// Writer returns a writer to a terminal or a file that people read: it escapes all but newlines and
// tabs. It is the last resort for what no surface escaped; that nobody begins a line is the
// surface's task. It is safe for concurrent use.
func Writer(out io.Writer) io.Writer { return &writer{out: out} }

type writer struct {
	mu   sync.Mutex
	out  io.Writer
	part []byte // of a character whose rest comes with the next write
}

func (w *writer) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	whole := append(w.part, text...)
	end := len(whole)
	for n := 1; n < utf8.UTFMax && n <= len(whole); n++ {
		if at := len(whole) - n; utf8.RuneStart(whole[at]) {
			if !utf8.FullRune(whole[at:]) {
				end = at
			}
			break
		}
	}
	w.part = append([]byte(nil), whole[end:]...)
	if end == 0 {
		return len(text), nil
	}
	if _, err := io.WriteString(w.out, Text(string(whole[:end]))); err != nil {
		return 0, err
	}
	return len(text), nil
}
