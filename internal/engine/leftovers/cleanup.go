package leftovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/trigger"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Table is a table that former runs on a source left on the server.
type Table struct {
	Name schema.Name
	// Why is how the table is known to be ours, or what it is.
	Why      string
	Rows     int64 // the server's estimate
	Bytes    int64
	unlogged bool // it is in no binlog
	log      bool // triggers write to it
	// Triggers are dropped with the table: triggers that write to it, or are on it.
	Triggers []Trigger
	// Gone means that the table no longer exists, and only its Triggers are left.
	Gone bool
	// Spared means that the table is not dropped: it has a name of Midstream's but not its mark,
	// or it is in use.
	Spared bool
	// Clone means that the table is an empty copy that a plan has made to ask the server.
	Clone bool
	rows  bool // it has the checkpoint of a row change
}

// Trigger is a trigger that is dropped with a Table.
type Trigger struct{ Name, Table schema.Name }

// ErrInUse means that a table is not idle and so was not dropped. Nothing was dropped.
var ErrInUse = errors.New("the table is in use")

// Denied is the error of a Cleanup if the account lacks the rights for it. Nothing was dropped.
type Denied struct {
	Lacked []plan.Risk // each privilege, with its GRANT
}

// Error lists the missing rights.
func (d *Denied) Error() string {
	var lacked []string
	for _, r := range d.Lacked {
		lacked = append(lacked, r.What)
	}
	return strings.Join(lacked, "; ")
}

// Cleanup removes what former runs on a source left. These are tables with our mark for the source,
// and a shadow that a marked state table records (its own mark goes shortly before the swap). With
// old, Cleanup also removes the old tables that swaps have left and marked, if the source
// exists and no session uses them. It never touches the source itself.
//
// Cleanup holds the advisory lock of the source. So no run is at work (ErrClaimed), here or on a
// server that this one follows (ErrElsewhere). First it checks that the account may drop everything
// that it found (*Denied). It calls agree before it drops anything, also with the tables that are
// spared. Before that it fixes foreign keys and triggers, and reports that to note. Cleanup returns
// what it found, dropped or not; on an error some of it may be gone.
func Cleanup(
	ctx context.Context,
	pool *dbconn.Pool,
	source schema.Name,
	old bool,
	agree func([]Table) bool,
	note func(string),
) ([]Table, error) {
	held, err := ClaimTable(ctx, pool, source, func(error) {})
	if err != nil {
		return nil, err
	}
	defer held.Release()
	c := Cleaner{pool: pool, source: source}
	found, err := c.Find(ctx, old)
	if err == nil {
		var rehearsed []Table
		onReplica := Cleaner{pool: pool, source: source, purpose: plan.RehearsingOnReplica}
		rehearsed, err = onReplica.Find(ctx, false)
		found = append(rehearsed, found...)
	}
	if err == nil {
		err = c.seeTriggers(ctx, found)
	}
	if err == nil || dbconn.Denied(err) {
		err = c.allowed(ctx, found, old, err)
	}
	if err != nil {
		return nil, fmt.Errorf("look for leftovers of %s: %w", source, err)
	}
	if !slices.ContainsFunc(found, func(l Table) bool { return !l.Spared }) || !agree(found) {
		return found, nil
	}
	if err := c.keepSwapped(ctx, note); err != nil {
		return found, err
	}
	if there, err := c.List(ctx); err != nil {
		return found, err
	} else if c.HasUndo(there) { // it has come to be needed
		found = slices.DeleteFunc(found, func(l Table) bool { return there[l.Name].comment == schema.MarkFor(trigger.SinceKind, source) })
	}
	if err := c.FixCarried(ctx, cutover.Budget{}.WithDefaults().Wait, note, true); err != nil {
		return found, err
	}
	for _, l := range found {
		if l.Spared {
			continue
		}
		err := RetryBriefly(ctx, func() error { return c.Drop(ctx, l) })
		if err != nil {
			return found, fmt.Errorf("drop %s: %w", l.Name, err)
		}
	}
	return found, nil
}

// New returns one for runs of a purpose on a source.
func New(pool *dbconn.Pool, source schema.Name, purpose plan.Purpose) *Cleaner {
	return &Cleaner{pool: pool, source: source, purpose: purpose}
}

// Cleaner finds and drops the leftovers of runs for one purpose on one source. Runs that alter and
// rehearsals have the same ones, but for rehearsals on a replica.
type Cleaner struct {
	pool    *dbconn.Pool
	source  schema.Name
	purpose plan.Purpose
	// told are the names in the state table when tables was last called.
	told checkpoint.Names
}

// Names returns the names of the artefacts, with the shadow's name from the state table.
func (c *Cleaner) Names() plan.Names {
	names := c.purpose.NamesOf(c.source)
	if c.told.Shadow != "" {
		names.Shadow = c.source.Sibling(c.told.Shadow)
	}
	return names
}

// Find lists the tables that may be dropped. The state table is last, because it identifies the
// others.
func (c *Cleaner) Find(ctx context.Context, old bool) ([]Table, error) {
	tables, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	var found []Table
	for _, t := range tables {
		listed, err := c.judge(ctx, &t, tables, old)
		if err != nil {
			return nil, err
		}
		if listed {
			if t.Rows == 0 { // the statistics may be old; without a count, it is an estimate
				t.Rows, _ = facts.Count(ctx, c.pool.DB(), t.Name, facts.MostCounted)
			}
			found = append(found, t.Table)
		}
	}
	if err := c.addTriggers(ctx, tables, &found); err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b Table) int { return strings.Compare(a.Name.Table, b.Name.Table) })
	if c.HasState(tables) {
		if _, err := c.SavedHere(ctx); err != nil && !errors.Is(err, checkpoint.ErrUnreadable) {
			return nil, err
		}
		state := tables[c.Names().State]
		state.Why = "marked: " + state.comment
		found = append(found, state.Table)
	}
	return found, nil
}

// judge decides whether Find lists a table, and sets why it is dropped or spared. With old it also
// judges the tables before swaps. Find itself lists the state table.
func (c *Cleaner) judge(ctx context.Context, t *candidate, tables Listing, old bool) (listed bool, err error) {
	names := c.Names()
	_, sourceThere := tables[c.source]
	isMarked := schema.MarkedFor(t.comment, c.source)
	beforeSwap, isOld := schema.MarkedOld(t.comment, c.source)
	beforeDrop, isDropped := schema.MarkedDropped(t.comment, c.source)
	switch {
	case t.Name == c.source, t.Name == names.State:
		return false, nil
	case t.comment == schema.MarkFor(checkpoint.UndoKind, c.source): // a kill may leave one without rows, which no undo needs
		t.Why = "marked: " + t.comment
		filled, err := c.filled(ctx, t.Name)
		return err == nil && !filled, err
	case t.comment == schema.MarkFor(checkpoint.KeptKind, c.source) && (c.HasUndo(tables) || !old && tables.hasOld(c.source)),
		t.comment == schema.MarkFor(trigger.SinceKind, c.source) && c.HasUndo(tables),
		t.comment == schema.MarkFor(checkpoint.MergedKind, c.source) && c.HasUndo(tables):
		return false, nil // they go with the end of the undo, or with the old table
	case t.Clone:
		return true, c.spareClone(ctx, t)
	case t.comment == schema.MarkFor(checkpoint.ParkedKind, c.source):
		t.Why = "marked: " + t.comment
		filled, err := c.filled(ctx, t.Name)
		if !isParked(c.source, t.Name) {
			t.Spared, t.Why = true, renamed(t.Name, "")
		}
		return !filled, err
	case isMarked:
		t.Why, t.log = "marked: "+t.comment, t.comment == schema.MarkFor(trigger.Kind, c.source)
		t.log = t.log || t.comment == schema.MarkFor(trigger.SinceKind, c.source)
		if t.rows = t.comment == schema.MarkFor(plan.RowsKind, c.source); t.rows {
			t.Why = "the checkpoint of a purge or an update that was stopped: without it, the same command begins again"
		}
		return true, nil
	case t.Name == names.Shadow && !c.HasState(tables):
		t.Spared, t.Why = true, "it has no mark, and no state table names it"
		return true, nil
	case t.Name == names.Shadow:
		t.Why = "the state table names it"
		return c.toldOf(ctx, tables[names.State], *t)
	case !old:
		return false, nil
	case isOld || isDropped:
		if !gaveName(c, t) {
			_, was, _ := schema.SourceOfAside(t.comment, t.Name.Schema)
			t.Spared, t.Why = true, renamed(t.Name, was)
			return true, nil
		}
		if needed, err := undoNeeds(ctx, c, tables, t.Name); needed || err != nil {
			t.Spared, t.Why = true, "an undo of the last change needs it; midstream undo  --end "+c.source.Argument()+" ends that"
			return true, err
		}
	}
	switch {
	case schema.MarkedRest(t.comment, c.source):
		t.Spared, t.Why = true, "it has rows that --keep has left out of "+c.source.String()+"; this makes it yours: ALTER TABLE "+t.Name.Quoted()+
			" COMMENT = "+schema.Literal(beforeSwap)
		return true, nil
	case isDropped:
		t.Why = "the table that a DROP set aside" + itsComment(beforeDrop)
		return true, c.idle(ctx, t.Name)
	case isOld && (sourceThere || newThere(ctx, c, t)):
		t.Why = "the table before a swap" + itsComment(beforeSwap)
		return true, c.idle(ctx, t.Name)
	case !isOld:
		t.Spared, t.Why = true, "it has no mark of an old table"
		return true, nil
	}
	return false, nil // without the source, the old table is all that is left
}

// newThere reports whether the new table exists, if the swap has given it another name than the source's.
func newThere(ctx context.Context, c *Cleaner, t *candidate) bool {
	into, moved := schema.IntoOfOld(t.comment)
	if !moved {
		return false
	}
	_, err := schema.LoadOwn(ctx, c.pool.DB(), into)
	return err == nil
}

// gaveName reports whether a run has given an old table its name, and no session since.
func gaveName(c *Cleaner, t *candidate) bool {
	return plan.IsAside(c.source, t.Name, t.comment) || t.Name == c.source.Sibling(c.told.Old) || t.Name == c.source.Sibling(c.told.Kept)
}

// isParked reports whether an undo of the source gives a table of parked rows, or of their values, this name.
func isParked(source, name schema.Name) bool {
	return slices.Contains(plan.ParkedNames(source), name) || slices.Contains(plan.ValuesNames(source), name)
}

// renamed is why a table with a mark is spared that has another name than we gave it, and how its mark goes. was is its former comment.
func renamed(name schema.Name, was string) string {
	return "it was renamed, so Midstream does not drop it; its mark goes with: ALTER TABLE " + name.Quoted() + " COMMENT = " + schema.Literal(was)
}

// itsComment returns what to add to a reason about the comment that a table had before its mark.
func itsComment(comment string) string {
	if comment == "" {
		return ""
	}
	return "; its comment was: " + comment
}

// GoesWithARun reports whether a run drops the leftover at its end without being asked: it is known
// to be ours, and no plan is at work on it. On a server that does not show the owners of
// connections, the latter is not known. The checkpoint of a row change stays: nothing else knows which rows were changed.
func (c *Cleaner) GoesWithARun(l Table) bool {
	return !l.Spared && !l.rows && (!l.Clone || c.pool.Marked())
}

// allowed fails with a *Denied if the account lacks the rights to drop the found tables, or if that
// is why finding them failed. Otherwise it returns failed.
func (c *Cleaner) allowed(ctx context.Context, found []Table, old bool, failed error) error {
	var drop []schema.Name
	for _, l := range found {
		if !l.Spared {
			drop = append(drop, l.Name)
		}
	}
	if failed == nil && len(drop) == 0 {
		return nil
	}
	lacked, err := facts.LackedByCleanup(ctx, c.pool.DB(), drop, old && failed != nil)
	switch {
	case err == nil && len(lacked) > 0:
		return &Denied{Lacked: lacked}
	case failed != nil:
		return failed
	}
	return err
}

// Listing has the source and the tables that have the name of an artefact, or its mark.
type Listing map[schema.Name]candidate

// candidate is a table that has the source's or an artefact's name.
type candidate struct {
	Table
	comment string
}

// List reads the source and the tables that have the name of an artefact, or its mark.
func (c *Cleaner) List(ctx context.Context) (Listing, error) {
	var err error
	if c.told, err = checkpoint.New(c.Names().State, c.source, c.pool.Name(), "").Names(ctx, c.pool.DB()); err != nil {
		return nil, err
	}
	names := c.Names()
	wanted := append(plan.OldNames(c.source), c.source, names.Shadow, names.State)
	for _, told := range []string{c.told.Old, c.told.Kept} {
		if told != "" {
			wanted = append(wanted, c.source.Sibling(told))
		}
	}
	var list []string
	for _, name := range wanted {
		list = append(list, schema.Literal(name.Table))
	}
	rows, err := c.pool.DB().QueryContext(ctx, `
		SELECT table_name, IFNULL(table_comment, ''), IFNULL(table_rows, 0), IFNULL(data_length, 0) + IFNULL(index_length, 0)
		  FROM information_schema.tables
		 WHERE table_schema = ? AND table_type = 'BASE TABLE' AND
		       (table_name IN (`+strings.Join(list, ", ")+`) OR LEFT(table_comment, ?) = ? OR table_name LIKE 'midstream\_%')`,
		c.source.Schema, len(schema.Mark), schema.Mark)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	tables := Listing{}
	for rows.Next() {
		var t candidate
		if err := rows.Scan(&t.Name.Table, &t.comment, &t.Rows, &t.Bytes); err != nil {
			return nil, err
		}
		t.Name.Schema = c.source.Schema
		t.unlogged = c.purpose == plan.RehearsingOnReplica || t.comment == schema.MarkFor(schema.TrialKind, c.source)
		_, named := dbconn.MakerOf(t.Name)
		t.Clone = t.comment == schema.MarkFor(schema.CloneKind, c.source) || named && !schema.Marked(t.comment)
		t.Clone = t.Clone && c.purpose != plan.RehearsingOnReplica // each is found once
		// Another letter case is another table.
		if slices.Contains(wanted, t.Name) || t.Clone || c.marked(&t) {
			tables[t.Name] = t
		}
	}
	return tables, rows.Err()
}

// marked reports whether a table has a mark of a run on the source, under any name. The marks of a
// rehearsal on a replica don't count; its tables are found by their names.
func (c *Cleaner) marked(t *candidate) bool {
	replicas := plan.RehearsingOnReplica.NamesOf(c.source)
	if c.purpose == plan.RehearsingOnReplica || t.Name == replicas.Shadow || t.Name == replicas.State {
		return false
	}
	_, old := schema.MarkedOld(t.comment, c.source)
	_, dropped := schema.MarkedDropped(t.comment, c.source)
	return old || dropped || schema.MarkedFor(t.comment, c.source)
}

// spareClone decides whether a clone is spared. It is dropped if it has the mark, and its maker is
// gone.
func (c *Cleaner) spareClone(ctx context.Context, t *candidate) error {
	t.Why = "marked: " + t.comment
	if !schema.Marked(t.comment) {
		t.Spared, t.Why = true, "a killed plan may have created it, but it has no mark; if it is empty, DROP TABLE "+t.Name.Quoted()
	}
	maker, _ := dbconn.MakerOf(t.Name)
	there, err := c.pool.Connected(ctx, maker)
	if there {
		t.Spared, t.Why = true, "a running plan created it, and will drop it soon"
	}
	return err
}

// toldOf reports whether the state table records a shadow that has no mark. A run saves checkpoints
// only after it has created and marked its shadow. Before that, the table records that the shadow
// is about to be created. Then a shadow proves to be ours if it is empty and no older. toldOf fails
// with *Untold if the state table can't be read.
func (c *Cleaner) toldOf(ctx context.Context, state, shadow candidate) (bool, error) {
	saved, err := c.Saved(ctx)
	if errors.Is(err, checkpoint.ErrUnreadable) {
		return false, &Untold{Shadow: shadow.Name, State: state.Name, Unreadable: true}
	}
	if err != nil {
		return false, err
	}
	if saved.Checkpoint.Adopted {
		return false, nil // the old table of an earlier run
	}
	if saved.Start != nil {
		now, err := schema.Load(ctx, c.pool.DB(), shadow.Name)
		return err == nil && saved.Checkpoint.Unmarked && now.SameColumns(saved.Start.Shadow), err
	}
	if filled, err := c.filled(ctx, shadow.Name); err != nil || filled {
		return false, err
	}
	return c.noOlder(ctx, shadow.Name, state.Name)
}

// filled reports whether a table has rows.
func (c *Cleaner) filled(ctx context.Context, table schema.Name) (filled bool, err error) {
	err = c.pool.DB().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+table.Quoted()+")").Scan(&filled)
	if err != nil {
		return false, fmt.Errorf("check whether %s is empty: %w", table, err)
	}
	return filled, nil
}

// noOlder reports whether a table was created at the same time as another one, or later.
func (c *Cleaner) noOlder(ctx context.Context, table, than schema.Name) (bool, error) {
	is, err := facts.ReadIdentity(ctx, c.pool.DB(), table)
	if err != nil {
		return false, fmt.Errorf("look for the age of %s: %w", table, err)
	}
	other, err := facts.ReadIdentity(ctx, c.pool.DB(), than)
	if err != nil {
		return false, fmt.Errorf("look for the age of %s: %w", than, err)
	}
	return is.NoOlder(other), nil
}

// CheckStranger fails with *Untold if a table with the shadow's name may belong to another user,
// and would block the run.
func (c *Cleaner) CheckStranger(ctx context.Context, there Listing) error {
	names := c.Names()
	shadow, is := there[names.Shadow]
	if !is || schema.MarkedFor(shadow.comment, c.source) || c.told.Adopted {
		return nil
	}
	told, err := c.toldOf(ctx, there[names.State], shadow)
	if err == nil && !told {
		err = &Untold{Shadow: shadow.Name, State: names.State}
	}
	return err
}

// Untold is the error of a run, or of a Cleanup, that has found an unmarked table with the shadow's
// name. The state table doesn't record it either: it may be a stranger's. Nothing was dropped.
type Untold struct {
	Shadow, State schema.Name
	Unreadable    bool // the state table can't be read
}

// Error explains why the table's owner is not known.
func (u *Untold) Error() string {
	if u.Unreadable {
		return fmt.Sprintf(
			"%s has no mark, and %s, which would name its owner, cannot be read: it is empty, or another version wrote it",
			u.Shadow, u.State,
		)
	}
	return fmt.Sprintf("%s has no mark, and %s does not name it: it is not Midstream's", u.Shadow, u.State)
}

// Next is what to do.
func (u *Untold) Next() string {
	drop := fmt.Sprintf("rename %s, or drop it if it is not needed, and run the same command again", u.Shadow)
	if u.Unreadable {
		return fmt.Sprintf("resume or clean up with the version that wrote %s; or %s", u.State, drop)
	}
	return drop
}

// HasState reports whether the state table of an earlier run is among the tables.
func (c *Cleaner) HasState(there Listing) bool {
	state, is := there[c.Names().State]
	return is && schema.MarkedFor(state.comment, c.source)
}

// HasShadow reports whether the shadow is among the tables: marked, or unmarked as the state table
// records.
func (c *Cleaner) HasShadow(there Listing, unmarked bool) bool {
	shadow, is := there[c.Names().Shadow]
	return is && (unmarked || c.told.Adopted || schema.MarkedFor(shadow.comment, c.source))
}

// Saved reads the state table.
func (c *Cleaner) Saved(ctx context.Context) (*checkpoint.Saved, error) {
	session, err := c.pool.Session(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return checkpoint.New(c.Names().State, c.source, c.pool.Name(), "").Load(ctx, session)
}

// idleFor is how long nothing may touch an old table before it is taken to be idle.
const idleFor = time.Second

// idle fails with ErrInUse if a session reads, writes or locks the table.
func (c *Cleaner) idle(ctx context.Context, table schema.Name) error {
	before, err := c.accesses(ctx, table)
	if err != nil {
		return err
	}
	watcher := lock.Watcher{DB: c.pool.DB(), Tables: []schema.Name{table}}
	sessions, err := watcher.Blockers(ctx, idleFor)
	if err != nil {
		return err
	}
	if len(sessions) > 0 {
		return fmt.Errorf("%s: %w: %s", table, ErrInUse, sessions[0].Who()+" holds a lock on it")
	}
	if err := dbconn.Sleep(ctx, idleFor); err != nil {
		return err
	}
	after, err := c.accesses(ctx, table)
	if err == nil && after != before {
		err = fmt.Errorf("%s: %w: it was read or written to within the last second", table, ErrInUse)
	}
	return err
}

// accesses counts the rows read and written in a table since the server began. If the server
// doesn't count them, it returns 0.
func (c *Cleaner) accesses(ctx context.Context, table schema.Name) (n uint64, err error) {
	return accesses(ctx, c.pool.DB(), table)
}

func accesses(ctx context.Context, q schema.Querier, table schema.Name) (n uint64, err error) {
	err = q.QueryRowContext(ctx, `
		SELECT IFNULL(SUM(count_star), 0) FROM performance_schema.table_io_waits_summary_by_table
		 WHERE object_schema = ? AND object_name = ?`, table.Schema, table.Table).Scan(&n)
	return n, err
}

// Drop drops one table. Its wait for the table's lock is short (lock_wait_timeout); a DROP
// of a large table that has begun is not withdrawn, however long it takes.
func (c *Cleaner) Drop(ctx context.Context, l Table) error {
	if l.log {
		return c.dropLog(ctx, l.Name)
	}
	if err := dropViews(ctx, c, l.Name); err != nil {
		return err
	}
	var setup []string
	if l.unlogged {
		setup = []string{"SET SESSION sql_log_bin = 0"}
	}
	session, err := c.pool.Session(ctx, setup...)
	if err != nil {
		return err
	}
	defer session.Close()
	drop := func() error {
		_, err := session.Exec(context.WithoutCancel(ctx), "DROP TABLE IF EXISTS "+l.Name.Quoted())
		return err
	}
	if err = drop(); !dbconn.Referred(err) {
		return err
	}
	if freed, failed := (member{c}).free(ctx, l.Name); !freed || failed != nil {
		return errors.Join(err, failed)
	}
	return drop()
}
