package escape

import "strings"

// marks are what Markdown or a renderer of HTML would obey.
var marks = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`, "#", `\#`, "!", `\!`,
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "$", `\$`, "@", `\@`, "://", `\://`)

// begins are what makes a list or a heading of a line that begins with it.
const begins = "-+="

// Markdown returns a text of others as words of a line or a cell.
func Markdown(text string) string {
	text = marks.Replace(Line(text))
	if text != "" && strings.ContainsRune(begins, rune(text[0])) {
		text = `\` + text
	}
	return text
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
