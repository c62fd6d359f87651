package facts

import (
	"context"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// readRowVersions asks InnoDB; that needs PROCESS. It reads 0 if InnoDB doesn't show the number:
// before MySQL 8.0.29, and for tables with letters beyond ASCII in their names. If no version is
// left for an ALTER, it fails at once.
func (f gatherer) readRowVersions(ctx context.Context, q schema.Querier, table schema.Name) error {
	name, ok := plan.InnoDBName(table)
	if !ok || f.Version.MariaDB || !f.Version.AtLeast(8, 0, 29) {
		return nil
	}
	err := contended(ctx, func() error {
		return q.QueryRowContext(
			ctx, "SELECT IFNULL(MAX(total_row_versions), 0) FROM information_schema.innodb_tables"+files(name)).Scan(&f.RowVersions)
	})
	_, err = seen(err)
	return err
}
