package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/cutover"
	"midstream/internal/engine/event"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/follow"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/park"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/followers"
	"midstream/internal/ops/history"
	"midstream/internal/ops/reach"
	"midstream/internal/ops/undos"
)

// Tending is what is done about an undo that is not to be carried out.
type Tending struct {
	List, End bool
	Extend    time.Duration
	// Sockets is the folder of the sockets of followers, and Histories that of the histories; "" for none.
	Sockets, Histories string
}

// Tended is what can be undone then, and what has become of an undo that was ended.
type Tended struct {
	// Only is the only table; nil for all.
	Only  *schema.Name
	Undos []undos.Standing
	Ended *leftovers.EndedUndo // nil: none was
	// Unseen is the privilege without which the account may not see what can be undone; "" for none, or if something can.
	Unseen string
	// None is why no change of the only table can be undone; nil if one can.
	None error
}

// NotForUndo are flags of a run that have no effect on an undo, each with the reason. Option files may have them.
var NotForUndo = map[string]string{
	"table": "name the table as the argument", "alter": "the undo finds out what leads back", "to": "the undo finds out what leads back",
	"keep": "an undo brings back each row", "allow-loss": "an undo has no files", "set": "a column that an undo brings back takes --undo-fill",
	"into": "an undo leaves the table where it is", "into-view": "an undo leaves the table where it is",
	"drop-later": "midstream undo --end keeps the old table, unless the change had --drop-old",
	"rehearse":   "an undo cannot be rehearsed", "rehearse-lock": "an undo cannot be rehearsed",
	"keep-shadow": "an undo cannot be rehearsed", "on-replica": "an undo cannot be rehearsed",
	"calibrate": "an undo is not measured", "defer-indexes": "the old table has its indexes already",
	"drop-old": "the redo needs the table that the undo puts aside; midstream undo --end, then cleanup --old, drop it",
}

// OfRun explains a flag that a verb about undos does not have, because it belongs to the change; "" for other flags.
func OfRun(verb, flag string) string {
	switch {
	case flag == "dry-run" && verb == "undo":
		return "midstream undo --plan prints what the undo would do, and changes nothing"
	case flag == "dry-run" || flag == "plan":
		return "midstream plan prints what a run would do, and changes nothing"
	case verb != "undo":
		return ""
	case flag == "undo-mode":
		return "the mode belongs to the change: midstream run --undo=24h --undo-mode=warm; to follow the table from now on: midstream undo --hold"
	case slices.Contains([]string{"undo", "undo-method", "end-undo"}, flag):
		return "it belongs to the change: midstream run --" + flag
	}
	return ""
}

// always are flags that have an effect whatever is done about an undo: they reach the server, or say what is printed. With
// result-file, midstream serve has begun the command, and gives it a history-dir.
var always = []string{
	"host", "port", "socket", "user", "password", "database", "defaults-file", "defaults-extra-file", "ssl-mode", "ssl-ca", "ssl-cert", "ssl-key",
	"json", "quiet", "verbose", "no-color", "control-dir", "result-file", "swapped", reach.At,
}

// others are the flags of the command line that are not among the permitted ones, nor always permitted.
func others(given []string, permitted ...string) (names []string) {
	for _, flag := range given {
		ofServe := (flag == "history-dir" || flag == "cutover-when-gone") && slices.Contains(given, "result-file")
		if !ofServe && !slices.Contains(always, flag) && !slices.Contains(permitted, flag) {
			names = append(names, "--"+flag)
		}
	}
	return names
}

// CannotRelease is what to do about flags with which a process that follows a table cannot make an undo, and why; nil if it can.
func CannotRelease(undo planning.Undo, table schema.Name) (next string, why error) {
	names := others(undo.Given, "park", "lazy", "plan")
	if len(names) == 0 && !undo.Cold && len(undo.Fills) == 0 {
		return "", nil
	}
	set, stop := table.Argument(), "stop it first: midstream abort  "+table.Argument()
	for _, name := range names {
		if _, is := operator.SettingOf(strings.TrimPrefix(name, "--")); !is {
			return "leave out " + strings.Join(names, ", ") + "; or " + stop,
				fmt.Errorf("a process follows %s for a warm undo, which %s cannot change", table, strings.Join(names, ", "))
		}
		set += " " + strings.TrimPrefix(name, "--") + "=..."
	}
	return "change them there: midstream set  " + set + "; or " + stop,
		fmt.Errorf("a process follows %s for a warm undo, and has settings of its own: %s cannot change them", table, strings.Join(names, ", "))
}

// UnfitRisks is what the follower of a table (nil: none) knows of rows that make its undo stop.
func UnfitRisks(f *followers.Standing, back *plan.Back) []plan.Risk {
	if f == nil || f.Unfit == 0 || back == nil || back.Park {
		return nil
	}
	return []plan.Risk{{
		Code: plan.CodeUndo, What: fmt.Sprintf("%s refuses some rows: %d", back.Definition(), f.Unfit), Why: back.Verb() + " stops before its lock",
		Fix: "Change the rows, or set them aside: --park",
	}}
}

// Check returns what is wrong with the flags of midstream undo, whichever change it is for. again are those of Again.
func (t Tending) Check(undo planning.Undo, again []string) error {
	for _, flag := range slices.Sorted(maps.Keys(NotForUndo)) {
		if slices.Contains(undo.Given, flag) {
			return fmt.Errorf("midstream undo does not take --%s: %s", flag, NotForUndo[flag])
		}
	}
	if err := RepeatableAll(again); err != nil {
		return err
	}
	var asked []string
	for name, is := range map[string]bool{
		"--list": t.List, "--end": t.End, "--extend": t.Extend > 0,
		"--cold": undo.Cold, "--lazy": undo.Lazy, "--merge": undo.Merge, "--park": undo.Park, "--undo-fill": len(undo.Fills) > 0,
	} {
		if is {
			asked = append(asked, name)
		}
	}
	slices.Sort(asked)
	tends := 0
	for _, is := range []bool{t.List, t.End, t.Extend > 0} {
		if is {
			tends++
		}
	}
	if len(asked) > 1 && tends > 0 || undo.Cold && undo.Lazy {
		return fmt.Errorf("these flags exclude each other: %s", strings.Join(asked, ", "))
	}
	if names := others(undo.Given, "list", "end", "extend", "history-dir", "no-history"); tends > 0 && len(names) > 0 {
		return fmt.Errorf("%s has no effect with %s, which does not undo the change: leave it out", strings.Join(names, ", "), asked[0])
	}
	return nil
}

// Tend ends the undo of a table, or keeps it open for longer, or does neither. It returns what can be undone then: of the
// table that the statement names, or of all if that is nil.
func (t Tending) Tend(ctx context.Context, s *Server, of *ddl.Statement) (tended Tended, err error) {
	pool, only := s.Pool, (*schema.Name)(nil)
	if of != nil {
		name := leftovers.Renamed(ctx, pool, of.Alter.Table)
		only = &name
	}
	tended.Only = only
	defer func() { err = lacking(ctx, s, only, t, err) }()
	switch {
	case t.End:
		var ended leftovers.EndedUndo
		ended, err = leftovers.EndUndo(ctx, pool, *only, false)
		tended.Ended = &ended
	case t.Extend > 0:
		err = leftovers.ExtendUndo(ctx, pool, *only, t.Extend)
	}
	if err == nil {
		tended.Undos, err = undos.List(ctx, s.Planning(), t.Sockets, only)
	}
	if err == nil && only != nil && !t.List { // midstream status shows what it last knew of the undo, and does without the note
		until, begun := time.Time{}, false
		if len(tended.Undos) > 0 {
			until, begun = tended.Undos[0].Kept.Record.Until, tended.Undos[0].Kept.Begun()
		}
		for _, table := range tended.tables() {
			_ = history.Settle(t.Histories, s.Address, table.Dotted(), until, begun)
		}
	}
	switch {
	case err != nil || len(tended.Undos) > 0 || t.End:
	case only != nil:
		tended.None = leftovers.NoUndo(ctx, pool, *only)
		if errors.Is(tended.None, schema.ErrNotFound) || errors.Is(tended.None, plan.ErrRefused) { // mistyped, or hidden
			err = tended.None
		}
	default:
		tended.Unseen, err = facts.Unseen(ctx, pool.DB(), nil)
	}
	return tended, err
}

// tables are those whose undo was ended, or kept open for longer.
func (t *Tended) tables() []schema.Name {
	tables := []schema.Name{*t.Only}
	if t.Ended != nil {
		for _, other := range t.Ended.With {
			tables = append(tables, other.Table)
		}
	}
	for _, u := range t.Undos {
		if u.Kept.Table != *t.Only {
			tables = append(tables, u.Kept.Table)
		}
	}
	return tables
}

// lacking is the refusal that names the privileges that the account lacks, with their GRANT, if an error is due to them.
func lacking(ctx context.Context, s *Server, only *schema.Name, t Tending, err error) error {
	if only == nil {
		return err
	}
	needs := []string{"SELECT"}
	if t.End {
		needs = append(needs, "DROP")
	}
	if t.Extend > 0 {
		needs = append(needs, "INSERT", "UPDATE")
	}
	return facts.Denied(err, func() (*plan.Refused, error) { return facts.LackedByUndo(ctx, s.Pool.DB(), *only, needs...) })
}

// Keep notes, in the result of a run that has succeeded, how its change can be undone. Whoever cannot read that asks
// later. The undo of the change before is no undo of this one.
func Keep(ctx context.Context, s *Server, table schema.Name, earlier *plan.Earlier, result *migration.Result) {
	all, err := leftovers.UndoablesAlone(ctx, s.Pool, &table) // another run of a group may not be at its end
	if err == nil && len(all) == 1 && (earlier == nil || !all[0].Record.Swapped.Equal(earlier.Swapped)) {
		result.Undo = &all[0]
		result.Undo.Parked, _ = leftovers.ParkedOf(ctx, s.Pool, table) // it is only told
		if all[0].Record.Old != "" {
			result.Old = all[0].Old.Dotted()
		}
	}
}

// AdviceOnUndo is what to do about an error of a verb that needs a change that can be undone; "" for other errors. table is nil
// if the verb is for all tables.
func AdviceOnUndo(err error, table *schema.Name) string {
	argument := "database.table"
	if table != nil {
		argument = table.Argument()
	}
	switch {
	case errors.Is(err, leftovers.ErrNoUndo):
		return `midstream undo  --list lists what can be undone; midstream run  --undo=24h "ALTER TABLE ..." keeps the next change undoable`
	case errors.Is(err, leftovers.ErrClaimed):
		return "wait until that run has ended, or stop it with midstream abort  " + argument + ", also if it follows the table for an undo; " +
			"then run this command again"
	case errors.Is(err, follow.ErrOver):
		return afterOver(argument)
	case errors.Is(err, leftovers.ErrUndoBegun):
		return "run that command again, or remove its work with midstream cleanup  " + argument
	}
	return ""
}

// afterOver is what to do when the time of an undo is over.
func afterOver(table string) string {
	return fmt.Sprintf("midstream undo  %[1]s still takes the change back, while the old table exists; "+
		"midstream undo  --extend=24h %[1]s keeps the undo open for longer, so that it can be followed again", table)
}

// UndoFailed gives the failure of an undo the texts of an undo: the old table is never removed, and the server is asked what has become
// of the undo. The undo of another run may not be kept yet.
func UndoFailed(ctx context.Context, s *Server, p *plan.Plan, err error) error {
	var f *failure.Failure
	if errors.As(err, &f) && errors.Is(err, leftovers.ErrUndoTaken) {
		f.Left, f.Next = leftovers.AfterTaken(p.Source.Name)
	}
	if f != nil && errors.Is(err, leftovers.ErrOvertaken) {
		f.Left, f.Next = fmt.Sprintf("this undo has not touched %s", p.Source.Name), leftovers.AfterOvertaken(p.Source.Name)
		return err
	}
	if p == nil || p.Back == nil || !errors.As(err, &f) || f.Swapped ||
		errors.Is(err, cutover.ErrUnknown) || errors.Is(err, failure.ErrLeftovers) {
		return err
	}
	source, table := p.Source.Name, p.Source.Name.Argument()
	again := "run the same command again"
	after := leftovers.LookAfterUndo(ctx, s.Pool, source)
	if p.Back.Native {
		if errors.Is(err, park.ErrUnfit) || dbconn.Duplicate(err) || dbconn.ValueRefused(err) {
			f.Left = fmt.Sprintf("%s is unchanged, with the definition that was to be undone, and %s", source, after.State)
			f.Next = "Change the rows, then " + again + ". It has no old table, so it can neither park rows nor fill columns."
		}
		return err
	}
	if f.Phase == event.PhaseHold && errors.Is(err, intake.ErrSourceChanged) {
		followedNoLonger(f, source, after)
		return err
	}
	onlyCold := p.Lazy() && (errors.Is(err, intake.ErrOldWritten) || failure.OnlyByAllRows(err))
	kept := []schema.Name{p.Names.Shadow}
	if after.Kept != (schema.Name{}) {
		kept = append(kept, after.Kept)
	}
	if after.Ended {
		f.Left = fmt.Sprintf("no row of %s was changed, and %s", source, after.State)
		f.Next = afterEnd(table)
		return err
	}
	if f.Kept {
		f.Left = fmt.Sprintf("%s is unchanged; %s are kept", source, schema.List(append(kept, p.Names.State)))
		f.Next = fmt.Sprintf("%s to resume from where it stopped, or give this attempt up with: midstream cleanup  %s", failure.SameCommand, table)
		return err
	}
	switch {
	case onlyCold && p.Back.Redo:
		after.State = "the redo is possible by all rows only (--cold)"
	case onlyCold:
		after.State = "the undo is possible by all rows only (--cold)"
	case p.Back.Pairs != nil:
		after.State = "the undo is still possible by all rows"
	}
	are := "is"
	if len(kept) > 1 {
		are = "are"
	}
	f.Left = fmt.Sprintf("%s is unchanged, with the definition that was to be undone; %s %s kept, and %s", source, schema.List(kept), are, after.State)
	switch {
	case errors.Is(err, ErrInterrupted):
		f.Next = fmt.Sprintf("midstream undo  %s takes the change back, and midstream undo  --hold %s follows the table", table, table)
	case onlyCold:
		f.Next = "Undo it by all rows: midstream undo  --cold " + table
	case errors.Is(err, follow.ErrOver):
		f.Next = afterOver(table)
	case errors.Is(err, follow.ErrOutrun):
		f.Next = "Stop these writes, or choose a time with fewer of them; then " + again + "."
	case errors.Is(err, park.ErrSlow):
		f.Next = plan.MoreWork(0) + "; then " + again + "."
	case orphaned(err):
		f.Next = "Insert the parents that are missing, or delete the rows that are listed, or set their columns to NULL; then " + again +
			". Each of these rows fits, so --park does not set them aside."
	case errors.Is(err, park.ErrUnfit), dbconn.NoDefault(err):
		f.Next = afterUnfit(p)
	case errors.Is(err, rowsync.ErrDuplicate), dbconn.Duplicate(err):
		f.Next = fmt.Sprintf("These rows violate a unique key of %s. Change one of them, then %s.", p.Back.Definition(), again)
	case errors.Is(err, failure.ErrUnfit), dbconn.ValueRefused(err):
		f.Next = fmt.Sprintf("Change the row, which %s refuses; then %s.", p.Back.Definition(), again)
	}
	return err
}

// changed is an error with a text of its own.
type changed struct {
	text string
	error
}

func (c *changed) Error() string { return c.text }
func (c *changed) Unwrap() error { return c.error }

// followedNoLonger gives the failure of a process that follows a table, and whose table another session has changed, its texts.
func followedNoLonger(f *failure.Failure, source schema.Name, after leftovers.AfterUndo) {
	_, statement, _ := strings.Cut(f.Err.Error(), intake.ErrSourceChanged.Error())
	f.Err = &changed{fmt.Sprintf("another session has changed %s, so this process can no longer follow it: %s", source, strings.TrimLeft(statement, ";: ")), f.Err}
	f.Left = fmt.Sprintf("this process has changed nothing in %s since its swap, and %s", source, after.State)
	flag := "--cold "
	if after.Open {
		flag = ""
	}
	if f.Next = afterEnd(source.Argument()); after.Ended {
		return
	}
	f.Next = fmt.Sprintf("midstream undo  %s%s takes the change back, and what was changed since; midstream undo  --hold %[2]s follows the table again",
		flag, source.Argument())
}

// afterEnd is what to do about an undo that the tables do not permit, as they are now.
func afterEnd(table string) string {
	return fmt.Sprintf("Remove that reason, if you can: midstream undo  --list %[1]s shows whether the undo is open again. "+
		"Or give it up: midstream undo  --end %[1]s", table)
}

// orphaned reports whether rows have no parent by a foreign key that comes back.
func orphaned(err error) bool {
	_, is := park.Orphaned(err)
	return is
}

// afterUnfit is what to do about rows that the old definition refuses.
func afterUnfit(p *plan.Plan) string {
	unfilled, park := p.Unfilled(), "--park"
	if len(unfilled.Given) > 0 { // without them, --park takes each row that lacks a value as well
		park = unfilled.Command(p.Source.Name, "--park")
	}
	next := "Change the rows that are listed; or " + park + " copies them to a table of their own and goes " + p.Back.Goes() + " without them."
	if lacks := unfilled.Lacks(); lacks != "" {
		next += " Rows that are new since the swap need " + lacks + ": " + unfilled.Command(p.Source.Name)
	}
	return next
}

// ColdAfter is the undo by all rows that takes the place of a lazy one, because the binlog has shown that the changes of the
// table cannot be known by keys; nil if the error is another one. Nothing has swapped, and nothing is left.
func ColdAfter(p *plan.Plan, undo *planning.Undo, err error) *planning.Undo {
	var f *failure.Failure
	if undo == nil || p == nil || p.Back == nil || !errors.As(err, &f) || f.Kept || f.Swapped {
		return nil
	}
	switch byAllRows := failure.OnlyByAllRows(err); {
	case p.Lazy() && !undo.Lazy && byAllRows:
	case p.Back.Moves && (byAllRows || errors.Is(err, intake.ErrOldWritten)):
	default:
		return nil
	}
	cold := *undo
	cold.Cold, cold.Why = true, escape.Error(f.Err)
	return &cold
}

// FollowEnded reports whether an undo that followed has ended because its operator or its time ended it, before it swapped.
func FollowEnded(ctx context.Context, err error) bool {
	var f *failure.Failure
	swapped := errors.As(err, &f) && f.Swapped || errors.Is(err, cutover.ErrUnknown) || errors.Is(err, failure.ErrLeftovers)
	return err != nil && !swapped && (errors.Is(err, follow.ErrOver) || errors.Is(context.Cause(ctx), ErrInterrupted))
}
