package facts

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"time"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// atOnce stands for binlogs that are purged as soon as the provider does not need them.
const atOnce = time.Second

// readRetention reads for how long Amazon RDS and Aurora keep binlogs: they have a procedure for it, and purge binlogs by
// that setting and not by the server's variables. NULL means at once on RDS, and mostly within a day on Aurora
// (https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/mysql-stored-proc-configuring.html). Other servers have no such
// procedure, and an account may be without the right to call it: then the variables must do.
func (f gatherer) readRetention(ctx context.Context, q schema.Querier) error {
	rows, err := q.QueryContext(ctx, "CALL mysql.rds_show_configuration")
	if dbconn.Denied(err) || dbconn.NoProcedure(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name, value sql.NullString
		if err := dbconn.ScanFirst(rows, &name, &value); err != nil {
			return err
		}
		if !strings.EqualFold(name.String, "binlog retention hours") {
			continue
		}
		f.BinlogManaged, f.BinlogExpire = true, atOnce
		if hours, err := strconv.Atoi(value.String); err == nil && hours > 0 {
			f.BinlogExpire = time.Duration(hours) * time.Hour
		}
	}
	return rows.Err()
}
