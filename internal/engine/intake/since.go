package intake

import (
	"context"
	"errors"
	"fmt"

	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// These errors end a lazy undo before it has swapped. A cold undo needs no changes of the past.
var (
	// ErrNotSince means that the changes since the swap can't be read, or can't be known from the binlog. Nothing was
	// done.
	ErrNotSince = errors.New("the changes since the swap can't be read any more")
	// ErrOldWritten means that a session has written to the old table since the swap (U2).
	ErrOldWritten = errors.New("another session has written to the old table since the swap")
)

// Since is the time between a swap and the beginning of the undo that takes it back.
type Since struct {
	old schema.Name
	// columns is the number of columns of the old table in the binlog.
	columns int
	// swap is the RENAME of the swap, as the binlog has it.
	swap string
	// until is the end of the binlog when the undo began: it has not written to the old table before.
	until binlog.Position
	// begun means that another undo has written to the old table before: a row event proves nothing.
	begun bool
}

// HasSince fails with ErrNotSince if the changes since a swap can't be read any more. saved is the content of the undo
// table. It writes nothing.
func (l *Link) HasSince(ctx context.Context, saved *checkpoint.Saved) (from Origin, err error) {
	if l.ByTriggers() {
		return from, fmt.Errorf("%w: this run captures changes by triggers", ErrNotSince)
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

// Since finds where the changes since a swap begin (U1). old is the old table. It fails as HasSince does.
func (l *Link) Since(ctx context.Context, saved *checkpoint.Saved, old *schema.Table) (from Origin, err error) {
	if from, err = l.HasSince(ctx, saved); err != nil {
		return from, err
	}
	// Other runs may have had a state table of the same name since: their heartbeats must not count.
	if from.Beaten, err = l.awaitReplica(ctx); err != nil {
		return from, err
	}
	from.Beaten = max(from.Beaten, firstBeat())
	source := l.Plan.Source.Name
	from.Since = &Since{
		old: old.Name, columns: old.BinlogColumns(), begun: saved.Undo.Begun,
		swap: schema.Swap(source, source.Sibling(saved.Start.Old), saved.Start.Shadow.Name),
	}
	from.Since.until, err = capture.End(ctx, l.db())
	return from, err
}

// watch has the reader hand out the row events of the old table.
func (s *Since) watch() binlog.Watch {
	return binlog.Watch{Table: s.old, Columns: []int{0}, ColumnCount: s.columns}
}

// wrote judges a row event of the old table that ends behind a position.
func (s *Since) wrote(behind binlog.Position) error {
	if s.begun || behind.Compare(s.until) >= 0 {
		return nil
	}
	return fmt.Errorf("%w: %s, near %s of the binlog", ErrOldWritten, s.old, behind)
}

// tolerates reports whether a statement in the binlog is the swap itself, or was behind it and changed neither
// rows nor columns: the last work of the swap on foreign keys, or an index.
func (s *Since) tolerates(statement binlog.Statement) bool {
	if statement.End.Compare(s.until) > 0 {
		return false
	}
	return statement.SQL == s.swap || ddl.KeepsRows(statement.SQL)
}
