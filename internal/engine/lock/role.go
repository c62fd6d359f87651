package lock

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/dbconn"
)

// backupPrograms are the program names of backup tools.
var backupPrograms = []string{
	"mysqldump",
	"mysqlpump",
	"mysqlsh",
	"mysqlbackup",
	"mydumper",
	"xtrabackup",
	"mariadb-dump",
	"mariabackup",
	"mariadb-backup",
}

// dumpComment is in each SELECT of mysqldump's and mariadb-dump's, whatever their names.
const dumpComment = "/*!40001 SQL_NO_CACHE */"

// roleOf returns the role of a session. thread is its name in performance_schema.threads, and
// object is the kind of object that it has locked.
func roleOf(b event.Blocker, thread, object string) event.Role {
	program := strings.ToLower(b.Program)
	switch {
	case b.Program == dbconn.ProgramName:
		return event.RoleMidstream
	case b.User == "system user", strings.HasPrefix(b.Command, "Binlog Dump"),
		strings.HasPrefix(thread, "thread/sql/replica"), strings.HasPrefix(thread, "thread/sql/slave"),
		strings.HasPrefix(thread, "thread/group_rpl/"):
		return event.RoleReplication
	case object == "GLOBAL", object == "BACKUP LOCK", object == "BACKUP", strings.Contains(b.Statement, dumpComment),
		slices.ContainsFunc(backupPrograms, func(name string) bool { return program == name }):
		return event.RoleBackup
	}
	return ""
}

// changed reads how many rows the transactions of connections have changed. It is nil if the server
// can't or won't show that now.
func changed(ctx context.Context, db *sql.DB) (map[uint64]int64, error) {
	rows, err := db.QueryContext(ctx, "SELECT trx_mysql_thread_id, trx_rows_modified FROM information_schema.innodb_trx")
	if dbconn.UnfitText(err) || dbconn.Denied(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("check what transactions have changed: %w", err)
	}
	defer rows.Close()
	all := map[uint64]int64{}
	for rows.Next() {
		var connection uint64
		var n int64
		if err := rows.Scan(&connection, &n); err != nil {
			return nil, fmt.Errorf("check what transactions have changed: %w", err)
		}
		all[connection] = n
	}
	err = rows.Err()
	if dbconn.UnfitText(err) {
		return nil, nil
	}
	return all, err
}
