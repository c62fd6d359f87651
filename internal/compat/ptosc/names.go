package ptosc

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"unicode/utf8"

	"midstream/internal/mysql/schema"
)

// mostUnderscores are put before a name, until it is one that no table has.
const mostUnderscores = 10

// longestName is the server's.
const longestName = 64

// names are the flags that say what the new table and the old one are called: _t_new and _t_old,
// with another underscore as long as another table has the name; and what --new-table-name says, as
// it is.
func (a *Asked) names(ctx context.Context, db *sql.DB) (flags []string, err error) {
	taken, err := a.taken(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("look for names of tables: %w", err)
	}
	fresh := strings.ReplaceAll(a.said.last("new-table-name"), "%T", a.Table.Table)
	if fresh == "" {
		fresh = free("_"+a.Table.Table+"_new", func(name string) bool {
			comment, is := taken[name]
			return is && !schema.MarkedFor(comment, a.Table)
		})
	}
	old := free("_"+a.Table.Table+"_old", func(name string) bool { _, is := taken[name]; return is })
	if old, err = a.nameSafely(ctx, db, old); err != nil {
		return nil, err
	}
	for flag, name := range map[string]string{"shadow-name": fresh, "old-name": old} {
		if name != "" {
			flags = append(flags, "--"+flag+"="+name)
		}
	}
	return flags, nil
}

// free is the first of the names that is not taken; "" if there is none, or it would be too long.
func free(name string, taken func(string) bool) string {
	for range mostUnderscores {
		if !taken(name) {
			break
		}
		name = "_" + name
	}
	if taken(name) || utf8.RuneCountInString(name) > longestName {
		return ""
	}
	return name
}

// taken are the comments of tables that may have such names, by their names.
func (a *Asked) taken(ctx context.Context, db *sql.DB) (map[string]string, error) {
	var candidates []string
	for n := 1; n <= mostUnderscores; n++ {
		for _, suffix := range []string{"_new", "_old"} {
			candidates = append(candidates, schema.Literal(strings.Repeat("_", n)+a.Table.Table+suffix))
		}
	}
	rows, err := db.QueryContext(ctx, "SELECT table_name, table_comment FROM information_schema.tables WHERE table_schema = "+
		schema.Literal(a.Table.Schema)+" AND table_name IN ("+strings.Join(candidates, ", ")+")")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	taken := map[string]string{}
	for rows.Next() {
		var name, comment string
		if err := rows.Scan(&name, &comment); err != nil {
			return nil, err
		}
		taken[name] = comment
	}
	return taken, rows.Err()
}
