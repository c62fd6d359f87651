package plan

import (
	"context"
	"fmt"
	"strings"

	"midstream/internal/schema"
)

// readRowVersions asks InnoDB, which needs PROCESS; 0 where it doesn't tell: before MySQL 8.0.29,
// and of tables whose name has letters beyond ASCII. An ALTER for which there is no version left fails
// at once.
func (f *Facts) readRowVersions(ctx context.Context, q schema.Querier, table schema.Name) error {
	name, ok := InnoDBName(table)
	if !ok || f.Version.MariaDB || !f.Version.AtLeast(8, 0, 29) {
		return nil
	}
	// A partition's name goes on with #p#, or #P#.
	err := q.QueryRowContext(ctx, `SELECT IFNULL(MAX(total_row_versions), 0) FROM information_schema.innodb_tables
		WHERE name = ? OR LEFT(name, ?) IN (?, ?)`, name, len(name)+3, name+"#p#", name+"#P#").Scan(&f.RowVersions)
	_, err = seen(err)
	return err
}

// InnoDBName spells a table as InnoDB's views do, as far as its letters are ASCII: the name of its
// file (https://dev.mysql.com/doc/refman/8.4/en/identifier-mapping.html).
func InnoDBName(table schema.Name) (name string, ok bool) {
	var parts []string
	for _, part := range []string{table.Schema, table.Table} {
		var b strings.Builder
		for _, r := range part {
			switch {
			case r > '~':
				return "", false
			case r >= '0' && r <= '9', r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r == '_':
				b.WriteRune(r)
			default:
				fmt.Fprintf(&b, "@%04x", r)
			}
		}
		parts = append(parts, b.String())
	}
	return strings.Join(parts, "/"), true
}
