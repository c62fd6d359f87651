package carry

import (
	"context"
	"fmt"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Set is what goes over to the shadow in a swap.
type Set struct {
	Source, Shadow, Old schema.Name

	// Keys are the foreign keys in their final form: with the columns of the shadow.
	Keys []schema.ForeignKey
	// Shadows are the shadows of the other tables that the same step swaps, by their sources: foreign keys to these go over to them.
	Shadows map[schema.Name]schema.Name
	// Dropped are the foreign keys that the ALTER drops: they go with the old table.
	Dropped []schema.ForeignKey
	// Acting are the names of the foreign keys that change rows of the source without a trace in
	// the binlog. They also act on the shadow, from the beginning (ActOnShadow).
	Acting []string
	// Keyed are the names of the foreign keys that have columns of the followed key.
	Keyed []string
	// OldComment is the old table's mark. A statement that changes a table makes it look younger
	// than it is, so the comment must show its owner.
	OldComment string

	// Triggers are the source's own.
	Triggers []schema.Trigger
}

// HasKeys reports whether foreign keys go over, or are dropped.
func (s Set) HasKeys() bool { return len(s.Keys)+len(s.Dropped) > 0 }

// HasTriggers reports whether triggers go over.
func (s Set) HasTriggers() bool { return len(s.Triggers) > 0 }

// Empty reports whether there is nothing to do.
func (s Set) Empty() bool { return !s.HasKeys() && !s.HasTriggers() }

// Statement is one statement of a step.
type Statement struct {
	What string // for messages: what it does
	// Before are the settings that give Text its meaning. After are the settings that a session
	// gets back.
	Before, After []string
	Text          string // in the charset that Before names
	// Refusing reports that good rows are refused until the statement is done.
	Refusing bool
}

// Run carries out statements of one kind, and gives the session its settings back.
func Run(ctx context.Context, session *dbconn.Session, statements ...Statement) error {
	if len(statements) == 0 {
		return nil
	}
	for _, s := range statements {
		for _, text := range append(s.Before, s.Text) {
			if _, err := session.Exec(ctx, text); err != nil {
				return fmt.Errorf("%s: %w", s.What, err)
			}
		}
	}
	for _, text := range statements[0].After {
		if _, err := session.Exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// Work is what is left to do for the foreign keys, or the triggers.
type Work struct {
	Statements []Statement
	// Locks are the tables that the session must have locked. None: each statement locks its own.
	Locks []schema.Name
}

// FindWork reads the present state and returns what is left to do for the foreign keys, or the
// triggers.
type FindWork func(ctx context.Context, q schema.Querier) (Work, error)

// Declare returns what precedes the RENAME. REQUIRES: the shadow is equal to the source, and CanCarry
// has no objection to a trigger.
func (s Set) Declare() []Statement { return append(s.declareKeys(), s.declareTriggers()...) }

// Undeclare returns what finds the work that takes back what Declare did, as far as it did. REQUIRES: there was no RENAME.
func (s Set) Undeclare() []FindWork { return s.finders(s.UndeclareKeys, s.UndeclareTriggers) }

// Settle returns what finds the work that leaves each foreign key and trigger once, with the table that took the
// source's place. REQUIRES: there was a RENAME.
func (s Set) Settle() []FindWork { return s.finders(s.SettleKeys, s.SettleTriggers) }

func (s Set) finders(keys, triggers FindWork) (all []FindWork) {
	if s.HasKeys() {
		all = append(all, keys)
	}
	if s.HasTriggers() {
		all = append(all, triggers)
	}
	return all
}
