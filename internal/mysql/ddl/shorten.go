package ddl

// Shorten returns the beginning of a long statement, of at most 200 characters, for a message.
func Shorten(sql string) string { return cut(sql, 200) }

// shorten returns the beginning of a piece of a statement, for a message.
func shorten(s string) string { return cut(s, 40) }

func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}
