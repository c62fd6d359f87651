package tableddl

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"midstream/internal/engine/facts"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// sight is the object that has a name at one moment.
type sight struct {
	there bool
	id    facts.Identity
	// shape is its definition, its triggers, and what refers to it.
	shape string
	// comment is the table's.
	comment string
}

// same reports whether two sights may be of one table.
func (s sight) same(other sight) bool {
	return s.there == other.there && s.id.Is(other.id)
}

// asPlanned reports whether two sights are of one table that has since gained nothing that a
// statement would remove with it.
func (s sight) asPlanned(other sight) bool { return s.same(other) && s.shape == other.shape }

// sights are the objects under all the names of a change.
type sights map[schema.Name]sight

// look reads the objects that have the names.
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
			if s.id, err = facts.ReadIdentity(ctx, db, name); err != nil {
				return nil, fmt.Errorf("look for %s: %w", name, err)
			}
			if s.shape, s.comment, err = shape(ctx, db, name); err != nil {
				return nil, fmt.Errorf("read the definition of %s: %w", name, err)
			}
		}
		seen[name] = s
	}
	return seen, nil
}

// shape reads what belongs to a table, and its comment; both are "" if the object is no table.
func shape(ctx context.Context, db *sql.DB, name schema.Name) (shape, comment string, err error) {
	table, err := schema.Load(ctx, db, name)
	switch {
	case errors.Is(err, schema.ErrNotFound), errors.Is(err, schema.ErrNotBaseTable):
		return "", "", nil
	case err != nil:
		return "", "", err
	}
	definition, _ := schema.SplitAutoIncrement(table.Create)
	return fmt.Sprint(definition, table.TriggerNames(), table.ReferencedBy), table.Comment, nil
}

// same reports whether nothing has changed.
func (s sights) same(other sights) bool { return maps.EqualFunc(s, other, sight.same) }

// asPlanned reports the same, and includes what belongs to the tables.
func (s sights) asPlanned(other sights) bool { return maps.EqualFunc(s, other, sight.asPlanned) }

// outcome returns what became of a statement whose answer was lost. known is false if the tables
// look the same before and after it, or if another session changed them.
func (c Change) outcome(before, after sights) (done, known bool) {
	untouched := before.same(after)
	done = !slices.ContainsFunc(c.Moves, func(m ddl.TableRename) bool { return !moved(m, before, after) }) &&
		!slices.ContainsFunc(c.Gone, func(n schema.Name) bool { return after[n].there })
	switch {
	case c.Created:
		done = after[c.Table].there
	case c.Emptied:
		was, is := before[c.Table].id, after[c.Table].id
		if len(was) == 0 || len(is) == 0 {
			return false, false
		}
		done = !was.Is(is)
	}
	return done, done != untouched
}

// moved reports whether the table that had the one name before has the other one now. InnoDB of
// MySQL 8.0.12 gives a table another number if the same ALTER renames it and drops a foreign key.
// The mark that this ALTER sets proves the rename there.
func moved(m ddl.TableRename, before, after sights) bool {
	if _, marked := schema.MarkedDropped(after[m.To].comment, m.From); marked {
		return before[m.From].there && !before[m.To].there && !after[m.From].there
	}
	return before[m.From].same(after[m.To])
}
