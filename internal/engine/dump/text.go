package dump

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"midstream/internal/mysql/schema/token"
)

// textOf makes the text of a file: without the next AUTO_INCREMENT value, and as the server reads a file.
func textOf(create string, d token.Dialect) (string, error) {
	tokens, closed := token.Split(create)
	if !closed {
		return "", errors.New("SHOW CREATE TABLE gave a text whose comment does not end")
	}
	type edit struct {
		start, end int
		text       string
	}
	var edits []edit
	end := slices.IndexFunc(tokens, func(t token.Token) bool { return t.Is(")") && t.Depth == 0 })
	for i, t := range tokens {
		if end > 0 && i > end && t.Depth == 0 && t.Is("AUTO_INCREMENT") && i+2 < len(tokens) && tokens[i+1].Is("=") {
			edits = append(edits, edit{tokens[i-1].CommentEnd, tokens[i+2].End, ""})
		}
		// SHOW CREATE TABLE writes backslashes in every sql_mode.
		if d.NoBackslashEscapes && t.Kind == token.String && strings.Contains(create[t.Start:t.End], `\`) {
			edits = append(edits, edit{t.Start, t.End, "'" + strings.ReplaceAll(t.Text, "'", "''") + "'"})
		}
	}
	text := create
	for _, e := range slices.Backward(edits) {
		text = text[:e.start] + e.text + text[e.end:]
	}
	return text + ";\n", nil
}

// longestName is how many bytes of a table's name are in that of its file, which may have 255.
const longestName = 180

// filesOf returns the names of the tables' files. No two are equal, also where letter case does not count.
func filesOf(tables []string) (files []string) {
	same := map[string]int{}
	for _, table := range tables {
		same[strings.ToLower(safe(table))]++
	}
	for _, table := range tables {
		name := safe(table)
		if cut := name; len(name) > longestName || same[strings.ToLower(name)] > 1 {
			for len(cut) > longestName {
				_, n := utf8.DecodeLastRuneInString(cut)
				cut = cut[:len(cut)-n]
			}
			name = fmt.Sprintf("%s~%08x", cut, crc32.ChecksumIEEE([]byte(table)))
		}
		files = append(files, name+".sql")
	}
	return files
}

// safe returns the name with other characters than letters, digits, _, $ and - as %XX, as in a URL.
func safe(table string) string {
	var b strings.Builder
	for i, r := range table {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '$' || r == '-' && i > 0 {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(string(r)) {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
