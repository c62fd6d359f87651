package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Several returns the statements of a verb that got several of them, in its arguments or in a file; nil for one. Arguments that are
// words of one statement without quotes are not several.
func (t *Target) Several(args []string, file string) ([]string, error) {
	if file == "" {
		words := slices.ContainsFunc(args, func(arg string) bool { return !strings.Contains(strings.TrimSpace(arg), " ") })
		if t.Undo || t.To != "" || words {
			return nil, nil
		}
		if all := Statements(args); len(all) > 1 {
			return all, nil
		}
		return nil, nil
	}
	if len(args) > 0 || t.To != "" || t.Alter != "" || t.Table != "" {
		return nil, errors.New("--file excludes statements, --to, --table and --alter")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all := Statements([]string{string(text)})
	if len(all) == 0 {
		err = fmt.Errorf("--file %s: no statement in this file", file)
	}
	return all, err
}

// Later is a statement that cannot be planned for the tables as they are now: an earlier statement of the same command changes one of
// them first.
type Later struct {
	Table schema.Name // that the earlier statement changes
	After int         // number of that statement, from 1
	// Before are the ALTERs of the table that come first, in their order; nil if an empty copy of the table cannot show their result.
	Before []*ddl.Alter
}

// LaterOf returns what statement i of several waits for; nil if it waits for none.
func LaterOf(statements []*ddl.Statement, i int) *Later {
	var later *Later
	needed := needs(statements[i])
	for j, earlier := range statements[:i] {
		for _, name := range changes(earlier) {
			if slices.ContainsFunc(needed, func(n schema.Name) bool { return sameName(n, name) }) {
				later = &Later{Table: name, After: j + 1}
			}
		}
	}
	if later == nil || statements[i].Kind != ddl.KindAlter || !copyShows(statements[i].Alter) {
		return later
	}
	for _, earlier := range statements[:i] {
		switch {
		case !slices.ContainsFunc(changes(earlier), func(n schema.Name) bool { return sameName(n, statements[i].Alter.Table) }):
		case earlier.Kind != ddl.KindAlter || !copyShows(earlier.Alter):
			later.Before = nil
			return later
		default:
			later.Before = append(later.Before, earlier.Alter)
		}
	}
	return later
}

// sameName reports whether two names may be those of one table. Some servers ignore the case of letters, and a plan that waits is no harm.
func sameName(a, b schema.Name) bool { return strings.EqualFold(a.Dotted(), b.Dotted()) }

// copyShows reports whether an empty copy of a table shows what an ALTER makes of it: it has no foreign keys, and keeps its name.
func copyShows(a *ddl.Alter) bool {
	return !a.AddsForeignKey && !a.DropsForeignKey && len(a.DroppedConstraints) == 0 && !a.RenamesTable
}

// needs are the tables that must be there for a statement as it expects them.
func needs(s *ddl.Statement) []schema.Name {
	all := append(changes(s), s.Parents...)
	if s.Kind == ddl.KindAlter {
		for _, key := range plan.AddedBy(&schema.Table{Name: s.Alter.Table}, s.Alter) {
			all = append(all, key.Parent)
		}
	}
	return all
}

// changes are the tables that a statement changes, makes or takes away.
func changes(s *ddl.Statement) []schema.Name {
	all := s.Tables()
	if s.Kind == ddl.KindAlter && s.Alter.RenamesTable {
		to := s.Alter.RenamedTo
		if to.Schema == "" {
			to.Schema = s.Alter.Table.Schema
		}
		all = append(all, to)
	}
	return all
}

// Ask has the server carry out the statement on an empty copy of the table, after those before it. The answer is nil if nothing was
// asked. The error is a *planning.Error or a *plan.Refused.
func (l *Later) Ask(ctx context.Context, s *Server, alter *ddl.Alter, options plan.Options) (*plan.Answer, error) {
	if len(l.Before) == 0 {
		return nil, nil
	}
	return planning.After(ctx, s.Planning(), l.Before, alter, options)
}
