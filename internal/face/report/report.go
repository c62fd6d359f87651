package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
)

// Report is the account of a run. As JSON it is what midstream report --format=json writes: names are stable.
type Report struct {
	Run    record.Run     `json:"run"`
	Plan   *record.Plan   `json:"plan"`   // null: there was none
	Result *record.Result `json:"result"` // null: the run is at work, or was killed
	// State is done, failed, refused, ...: the outcome of the result; unfinished without one.
	State string `json:"state"`
	// Earlier are the runs whose work it resumed, the oldest first. Their records are in this report too.
	Earlier    []Part       `json:"earlier"`
	Phases     []Phase      `json:"phases"`
	Compared   []Comparison `json:"compared"`
	Happenings []Happening  `json:"happenings"`
	Retries    []Retries    `json:"retries"`
	// Together are the reports of the other tables of a group, which were to be swapped in the same step. Lock is what that swap took; ""
	// if there was none.
	Together []*Report `json:"together"`
	Lock     string    `json:"lock"`
	// Left is what is left on the server, and Remove how to remove it; both may be empty.
	Left   string `json:"left"`
	Remove string `json:"remove"`
	// Undo says how the change can be undone, or what an undo has taken back, in sentences.
	Undo []string `json:"undo"`

	drawn []any // records for the plots
	waits waits
}

// Proven is the result of a run that has compared all rows, and found them equal at last; nil of any other.
func (r *Report) Proven() *record.Result {
	if r.Result == nil || r.Result.Verified == 0 || r.Result.VerifyMS == 0 || r.Result.Outcome == "mismatch" {
		return nil
	}
	return r.Result
}

// Statement is what was asked for.
func (r *Report) Statement() string {
	if r.Plan != nil && r.Plan.Statement != "" {
		return r.Run.Alter
	}
	if r.Run.Undoes && r.Run.Alter == "" {
		return r.Run.Reach.In("midstream undo  " + schema.NameOf(r.Run.Table).Argument())
	}
	return "ALTER TABLE " + schema.NameOf(r.Run.Table).Statement() + " " + r.Run.Alter
}

// Chosen says which rows and values the new table has by the operator's choice (--keep and --set).
func (r *Report) Chosen() (texts []string) {
	if r.Plan == nil {
		return nil
	}
	if r.Plan.Keep != "" {
		text := "Only rows that meet this condition are in the new table (--keep): " + r.Plan.Keep
		if r.Result != nil && r.Result.LeftOut > 0 {
			text += fmt.Sprintf("; %s left out", humanize.Plural(r.Result.LeftOut, "row"))
		}
		texts = append(texts, text)
	}
	if r.Plan.Into != "" {
		text := "The new table's name is " + r.Plan.Into + " (--into)"
		if r.Plan.IntoView {
			text += "; the former name is a view over it (--into-view)"
		}
		texts = append(texts, text)
	}
	for _, setting := range r.Plan.Set {
		column, expr, _ := strings.Cut(setting, "=")
		texts = append(texts, fmt.Sprintf("Column %s gets its values from this expression (--set): %s", column, expr))
	}
	return texts
}

// Unfit are the rows because of which the run has ended, for people, by reason.
func (r *Report) Unfit() (texts []string) {
	if r.Result == nil {
		return nil
	}
	for _, found := range r.Result.Unfit {
		texts = append(texts, humanize.Finding(found.Found()))
	}
	return texts
}

// Part is an earlier run.
type Part struct {
	ID    string `json:"id"`
	At    string `json:"at"`    // when it began
	State string `json:"state"` // as of a report
}

// Phase is a stage of the run.
type Phase struct {
	Name string    `json:"name"`
	At   time.Time `json:"at"`
	MS   record.MS `json:"ms"`

	undo bool
}

// Text describes the phase for people.
func (p Phase) Text() string { return humanize.PhaseOf(event.Phase(p.Name), p.undo) }

// Comparison is a predicted figure with the actual figure, for people.
type Comparison struct {
	What      string `json:"what"`
	Predicted string `json:"predicted"`
	Happened  string `json:"happened"`
}

// Happening is something that happened, and when.
type Happening struct {
	At    time.Time `json:"at"`
	Event string    `json:"event"` // as in docs/events.md
	Text  string    `json:"text"`
}

// Retries are syncs that were tried again for one cause.
type Retries struct {
	Cause string    `json:"cause"`
	Times int       `json:"times"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// unfinished is the state of a run that has told no result.
const unfinished = "unfinished"

// stateOf is the state of a run that has told a result, or none.
func stateOf(result *record.Result) string {
	if result == nil {
		return unfinished
	}
	return result.Outcome
}

// Of makes the report of a run, or of all runs of its group.
func Of(story *history.Story) *Report {
	r := ofOne(story)
	for _, other := range story.Together {
		r.Together = append(r.Together, ofOne(other))
	}
	if len(r.Together) > 0 {
		r.shareSwap()
	}
	return r
}

// ofOne makes the report of a run without the others of its group.
func ofOne(story *history.Story) *Report {
	r := &Report{Run: story.Run, Plan: story.Plan, Result: story.Result, State: stateOf(story.Result),
		Earlier: []Part{}, Phases: []Phase{}, Compared: []Comparison{}, Happenings: []Happening{}, Retries: []Retries{},
		Together: []*Report{}}
	for _, e := range story.Earlier {
		r.Earlier = append(r.Earlier, Part{e.Run.ID, e.Run.At, stateOf(e.Result)})
	}
	r.tell(story.Events)
	if r.Result != nil {
		r.Left, r.Remove = r.Result.Left, r.Result.Next
		if r.Result.Old != "" {
			r.Left = strings.TrimSpace(r.Left + " The old table is kept as " + schema.NameOf(r.Result.Old).String() + ".")
			table := schema.NameOf(r.Run.Table).Argument()
			drop := " To drop it: midstream cleanup  --old " + table
			if r.Result.Undo != nil {
				drop = " An undo needs it. To give the undo up first: midstream undo  --end " + table
			} else if r.Plan != nil && r.Plan.Keep != "" {
				drop = " It has the rows that were left out (--keep), and no command of Midstream drops it."
			}
			r.Remove = strings.TrimSpace(r.Remove + drop)
		}
	} else {
		r.Left = r.created(story.Events)
		r.Remove = "While the run is at work, midstream status  shows it. If it was killed, the same command resumes it, and midstream cleanup  " +
			schema.NameOf(r.Run.Table).Argument() + " removes what it created."
	}
	if r.Plan != nil && r.Result != nil {
		r.compare(progressOf(story.Events))
	}
	r.Undo = r.Run.Reach.All(r.aboutUndo(story.Events))
	r.Left, r.Remove = r.Run.Reach.In(r.Left), r.Run.Reach.In(r.Remove)
	r.drawn = drawn(story)
	return r
}

// created names the tables that a run without a result has on the server; "" for none.
func (r *Report) created(events []event.Event) string {
	begun, swapped := false, false
	for _, e := range events {
		switch e := e.(type) {
		case event.PhaseEntered:
			begun = begun || e.Phase == event.PhaseShadow
		case event.SwapDone:
			swapped = true
		}
	}
	if r.Plan == nil || !begun {
		return ""
	}
	table, what := r.Plan.Shadow, "The new table "
	if swapped {
		table, what = r.Plan.Old, "The old table "
	}
	text := what + schema.NameOf(table).String()
	if r.Plan.State != "" {
		text += " and the state table " + schema.NameOf(r.Plan.State).String()
	}
	return text + "."
}

// valueOf finds the value in the server's words for a duplicate: it tells causes apart that are one.
var valueOf = regexp.MustCompile(`(?s)entry '.*' for key`)

// tell lists what happened. A wait that events repeat while it lasts is listed once. For blockers
// that is the last event, with the longest wait.
func (r *Report) tell(events []event.Event) {
	retries := map[string]*Retries{}
	var last time.Time
	said := map[string]string{} // by event
	var blocking int            // the happening of the newest blockers
	var waited time.Duration    // for them
	for _, e := range events {
		switch e := e.(type) {
		case event.Progress:
			last = e.At
			continue
		case event.PhaseEntered:
			if e.Phase == event.PhaseCheck && !last.IsZero() {
				r.endPhase(last) // nothing was at work in between
			} else {
				r.endPhase(e.At)
			}
			r.Phases = append(r.Phases, Phase{Name: string(e.Phase), At: e.At, undo: e.Undo})
			last = e.At
			continue
		case event.Retry:
			last = e.At
			cause := valueOf.ReplaceAllString(e.Cause, "entry '…' for key")
			if retries[cause] == nil {
				retries[cause] = &Retries{Cause: cause, First: e.At}
			}
			retries[cause].Times++
			retries[cause].Last = e.At
			continue
		}
		at, text, _ := humanize.Happening(e)
		last = at
		name := nameOf(e)
		what := lasting(e)
		b, blocks := e.(event.Blocked)
		if what != "" && said[name] == what && (!blocks || b.Waiting >= waited) {
			if blocks {
				r.Happenings[blocking].Text, waited = text, b.Waiting
			}
			continue
		}
		said[name] = what
		r.Happenings = append(r.Happenings, Happening{At: at, Event: name, Text: text})
		if blocks {
			blocking, waited = len(r.Happenings)-1, b.Waiting
		}
	}
	r.endPhase(last)
	r.waits = waitsOf(events, r.Run.Time())
	for _, cause := range retries {
		r.Retries = append(r.Retries, *cause)
	}
	slices.SortFunc(r.Retries, func(a, b Retries) int { return a.First.Compare(b.First) })
}

// endPhase ends the last phase.
func (r *Report) endPhase(at time.Time) {
	if n := len(r.Phases); n > 0 {
		r.Phases[n-1].MS = record.MSOf(max(0, at.Sub(r.Phases[n-1].At)))
	}
}

// nameOf is the name of an event's record.
func nameOf(e event.Event) string {
	if _, finds := e.(event.Finding); finds { // whose record has a field of that name
		return record.NameFinding
	}
	told, is := record.Of(e).(interface{ Name() string })
	if !is {
		return ""
	}
	return told.Name()
}

// lasting is what a waiting is for, which is told again while it lasts; "" of other events.
func lasting(e event.Event) string {
	var parts []string
	switch e := e.(type) {
	case event.Blocked:
		for _, b := range e.Blockers {
			parts = append(parts, fmt.Sprint(b.ConnectionID, " ", b.Why))
		}
	case event.Throttled:
		for _, g := range e.Gates {
			parts = append(parts, g.Name)
		}
	case event.Deadline:
		parts = append(parts, string(cmp.Or(e.State, "unknown")), e.By.String())
	}
	return strings.Join(parts, "\n")
}

func progressOf(events []event.Event) (all []event.Progress) {
	for _, e := range events {
		if p, is := e.(event.Progress); is {
			all = append(all, p)
		}
	}
	return all
}

// Predicted is what the plan expects.
func (r *Report) Predicted() (list []Comparison) {
	add := func(what, predicted string) { list = append(list, Comparison{What: what, Predicted: predicted}) }
	p := r.Plan.Prediction
	if p.MostMS > 0 {
		text := fmt.Sprintf("%s (between %s and %s)", span(p.ElapsedMS), span(p.LeastMS), span(p.MostMS))
		if p.WithWindowMS > 0 {
			text += ", and " + span(p.WithWindowMS) + " with the waits for the copy window and the load of each hour"
		}
		add("time", text)
	}
	if r.Plan.Method == "shadow" && !r.lazy() {
		add("rows", "about "+humanize.Count(r.Plan.RowsEstimate))
	}
	if !r.lazy() { // which depends on the changed rows: nobody knows them
		add("peak disk space", humanize.Size(p.DiskBytes))
		add("redo log", humanize.Size(p.RedoBytes))
		add("binlog", humanize.Size(p.BinlogBytes))
	}
	add(lockRow, "a query waits at most "+span(p.LockedMS))
	add("longest replica lag", span(p.ReplicaLagMS))
	return list
}

// lazy reports whether the run is an undo of the changed rows only.
func (r *Report) lazy() bool {
	return r.Plan.Undoes != nil && r.Plan.Undoes.Mode == plan.UndoLazy
}

// compare puts the prediction next to the actual figures.
func (r *Report) compare(progress []event.Progress) {
	lag, delay := time.Duration(-1), time.Duration(0)
	var alone, felt []float64
	for _, one := range progress {
		lag, delay = max(lag, one.ReplicaLag), max(delay, one.CaptureDelay)
		if one.StatementTime > 0 && one.StatementTimeAlone > 0 {
			alone, felt = append(alone, one.StatementTimeAlone.Seconds()), append(felt, one.StatementTime.Seconds())
		}
	}
	lasted := span(r.Result.ElapsedMS)
	if divided := r.waits.in(r.Result.ElapsedMS.Duration()); divided != "" && len(r.Earlier) == 0 {
		lasted += ": " + divided
	}
	if late := r.Result.DeadlineLateMS; late != nil {
		text := humanize.About(-late.Duration()) + " early"
		if *late > 0 {
			text = "missed by " + humanize.About(late.Duration())
		}
		r.Compared = append(r.Compared, Comparison{What: "deadline", Predicted: r.Result.Deadline, Happened: text})
	}
	if len(r.Earlier) > 0 {
		lasted += ", after " + humanize.Plural(len(r.Earlier), "earlier run")
	}
	happened := map[string]string{"time": lasted, "rows": humanize.Count(r.Result.RowsCopied) + " copied"}
	for what, bytes := range map[string]int64{"peak disk space": r.Result.DiskBytes, "redo log": r.Result.RedoBytes, "binlog": r.Result.BinlogBytes} {
		if bytes > 0 {
			happened[what] = humanize.Size(bytes)
		}
	}
	if r.Result.LockHeldMS > 0 {
		happened[lockRow] = fmt.Sprintf(
			"%s, held for %s", humanize.Plural(r.Result.Attempts, "attempt"), span(r.Result.LockHeldMS),
		)
	}
	if lag >= 0 {
		happened["longest replica lag"] = humanize.Span(lag)
	}
	for _, c := range r.Predicted() {
		if c.Happened = happened[c.What]; c.Happened != "" {
			r.Compared = append(r.Compared, c)
		}
	}
	if text := halfway(progress, r.Result.ElapsedMS.Duration()); text != "" && len(r.Earlier) == 0 {
		r.Compared = append(r.Compared, Comparison{"time, as predicted when half of it was over", text, lasted})
	}
	if r.Plan.Method == "shadow" && delay > 0 {
		r.Compared = append(r.Compared, Comparison{What: "longest capture delay", Happened: humanize.Span(delay)})
	}
	if len(felt) > 0 {
		r.Compared = append(
			r.Compared,
			Comparison{
				"median statement of the application", humanize.Span(seconds(median(alone))) + " without this run",
				humanize.Span(seconds(median(felt))),
			},
		)
	}
}

// halfway is the time of the run as it was expected when half of it was over; "" if that is not known.
func halfway(progress []event.Progress, elapsed time.Duration) string {
	for _, p := range progress {
		if p.Elapsed < elapsed/2 {
			continue
		}
		if p.ETA < 0 || p.ETAMost <= 0 {
			return ""
		}
		return fmt.Sprintf("%s (between %s and %s)", humanize.Span(p.Elapsed+p.ETA), humanize.Span(p.Elapsed+p.ETALeast), humanize.Span(p.Elapsed+p.ETAMost))
	}
	return ""
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// mostDrawn is the number of records of progress that a page holds: more than a screen has pixels for.
const mostDrawn = 1200

// drawn are the records that the plots are made of.
func drawn(story *history.Story) (records []any) {
	step := float64(len(progressOf(story.Events)))/mostDrawn + 1e-9
	n, next := 0, 0.0
	for _, e := range story.Events {
		switch e.(type) {
		case event.Progress:
			n++
			if float64(n) < next {
				continue
			}
			next += max(1, step)
		case event.PhaseEntered, event.Throttled, event.LockAttempt, event.Killed, event.SwapDone:
		default:
			continue
		}
		records = append(records, record.Of(e))
	}
	if story.Result != nil {
		records = append(records, struct{ record.Head }{story.Result.Head})
	}
	return records
}
