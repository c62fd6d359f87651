package cutover

import (
	"context"
	"fmt"

	"midstream/internal/engine/usertrigger"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// What an attempt does about the triggers of the source, under its lock.

// sameTriggers fails with ErrRelated where the source's triggers are not the plan's any more.
func (h *hold) sameTriggers(ctx context.Context) error {
	now, err := schema.Triggers(ctx, h.pool.DB(), h.tables.Source)
	if err == nil && !usertrigger.Equal(now, h.tables.Triggers.Triggers) {
		err = fmt.Errorf("triggers of %s: %w", h.tables.Source, ErrRelated)
	}
	return err
}

// withdrawStandIns takes back what declare has done.
func (a *attempt) withdrawStandIns(ctx context.Context) error {
	if len(a.tables.Triggers.Triggers) == 0 {
		return nil
	}
	found, err := schema.Triggers(ctx, a.pool.DB(), a.tables.Shadow)
	if err != nil {
		return err
	}
	return Carry(ctx, a.holder, a.tables.Triggers.Withdraw(found))
}

// settleTriggers gives the new table its triggers.
func (a *attempt) settleTriggers(ctx context.Context, session *dbconn.Session) error {
	if len(a.tables.Triggers.Triggers) == 0 {
		return nil
	}
	onSource, err := schema.Triggers(ctx, a.pool.DB(), a.tables.Source)
	if err != nil {
		return err
	}
	onOld, err := schema.Triggers(ctx, a.pool.DB(), a.tables.Old)
	if err != nil {
		return err
	}
	for _, statement := range a.tables.Triggers.Settle(onSource, onOld) {
		carry := func(ctx context.Context) error { return Carry(ctx, session, []usertrigger.Statement{statement}) }
		if err := a.whole(ctx, session, carry); err != nil {
			return err
		}
	}
	return nil
}

// Carry carries out statements about triggers, and gives the session its settings back.
func Carry(ctx context.Context, session *dbconn.Session, statements []usertrigger.Statement) error {
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
	for _, text := range usertrigger.Restored {
		if _, err := session.Exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}
