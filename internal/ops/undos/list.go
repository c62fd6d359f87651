package undos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/desired"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/followers"
	"midstream/internal/ops/record"
)

// List returns how the undos of a server stand, of one table or of all, and which changes can be taken back although nothing
// was kept of them. sockets is the folder of the sockets of followers.
func List(ctx context.Context, server planning.Server, sockets string, only *schema.Name) ([]Standing, error) {
	pool := server.Pool
	all, err := leftovers.Undoables(ctx, pool, only)
	if err != nil {
		return nil, err
	}
	for i := 0; only != nil && i < len(all) && all[i].Table == *only; i++ { // with those of the same step
		for _, table := range all[i].Together {
			more, err := leftovers.Undoables(ctx, pool, &table)
			if err != nil {
				return nil, err
			}
			all = append(all, slices.DeleteFunc(more, func(u leftovers.Undoable) bool { return !slices.Contains(u.Together, *only) })...)
		}
	}
	cold, err := leftovers.ColdOnly(ctx, pool, only)
	if err != nil {
		return nil, err
	}
	list := make([]Standing, 0, len(all)+len(cold))
	for _, u := range all {
		s, err := describe(ctx, server, sockets, u)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	barTogether(list)
	for i := range cold {
		list = append(list, Standing{Kept: &cold[i]})
	}
	for _, s := range list {
		if s.Kept.Parked, err = leftovers.ParkedOf(ctx, pool, s.Kept.Table); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// describe adds to an undo what it gives up and lacks, what its follower knows, and what forbids it.
func describe(ctx context.Context, server planning.Server, sockets string, u leftovers.Undoable) (s Standing, err error) {
	s.Kept = &u
	if err = s.compare(ctx, server.Pool.DB()); err != nil {
		return s, err
	}
	if u.State == leftovers.UndoStopped { // the command that begins it again has its values
		var settings []string
		for _, flag := range u.Again {
			if setting, is := strings.CutPrefix(flag, "--undo-fill="); is {
				settings = append(settings, strings.TrimPrefix(setting, u.Table.Dotted()+": "))
			}
		}
		s.Unfilled = s.Unfilled.With(settings)
	}
	switch u.State {
	case leftovers.UndoRunning, leftovers.UndoStopped, leftovers.UndoOpen:
		s.Follower, _ = followers.Ask(ctx, sockets, server.Address, u.Table.Dotted()) // one that does not answer is none
	}
	s.judge(ctx, server)
	return s, nil
}

// compare compares the table with what the change has made of it: an undo gives up the values of columns that the old table
// does not have, takes later changes back too, and lacks values for columns that only the old table has.
func (s *Standing) compare(ctx context.Context, q schema.Querier) error {
	u := s.Kept
	if u.Record.Ledger != nil || u.State == leftovers.UndoEnded || len(u.Record.Pairs) == 0 {
		return nil
	}
	table, err := schema.Load(ctx, q, u.Table)
	if errors.Is(err, schema.ErrNotFound) || errors.Is(err, schema.ErrNotBaseTable) {
		return nil // since it was judged
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", u.Table, err)
	}
	stays := map[string]bool{}
	for name := range u.Record.Pairs {
		stays[strings.ToLower(name)] = true
	}
	for _, c := range table.Columns {
		if c.Generated == schema.NotGenerated && !stays[strings.ToLower(c.Name)] {
			s.Lost = append(s.Lost, c.Name)
		}
	}
	if u.Made != nil {
		s.Later = desired.Since(u.Made, table)
	}
	var given plan.Settings
	if u.Record.Back { // to take it back is the redo
		given = u.Record.Set
	}
	s.Unfilled = plan.UnfilledOf(table.Columns, u.OldColumns, u.Record.Pairs, given)
	s.Unfilled.Grouped = len(u.Together) > 0
	return nil
}

// Follows reports whether a follower keeps the undo warm.
func (s Standing) Follows() bool { return s.Follower != nil && s.Follower.State != followers.Swapping }

// MayRefuse reports whether an undo may meet rows that the old definition refuses.
func (s Standing) MayRefuse() bool { return s.Kept.Record.Ledger == nil && s.Kept.Record.Native == nil }

// Records are the records of undos.
func Records(list []Standing, address string) record.Undos {
	all := make([]leftovers.Undoable, 0, len(list))
	for _, s := range list {
		all = append(all, *s.Kept)
	}
	r := record.UndosOf(all, address)
	for i, s := range list {
		u := &r.Undos[i]
		u.Lost, u.Later, u.Fills = append([]string{}, s.Lost...), append([]string{}, s.Later...), s.Unfilled.Names()
		if s.Follows() {
			behind := s.Follower.Behind.Seconds()
			u.State, u.Mode, u.Unfit, u.Compared, u.Behind = string(leftovers.UndoOpen), "warm", &s.Follower.Unfit, s.Follower.Compared, &behind
		}
	}
	return r
}
