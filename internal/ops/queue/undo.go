package queue

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/units"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/access"
	"midstream/internal/ops/followers"
	"midstream/internal/ops/metrics"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// The states of an undo, beyond those of package leftovers.
const (
	// undoUnfit is open, and rows need a decision.
	undoUnfit = "unfit"
	// undoUndone means that the change was taken back, and the redo is open.
	undoUndone = "undone"
	// undoUnknown means that the server has not answered.
	undoUnknown = "unknown"
)

// undoWarm is the mode of an undo with a follower.
const undoWarm = "warm"

// Undo is how a change that is done can be taken back.
type Undo struct {
	State    string     `json:"state" enum:"open,unfit,revoked,running,stopped,undone,ended,unknown" doc:"open; unfit: open, and rows need a decision; revoked: only by all rows; running; stopped: it has begun, and its process is gone; undone: redo is possible; ended; unknown: the server has not answered"`
	Text     string     `json:"text" doc:"the state, for people"`
	Why      string     `json:"why" doc:"the reason for the state; may be empty"`
	Until    *time.Time `json:"open_until" doc:"until when the undo is promised; a revoked one is possible as long as the old table exists; null if it is not known"`
	Mode     string     `json:"mode" doc:"lazy: an undo syncs the rows that have changed since the swap; cold: all rows; warm: a follower syncs them already; native: the server alters the table back; rename: the tables get their names back; may be empty"`
	Unfit    *int64     `json:"unfit" doc:"rows that do not fit the definition that comes back; null: not checked, because no follower runs"`
	Keys     []string   `json:"unfit_keys" doc:"keys of some of these rows, as literals"`
	Compared *time.Time `json:"compared" doc:"when the follower last compared the tables; null: not yet, or no follower runs"`
	Behind   *float64   `json:"behind" doc:"seconds by which the follower is behind; null unless the mode is warm"`
	Lost     []string   `json:"lost" doc:"columns whose values an undo gives up, because the change has added them"`
	Redo     bool       `json:"redo" doc:"true: the change was an undo, so that taking it back is the redo"`
	Gives    string     `json:"gives" doc:"what the undo, or redo, does to the table, for people; empty if that is not known"`
	Warns    []string   `json:"warnings" doc:"what an undo gives up, and what may stop it, for people; may be empty"`
	By       string     `json:"by" doc:"id of the change that takes this one back, or has; may be empty"`
	Asked    *time.Time `json:"asked" doc:"when the server has answered last; null: not yet"`

	unfilled plan.Filling // for rows that are new

	later []string // clauses of later changes of the table
	whole bool     // of a statement on complete tables, such as DROP TABLE
	late  bool     // ended only because its time is over
	left  bool     // the server still has something for it
	alone bool     // it was to be warm, but the server itself makes it
}

// keptUndo is what identifies the undo of a change.
type keptUndo struct {
	Table   string    `json:"table"`
	Swapped time.Time `json:"swapped"` // by the server's clock
}

// keptOf is nil if a run has kept no undo.
func keptOf(result *record.Result) *keptUndo {
	if result.Undo == nil || result.Undo.Swapped.IsZero() {
		return nil
	}
	return &keptUndo{result.Undo.Table, result.Undo.Swapped}
}

// own leaves out what a run has found kept by an earlier change: the server's own methods keep nothing.
func (s *Service) own(k *keptUndo, e *entry) *keptUndo {
	if k == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	last := s.board.find(s.board.kept[keptKey(e.Server, k.Table)])
	if last != nil && last.ID != e.ID && last.Kept.Swapped.Equal(k.Swapped) {
		return nil
	}
	return k
}

// undoTables are the tables of a server whose undos may change.
func (s *Service) undoTables(server string) (tables []schema.Name) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, id := range s.board.kept {
		e := s.board.find(id)
		if e.Server != server {
			continue
		}
		table := schema.NameOf(e.Kept.Table)
		if now := s.cfg.Undos.Of(server, table); now.Kept == nil && now.Asked.After(*e.Ended) {
			continue // it has ended
		}
		tables = append(tables, table)
	}
	return tables
}

// undoOf is how the undo of a change stands; nil if it has none.
func (s *Service) undoOf(e *entry) *Undo {
	if e.State != StateDone || e.Kept == nil || s.cfg.Undos == nil {
		return nil
	}
	u := &Undo{Keys: []string{}, Lost: []string{}, Warns: []string{}}
	s.mu.RLock()
	by, last := s.board.find(s.board.takers[e.ID]), s.board.kept[e.keptKey()]
	s.mu.RUnlock()
	switch {
	case by != nil && by.State == StateDone:
		u.taken(s.takenBack(e))
	case last != e.ID:
		u.State, u.Why = string(leftovers.UndoEnded), "a later change of the table, "+last+", has taken its place"
	default:
		s.standing(e, u)
		if by != nil && !by.State.Over() {
			u.State, u.By = string(leftovers.UndoRunning), by.ID
		}
	}
	u.Text, u.Warns = u.words(), u.warnings()
	return u
}

// takenBack follows the undo of a change, its redo and so on. It returns the id of the last of them and their number.
func (s *Service) takenBack(e *entry) (last string, times int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for {
		if e = s.board.find(s.board.takers[e.ID]); e == nil || e.State != StateDone {
			return last, times
		}
		last, times = e.ID, times+1
	}
}

// taken notes by which change this one was taken back, or made again.
func (u *Undo) taken(last string, times int) {
	u.State, u.By = undoUndone, last
	if times%2 == 0 {
		u.State, u.Why = string(leftovers.UndoEnded), "change "+last+" has made it again"
	}
}

// standing reads the newest answer of the server into the undo of a change. It does not wait for the server.
func (s *Service) standing(e *entry, u *Undo) {
	now := s.cfg.Undos.Of(e.Server, schema.NameOf(e.Kept.Table))
	if !now.Asked.IsZero() {
		u.Asked = &now.Asked
	}
	switch {
	case now.Asked.Before(*e.Ended):
		u.State, u.Why = undoUnknown, "the server was not asked yet"
		if now.Fault != nil {
			u.Why = "the server does not answer: " + now.Fault.Error()
		}
	case !now.Known(time.Now()):
		u.State, u.Why = undoUnknown, fmt.Sprintf("the server has not answered since %s: %v", units.Minute(now.Asked), now.Fault)
	case now.Kept == nil:
		u.State, u.Why = string(leftovers.UndoEnded), "the server has nothing for it any more"
	case now.Kept.Record.Back && now.Kept.Record.Swapped.After(e.Kept.Swapped):
		u.State, u.Why = undoUndone, "it was undone outside of this queue"
		u.left = now.Kept.State != leftovers.UndoEnded || now.Kept.Late
	case !now.Kept.Record.Swapped.Equal(e.Kept.Swapped):
		u.State, u.Why = string(leftovers.UndoEnded), "a later change of the table has taken its place"
	default:
		k := now.Kept
		u.State, u.Why, u.Mode, u.Redo, u.Lost = string(k.State), k.Why, k.Record.Mode, k.Record.Back, append(u.Lost, now.Lost...)
		u.Until, u.whole, u.later, u.late, u.left = &k.Record.Until, !now.MayRefuse(), now.Later, k.Late, true
		u.unfilled, u.Gives = now.Unfilled, gives(k.Record)
		u.alone = u.Mode == plan.UndoNative && asksWarm(e, now)
		u.follow(now.Follower)
	}
}

// gives is what the undo of a change, or the redo, does to the table.
func gives(u checkpoint.Undo) string {
	kind := ddl.KindAlter
	if u.Ledger != nil {
		kind = ddl.Kind(u.Ledger.Kind)
	}
	words := map[ddl.Kind][2]string{
		ddl.KindAlter: {
			"The table gets the definition from before this change, and keeps every write since.",
			"The table gets the definition from before the undo, and keeps every write since.",
		},
		ddl.KindTruncate: {"The table gets the rows from before the TRUNCATE back.", "The table becomes empty again. Its rows are kept in another table."},
		ddl.KindDrop:     {"The table comes back, with its rows.", "The table is dropped again. Its rows are kept in another table."},
		ddl.KindRename:   {"The tables get their former names back. No row changes.", "The tables are renamed again. No row changes."},
	}[kind]
	if u.Back {
		return words[1]
	}
	return words[0]
}

// follow adds what a follower knows; nil for none.
func (u *Undo) follow(f *followers.Standing) {
	if f == nil || f.State == followers.Swapping {
		return
	}
	behind := f.Behind.Round(100 * time.Millisecond).Seconds()
	u.State, u.Mode, u.Unfit, u.Compared, u.Behind, u.Why = string(leftovers.UndoOpen), undoWarm, &f.Unfit, f.Compared, &behind, f.Why
	if f.Unfit > 0 {
		u.State, u.Keys = undoUnfit, append(u.Keys, f.Keys...)
	}
}

// undoMetrics are the undos that have not ended, for Prometheus.
func (s *Service) undoMetrics() (all []metrics.Undo) {
	if s.cfg.Undos == nil {
		return nil
	}
	s.mu.RLock()
	ids := slices.Sorted(maps.Values(s.board.kept))
	s.mu.RUnlock()
	for _, id := range ids {
		e := s.find(id)
		if u := s.undoOf(e); u.Until != nil && u.State != string(leftovers.UndoEnded) && u.State != undoUndone {
			all = append(all, metrics.Undo{
				Change: id, Table: e.Kept.Table, Server: s.address(e.Server), Until: *u.Until, Unfit: u.Unfit,
				Open: u.State == string(leftovers.UndoOpen) || u.State == undoUnfit,
			})
		}
	}
	return all
}

// gone reports whether the server has nothing left for the undo, or has it for another change.
func (u *Undo) gone() bool {
	return u.State == undoUndone || u.State == string(leftovers.UndoEnded) && !u.late
}

// Waits reports whether the change can be taken back now.
func (u *Undo) Waits() bool {
	return u != nil && slices.Contains([]string{
		string(leftovers.UndoOpen), string(leftovers.UndoRevoked), string(leftovers.UndoStopped), undoUnfit}, u.State)
}

// warnings are what an undo gives up, and what may stop it.
func (u *Undo) warnings() []string {
	warnings := []string{}
	if !u.Waits() {
		return warnings
	}
	word, definition := plan.UndoWord(u.Redo), plan.UndoGives(u.Redo)
	if len(u.Lost) > 0 {
		columns := "column "
		if len(u.Lost) > 1 {
			columns = "columns "
		}
		gone := ": the table that is put aside keeps them."
		if u.Mode == plan.UndoNative {
			gone = "."
		}
		warnings = append(warnings, "The "+word+" gives up the values of "+columns+strings.Join(u.Lost, ", ")+gone)
	}
	if len(u.later) > 0 {
		warnings = append(warnings, "The "+word+" takes back later changes of the table too: "+strings.Join(u.later, ", ")+".")
	}
	switch {
	case u.State == undoUnfit:
		warnings = append(warnings, fmt.Sprintf("The %s refuses %s, such as (%s). The %s stops before its lock, unless you park them.",
			definition, plural(*u.Unfit, "row"), strings.Join(u.Keys, "), ("), word))
	case u.Unfit == nil && !u.whole:
		warnings = append(warnings, fmt.Sprintf("The rows were not checked. If the %s refuses some, the %s stops before its lock, unless you park them.",
			definition, word))
	}
	if lacks := u.unfilled.Lacks(); lacks != "" {
		warnings = append(warnings, "Rows that are new since the swap need "+lacks+": the option undo-fill gives it.")
	}
	if u.State == string(leftovers.UndoRevoked) {
		warnings = append(warnings, "The "+word+" copies and compares all rows, because "+u.Why+".")
	}
	return warnings
}

// Parks reports whether the undo may leave rows out that do not fit: not if the server alters the table back, or renames tables.
func (u *Undo) Parks() bool {
	return u.Mode != plan.UndoNative && u.Mode != plan.UndoRename
}

// words are the state for people.
func (u *Undo) words() string {
	word, until := plan.UndoWord(u.Redo), ""
	if u.Until != nil {
		until = " until " + units.Minute(*u.Until)
	}
	rows := ", rows not checked"
	if u.alone {
		rows = "; no process follows the table, because the server itself has made the change"
	} else if u.whole {
		rows = ""
	} else if u.Unfit != nil {
		rows = fmt.Sprintf(", %s, %s, behind %g s", plural(*u.Unfit, "unfit row"), u.comparison(), *u.Behind)
	}
	switch u.State {
	case string(leftovers.UndoOpen):
		return word + ": open" + until + rows
	case undoUnfit:
		return fmt.Sprintf("%s needs a decision on %s; open%s, %s, behind %g s", word, plural(*u.Unfit, "row"), until, u.comparison(), *u.Behind)
	case string(leftovers.UndoRevoked):
		return word + ": revoked, because " + u.Why + "; it is still possible by all rows"
	case string(leftovers.UndoRunning):
		if u.By != "" {
			return word + ": running as change " + u.By
		}
		return word + ": running"
	case string(leftovers.UndoStopped):
		return word + ": stopped, because its process is gone; it can be resumed"
	case undoUndone:
		if u.By != "" {
			return "undone by change " + u.By
		}
		return "undone: " + u.Why
	case undoUnknown:
		return word + ": state not known, because " + u.Why
	}
	return word + ": ended, because " + u.Why
}

// comparison says when the follower last compared the tables.
func (u *Undo) comparison() string {
	if u.Compared == nil {
		return "not compared yet"
	}
	switch ago := time.Since(*u.Compared); {
	case ago < time.Minute:
		return "compared less than a minute ago"
	case ago < 2*time.Hour:
		return "compared " + plural(int64(ago.Minutes()), "minute") + " ago"
	default:
		return "compared " + plural(int64(ago.Hours()), "hour") + " ago"
	}
}

func plural(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.FormatInt(n, 10) + " " + word + "s"
}

// UndoRequest asks to take a change back.
type UndoRequest struct {
	Options map[string]string `json:"options,omitempty" doc:"values of flags of midstream undo, by their names; docs/serve.md lists the permitted ones. Values of undo-fill are one per line"`
	By      string            `json:"by,omitempty" maxLength:"200" doc:"who asks, in free text"`
}

const notUndone = "the undo does not start"

// Undo takes a change back: it puts a change of its own into the queue. It fails with a *socket.Problem, or with what the
// store says.
func (s *Service) Undo(ctx context.Context, id string, asked UndoRequest, who Asker) (Change, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	of := s.find(id)
	if of == nil {
		return Change{}, unknown(id)
	}
	if err := s.mayUndo(of); err != nil {
		return Change{}, err
	}
	e, err := s.undoEntry(of, asked, who)
	if err != nil {
		return Change{}, err
	}
	if !who.May(access.Operate) { // who operates must not wait for another person while an application fails
		if err := s.proposes(e); err != nil {
			return Change{}, err
		}
	}
	if err := s.replace(ctx, e, who.Act("undo", asked.By, "of "+of.ID)); err != nil {
		s.doubted[e.ID] = true
		return Change{}, err
	}
	s.hurry()
	return s.view(e), nil
}

// undoEntry is the change that takes another one back.
func (s *Service) undoEntry(of *entry, asked UndoRequest, who Asker) (*entry, error) {
	options := asked.Options
	if options == nil {
		options = map[string]string{}
	}
	e := &entry{Tables: of.Tables, Sequence: s.last() + 1, Taken: of.Kept.Swapped, Change: Change{
		Server: of.Server, Table: of.Kept.Table, Statement: "undo " + schema.NameOf(of.Kept.Table).Argument(), Options: options, After: []string{},
		State: StateWaiting, Undoes: of.ID, Submitted: time.Now().UTC(), SubmittedBy: who.Words(asked.By), Author: who.Author(asked.By),
	}}
	if err := checkOptions(options, UndoOptions()); err != nil {
		return nil, bad(notUndone, err.Error(), "docs/serve.md lists the permitted options; set others in the server's option file")
	}
	if _, err := s.cfg.Read("undo", arguments(options, false), schema.NameOf(of.Kept.Table).Argument()); err != nil {
		return nil, bad(notUndone, err.Error(), "correct the options, and ask again")
	}
	e.ID = s.undoID(of)
	return e, nil
}

// mayUndo fails with a *socket.Problem if a change cannot be taken back now.
func (s *Service) mayUndo(e *entry) error {
	no := func(why, next string) error {
		return &socket.Problem{Status: http.StatusConflict, Title: notUndone, Detail: why, Next: next}
	}
	switch {
	case !e.State.Over():
		return no(fmt.Sprintf("change %s is %s, so there is nothing to undo yet", e.ID, e.State), "withdraw or abort the change, or wait until it is done")
	case e.State != StateDone:
		return no(fmt.Sprintf("change %s is %s, so there is nothing to undo", e.ID, e.State), "")
	case !s.servers.has(e.Server):
		return no(e.Server+gone, "put it back into the inventory (or --server)")
	}
	u := s.undoOf(e)
	if u == nil {
		next := "submit changes with the option undo=24h to keep one"
		if e.Together {
			next = "a group keeps none; midstream undo  " + e.Tables[0].Argument() + " takes back one of its tables, by all rows"
		}
		if strings.HasPrefix(e.Next, takesBack) {
			next = e.Next
		}
		return no("change "+e.ID+" has kept no undo", next)
	}
	next := s.reach(e).In(s.next(e, u))
	switch {
	case u.State == string(leftovers.UndoRunning) && u.By != "":
		return no("change "+u.By+" undoes it already", next)
	case u.State == string(leftovers.UndoRunning):
		return no("an undo outside of this queue is at work", next)
	case u.State == undoUndone && u.By != "":
		return no("change "+u.By+" has undone it", next)
	case u.State == undoUndone:
		return no("it was undone outside of this queue", next)
	case u.State == string(leftovers.UndoEnded) && u.By != "":
		return no(u.Why, next)
	case u.gone():
		return no("its undo has ended: "+u.Why, next)
	}
	return nil
}

// undoID returns a free id for the undo of a change: of the change a it is a-undo, and of a-undo it is a-undo-2. It is not that of a member
// which may come later: s@db-undo is the change of the server db-undo.
func (s *Service) undoID(of *entry) string {
	for of.Undoes != "" && s.find(of.Undoes) != nil {
		of = s.find(of.Undoes)
	}
	for n := 1; ; n++ {
		end := "-undo"
		if n > 1 {
			end += "-" + strconv.Itoa(n)
		}
		id := of.ID[:min(len(of.ID), 64-len(end))] + end
		if _, server, member := strings.Cut(id, "@"); s.find(id) == nil && !(member && s.servers.has(server)) {
			return id
		}
	}
}
