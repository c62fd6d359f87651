package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"midstream/internal/dbconn"
	"midstream/internal/ddl"
	"midstream/internal/plan"
	"midstream/internal/schema"
)

// sight is what stands under a name at one moment.
type sight struct {
	there bool
	// id are InnoDB's numbers of the table, or of its partitions; "" where it doesn't tell: of
	// other engines, without PROCESS, and of names with letters beyond ASCII.
	id string
	// shape is its definition, its triggers, and what refers to it.
	shape string
}

// same says that two sights may be of one table.
func (s sight) same(other sight) bool {
	return s.there == other.there && (s.id == other.id || s.id == "" || other.id == "")
}

// asPlanned says that two sights are of one table, and that nothing was given to it meanwhile which a
// statement would take away with it.
func (s sight) asPlanned(other sight) bool { return s.same(other) && s.shape == other.shape }

// sights are what stands under all the names that a change is about.
type sights map[schema.Name]sight

// look sees what stands under the names.
func look(ctx context.Context, db *sql.DB, names []schema.Name) (sights, error) {
	seen := sights{}
	for _, name := range names {
		var n int
		err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
			name.Schema, name.Table).Scan(&n)
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", name, err)
		}
		s := sight{there: n > 0}
		if s.there {
			if s.id, err = identity(ctx, db, name); err != nil {
				return nil, fmt.Errorf("look for %s: %w", name, err)
			}
			if s.shape, err = shape(ctx, db, name); err != nil {
				return nil, fmt.Errorf("look at %s: %w", name, err)
			}
		}
		seen[name] = s
	}
	return seen, nil
}

// shape reads what belongs to a table; of what is no table, nothing.
func shape(ctx context.Context, db *sql.DB, name schema.Name) (string, error) {
	table, err := schema.Load(ctx, db, name)
	switch {
	case errors.Is(err, schema.ErrNotFound), errors.Is(err, schema.ErrNotBaseTable):
		return "", nil
	case err != nil:
		return "", err
	}
	definition, _ := schema.SplitAutoIncrement(table.Create)
	return fmt.Sprint(definition, table.Triggers, table.ReferencedBy), nil
}

// identity asks InnoDB.
func identity(ctx context.Context, db *sql.DB, table schema.Name) (string, error) {
	name, ok := plan.InnoDBName(table)
	if !ok {
		return "", nil
	}
	var rows *sql.Rows
	var err error
	for _, view := range []string{"innodb_tables", "innodb_sys_tables"} { // the latter before 8.0, and on MariaDB
		rows, err = db.QueryContext(ctx, "SELECT name, table_id FROM information_schema."+view+" WHERE name = ? OR LEFT(name, ?) IN (?, ?)",
			name, len(name)+3, name+"#p#", name+"#P#")
		if !dbconn.NoSuchTable(err) {
			break
		}
	}
	if err != nil {
		return untold(err)
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var file, id string
		if err := rows.Scan(&file, &id); err != nil {
			return "", err
		}
		if strings.HasPrefix(file, name) { // another letter case is another table
			ids = append(ids, id)
		}
	}
	if err := rows.Err(); err != nil {
		return untold(err)
	}
	slices.Sort(ids)
	return strings.Join(ids, " "), nil
}

// untold takes a denial for an answer.
func untold(err error) (string, error) {
	if dbconn.Denied(err) {
		return "", nil
	}
	return "", err
}

// same says that nothing has changed.
func (s sights) same(other sights) bool { return maps.EqualFunc(s, other, sight.same) }

// asPlanned says the same of what belongs to the tables, too.
func (s sights) asPlanned(other sights) bool { return maps.EqualFunc(s, other, sight.asPlanned) }

// outcome tells what has become of a statement whose answer was lost. known is false where the
// tables look the same before and after it, or were changed by somebody else.
func (c Change) outcome(before, after sights) (done, known bool) {
	untouched := before.same(after)
	done = !slices.ContainsFunc(c.Moves, func(m ddl.TableRename) bool { return !before[m.From].same(after[m.To]) }) &&
		!slices.ContainsFunc(c.Gone, func(n schema.Name) bool { return after[n].there })
	switch {
	case c.Created:
		done = after[c.Table].there
	case c.Emptied:
		was, is := before[c.Table].id, after[c.Table].id
		if was == "" || is == "" {
			return false, false
		}
		done = was != is
	}
	return done, done != untouched
}
