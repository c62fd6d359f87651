package undos

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"midstream/internal/engine/desired"
	"midstream/internal/engine/leftovers"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/followers"
	"midstream/internal/ops/record"
)

// List returns how the undos of a server stand, of one table or of all, and which changes can be taken back although nothing
// was kept of them. sockets is the folder of the sockets of followers.
func List(ctx context.Context, pool *dbconn.Pool, address, sockets string, only *schema.Name) ([]Standing, error) {
	all, err := leftovers.Undoables(ctx, pool, only)
	if err != nil {
		return nil, err
	}
	cold, err := leftovers.ColdOnly(ctx, pool, only)
	if err != nil {
		return nil, err
	}
	list := make([]Standing, 0, len(all)+len(cold))
	for _, u := range all {
		s, err := describe(ctx, pool, address, sockets, u)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	for i := range cold {
		list = append(list, Standing{Kept: &cold[i]})
	}
	return list, nil
}

// describe adds to an undo what it gives up, and what its follower knows.
func describe(ctx context.Context, pool *dbconn.Pool, address, sockets string, u leftovers.Undoable) (s Standing, err error) {
	s.Kept = &u
	if s.Lost, s.Later, err = lost(ctx, pool.DB(), &u); err != nil {
		return s, err
	}
	switch u.State {
	case leftovers.UndoRunning, leftovers.UndoStopped, leftovers.UndoOpen:
		s.Follower, _ = followers.Ask(ctx, sockets, address, u.Table.Dotted()) // one that does not answer is none
	}
	return s, nil
}

// lost returns the columns whose values an undo gives up: the old table has none for them. later are the clauses of
// changes since then, which it takes back too.
func lost(ctx context.Context, q schema.Querier, u *leftovers.Undoable) (names, later []string, err error) {
	if u.Record.Ledger != nil || u.State == leftovers.UndoEnded || len(u.Record.Pairs) == 0 {
		return nil, nil, nil
	}
	table, err := schema.Load(ctx, q, u.Table)
	if errors.Is(err, schema.ErrNotFound) || errors.Is(err, schema.ErrNotBaseTable) {
		return nil, nil, nil // since it was judged
	}
	if err != nil {
		return nil, nil, fmt.Errorf("look at %s: %w", u.Table, err)
	}
	stays := map[string]bool{}
	for name := range u.Record.Pairs {
		stays[strings.ToLower(name)] = true
	}
	for _, c := range table.Columns {
		if c.Generated == schema.NotGenerated && !stays[strings.ToLower(c.Name)] {
			names = append(names, c.Name)
		}
	}
	if u.Made != nil {
		later = desired.Since(u.Made, table)
	}
	return names, later, nil
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
		u.Lost, u.Later = append([]string{}, s.Lost...), append([]string{}, s.Later...)
		if s.Follows() {
			behind := s.Follower.Behind.Seconds()
			u.State, u.Mode, u.Unfit, u.Compared, u.Behind = string(leftovers.UndoOpen), "warm", &s.Follower.Unfit, s.Follower.Compared, &behind
		}
	}
	return r
}
