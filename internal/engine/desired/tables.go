package desired

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Stale is the age from which a scratch table belongs to a killed program: a comparison takes only
// a moment.
const Stale = 10 * time.Minute

// Sweep drops the scratch tables that killed programs have left in the statements' databases. It
// finds them by our mark and their name.
func (f *Finder) Sweep(ctx context.Context, statements []Statement, age time.Duration) error {
	for _, database := range databases(statements) {
		stale, err := f.names(ctx, `SELECT table_schema, table_name FROM information_schema.tables
			WHERE table_schema = ? AND table_comment LIKE ? AND table_name LIKE ? AND create_time <= NOW() - INTERVAL ? SECOND`,
			database, schema.Mark+schema.CloneKind+" of %", `midstream\_%\`+suffix, int(age.Seconds()))
		if err != nil {
			return err
		}
		for _, name := range stale {
			maker, _ := dbconn.MakerOf(name)
			there, err := f.Pool.Connected(ctx, maker)
			if err != nil {
				return fmt.Errorf("find the maker of %s: %w", name, err)
			}
			if there {
				continue // a program still reads it
			}
			if _, err := f.Pool.DB().ExecContext(ctx, "DROP TABLE IF EXISTS "+name.Quoted()); err != nil {
				return fmt.Errorf("drop %s, which a killed program left: %w", name, err)
			}
		}
	}
	return nil
}

// databases are the databases of the statements' tables.
func databases(statements []Statement) []string {
	all := map[string]bool{}
	for _, s := range statements {
		all[s.Name.Schema] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// names reads names of tables.
func (f *Finder) names(ctx context.Context, query string, args ...any) (names []schema.Name, err error) {
	rows, err := f.Pool.DB().QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var n schema.Name
		if err := rows.Scan(&n.Schema, &n.Table); err != nil {
			return nil, fmt.Errorf("list tables: %w", err)
		}
		names = append(names, n)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	return names, nil
}

// Left returns the tables of the statements' databases that no statement defines, in the order of
// their names. Midstream's own tables don't count.
func (f *Finder) Left(ctx context.Context, statements []Statement) (left []schema.Name, err error) {
	at, err := f.server(ctx)
	if err != nil {
		return nil, err
	}
	key := func(n schema.Name) schema.Name {
		if at.fold {
			return schema.Name{Schema: fold(n.Schema), Table: fold(n.Table)}
		}
		return n
	}
	defined := map[schema.Name]bool{}
	for _, s := range statements {
		defined[key(s.Name)] = true
	}
	for _, database := range databases(statements) {
		// The mark itself has no % and no _.
		there, err := f.names(ctx, `SELECT table_schema, table_name FROM information_schema.tables
			WHERE table_schema = ? AND table_type = 'BASE TABLE' AND table_comment NOT LIKE ? ORDER BY table_name`, database, schema.Mark+"%")
		if err != nil {
			return nil, err
		}
		left = append(left, slices.DeleteFunc(there, func(n schema.Name) bool { return defined[key(n)] })...)
	}
	return left, nil
}

// Name is the table's name, as the server spells it if the table exists.
func (c *Change) Name() schema.Name {
	if c.Table != nil {
		return c.Table.Name
	}
	return c.Statement.Name
}

// Order puts tables that are to be created last: their foreign keys may refer to new columns, and
// would block the other changes. Each of them comes after the tables to which it refers. Otherwise
// the order stays.
func Order(changes []*Change) []*Change {
	var ordered []*Change
	placed := map[*Change]bool{}
	var place func(c *Change)
	place = func(c *Change) {
		if placed[c] {
			return
		}
		placed[c] = true
		for _, parent := range c.parents {
			for _, other := range changes {
				if other.Table == nil && other.Statement.Name == parent {
					place(other)
				}
			}
		}
		ordered = append(ordered, c)
	}
	for _, created := range []bool{false, true} {
		for _, c := range changes {
			if (c.Table == nil) == created {
				place(c)
			}
		}
	}
	return ordered
}
