package facts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Identity has InnoDB's numbers of a table, or of its partitions, in order. A table that is
// created, or built again, gets a higher number than any earlier table, and RENAME does not change
// it. The Identity is empty if the server doesn't show it: for a missing table, for other engines,
// without PROCESS, and for names with letters beyond ASCII.
//
// A table's create_time proves less: on MySQL 5.7 and MariaDB it is that of its .frm file's inode,
// and a RENAME changes it.
type Identity []uint64

// ReadIdentity asks InnoDB.
func ReadIdentity(ctx context.Context, q schema.Querier, table schema.Name) (Identity, error) {
	name, ok := plan.InnoDBName(table)
	if !ok {
		return nil, nil
	}
	var ids Identity
	err := FromInnoDB(ctx, func(views string) (err error) {
		ids, err = readIdentity(ctx, q, views+"tables", name)
		return err
	})
	if dbconn.Denied(err) {
		return nil, nil
	}
	slices.Sort(ids)
	return ids, err
}

// contended reads something again if the server gives up a wait for another session. InnoDB's lists
// of tables wait for each session that defines a table (1205).
func contended(ctx context.Context, read func() error) error {
	const tries = 5
	for try := 1; ; try++ {
		err := read()
		if try == tries || !dbconn.Contended(err) {
			return err
		}
		if err := dbconn.BackOff(ctx, try); err != nil {
			return err
		}
	}
}

// FromInnoDB reads from InnoDB's views in information_schema. Their names begin with views.
func FromInnoDB(ctx context.Context, read func(views string) error) error {
	return contended(ctx, func() error {
		err := read("innodb_")
		if dbconn.NoSuchTable(err) { // before 8.0, and on MariaDB
			err = read("innodb_sys_")
		}
		return err
	})
}

// files is the condition for the rows of a table in such a view. The name of a partition has #p# or
// #P# after the name of the table. It has no arguments: the server would prepare the query, by one more round trip.
func files(name string) string {
	return fmt.Sprintf(" WHERE name = %s OR LEFT(name, %d) IN (%s, %s)",
		schema.Literal(name), len(name)+3, schema.Literal(name+"#p#"), schema.Literal(name+"#P#"))
}

func readIdentity(ctx context.Context, q schema.Querier, view, name string) (ids Identity, err error) {
	rows, err := q.QueryContext(ctx, "SELECT name, table_id FROM information_schema."+view+files(name))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var file string
		var id uint64
		if err := rows.Scan(&file, &id); err != nil {
			return nil, err
		}
		if strings.HasPrefix(file, name) { // another letter case is another table
			ids = append(ids, id)
		}
	}
	return ids, rows.Err()
}

// Is reports whether two identities may be one table's.
func (i Identity) Is(other Identity) bool {
	return len(i) == 0 || len(other) == 0 || slices.Equal(i, other)
}

// NoOlder reports whether the table may have been created at the same time as another one, or
// later.
func (i Identity) NoOlder(than Identity) bool {
	return len(i) == 0 || len(than) == 0 || i[len(i)-1] >= than[len(than)-1]
}
