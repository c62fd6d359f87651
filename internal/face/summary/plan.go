package summary

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/followers"
)

// Planned is a plan with what else its summary needs.
type Planned struct {
	*plan.Plan
	Address  string // of the server
	Found    bool   // Midstream has found the statement itself, for --to
	Former   string // the earlier run that this one resumes, "" for none
	Config   migration.Config
	Settings operator.Settings
	Keep     bool // a rehearsal keeps the new table
	Checks   bool // rows are only checked
	Served   bool // midstream serve asks for it
	// Follower is the process that follows the table of an undo; nil for none.
	Follower *followers.Standing
	// Now is the moment at which a run of the plan would begin. Defaults to the present.
	Now time.Time
}

// now is the moment at which a run of the plan would begin.
func (p Planned) now() time.Time {
	if p.Now.IsZero() {
		return time.Now()
	}
	return p.Now
}

// Predict returns what a run of the plan will probably cost.
func Predict(p *plan.Plan, cfg migration.Config, settings operator.Settings) plan.Prediction {
	settings = settings.WithDefaults()
	now := time.Now()
	d := predicted(p, p.Pace, cfg, settings, now)
	d.Application, d.Offers = p.Pace.Curve, offers(p, cfg, settings, now)
	return d
}

// predicted is the prediction at a pace.
func predicted(p *plan.Plan, pace plan.Pace, cfg migration.Config, settings operator.Settings, now time.Time) plan.Prediction {
	bounds := plan.Bounds{Wait: settings.Lock.Wait, Work: settings.Lock.Work}
	if p.Lazy() { // how much has changed since the swap is not known
		d := p.Predict(plan.Pace{}, bounds, false)
		return plan.Prediction{Locks: d.Locks, Locked: d.Locked, Most: d.Most}
	}
	d := p.Predict(pace.Shared(1-settings.Rest), bounds, cfg.WithDefaults().Defers(p))
	if c := settings.Calendar(); d.Rows > 0 && !(c.Hours.IsZero() && c.Loads.IsZero()) {
		d.WithWindow = ending(p.Choice, c, now, d.Elapsed, d.Measured).Sub(now)
	}
	return d
}

// AfterPlan is what to do with a plan.
func AfterPlan(p Planned) string {
	if stopsAtRows(p) != "" {
		return "change these rows, or add --park, which copies them to a table of their own; then the same command without --plan"
	}
	if p.Choice.Method == plan.MethodNone && p.Former == "" {
		return "nothing: the table needs no run"
	}
	if p.Served {
		return "submit the change"
	}
	if p.Back != nil {
		return "the same command without --plan (--verbose: locks, grants, key)"
	}
	return "the same command with run; check tests every row first (--verbose: all details)"
}

// unfitInPlan is what is known, before an undo, of rows that the old definition refuses; "" if there can be none.
func unfitInPlan(p Planned) string {
	switch {
	case p.Back == nil || p.Back.Native:
		return ""
	case p.Follower == nil && p.Back.Park:
		return "not checked; " + p.Back.Verb() + " copies them to a table of their own, and goes " + p.Back.Goes() + " without them (--park)"
	case p.Follower == nil:
		return "not checked; " + p.Back.Verb() + " lists them before its lock, and changes nothing then"
	case p.Follower.Unfit == 0:
		return "none, " + comparedBy(p.Follower)
	}
	return Unfit(p.Follower.Unfit, p.Follower.Keys) + ", " + comparedBy(p.Follower)
}

// stopsAtRows says that an undo would stop because of rows that the process which follows the table has found; "" if it would not.
func stopsAtRows(p Planned) string {
	if p.Follower == nil || p.Follower.Unfit == 0 || p.Back == nil || p.Back.Park {
		return ""
	}
	return fmt.Sprintf("Not yet: %s would stop before its lock, because of %s (below).", p.Back.Verb(), humanize.Plural(p.Follower.Unfit, "row"))
}

// light reports whether the server changes the table itself, and the application goes on. Then only --verbose shows why not another way.
func light(c plan.Choice) bool {
	return (c.Method == plan.MethodInstant || c.Method == plan.MethodInplace) && !c.BlocksWrites() && c.Warning == ""
}

// longWhy is the length from which only --verbose shows why a risk matters.
const longWhy = 120

// inShort are risks without long reasons, unless all details are asked for.
func inShort(risks []plan.Risk, style Style) []plan.Risk {
	if style.Verbose || style.Markdown {
		return risks
	}
	short := slices.Clone(risks)
	for i, r := range short {
		if len(r.Why) > longWhy && r.Code == plan.CodeBuild {
			short[i].Why = ""
		}
	}
	return short
}

// deletes is the verdict on a change that gives up values of which no copy is kept; "" for another one.
func deletes(p Planned) string {
	lost, kept, _ := strings.Cut(losses(p), "; ")
	if !strings.HasPrefix(lost, lostValues) || kept != "" || p.Purpose.Rehearses() || p.Choice.Method == plan.MethodNone {
		return ""
	}
	text := "OK to run. It deletes " + lost + ": no copy is kept."
	if len(p.Risks) > 0 {
		text += " " + humanize.Plural(len(p.Risks), "warning") + " (below)."
	}
	return text
}

// lostValues begins the text about columns that are dropped.
const lostValues = "the values of "

// after writes what to do next, behind the list.
func (s *sheet) after(next string) {
	if next != "" {
		if s.markdown || !s.listed {
			s.WriteString("\n")
		}
		s.listed = true
		s.line("Next", "%s", next)
	}
}

// OfUnaltered tells of a table of --to that no ALTER is needed for.
func OfUnaltered(table, server string, version fmt.Stringer, method, place string, style Style) string {
	if style.Markdown {
		return fmt.Sprintf("### %s on %s (%s)\n\n%s (%s)\n", escape.Markdown(table), escape.Markdown(server), version,
			escape.Markdown(method), escape.Markdown(place))
	}
	return escape.Text(fmt.Sprintf("%s on %s (%s)\n  %-9s %s (%s)\n", table, server, version, "method", method, place))
}

// OfPlan writes what a run will do, the verdict first. next is the last line, for what to do now.
func OfPlan(p Planned, style Style, next string) string {
	s := newSheet(style)
	s.heading("%s on %s (%s), %s", p.Source.Name, p.Address, p.Server.Version, size(p.Source))
	s.statement(p.Alter.Restore(p.Source.Name))
	s.verdict(p.Choice, p.Risks, cmp.Or(stopsAtRows(p), deletes(p)))
	if p.Back != nil {
		label := "Undo of"
		if p.Back.Redo {
			label = "Redo after"
		}
		s.line(label, "%s", takenBack(p.Back))
		if p.Back.Native {
			s.line("Statement", "ALTER TABLE %s %s", p.Source.Name, escape.Line(ddl.Shorten(p.Alter.Clauses)))
		}
	}
	s.found(p)
	s.line("Method", "%s", method(p))
	if len(p.Plan.Together) > 0 {
		s.line("Together", "%s", inOneStep(p.Plan.Together))
	}
	if p.Filter != "" {
		s.line("Rows", "only those with %s; the others stay in the old table", escape.Line(ddl.Shorten(p.Filter)))
	}
	if p.Into.Given() {
		s.line("New name", "%s", newName(p.Plan))
	}
	for _, setting := range p.Set.List() {
		column, expr, _ := strings.Cut(setting, "=")
		s.line("Values", "of column %s: %s", escape.Line(column), escape.Line(ddl.Shorten(expr)))
	}
	if p.Back != nil && p.Back.Rest != "" {
		s.line("Rows", "also those without %s, which --keep had left out", escape.Line(ddl.Shorten(p.Back.Rest)))
	}
	if why := whyNot(p.Choice, style.Verbose); why != "" && (style.Verbose || style.Markdown || !light(p.Choice)) {
		s.line("", "%s", why)
	}
	d := Predict(p.Plan, p.Config, p.Settings)
	if len(d.Locks) > 0 {
		s.line("Time", "%s", duration(p, d))
		for i, o := range d.Offers {
			s.line(map[bool]string{true: "Pace"}[i == 0], "%s", pace(o, d.Application))
		}
		if len(d.Offers) > 0 && d.Application.Uncertain() {
			s.line("", "(uncertain: the application's statements varied by themselves about as much as the copy changed them)")
		}
		if text := inWindow(p, d); text != "" {
			s.line("Window", "%s", text)
		}
		if text := byLoad(p, d); text != "" {
			s.line("Profile", "%s", text)
		}
		s.line("Impact", "%s", impact(p.Choice, d))
	}
	if text := finish(p, d, time.Now()); text != "" {
		s.line("Deadline", "%s", text)
	}
	if d.Rows > 0 && (d.Measured || !plan.OldStatistics(p.Source)) {
		s.line("Space", "%s of disk%s", humanize.Size(d.Disk), binlog(d))
	}
	if d.ReplicaLag > 0 {
		s.line("Replicas", "fall behind by about %s at the end", humanize.Span(d.ReplicaLag))
	}
	switch {
	case p.Purpose.Rehearses():
		s.line("Rehearsal", "%s", rehearsal(p))
	case p.Choice.Method == plan.MethodShadow:
		s.line("Afterwards", "%s", afterwards(p))
	}
	lost, undo := losses(p), undoable(p)
	if lost == "none" && undo == undoNotKept {
		lost, undo = "none; the undo is "+undo, ""
	}
	s.line("Data loss", "%s", lost)
	if rows := unfitInPlan(p); rows != "" {
		s.line("Unfit rows", "%s", escape.Line(rows))
	}
	if p.Back != nil && len(p.Back.Fills) > 0 {
		s.line("New rows", "%s", escape.Line("since the swap get "+strings.Join(plan.Filling{Given: p.Back.Fills}.Settings(), ", ")+" (--undo-fill)"))
	}
	if undo != "" {
		s.line("Undo", "%s", undo)
	}
	if p.Former != "" && p.Follower == nil {
		s.line("Resumes", "%s", strings.TrimPrefix(p.Former, "resuming "))
	}
	if style.Verbose {
		details(s, p, d)
	}
	if len(p.Risks) > 0 {
		s.WriteString("\n")
		s.risks(inShort(p.Risks, style))
	}
	s.after(next)
	if len(p.Plan.Together) > 0 { // the next table's plan follows, or the sum of the swap
		s.WriteString("\n")
	}
	return s.String()
}

// BeforeRun writes a plan that a run carries out at once: one line, and what an operator should know.
func BeforeRun(p Planned, style Style) string {
	if style.Verbose {
		return OfPlan(p, style, "")
	}
	s := newSheet(style)
	about, d := "", Predict(p.Plan, p.Config, p.Settings)
	if d.Rows > 0 {
		about = ", " + roughly(d.Elapsed)
	}
	what := method(p)
	switch {
	case p.Back != nil && p.Settings.When.Follow:
		what = "follow the table, so that the undo of the " + takenBack(p.Back) + " is one short lock; first " +
			strings.TrimSuffix(what, ", then cut over")
	case p.Back != nil:
		word := "undo of the "
		if p.Back.Redo {
			word = "redo: it takes back the "
		}
		what = word + takenBack(p.Back) + "; " + what
	}
	if p.Checks {
		what, about = "checking that every row fits; nothing is changed", ""
	}
	problems := ", " + found(p.Risks)
	if p.Checks && len(p.Risks) == 0 { // it has yet to look
		problems = ""
	}
	s.heading("%s on %s: %s%s%s", p.Source.Name, p.Address, what, about, problems)
	s.found(p)
	s.risks(inShort(p.Risks, style))
	if undo := undoable(p); undo != "" && p.Back == nil && p.Config.Undo > 0 {
		s.line("Undo", "%s", undo)
	}
	if text := finish(p, d, time.Now()); text != "" {
		s.line("Deadline", "%s", text)
	}
	if text := inWindow(p, d); text != "" {
		s.line("Window", "%s", text)
	}
	if p.Purpose.Rehearses() {
		s.line("Rehearsal", "%s", rehearsal(p))
	}
	return s.String()
}

// Quiet writes only what an operator should know, "" if there is nothing.
func Quiet(p *plan.Plan) string {
	if len(p.Risks) == 0 {
		return ""
	}
	return p.Source.Name.String() + "\n" + Risks(p.Risks, Style{})
}

// Risks writes what an operator should know.
func Risks(risks []plan.Risk, style Style) string {
	s := newSheet(style)
	s.risks(risks)
	return s.String()
}

// found counts the warnings within a line.
func found(risks []plan.Risk) string {
	if len(risks) == 0 {
		return "no problems found"
	}
	return humanize.Plural(len(risks), "warning") + ":"
}

// method says what the run does.
func method(p Planned) string {
	switch c := p.Choice; {
	case p.Follower != nil:
		return "warm: the process that follows the table (" + humanize.Span(p.Follower.Behind) + " behind) cuts over at once"
	case p.Lazy() && p.Back.Unseen != "":
		return "sync and compare the rows that have changed since the swap, then cut over"
	case p.Lazy():
		return "sync the rows that have changed since the swap, compare all rows, then cut over"
	case p.Back.Adopts():
		return "sync all rows of the old table, then cut over"
	case c.Method == plan.MethodShadow:
		return humanize.Method(string(c.Method))
	default:
		return humanize.Method(string(c.Method)) + ": " + c.Why
	}
}

// serverAdvice is what the server adds to the reason why it does not take an ALGORITHM.
var serverAdvice = regexp.MustCompile(`^ALGORITHM=\w+ is not supported\. Reason: |\.? Try ALGORITHM=[A-Z/]+\.?$`)

// WhyNot is why no lighter method is taken, in short; "" if there is none.
func WhyNot(c plan.Choice) string {
	return strings.TrimSuffix(strings.TrimPrefix(whyNot(c, false), "("), ")")
}

// whyNot says why no lighter method is taken, and what speaks against this one. In full it has the
// server's own words, and why the table is not copied to a new one.
func whyNot(c plan.Choice, full bool) string {
	var parts []string
	for _, other := range c.Others {
		name, why := strings.ToUpper(string(other.Method)), other.Why
		switch {
		case other.Method == plan.MethodShadow && !full:
			continue
		case other.Method == plan.MethodShadow:
			name = "a new table"
		case !full:
			why = serverAdvice.ReplaceAllString(why, "")
		}
		parts = append(parts, fmt.Sprintf("not %s: %s", name, why))
	}
	if c.Warning != "" {
		parts = append(parts, "as asked for, although "+c.Warning)
	}
	if len(parts) == 0 {
		return ""
	}
	return "(" + strings.Join(parts, "; ") + ")"
}

// size says how large a table is.
func size(t *schema.Table) string {
	size := humanize.Size(t.DataBytes + t.IndexBytes)
	if plan.OldStatistics(t) {
		size = "size not known: the statistics are old (ANALYZE TABLE)"
	}
	return fmt.Sprintf("about %s, %s", humanize.Plural(t.Rows, "row"), size)
}

func duration(p Planned, d plan.Prediction) string {
	if p.Follower != nil {
		return "about a second"
	}
	if p.Lazy() {
		reads := "binlogs"
		if p.Server.Capture == nil && p.Capture.By == plan.CaptureTrigger {
			reads = "keys that triggers have logged"
		}
		rest := "the time to read the " + reads + " since the swap, and to sync the rows that have changed"
		if p.Back.Unseen != "" {
			return rest + " and to compare them"
		}
		takes, least, most := plan.Comparing(p.Plan)
		return fmt.Sprintf("%s to compare all rows (%s to %s, estimated); and %s", roughly(takes), humanize.About(least), humanize.About(most), rest)
	}
	if d.Rows == 0 {
		return fmt.Sprintf("less than %s, once no session blocks it", humanize.Span(d.Most))
	}
	how := "estimated; --calibrate measures it"
	if d.Measured {
		how = "measured with rows of this table"
	}
	if humanize.About(d.Least) == humanize.About(d.Most) {
		return fmt.Sprintf("%s (%s)", roughly(d.Elapsed), how)
	}
	return fmt.Sprintf("%s (%s to %s, %s)", roughly(d.Elapsed), humanize.About(d.Least), humanize.About(d.Most), how)
}

// roughly writes a time that is expected.
func roughly(d time.Duration) string {
	if d < time.Second {
		return humanize.About(d)
	}
	return "about " + humanize.About(d)
}

// impact says what the application notices.
func impact(c plan.Choice, d plan.Prediction) string {
	if c.BlocksWrites() {
		return fmt.Sprintf("reads continue; writes wait until it has ended, for at most %s", humanize.Span(d.Locked))
	}
	when := "at the start and the end"
	if c.Method == plan.MethodShadow {
		when = "at the cut-over"
	}
	return fmt.Sprintf("reads and writes continue; a query waits at most %s %s", humanize.Span(d.Locked), when)
}

func binlog(d plan.Prediction) string {
	if d.Binlog == 0 {
		return ""
	}
	return fmt.Sprintf(", %s of binlog during the run", humanize.Size(d.Binlog))
}

func afterwards(p Planned) string {
	if p.Back != nil && p.Back.Rest != "" {
		return "your table of now is kept as " + p.Names.Former().String() + "; there is no redo: the change can be made again"
	}
	if p.Back != nil { // a new table is a copy, or the old table
		next := "for the redo"
		if p.Back.Redo {
			next = "for another undo"
		}
		return fmt.Sprintf("your table of now is kept as %s for %s, %s", p.Names.Former(), humanize.About(p.Back.For), next)
	}
	if p.Config.Undo > 0 {
		return "the old table is kept as " + p.Names.Former().String() + ", for an undo"
	}
	if p.Config.DropOld {
		return "the old table is dropped (until then it is " + p.Names.Old.String() + ")"
	}
	return "the old table is kept as " + p.Names.Former().String()
}

// newName is what becomes of the names.
func newName(p *plan.Plan) string {
	name := p.Into.Name.String()
	if p.Into.View {
		return name + ", in the same step in which " + p.Source.Name.String() + " becomes a view over it"
	}
	return name + "; " + p.Source.Name.String() + " is gone after the swap"
}

// losses says which values the ALTER itself gives up.
func losses(p Planned) string {
	var lost, dropped []string
	for _, c := range p.ColumnChanges() {
		if c.Target == "" {
			dropped = append(dropped, c.Source)
		}
	}
	if len(dropped) > 0 {
		lost = append(lost, lostValues+columns(dropped))
	}
	for _, r := range p.Risks {
		if r.Code == plan.CodeLossy {
			lost = append(lost, "values that are converted (see the warnings)")
			break
		}
	}
	givenUp := ""
	if slices.ContainsFunc(p.Risks, func(r plan.Risk) bool { return r.Code == plan.CodeGivenUp }) {
		givenUp = "former values of some rows (see the warnings)"
	}
	if len(lost) == 0 {
		return cmp.Or(givenUp, "none")
	}
	if givenUp != "" {
		givenUp = "; " + givenUp
	}
	kept := ""
	switch {
	case p.Back != nil && p.Choice.Method == plan.MethodShadow:
		kept = fmt.Sprintf("; %s keeps them", p.Names.Former())
	case p.Choice.Method == plan.MethodShadow && (!p.Config.DropOld || p.Config.Undo > 0) && !p.Purpose.Rehearses():
		kept = "; the old table keeps them"
	}
	return strings.Join(lost, ", ") + kept + givenUp
}

// rehearsal says what a rehearsal does, and what it doesn't do.
func rehearsal(p Planned) string {
	if p.Choice.Method != plan.MethodShadow {
		return "nothing is done: " + p.Choice.Rehearsal()
	}
	text := "everything but the swap: the table stays unchanged"
	if p.Purpose == plan.RehearsingOnReplica {
		text += ", and nothing is written to the binlog of this replica; its replication may wait for rows that are being copied. " +
			"(A run takes about a third longer: it writes to the binlog)"
	}
	ending := "dropped at the end"
	if p.Keep {
		ending = "kept"
	}
	return fmt.Sprintf("%s. %s and %s are created, and %s", text, p.Names.Shadow, p.Names.State, ending)
}

// details writes what only those read who want to know how it works.
func details(s *sheet, p Planned, d plan.Prediction) {
	s.WriteString("\n")
	s.line("Statement", "%s", p.Alter.Clauses)
	if changes := p.ColumnChanges(); len(changes) > 0 {
		s.line("Columns", "%s", joined(changes, "; "))
	}
	s.line("Size", "%s of rows and %s of indexes, as the server estimates", humanize.Size(p.Source.DataBytes), humanize.Size(p.Source.IndexBytes))
	if p.Choice.Method == plan.MethodShadow {
		s.line("Key", "%s (%s): the run follows changes by it", p.Key.Name, strings.Join(p.Key.Columns(), ", "))
		s.line("Changes", "%s", captured(p))
		s.line("Workers", "%s", workers(p.Settings))
		s.line("Indexes", "%s", indexes(p))
		if !p.Back.Adopts() {
			s.line("Creates", "%s and %s", p.Names.Shadow, p.Names.State)
		}
	}
	if d.Rows > 0 {
		s.line("Speed", "%s rows/s, %s of redo log", humanize.Rate(d.RowsPerSecond), humanize.Size(d.Redo))
	}
	if len(d.Locks) > 0 {
		var locks []string
		for _, l := range d.Locks {
			locks = append(locks, fmt.Sprintf("%d %s for %s", l.Count, l.Kind, l.For))
		}
		s.line("Locks", "%s", strings.Join(locks, "; "))
	}
	s.line("Grants", "%s", strings.Join(p.Grants(), "; "))
}

// captured says how the run learns of changes.
func captured(p Planned) string {
	switch {
	case p.Server.Capture != nil:
		return "read from replica " + p.Server.Capture.Address
	case p.Capture.By == plan.CaptureTrigger:
		return fmt.Sprintf("captured by triggers that write to %s: %s", p.Names.Log, p.Capture.Why)
	}
	return "read from the binlog"
}

// workers says how many connections copy rows.
func workers(settings operator.Settings) string {
	w := settings.Workers()
	if w.Most == w.First {
		return humanize.Plural(w.First, "connection") + " for copying rows"
	}
	return fmt.Sprintf("%d connections for copying rows, and up to %d while more of them copy more rows", w.First, w.Most)
}

// indexes says when secondary indexes are built.
func indexes(p Planned) string {
	if p.Config.Defers(p.Plan) {
		return "secondary indexes are built after the row copy"
	}
	if p.Config.Indexes != migration.DeferNever && p.Server.Replicas > 0 {
		return fmt.Sprintf("secondary indexes are filled while rows are copied: building them afterwards would hold up %s",
			humanize.Plural(p.Server.Replicas, "replica"))
	}
	return "secondary indexes are filled while rows are copied"
}
