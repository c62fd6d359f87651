package reach

import (
	"regexp"
	"strings"
)

const program = "midstream "

// word is a part of a text that no line break divides.
type word struct{ from, to int }

// Words splits a text at its blanks, but not within quotes or commands: both are copied. A quote opens at the beginning of a word,
// after a sign such as =, or next to another quoted part. An apostrophe does not, and neither does a quote that nothing closes.
func Words(text string) (all []string) {
	for _, w := range split(text) {
		all = append(all, text[w.from:w.to])
	}
	return all
}

// split returns the words of a text.
func split(text string) (all []word) {
	others := 0 // what is before this is a text of others
	for at := 0; at < len(text); {
		if blank(text[at]) {
			at++
			continue
		}
		w := word{from: at}
		if at >= others && (strings.HasPrefix(text[at:], "/*") || strings.HasPrefix(text[at:], "-- ")) {
			others = comment(text, at)
		}
		start := at
		if text[at] == '(' {
			start++
		}
		if to := command(text, start); to > 0 && at >= others {
			w.to = to
		} else {
			var open bool
			if w.to, open = endOf(text, at); open && at >= others {
				others = lineEnd(text, at)
			}
		}
		if w.to < len(text) && !blank(text[w.to]) { // the punctuation behind a command
			w.to, _ = endOf(text, w.to)
		}
		all, at = append(all, w), w.to
	}
	return all
}

func blank(c byte) bool { return strings.IndexByte(" \t\r\n", c) >= 0 }

func lineEnd(text string, at int) int {
	if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(text)
}

// comment is where a comment of SQL ends.
func comment(text string, at int) int {
	if n := strings.Index(text[at:], "*/"); n >= 0 && text[at] == '/' {
		return at + n
	}
	return lineEnd(text, at)
}

// endOf is where a word ends. open says that a quote at the beginning of a part is not closed on its line.
func endOf(text string, at int) (end int, open bool) {
	quoted := false
	for from := at; at < len(text) && !blank(text[at]); at++ {
		c := text[at]
		switch {
		case strings.IndexByte("'\"`", c) >= 0 && (at == from || quoted || strings.IndexByte("=(,[$", text[at-1]) >= 0):
			n := closing(text, at)
			if n < 0 {
				open = true
				continue
			}
			at, quoted = n, true
		case c == '\\' && quoted && at+1 < len(text): // 'it'\''s', as a shell takes it
			at++
		}
	}
	return min(at, len(text)), open
}

// closing is where the quote at a place is closed; negative if it is not. $'it\'s' has an escaped quote. A statement that was
// shortened ends with … in its quotes.
func closing(text string, at int) int {
	quote, escapes := text[at], text[at] == '"' || at > 0 && text[at-1] == '$'
	for i := at + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && escapes:
			i++
		case text[i] == quote:
			return i
		case strings.HasPrefix(text[i:], "…"):
			return i + len("…") - 1
		}
	}
	return -1
}

// command is where a command of Midstream ends that begins at a place; 0 if there is none, or the text only mentions a verb
// without a place for flags: a verb is followed by flags, and then by a table, a quoted argument or --list. The argument of a verb
// that asks midstream serve has no form of its own, so it counts only behind a flag.
func command(text string, at int) (end int) {
	if !strings.HasPrefix(text[at:], program) {
		return 0
	}
	at += len(program)
	from := at
	for at < len(text) && text[at] >= 'a' && text[at] <= 'z' {
		at++
	}
	if at == from {
		return 0
	}
	if text[from:at] == "fleet" {
		if one, _ := endOf(text, min(at+1, len(text))); lower.MatchString(text[at:one]) {
			at = one
		}
	}
	verb := text[from:at]
	flagged := false
	if strings.HasPrefix(text[at:], "  ") { // it has no flags yet: the place for them is kept, also in a mention
		at++
		to, _ := endOf(text, at+1)
		end = at + 1 + len(strings.TrimRight(text[at+1:to], ".,;:)"))
	}
	valued, over, tables := true, false, 0 // over: no flag follows
	for last := false; !last && at < len(text) && text[at] == ' '; {
		to, _ := endOf(text, at+1)
		one := strings.TrimRight(text[at+1:to], ".,;:)")
		last = at+1+len(one) < to // a sign of the sentence follows
		switch {
		case one == "--":
			over = true
		case !over && strings.HasPrefix(one, "-"):
			valued, flagged = strings.Contains(one, "="), true
			if one == "--list" {
				end, valued = at+1+len(one), true
			}
		case !valued && strings.Contains(one, "="):
			valued = true
		case argument.MatchString(one):
			end = at + 1 + len(one)
			tables++
			last = last || verb != "verify" || tables == 2
		case valued && flagged && has(strings.Fields(verb)[0], "service"):
			end, last = at+1+len(one), true
		default:
			last = true
		}
		at = to
	}
	if end > 0 {
		end = withMore(text, end, verb)
	}
	return end
}

// withMore is where a command ends with the flags and settings behind its argument: without them, it would do something else.
func withMore(text string, end int, verb string) int {
	for valued := true; end < len(text) && text[end] == ' '; {
		to, _ := endOf(text, end+1)
		one := strings.TrimRight(text[end+1:to], ".,;:)")
		switch {
		case flag.MatchString(one):
			valued = strings.Contains(one, "=")
		case !valued && strings.IndexByte("'\"", one[0]) >= 0:
			valued = true
		case verb != "set" || !setting.MatchString(one):
			return end
		}
		end += 1 + len(one)
	}
	return end
}

// lower is a verb with a blank before it. flag is a flag, and setting is what midstream set takes.
var lower, flag, setting = regexp.MustCompile("^ [a-z]+$"), regexp.MustCompile("^--?[a-z]"), regexp.MustCompile("^[a-z-]+=")

// argument is the name of a table, or a quoted one or a statement.
var argument = regexp.MustCompile("^(?:\\$?['\"`]|[^ ]+\\.[^ ])")
