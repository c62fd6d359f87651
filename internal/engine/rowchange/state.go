package rowchange

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/key"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// position is how far a row change has come: all rows before the frontier are done.
type position struct {
	frontier key.Key
	ended    bool // all rows are done
	done     checkpoint.Changed
}

// checkpoint is the position as the state table has it.
func (c *Change) checkpoint(at position) checkpoint.Checkpoint {
	saved := checkpoint.Checkpoint{
		Version: checkpoint.Plain, Phase: string(event.PhaseRows), Taken: time.Now(), Rows: at.done.Rows, ServerUUID: c.plan.Server.UUID,
		Changed: &at.done,
	}
	if at.frontier != "" || at.ended {
		saved.Copied = checkpoint.Ranges([]key.Range{{To: at.frontier}})
	}
	if at.ended {
		saved.Copied[0].To = nil
	}
	return saved
}

// positionOf is the inverse of checkpoint.
func positionOf(saved checkpoint.Checkpoint) position {
	at := position{done: *saved.Changed}
	for _, r := range checkpoint.KeyRanges(saved.Copied) {
		at.frontier, at.ended = r.To, r.To == ""
	}
	return at
}

// start is what the run begins with.
func (c *Change) start() checkpoint.Start {
	p := c.plan
	definition, _ := schema.SplitAutoIncrement(p.Source.Create)
	return checkpoint.Start{
		Purpose: string(plan.ChangingRows), Source: definition, Alter: p.Statement.String(), Key: p.Key.Name, Zone: p.Server.TimeZone,
		Deciding: p.Server.Deciding, Began: time.Now(), Shadow: p.Source, Columns: p.Source.Columns,
	}
}

// hasState reports whether the source has the state table of a row change.
func (p *Plan) hasState(ctx context.Context, session *dbconn.Session) (bool, error) {
	return schema.HasComment(ctx, session.Rows, p.State(), schema.MarkFor(plan.RowsKind, p.Source.Name))
}

// former describes what the run resumes; "" for nothing. It fails with failure.ErrOtherAlter.
func former(ctx context.Context, pool *dbconn.Pool, p *Plan) (string, error) {
	session, err := pool.Session(ctx)
	if err != nil {
		return "", err
	}
	defer session.Close()
	if there, err := p.hasState(ctx, session); err != nil || !there {
		return "", err
	}
	store := checkpoint.New(p.State(), p.Source.Name, pool.Name(), p.Server.UUID)
	saved, err := store.Peek(ctx, session)
	if dbconn.NoSuchTable(err) || errors.Is(err, checkpoint.ErrEmpty) {
		return "", nil // its run has ended, or has not begun
	}
	if err != nil {
		return "", err
	}
	if !begun(saved) {
		return "", nil
	}
	if err := p.resumable(saved); err != nil {
		return "", err
	}
	return resumes(p, saved), nil
}

func resumes(p *Plan, saved *checkpoint.Saved) string {
	c := saved.Checkpoint
	return fmt.Sprintf("resuming the same command, which had %s %d rows by %s", p.Done(), c.Changed.Rows, c.Taken.Local().Format(time.DateTime))
}

// begun reports whether a run may have changed rows.
func begun(saved *checkpoint.Saved) bool {
	return saved.Start != nil && saved.Checkpoint.Changed != nil
}

// resumable fails with failure.ErrOtherAlter if the saved run is another one.
func (p *Plan) resumable(saved *checkpoint.Saved) error {
	done, start := saved.Checkpoint.Changed, saved.Start
	other := func(what string) error {
		return fmt.Errorf("%w: %s, which had changed %d rows when it stopped%s", failure.ErrOtherAlter, ddl.Shorten(start.Alter), done.Rows, what)
	}
	switch {
	case !p.Statement.Same(ddl.RowVerb(done.Verb), done.Where, done.Set):
		return other("")
	case done.Rest != p.restName():
		return other("; it had --rest=" + done.Rest)
	case start.Key != p.Key.Name:
		return other("; it walked by the key " + start.Key)
	}
	was, _ := start.Shadow.Key(p.Key.Name)
	if now, _ := p.Source.Key(p.Key.Name); !slices.EqualFunc(was.Parts, now.Parts, sameOrder) {
		return other("; its key " + start.Key + " was altered since")
	}
	for _, part := range p.Key.Parts {
		was, is := start.Shadow.Column(part.Column.Name)
		if !is || was.Type != part.Column.Type || was.Collation != part.Column.Collation {
			return other("; the column " + part.Column.Name + " of its key was altered since")
		}
	}
	for _, r := range checkpoint.KeyRanges(saved.Checkpoint.Copied) {
		if r.To == "" {
			continue
		}
		if err := p.spec.Key.Check(r.To); err != nil {
			return other("; its checkpoint cannot be read: " + err.Error())
		}
	}
	return nil
}

// sameOrder reports whether a part of a key is of the same column and in the same order.
func sameOrder(a, b schema.KeyPart) bool {
	return strings.EqualFold(a.Column, b.Column) && a.Descending == b.Descending
}

// restName is the archive as the state table has it.
func (p *Plan) restName() string {
	if p.Options.Rest == (schema.Name{}) {
		return ""
	}
	return p.Options.Rest.Quoted()
}

// prepare makes the state table, or takes that of a stopped run over, and returns where to begin and the number of the last heartbeat.
// REQUIRES: the source is claimed.
func (c *Change) prepare(ctx context.Context) (at position, beaten uint64, err error) {
	session, err := c.pool.Session(ctx)
	if err != nil {
		return at, 0, err
	}
	defer session.Close()
	there, err := c.plan.hasState(ctx, session)
	if err != nil {
		return at, 0, err
	}
	if there {
		saved, err := c.takeOver(ctx, session)
		if err != nil && !errors.Is(err, checkpoint.ErrEmpty) {
			return at, 0, err
		}
		if err == nil && begun(saved) {
			if err := c.plan.resumable(saved); err != nil {
				return at, 0, err
			}
			if !maps.Equal(saved.Start.Deciding, c.plan.Server.Deciding) {
				c.note("settings of the server have changed since the run was stopped (time zone, sql_mode, ...): its expressions may have other values now")
			}
			c.kept = true
			c.emit(event.Resumed{Rows: saved.Checkpoint.Rows, Taken: saved.Checkpoint.Taken, Text: resumes(c.plan, saved), At: time.Now()})
			return positionOf(saved.Checkpoint), saved.Beaten, nil
		}
		if err := c.dropState(ctx); err != nil {
			return at, 0, err
		}
	}
	at.done = checkpoint.Changed{
		Verb: string(c.plan.Statement.Verb), Where: c.plan.Statement.Where, Set: c.plan.Statement.Set, Rest: c.plan.restName(),
	}
	if err := c.createRest(ctx); err != nil {
		return at, 0, err
	}
	c.made = true
	if err = c.store.CreateAs(ctx, session, plan.RowsKind); err == nil {
		err = c.store.Fill(ctx, session, c.checkpoint(at))
	}
	if err == nil {
		err = c.store.Begin(ctx, session, c.start(), c.checkpoint(at))
	}
	c.kept = err == nil
	return at, 0, err
}

// takeOver ends what an earlier attempt still does on the server, and returns its last committed state. The read waits for a COMMIT that is
// under way.
func (c *Change) takeOver(ctx context.Context, session *dbconn.Session) (saved *checkpoint.Saved, err error) {
	load := func() error {
		return session.Patiently(ctx, func() (err error) {
			saved, err = c.store.Load(ctx, session)
			return err
		})
	}
	if err := load(); err != nil {
		return nil, err
	}
	if _, err := leftovers.CheckFollowing(ctx, c.pool, saved); err != nil {
		return nil, err
	}
	if err := c.pool.EndAll(ctx, saved.Run); err != nil && !errors.Is(err, dbconn.ErrUnseen) {
		return nil, fmt.Errorf("end the earlier run: %w", err)
	}
	if err := session.Patiently(ctx, func() error { return c.store.TakeOver(ctx, session) }); err != nil {
		return nil, err
	}
	err = load()
	return saved, err
}

// createRest makes the table that takes deleted rows, if it does not exist.
func (c *Change) createRest(ctx context.Context) error {
	rest := c.plan.Options.Rest
	if rest == (schema.Name{}) || c.plan.RestThere {
		return nil
	}
	session, err := c.pool.Session(ctx, c.pool.Defining()...)
	if err != nil {
		return err
	}
	defer session.Close()
	if _, err := session.Exec(ctx, "CREATE TABLE "+rest.Quoted()+" LIKE "+c.plan.Source.Name.Quoted()); err != nil {
		return fmt.Errorf("create %s: %w", rest, err)
	}
	c.emit(event.Note{Text: "created " + rest.String() + " like " + c.plan.Source.Name.String() + " for the deleted rows", At: time.Now(), Usual: true})
	return nil
}

// dropState drops the state table.
func (c *Change) dropState(ctx context.Context) error {
	err := leftovers.RetryBriefly(ctx, func() error { return c.pool.Exec(ctx, "DROP TABLE IF EXISTS "+c.plan.State().Quoted()) })
	if err != nil {
		return fmt.Errorf("drop %s: %w", c.plan.State(), err)
	}
	c.made, c.kept = false, false
	return nil
}

// archived are the columns that the archive takes.
func (p *Plan) archived() (columns []string) {
	for _, c := range p.Source.Columns {
		if c.Generated == schema.NotGenerated {
			columns = append(columns, schema.Quote(c.Name))
		}
	}
	return slices.Clip(columns)
}
