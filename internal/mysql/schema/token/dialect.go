package token

import (
	"bytes"
	"strings"
)

// Dialect is how a server reads the text of a statement.
type Dialect struct {
	// ANSIQuotes makes "x" a name. It is of the sql_mode.
	ANSIQuotes bool
	// NoBackslashEscapes makes a backslash a character like others. It is of the sql_mode.
	NoBackslashEscapes bool
	// MariaDB is the family of the server.
	MariaDB bool
	// Version is the server's, as a comment says it: 80012, 101106. It is 0 for a server that is not known.
	Version int
}

// Of returns the dialect of a server of the given version in a session with the given sql_mode.
func Of(mode string, mariaDB bool, major, minor, patch int) Dialect {
	d := Dialect{MariaDB: mariaDB, Version: major*10000 + minor*100 + patch}
	for word := range strings.SplitSeq(mode, ",") {
		switch strings.ToUpper(word) {
		case "ANSI_QUOTES": // the server spells out what ANSI, ORACLE and others mean
			d.ANSIQuotes = true
		case "NO_BACKSLASH_ESCAPES":
			d.NoBackslashEscapes = true
		}
	}
	return d
}

// Resolve writes a text of this dialect so that all readers read what this server reads: names are
// in backticks, strings in single quotes, where a backslash escapes, and of a comment whose content
// is code there is the content, if the server runs it. A comment becomes blanks, and the lines stay
// where they are. Without a Version, and where it does not say whether the server runs a comment,
// Resolve leaves that comment. closed is false if a quote or a comment does not end.
func (d Dialect) Resolve(text string) (resolved string, closed bool) {
	r := resolver{Dialect: d, text: text}
	for r.pos < len(r.text) {
		if !r.next() {
			return text, false
		}
	}
	return string(r.out), !r.executes
}

// Expression resolves an expression of an operator, which is to stand between parentheses. wrong is why it cannot; "" if it can.
func (d Dialect) Expression(text string) (expr, wrong string) {
	text, closed := d.Resolve(text)
	if !closed {
		return "", "a quote or a comment does not end"
	}
	if tokens, _ := Split(text); Unmatched(tokens) >= 0 {
		return "", "its parentheses do not match"
	}
	return strings.TrimSpace(text), ""
}

// resolver is one Resolve.
type resolver struct {
	Dialect
	text     string
	pos      int
	out      []byte
	executes bool // pos is in a comment that is code
	keeps    bool // the marks of that comment stay
}

// next reads one piece. It returns false if a quote or a comment is not closed.
func (r *resolver) next() bool {
	rest := r.text[r.pos:]
	switch c := rest[0]; {
	case c == '#', lineComment(rest):
		n := strings.IndexByte(rest, '\n')
		if n < 0 {
			n = len(rest)
		}
		r.drop(n)
	case r.executes && strings.HasPrefix(rest, "*/"):
		r.mark(len("*/"))
		r.executes, r.keeps = false, false
	case strings.HasPrefix(rest, "/*"):
		return r.comment(rest)
	case c == '`', c == '\'', c == '"':
		return r.quoted(c)
	case wordByte(c):
		n := 1
		for n < len(rest) && wordByte(rest[n]) {
			n++
		}
		r.copy(n)
	default:
		r.copy(1)
	}
	return true
}

func (r *resolver) write(text string) { r.out = append(r.out, text...) }

// last is the byte that was written last, or 0.
func (r *resolver) last() byte {
	if len(r.out) == 0 {
		return 0
	}
	return r.out[len(r.out)-1]
}

// copy writes the next bytes as they are.
func (r *resolver) copy(n int) {
	r.write(r.text[r.pos : r.pos+n])
	r.pos += n
}

// drop writes a blank in place of the next bytes, and the ends of their lines.
func (r *resolver) drop(n int) {
	operands := bytes.TrimRight(r.out, "-") // two operators with a blank behind them would begin a comment
	if minus := len(r.out) - len(operands); minus > 1 {
		r.out = append(operands, strings.Repeat(" -", minus)...)
	}
	r.write(" " + strings.Repeat("\n", strings.Count(r.text[r.pos:r.pos+n], "\n")))
	r.pos += n
}

// mark goes over what begins or ends a comment that is code.
func (r *resolver) mark(n int) {
	if r.keeps {
		r.copy(n)
	} else {
		r.drop(n)
	}
}

// comment reads what begins with a slash and a star.
func (r *resolver) comment(rest string) bool {
	runs, n := r.runs(rest)
	if runs == yes || runs == unknown {
		keeps := runs == unknown
		if r.executes && r.keeps != keeps { // its end would be the other's
			return false
		}
		r.executes, r.keeps = true, keeps
		r.mark(n)
		return true
	}
	n = commentEnd(rest, runs == skips)
	if n < 0 {
		return false
	}
	r.drop(n)
	return true
}

// answer says whether the server runs the content of a comment.
type answer int

const (
	plainly answer = iota // it is a comment for every server
	yes
	skips // the comment is for other versions: another comment may be in it
	unknown
)

// runs answers for the comment at the head of a text, and says how long its first mark is.
func (r *resolver) runs(rest string) (a answer, n int) {
	maria := strings.HasPrefix(rest, "/*M!")
	if !maria && !strings.HasPrefix(rest, "/*!") || maria && !r.MariaDB && r.Version != 0 {
		return plainly, 0
	}
	n = strings.IndexByte(rest, '!') + 1
	version, digits := 0, 0
	for digits < 6 && n+digits < len(rest) && rest[n+digits] >= '0' && rest[n+digits] <= '9' {
		version = version*10 + int(rest[n+digits]-'0')
		digits++
	}
	switch {
	case digits < 5: // it is code
		version, digits = 0, 0
	case digits == 6 && r.Version != 0 && !r.MariaDB:
		sixth := n+digits < len(rest) && blank(rest[n+digits])
		switch {
		case sixth && r.Version > lastFive && r.Version < firstSix:
			return unknown, n
		case !sixth || r.Version <= lastFive:
			version, digits = version/10, 5
		}
	}
	n += digits
	switch {
	case r.Version == 0:
		return unknown, n
	case version > r.Version, r.MariaDB && !maria && version >= 50700 && version <= 99999:
		return skips, n
	}
	return yes, n
}

// MySQL reads six digits and a blank as a version since one of the versions between these two, which were asked.
const lastFive, firstSix = 80012, 90704

// commentEnd returns the length of the comment at the head of a text, or -1. In one that the server
// skips there may be others.
func commentEnd(rest string, nests bool) int {
	pos := 2
	for pos < len(rest) {
		switch {
		case strings.HasPrefix(rest[pos:], "*/"):
			return pos + 2
		case nests && strings.HasPrefix(rest[pos:], "/*"):
			n := commentEnd(rest[pos:], false)
			if n < 0 {
				return -1
			}
			pos += n
		default:
			pos++
		}
	}
	return -1
}

// quoted reads a name or a string.
func (r *resolver) quoted(quote byte) bool {
	name := quote == '`' || quote == '"' && r.ANSIQuotes
	escapes := !name && !r.NoBackslashEscapes
	fresh, mark := byte('\''), "'"
	if name {
		fresh, mark = '`', "`"
	}
	if last := r.last(); last == '`' || last == '\'' || quote != fresh && wordByte(last) {
		r.write(" ") // `a"b"` are two names, `x"41"` is a name and a string
	}
	r.write(mark)
	for i := r.pos + 1; i < len(r.text); i++ {
		c := r.text[i]
		switch {
		case c == quote && (i+1 == len(r.text) || r.text[i+1] != quote):
			r.write(mark)
			r.pos = i + 1
			return true
		case c == quote, escapes && c == '\\' && i+1 < len(r.text):
			i++
			if c == '\\' {
				r.write(r.text[i-1 : i+1])
				continue
			}
		}
		if c == fresh || c == '\\' && !name && !escapes {
			r.out = append(r.out, c)
		}
		r.out = append(r.out, c)
	}
	return false
}
