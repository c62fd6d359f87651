package planning

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"midstream/internal/engine/desired"
	"midstream/internal/engine/native"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Applied reports whether a table already has a change, and how it was defined before that: nil if that cannot be known. It is
// asked if the server refuses the change, as it does with a column that exists.
//
// The names that the change adds must exist, and the names that it drops must not. An empty copy then goes back and forth: if the
// ALTER leads from there to the table's own definition, the table has the change. Changes of foreign keys, partitions and table names
// are never found applied.
func Applied(
	ctx context.Context, server Server, table *schema.Table, alter *ddl.Alter, options plan.Options,
) (before []string, applied bool, err error) {
	back, known := undone(table, alter)
	if !known {
		return nil, false, nil
	}
	reverse, err := ddl.ParseClauses(alter.Table, strings.Join(back, ", "))
	if err != nil {
		return nil, false, nil //nolint:nilerr // then it is not known
	}
	answer, err := native.Then(ctx, server.Pool, questionOf(server, table, reverse, options), alter)
	switch {
	case errors.Is(err, native.ErrRefused), errors.Is(err, native.ErrNoCopy):
		return nil, false, nil
	case err != nil:
		return nil, false, failed(AskServer, table.Name, err)
	}
	after := *answer.Trial.Altered
	if !alter.SetsComment {
		after.Comment = table.Comment
	}
	own, altered := *table, after
	own.ForeignClauses, altered.ForeignClauses = nil, nil // a copy lacks them
	if !slices.Equal(desired.Lines(&own), desired.Lines(&altered)) {
		return nil, false, nil
	}
	if len(alter.Dropped)+len(alter.DroppedKeys) > 0 || len(alter.Modified) > 0 || alter.SetsComment {
		return nil, true, nil // what was dropped or changed is not known
	}
	former := *answer.Trial.Copied
	former.Comment, former.ForeignClauses = table.Comment, table.ForeignClauses
	return desired.Lines(&former), true, nil
}

// undone are clauses that take a change back, as far as its names go, and whether the table's names permit that it was made.
func undone(table *schema.Table, alter *ddl.Alter) (back []string, known bool) {
	if !alter.Parsed || alter.AddsForeignKey || alter.DropsForeignKey || alter.RenamesTable ||
		alter.AddsPrimaryKey || alter.DropsPrimaryKey ||
		len(alter.PartitionOps)+len(alter.TablespaceOps)+len(alter.AddedIfMissing)+len(alter.DroppedConstraints) > 0 {
		return nil, false
	}
	for _, r := range alter.Renames {
		if _, old := table.Column(r.Old); old && !strings.EqualFold(r.Old, r.New) {
			return nil, false
		}
		back = append(back, "RENAME COLUMN "+schema.Quote(r.New)+" TO "+schema.Quote(r.Old))
	}
	for _, k := range alter.Keys {
		name := cmp.Or(k.Name, k.Columns[0]) // the server calls it so, if it can
		if _, is := table.Key(name); !is {
			return nil, false
		}
		back = append(back, "DROP INDEX "+schema.Quote(name))
	}
	for _, name := range alter.Added {
		if _, is := table.Column(name); !is {
			return nil, false
		}
		back = append(back, "DROP COLUMN "+schema.Quote(name))
	}
	for _, name := range alter.Dropped {
		if _, is := table.Column(name); is {
			return nil, false
		}
		back = append(back, "ADD COLUMN "+schema.Quote(name)+" INT")
	}
	for _, name := range alter.DroppedKeys {
		if _, is := table.Key(name); is || len(table.Columns) == 0 {
			return nil, false
		}
		back = append(back, "ADD INDEX "+schema.Quote(name)+" ("+schema.Quote(table.Columns[0].Name)+")")
	}
	return back, len(back) > 0
}
