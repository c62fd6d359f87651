package escape

import (
	"regexp"
	"strings"
	"unicode"
)

// marks are what Markdown or a renderer of HTML would obey wherever it stands.
var marks = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`, "<", "&lt;")

var (
	// entity looks like a character reference of HTML.
	entity = regexp.MustCompile(`&[#A-Za-z]`)
	// begins is what makes a list, a heading or a quotation of a line that begins with it.
	begins = regexp.MustCompile(`^[-+=#>]`)
)

// Markdown returns a text of others as words of a line or a cell.
func Markdown(text string) string {
	text = entity.ReplaceAllStringFunc(Line(text), func(m string) string { return "&amp;" + m[1:] })
	text = marks.Replace(text)
	text = underscores(text)
	return begins.ReplaceAllString(text, `\$0`)
}

// underscores escapes those that could begin or end an emphasis. Within a word, as in most names, none can.
func underscores(text string) string {
	runes := []rune(text)
	word := func(i int) bool {
		return i >= 0 && i < len(runes) && (unicode.IsLetter(runes[i]) || unicode.IsDigit(runes[i]))
	}
	var b strings.Builder
	for i, r := range runes {
		if r == '_' && !(word(i-1) && word(i+1)) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Block returns a text as a code block that nothing in it can end. Its own lines stay.
func Block(text string) string {
	text = Text(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"))
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}
