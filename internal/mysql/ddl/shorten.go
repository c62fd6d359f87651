package ddl

// Shorten returns the beginning of a long statement, for a message.
func Shorten(sql string) string {
	const most = 200
	if len(sql) > most {
		return sql[:most] + "..."
	}
	return sql
}
