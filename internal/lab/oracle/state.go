package oracle

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"midstream/internal/mysql/schema"
)

// Numbers of the server's errors.
const (
	unknownTable = 1109 // information_schema has no such table
	unusableKey  = 1176 // a query may not name the index: it is IGNORED
)

// is reports whether an error is the server's and has the number.
func is(err error, number uint16) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && e.Number == number
}

// facts are what SHOW CREATE TABLE does not show of a table: how it is stored.
func (r reader) facts(ctx context.Context, t schema.Name) (string, error) {
	// The row format of a partitioned table is that of its partitions. What the dictionary says of
	// the table stays as it was if the server alters it in place (9.7.4).
	var format, collation, options, comment sql.NullString
	err := r.conn.QueryRowContext(
		ctx,
		"SELECT IF(create_options LIKE '%partitioned%', '', row_format), table_collation, create_options, table_comment"+
			" FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
		t.Schema,
		t.Table,
	).Scan(
		&format, &collation, &options, &comment,
	)
	if err == nil && format.String == "" {
		format.String, err = r.formats(ctx, t)
	}
	return fmt.Sprintf(
		"row format %s, collation %s, options %q, comment %q", format.String, collation.String, options.String,
		comment.String,
	), err
}

// formats are the row formats of a table's partitions. REQUIRES: InnoDB writes the table's name as it is.
func (r reader) formats(ctx context.Context, t schema.Name) (formats string, err error) {
	for _, view := range []string{"innodb_tables", "innodb_sys_tables"} { // before 8.0, and MariaDB
		err = r.conn.QueryRowContext(ctx, "SELECT IFNULL(GROUP_CONCAT(DISTINCT row_format), '') FROM information_schema."+view+
			" WHERE name LIKE ?", t.Schema+"/"+t.Table+"#p#%").Scan(&formats)
		if !is(err, unknownTable) {
			break
		}
	}
	return formats, err
}

// damage is what the server finds wrong with a, "" if it finds the same wrong with b. MariaDB's CHECK TABLE reports an index
// over a virtual column as corrupt if another index takes a longer prefix of that column; queries find every row by it
// before (10.11.18, 11.8.9).
func (r reader) damage(ctx context.Context, a, b schema.Name) (string, error) {
	wrong, err := r.check(ctx, a)
	if err != nil || wrong == "" {
		return "", err
	}
	twin, err := r.check(ctx, b)
	if strings.ReplaceAll(lasting(wrong), a.Quoted(), "") == strings.ReplaceAll(lasting(twin), b.Quoted(), "") {
		return "", err
	}
	return wrong, err
}

// lasting leaves out what CHECK TABLE reports of single records, and of the index because of them: it does so as long as the
// purge has not come to them. The number of entries stays.
func lasting(damage string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(damage, "; "), func(line string) bool {
		return strings.HasPrefix(line, "Warning: InnoDB: Clustered index record not found") ||
			strings.HasPrefix(line, "Warning: InnoDB: The B-tree of index")
	}), "; ")
}

// check has the server look at a table and its indexes, and returns what it finds.
func (r reader) check(ctx context.Context, t schema.Name) (string, error) {
	rows, err := r.conn.QueryContext(ctx, "CHECK TABLE "+t.Quoted()+" EXTENDED")
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var found []string
	for rows.Next() {
		var table, op, kind, text string
		if err := rows.Scan(&table, &op, &kind, &text); err != nil {
			return "", err
		}
		if kind == "status" && text == "OK" {
			return "", rows.Err()
		}
		found = append(found, kind+": "+text)
	}
	return strings.Join(found, "; "), rows.Err()
}

// partitions are the names of a table's partitions, the first level only.
func (r reader) partitions(ctx context.Context, t schema.Name) (names []string, err error) {
	rows, err := r.conn.QueryContext(ctx, "SELECT DISTINCT partition_name FROM information_schema.partitions"+
		" WHERE table_schema = ? AND table_name = ? AND partition_name IS NOT NULL ORDER BY partition_name", t.Schema, t.Table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}
