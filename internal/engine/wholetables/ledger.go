package wholetables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// book is the undo table of a source.
type book struct {
	pool   *dbconn.Pool
	source schema.Name
}

func (b book) name() schema.Name { return plan.UndoOf(b.source) }

func (b book) store() *checkpoint.Store {
	return checkpoint.New(b.name(), b.source, b.pool.Name(), "")
}

// Record reads what an undo of the last change of a table must know; nil if there is nothing. A table that a kill
// has left without rows has nothing.
func Record(ctx context.Context, pool *dbconn.Pool, source schema.Name) (*checkpoint.Saved, error) {
	saved, err := leftovers.New(pool, source, plan.Altering).Undo(ctx)
	switch {
	case errors.Is(err, checkpoint.ErrUnreadable), err == nil && (saved == nil || saved.Undo == nil):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the undo of %s: %w", source, err)
	}
	return saved, nil
}

// write writes the record, and creates the table if it must. REQUIRES: the source is claimed.
func (b book) write(ctx context.Context, record checkpoint.Undo) error {
	return b.patiently(ctx, func(ctx context.Context, session *dbconn.Session) error {
		there, err := Record(ctx, b.pool, b.source)
		if err != nil {
			return err
		}
		if there == nil {
			// An empty one is left, if any: by a kill, or by a lost answer.
			if err := b.drop(ctx, session); err != nil {
				return err
			}
			return b.store().CreateUndo(ctx, session, checkpoint.NewUndo(record))
		}
		return b.store().Rewrite(ctx, session, record)
	})
}

// patiently does work on the undo table in a session, even if ctx has ended, and tries it again for a while.
func (b book) patiently(ctx context.Context, work func(context.Context, *dbconn.Session) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bookPatience)
	defer cancel()
	return leftovers.RetryBriefly(ctx, func() error {
		session, err := b.pool.Session(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		return work(ctx, session)
	})
}

// bookPatience bounds the work on an undo table, which no other session uses.
const bookPatience = 30 * time.Second

// drop drops the undo table, if it is the source's.
func (b book) drop(ctx context.Context, session *dbconn.Session) error {
	there, err := leftovers.UndoTableThere(ctx, session, b.source)
	if err != nil || !there {
		return err
	}
	_, err = session.Exec(ctx, "DROP TABLE IF EXISTS "+b.name().Quoted())
	return err
}

// close ends the undo.
func (b book) close(ctx context.Context) error {
	return b.patiently(ctx, b.drop)
}

// ErrNoNumbers means that only InnoDB's numbers of the tables could show whether a statement was executed, and that
// the account may not read them.
var ErrNoNumbers = errors.New("tables exchange their names, and the account may not see by which number InnoDB knows them; GRANT PROCESS")

// ledgerOf is the ledger of a statement that is about to be executed.
func ledgerOf(ctx context.Context, db *sql.DB, p *plan.TablePlan) (*checkpoint.Ledger, error) {
	l := &checkpoint.Ledger{
		Kind: string(p.Statement.Kind), Statement: p.Statement.Text(), Step: checkpoint.Doing, Redo: p.Redo, Again: p.Again,
		Table: p.Table, Ends: p.EndsUndo,
	}
	left := map[schema.Name]bool{}
	for _, move := range p.Moves {
		left[move.From] = true
	}
	for _, move := range p.Moves {
		if move.From == p.Twin {
			continue // it does not exist yet
		}
		id, err := facts.ReadIdentity(ctx, db, move.From)
		if err == nil && len(id) == 0 && left[move.To] {
			err = ErrNoNumbers
		}
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", move.From, err)
		}
		made := checkpoint.Move{From: move.From, To: move.To, ID: id}
		for _, c := range p.Comments {
			if c.Table == move.To {
				made.Mark, made.Comment = c.Former, c.Comment
			}
		}
		l.Moves = append(l.Moves, made)
	}
	return l, nil
}

// executed reports whether the tables have the names that the statement gave them (law L7). REQUIRES: the session
// that ran the statement has ended.
func executed(ctx context.Context, db *sql.DB, l *checkpoint.Ledger) (bool, error) {
	for _, move := range l.Moves {
		id, comment, err := at(ctx, db, move.To)
		if err != nil || id == nil {
			return false, err
		}
		switch _, marked := schema.MarkedDropped(comment, move.From); {
		case l.Kind == string(ddl.KindDrop):
			if !marked {
				return false, nil
			}
		case !id.Is(move.ID):
			return false, nil
		}
	}
	return len(l.Moves) > 0, nil
}

// at returns the number and the comment of the table that has a name; the number is nil if there is none.
func at(ctx context.Context, db *sql.DB, name schema.Name) (id facts.Identity, comment string, err error) {
	err = db.QueryRowContext(ctx, schema.CommentQuery(name)).Scan(&comment)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, "", nil
	}
	if err == nil {
		id, err = facts.ReadIdentity(ctx, db, name)
	}
	if id == nil {
		id = facts.Identity{}
	}
	return id, comment, err
}

// stepOf returns the step of a ledger as the tables show it, "" if the statement was not executed. REQUIRES: if a
// decision depends on it, the sessions of the run that wrote the ledger have ended.
func stepOf(ctx context.Context, db *sql.DB, l *checkpoint.Ledger) (string, error) {
	if !l.Pending() {
		return l.Step, nil
	}
	was, err := executed(ctx, db, l)
	switch {
	case err != nil:
		return "", fmt.Errorf("look at the tables of %q: %w", l.Statement, err)
	case was:
		return checkpoint.Made, nil
	case l.Step == checkpoint.Undoing || l.Redo:
		return checkpoint.Undone, nil
	}
	return "", nil
}

// endEarlier ends the sessions of the run that wrote a record: then its statement was executed, or never will be.
// REQUIRES: the source is claimed.
func endEarlier(ctx context.Context, pool *dbconn.Pool, saved *checkpoint.Saved) error {
	err := pool.EndAll(ctx, saved.Run)
	if !errors.Is(err, dbconn.ErrUnseen) || saved.Undo.Ledger == nil {
		return err
	}
	for _, move := range saved.Undo.Ledger.Moves {
		for _, name := range []schema.Name{move.From, move.To} {
			if err := pool.AwaitStatements(ctx, " TO "+name.Quoted()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Withdrawn takes the record of a statement back if a run was killed before it, with the empty table that a TRUNCATE has made:
// the record of the change before, if there is one, has its place again. saved is what was read, and what is returned if that
// is not so.
func Withdrawn(ctx context.Context, pool *dbconn.Pool, source schema.Name, saved *checkpoint.Saved) (*checkpoint.Saved, error) {
	return Settled(ctx, pool, source, saved, nil)
}

// Settled is Withdrawn, and with a listener it also completes a statement that keeps no undo if its run was killed after it: its record
// goes, too.
func Settled(
	ctx context.Context, pool *dbconn.Pool, source schema.Name, saved *checkpoint.Saved, emit event.Listener,
) (*checkpoint.Saved, error) {
	if saved == nil || saved.Undo.Ledger == nil || !saved.Undo.Ledger.Pending() {
		return saved, nil
	}
	if following, _, err := facts.Replicates(ctx, pool.DB()); err != nil || following { // its run may be at work there
		return saved, err
	}
	held, err := leftovers.ClaimTable(ctx, pool, source, func(error) {})
	if errors.Is(err, leftovers.ErrClaimed) { // its run is at work
		return saved, nil
	}
	if err != nil {
		return nil, err
	}
	defer held.Release()
	if err := endEarlier(ctx, pool, saved); err != nil {
		return nil, err
	}
	step, err := stepOf(ctx, pool.DB(), saved.Undo.Ledger)
	if err == nil && step == checkpoint.Made && emit != nil && saved.Undo.Ledger.Step == checkpoint.Doing && saved.Undo.For == 0 {
		c, err := changeOf(pool, source, saved.Undo.Ledger, emit)
		if err == nil {
			err = finishAlone(ctx, c)
		}
		if err != nil {
			return nil, err
		}
		return Record(ctx, pool, source)
	}
	if err != nil || step != "" {
		return saved, err
	}
	twin, err := twinLeft(ctx, pool.DB(), source, saved.Undo.Ledger, step)
	if err == nil && twin != (schema.Name{}) {
		err = leftovers.Old{Pool: pool, Source: source, Name: twin}.Drop(ctx)
	}
	if err != nil {
		return nil, err
	}
	record := book{pool: pool, source: source}
	if saved.Undo.Earlier == nil {
		return nil, record.close(ctx)
	}
	if err := record.write(ctx, *saved.Undo.Earlier); err != nil {
		return nil, err
	}
	return Record(ctx, pool, source)
}

// lookForUndos adds to the facts of a statement the open undos of its tables, and those of other tables that need them.
func lookForUndos(
	ctx context.Context, pool *dbconn.Pool, statement *ddl.Statement, f *plan.StatementFacts, emit event.Listener,
) error {
	now, err := leftovers.ServerTime(ctx, pool.DB())
	if err != nil {
		return err
	}
	for _, name := range statement.Tables() {
		saved, err := Record(ctx, pool, name)
		if err != nil {
			return err
		}
		if l := ledgerIn(saved); l != nil && l.Statement != statement.Text() { // the same statement completes it itself
			if saved, err = Settled(ctx, pool, name, saved, emit); err != nil {
				return err
			}
		}
		if saved == nil {
			continue
		}
		record := saved.Undo
		open := plan.OpenUndo{Table: name, Until: record.Until, Redo: record.Back, Over: record.Until.Before(now)}
		if l := record.Ledger; l != nil && l.Pending() {
			step, err := stepOf(ctx, pool.DB(), l)
			if err != nil {
				return err
			}
			open.Until, open.Over = now.Add(record.For), step == ""
			if open.Twin, err = twinLeft(ctx, pool.DB(), name, l, step); err != nil {
				return err
			}
			open.Unfinished = l.Step == checkpoint.Doing && step == checkpoint.Made && l.Statement == statement.Text()
			open.Passing = record.For == 0
			if open.Unfinished && open.Passing && l.Kind != string(ddl.KindRename) {
				if open.Aside, err = schema.Load(ctx, pool.DB(), l.Moves[0].To); err != nil {
					return err
				}
			}
		}
		f.Undos = append(f.Undos, open)
	}
	f.Needed, err = leftovers.NeededByUndos(ctx, pool, statement.Tables())
	return err
}

// ledgerIn is the ledger of a record; nil if it has none.
func ledgerIn(saved *checkpoint.Saved) *checkpoint.Ledger {
	if saved == nil {
		return nil
	}
	return saved.Undo.Ledger
}

// twinLeft returns the empty table that a run which was killed before its TRUNCATE has left, if any. The ledger
// proves whose it is: no other run has used the name since.
func twinLeft(ctx context.Context, db *sql.DB, source schema.Name, l *checkpoint.Ledger, step string) (twin schema.Name, err error) {
	if l.Kind != string(ddl.KindTruncate) || l.Step != checkpoint.Doing || step == checkpoint.Made {
		return twin, nil
	}
	name := plan.NamesOf(source).Shadow
	id, comment, err := at(ctx, db, name)
	if err != nil || id == nil || comment != l.Table.Comment {
		return twin, err
	}
	var some bool
	if err := db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+name.Quoted()+")").Scan(&some); err != nil || some {
		return twin, err
	}
	return name, nil
}
