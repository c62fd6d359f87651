package ptosc

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"midstream/internal/engine/facts"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// onItsCopy is the name that pt-online-schema-change gives a foreign key on its copy of the table: one more underscore in front, and none
// after two. Its users write that name to drop the key (its manual, --alter).
func onItsCopy(name string) string {
	if rest, two := strings.CutPrefix(name, "__"); two {
		return rest
	}
	return "_" + name
}

// ownForeign returns the ALTER with the table's own names for the foreign keys that it drops, because a run keeps these names. notes say
// what was replaced.
func ownForeign(ctx context.Context, db *sql.DB, alter *ddl.Alter) (own *ddl.Alter, notes []string, err error) {
	if len(alter.DroppedForeign)+len(alter.DroppedConstraints) == 0 {
		return alter, nil, nil
	}
	names, err := foreignOf(ctx, db, alter.Table)
	if err != nil {
		return nil, nil, fmt.Errorf("read the foreign keys of %s: %w", alter.Table, err)
	}
	text, notes := withOwn(alter.Clauses, names)
	if len(notes) == 0 {
		return alter, nil, nil
	}
	dialect, err := facts.ReadDialect(ctx, db)
	if err != nil {
		return nil, nil, err
	}
	own, err = ddl.ParseClausesIn(dialect, alter.Table, text)
	return own, notes, err
}

// foreignOf are the names of a table's foreign keys.
func foreignOf(ctx context.Context, db *sql.DB, table schema.Name) (names []string, err error) {
	rows, err := db.QueryContext(ctx, "SELECT constraint_name FROM information_schema.table_constraints WHERE constraint_type = 'FOREIGN KEY'"+
		" AND table_schema = "+schema.Literal(table.Schema)+" AND table_name = "+schema.Literal(table.Table))
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

// withOwn replaces the names behind DROP FOREIGN KEY and DROP CONSTRAINT that are those of the copy.
func withOwn(clauses string, names []string) (text string, notes []string) {
	tokens, _ := token.Split(clauses)
	done := 0
	for i, t := range tokens {
		drops := i > 1 && tokens[i-1].Is("CONSTRAINT") && tokens[i-2].Is("DROP") ||
			i > 2 && tokens[i-1].Is("KEY") && tokens[i-2].Is("FOREIGN") && tokens[i-3].Is("DROP")
		if !drops || !t.Name() || t.Depth > 0 {
			continue
		}
		for _, name := range names {
			if strings.EqualFold(onItsCopy(name), t.Text) {
				text += clauses[done:t.Start] + schema.Quote(name)
				done = t.End
				notes = append(notes, fmt.Sprintf("foreign key %s is dropped for %s: the run keeps the names of foreign keys, so no name has an underscore more", name, t.Text))
				break
			}
		}
	}
	return text + clauses[done:], notes
}
