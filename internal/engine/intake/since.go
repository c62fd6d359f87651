package intake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/trigger"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// These errors end a lazy undo before it has swapped. A cold undo needs no changes of the past.
var (
	// ErrNotSince means that the changes since the swap can't be read, or can't be known from the binlog. Nothing was
	// done.
	ErrNotSince = errors.New("the changes since the swap can't be read any more")
	// ErrOldWritten means that a session has written to the old table since the swap, or has changed it (U2).
	ErrOldWritten = errors.New("another session has written to the old table since the swap")
	// ErrNotByKeys means that the table was changed since the swap in a way that the keys in the binlog do not show.
	ErrNotByKeys = errors.New("the changes since the swap can't be known by keys")
)

// Since is the time between a swap and the beginning of the undo that takes it back.
type Since struct {
	source, old schema.Name
	// columns is the number of columns of the old table in the binlog. key are those by which its rows are synced; none if
	// they are not the values of the table's key.
	columns int
	key     []int
	// swap is the RENAME of the swap, as the binlog has it. named is the end of the statement that gave the old
	// table its last name, behind the swap; "" if there is none.
	swap, named string
	// grouped means that it has the pairs of other tables too.
	grouped bool
	// until is the end of the binlog when the undo began: it has not written to the old table before.
	until binlog.Position
	// earlier are the layouts of the table in the binlog before columns were added to it.
	earlier []binlog.Layout
	// begun means that another undo has written to the old table before: a row event proves nothing.
	begun bool
	// away is the name that another session has given the old table; none while it has its own.
	away schema.Name
}

// HasSince fails with ErrNotSince if the changes since a swap can't be read any more. saved is the content of the undo
// table. It writes nothing.
func (l *Link) HasSince(ctx context.Context, saved *checkpoint.Saved) (from Origin, err error) {
	if l.ByTriggers() {
		return l.logged(ctx, saved)
	}
	if saved.Checkpoint.Position == "" {
		return from, fmt.Errorf("%w: the change was made without a binlog", ErrNotSince)
	}
	from, reason, err := l.Judge(ctx, saved)
	if err == nil && reason != "" {
		err = fmt.Errorf("%w: %s", ErrNotSince, reason)
	}
	return from, err
}

// logged is HasSince for changes that triggers have logged since the swap.
func (l *Link) logged(ctx context.Context, saved *checkpoint.Saved) (from Origin, err error) {
	if back := l.Plan.Back; back == nil || back.Log == "" {
		return from, fmt.Errorf("%w: this run captures changes by triggers", ErrNotSince)
	}
	if saved.Checkpoint.ServerUUID != l.Plan.Server.UUID {
		return from, fmt.Errorf("%w: the change was made on another server, and triggers have logged the rows on that one", ErrNotSince)
	}
	codec, err := l.Plan.Key.Codec()
	if err != nil {
		return from, err
	}
	set := l.triggers(codec)
	sight, err := trigger.Look(ctx, l.Pool.DB(), set.Source, set.Log)
	if err == nil && !sight.Whole(set) {
		err = fmt.Errorf("%w: the triggers that log changed rows to %s are gone, or were altered", ErrNotSince, set.Log)
	}
	from.Sight = sight.String()
	return from, err
}

// LogSince makes triggers on the shadow log the changes since the swap, for an undo without a binlog. done is false if
// that must be tried again.
func (l *Link) LogSince(ctx context.Context, made *schema.Table) (done bool, err error) {
	_, codec, has := trigger.KeyOf(made, l.Plan.BackKey)
	if l.Plan.Names.Since == (schema.Name{}) || !has {
		return true, nil
	}
	set := l.triggers(codec)
	set.Source, set.Log, set.Since = made.Name, l.Plan.Names.Since, l.Plan.Source.Name
	return set.Record(ctx, l.Pool, l.Control.Settings().Lock.Wait)
}

// Since finds where the changes since a swap begin (U1). old is the old table. It fails as HasSince does.
func (l *Link) Since(ctx context.Context, saved *checkpoint.Saved, old *schema.Table, spec *rowsync.Spec) (from Origin, err error) {
	if from, err = l.HasSince(ctx, saved); err != nil || l.ByTriggers() {
		return from, err
	}
	// Other runs may have had a state table of the same name since: their heartbeats must not count.
	if from.Beaten, err = l.awaitReplica(ctx); err != nil {
		return from, err
	}
	from.Beaten = max(from.Beaten, firstBeat())
	from.Since, err = l.watchOld(ctx, saved, old, spec)
	return from, err
}

// StartUndo is where an undo by all rows begins: at the swap, if it is to follow the keys of rows from there. Whoever has written to the
// old table since does not matter to it.
func (l *Link) StartUndo(ctx context.Context, saved *checkpoint.Saved, old *schema.Table, spec *rowsync.Spec) (from Origin, err error) {
	if !l.Plan.Back.FromSwap() {
		return l.Start(ctx, spec.Key)
	}
	if from, err = l.Since(ctx, saved, old, spec); err == nil {
		from.Since.begun = true
	}
	return from, err
}

// SinceAgain is the rest of the time since a swap, for an undo that resumes another one: that one may not have come to
// the swap in the binlog. load reads the undo table.
func (l *Link) SinceAgain(
	ctx context.Context, load func(context.Context) (*checkpoint.Saved, error), old *schema.Table, spec *rowsync.Spec,
) (*Since, error) {
	if l.ByTriggers() {
		return nil, nil
	}
	saved, err := load(ctx)
	if err != nil || saved == nil || saved.Start == nil || saved.Undo == nil {
		return nil, err
	}
	s, err := l.watchOld(ctx, saved, old, spec)
	s.begun = true
	return s, err
}

func (l *Link) watchOld(ctx context.Context, saved *checkpoint.Saved, old *schema.Table, spec *rowsync.Spec) (*Since, error) {
	source := l.Plan.Source.Name
	s := &Since{
		source: source, old: old.Name, columns: old.BinlogColumns(), begun: saved.Undo.Begun, grouped: len(saved.Start.Together) > 0,
		swap: schema.Swap(schema.Exchange{Source: source, Old: source.Sibling(saved.Start.Old), Shadow: saved.Start.Shadow.Name}),
	}
	for _, name := range spec.ShadowKey {
		if column, is := old.Column(name); is && !spec.KeyChanged {
			s.key = append(s.key, column.Ordinal)
		}
	}
	if saved.Start.Kept == old.Name.Table {
		s.named = "RENAME TO " + old.Name.Quoted() + ", ALGORITHM=INPLACE"
	}
	s.earlier = l.earlier(saved.Start.Shadow)
	var err error
	s.until, err = capture.End(ctx, l.db())
	return s, err
}

// earlier are the layouts that the table may have had in the binlog since the swap, if columns were added to it. Between
// the first one and the present one, the place of the key is known only if both have it in the same place.
func (l *Link) earlier(swapped *schema.Table) (all []binlog.Layout) {
	var was, is []int
	for _, part := range l.Plan.Key.Parts {
		column, there := swapped.Column(part.Column.Name)
		if !there || column.Type != part.Column.Type {
			return nil
		}
		was, is = append(was, column.Ordinal), append(is, part.Column.Ordinal)
	}
	first, now := swapped.BinlogColumns(), l.Plan.Source.BinlogColumns()
	for count := first; count < now && (count == first || slices.Equal(was, is)); count++ {
		all = append(all, binlog.Layout{Columns: was, ColumnCount: count})
	}
	return all
}

// watch has the reader hand out the row events of the old table.
func (s *Since) watch() binlog.Watch {
	return binlog.Watch{Table: s.old, Columns: s.key, ColumnCount: s.columns, Lax: true}
}

// wrote judges a row event of the old table that ends behind a position.
func (s *Since) wrote(behind binlog.Position) error {
	if s.begun || behind.Compare(s.until) >= 0 {
		return nil
	}
	return fmt.Errorf("%w: %s, near %s of the binlog", ErrOldWritten, s.old, behind)
}

// judge judges a statement in the binlog. The swap itself is there, and the last work of the swap on foreign keys.
// other is the judgement of a statement that has nothing to do with the time since the swap.
func (s *Since) judge(statement binlog.Statement, other func(binlog.Statement) error) error {
	if s.isSwap(statement.SQL) || s.named != "" && strings.HasSuffix(statement.SQL, s.named) {
		return nil
	}
	// A swap in two sessions drops the table that has kept the name for the old one. A later table of that name comes by
	// another statement.
	keeps, before := ddl.KeepsRows(statement.SQL), statement.End.Compare(s.until) <= 0
	if before {
		if moved, err := s.follow(statement); moved {
			return err
		}
	}
	drops := before && strings.HasPrefix(strings.ToUpper(statement.SQL), "DROP ")
	if effect := ddl.Refers(statement.SQL, statement.Schema, s.old); !keeps && !drops && effect >= ddl.Points {
		return fmt.Errorf("%w: connection %d: %s", ErrOldWritten, statement.Thread, ddl.Shorten(statement.SQL))
	}
	if before && (keeps || ddl.OnlyAdds(statement.SQL) || ddl.Refers(statement.SQL, statement.Schema, s.source) == ddl.Points) {
		return nil
	}
	if s.away != (schema.Name{}) { // what is done to it there counts as done to the old table
		if effect := ddl.Refers(statement.SQL, statement.Schema, s.away); !keeps && effect >= ddl.Points {
			return fmt.Errorf("%w: connection %d: %s", ErrOldWritten, statement.Thread, ddl.Shorten(statement.SQL))
		}
	}
	err := other(statement)
	if err != nil && before {
		err = fmt.Errorf("%w: %w", ErrNotByKeys, err)
	}
	return err
}

// isSwap reports whether a statement is the swap: of several tables, it has that of this one among others.
func (s *Since) isSwap(sql string) bool {
	const verb = "RENAME TABLE "
	return sql == s.swap || s.grouped && strings.HasPrefix(sql, verb) && strings.Contains(sql, strings.TrimPrefix(s.swap, verb))
}

// follow follows the old table through the renames of other sessions. moved is false if the statement is none of them, or another table
// gets the name. Once the old table has its name back, the error says that an undo by all rows is needed: under the other name, another
// session may have written to it.
func (s *Since) follow(statement binlog.Statement) (moved bool, err error) {
	now := s.old
	if s.away != (schema.Name{}) {
		now = s.away
	}
	was := now
	for _, move := range ddl.Moves(statement.SQL, statement.Schema) {
		switch {
		case sameName(move.From, now):
			now, moved = move.To, true
		case sameName(move.To, s.old):
			return false, nil
		}
	}
	if !moved {
		return false, nil
	}
	if s.away = now; !sameName(now, s.old) {
		return true, nil
	}
	s.away = schema.Name{}
	return true, fmt.Errorf("%w: another session renamed the old table %s, and gave it its name back (as %s it may have been written to); connection %d: %s",
		ErrNotByKeys, s.old, was, statement.Thread, ddl.Shorten(statement.SQL))
}

// sameName compares names as ddl.Refers does.
func sameName(a, b schema.Name) bool {
	return strings.EqualFold(a.Schema, b.Schema) && strings.EqualFold(a.Table, b.Table)
}
