package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/units"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Method is the way in which a table is changed.
type Method string

// The methods, from the lightest to the heaviest.
const (
	MethodNone    Method = "none"    // the table already has the definition
	MethodInstant Method = "instant" // the server changes its dictionary
	// The server changes its dictionary, or builds indexes or the table, while applications use it.
	MethodInplace Method = "inplace"
	MethodCopy    Method = "copy"   // the server copies while writes wait
	MethodShadow  Method = "shadow" // a run copies, and follows changes
)

// MethodOf returns the method that a word of --method names; "" for auto.
func MethodOf(word string) Method {
	if word == "auto" {
		return ""
	}
	return Method(word)
}

// natives are the server's own methods, the lightest first.
var natives = []Method{MethodNone, MethodInstant, MethodInplace, MethodCopy}

// HeavierThan reports whether both methods are the server's own and m is the heavier one.
func (m Method) HeavierThan(other Method) bool {
	return slices.Contains(natives, other) && slices.Index(natives, m) > slices.Index(natives, other)
}

// Effect is what a statement does to the table's files.
type Effect int

// The effects, from the lightest to the heaviest.
const (
	Nothing  Effect = iota // the definition stays unchanged
	Metadata               // only the data dictionary changes
	Index                  // one or more secondary indexes are built
	Rebuild                // the table is rebuilt
)

// Answer is how the server would carry out a statement itself, as an empty clone of the table has
// shown. It cannot include what depends on the table's rows and age.
type Answer struct {
	// Method is MethodInstant, MethodInplace or MethodCopy: the lightest that the server accepts.
	Method Method
	// Lock is the weakest lock that the server accepts with MethodInplace: during the build, NONE
	// lets the application write, and SHARED lets it only read. With MethodCopy it is NONE if the
	// server's copy follows the changes (MariaDB 11.2 and later), else "".
	Lock string
	// Plain means that the server takes the statement only without ALGORITHM and LOCK: a clause on partitions (5.7, MariaDB).
	Plain  bool
	Effect Effect
	// Definition is the altered clone, by SHOW CREATE TABLE.
	Definition string
	// Setup is how long the statement took on the clone, which is empty.
	Setup time.Duration
	// Lighter is a lighter method that the server accepts, if a heavier one was asked for; else "".
	Lighter Method
	// Trial is the copy on which the server was asked.
	Trial *Trial `json:"-"`
	// Refused are the lighter methods that the server does not accept, each with the server's
	// words.
	Refused []Rejected
}

// Split is an ALTER in two statements, which together make the same table.
type Split struct {
	First *ddl.Alter // by INSTANT
	Rest  *ddl.Alter
	// Answer is how the server would carry out the rest.
	Answer *Answer
}

// Rejected is a method that the plan does not take.
type Rejected struct {
	Method Method
	Why    string
}

// Limits bound what the server may do itself.
type Limits struct {
	// Locked is the longest time for which the server may block all writes. Defaults to 250 ms, a
	// query's longest wait at the cut-over of a run.
	Locked time.Duration
	// Longest is the longest time for a build. At its end the server asks for the lock again, and
	// if a session blocks it, the server loses all that it has built. Defaults to 10 min.
	Longest time.Duration
	// Stall is the longest time for which replicas may stop applying: they repeat the statement
	// after it has ended on the source. Defaults to 1 s.
	Stall time.Duration
	// Apart means that rows must not be copied in any hours in which the table may be changed. The
	// server does both in one statement.
	Apart bool
}

// WithDefaults returns the limits with defaults for what is not set.
func (l Limits) WithDefaults() Limits {
	if l.Locked <= 0 {
		l.Locked = DefaultWork
	}
	if l.Longest <= 0 {
		l.Longest = 10 * time.Minute
	}
	if l.Stall <= 0 {
		l.Stall = time.Second
	}
	return l
}

// Choice is the method of a change.
type Choice struct {
	Method Method
	Why    string
	// Lock is the lock that the run asks the server for, with MethodInplace and MethodCopy.
	Lock string
	// Plain means that the statement names neither an algorithm nor a lock.
	Plain bool
	// Builds means that the server builds indexes, or the table.
	Builds bool
	// Split means that the change takes two statements, the first by INSTANT, the second by Method;
	// nil for one statement.
	Split *Split
	// Work bounds the server's own statement if writes wait during it, 0 for no bound.
	Work time.Duration
	// Shadow means that a shadow could do it as well, if the server does not finish.
	Shadow bool
	// Warning is why the plan would not take the method unless the operator asks for it.
	Warning string
	// Others are the rejected methods, the lightest first.
	Others []Rejected
}

// CopiesRows reports whether the run copies rows into a shadow, or may have to.
func (c Choice) CopiesRows() bool { return c.Method == MethodShadow || c.Shadow }

// BlocksWrites reports whether no session can write to the table while the server copies or builds
// it.
func (c Choice) BlocksWrites() bool {
	return c.Lock != "NONE" && (c.Method == MethodCopy || c.Method == MethodInplace && c.Builds)
}

// Rehearsal describes what a run would do by a method of the server's own, which has nothing to
// rehearse.
func (c Choice) Rehearsal() string {
	if c.Method == MethodNone {
		return "a run would have nothing to do: " + c.Why
	}
	text := fmt.Sprintf(
		"in a run the server would change the table itself (%s), which cannot be rehearsed",
		c.Method,
	)
	return text + "; to rehearse a copy, use --method=" + string(MethodShadow)
}

// CodeMethod is the code of a method that the operator asks for and that is not available.
const CodeMethod Code = "method"

// CodeBuild is the code of what can happen to a build at its end.
const CodeBuild Code = "build"

// mostRowVersions is how often columns can be added or dropped by INSTANT before the table must be
// rebuilt (MySQL 8.0.29 and later; 9.7.4 accepted 255).
func (f *Facts) mostRowVersions() int {
	if f.Version.AtLeast(9, 1, 0) {
		return 255
	}
	return 64
}

// chooser weighs the methods.
type chooser struct {
	facts  *Facts
	table  *schema.Table
	alter  *ddl.Alter
	answer *Answer
	limits Limits
	pace   Pace
}

// Choose takes the lightest method whose cost is within the limits, or the method that the operator
// asks for, if the table can be changed by it at all. shadow is why a shadow can't do it, nil if it
// can. REQUIRES: the server was asked (Facts.Native).
func Choose(facts *Facts, table *schema.Table, alter *ddl.Alter, options Options, shadow error) (Choice, error) {
	answer := facts.Native
	c := chooser{
		facts:  facts,
		table:  table,
		alter:  alter,
		answer: answer,
		limits: options.Limits.WithDefaults(),
		pace:   options.paceOf(facts, table),
	}
	choice := Choice{Others: slices.Clone(answer.Refused), Shadow: shadow == nil}
	method, why, against := c.native()
	switch wish := options.Method; {
	case wish == "":
	case wish == MethodShadow:
		if against == "" {
			against = cmp.Or(options.Unwanted, "you asked for another method")
		}
	case c.loses() != "":
		return choice, c.notSo(wish, method)
	case wish != method:
		return choice, c.notSo(wish, method)
	case answer.Lighter != "":
		choice.Warning, against, why = fmt.Sprintf("the server could do it by %s", answer.Lighter), "", asked(wish)
	case against != "":
		choice.Warning, against, why = against, "", asked(wish)
	}
	if against == "" && options.Method == "" && c.halves() {
		against = "two statements take less than half of its time"
	}
	if against == "" {
		choice.Lock, choice.Plain = answer.Lock, answer.Plain
		choice.Method, choice.Why, choice.Builds = method, why, answer.builds()
		choice.Work = c.work(options.Method)
		if (method == MethodInstant || method == MethodInplace) && shadow == nil {
			choice.Others = append(choice.Others, Rejected{MethodShadow, "it would copy the entire table"})
		}
		return choice, nil
	}
	choice.Others = append(choice.Others, Rejected{method, against})
	if split, ok := c.split(options); ok {
		split.Others = append(choice.Others, split.Others...)
		return split, nil
	}
	if shadow != nil {
		return choice, shadow
	}
	choice.Method, choice.Why = MethodShadow, "no lighter method is within the limits"
	return choice, nil
}

// split weighs the ALTER in two statements, if one statement is too heavy for the server.
func (c *chooser) split(options Options) (Choice, bool) {
	s := c.facts.Split
	if s == nil || options.Method != "" || c.stale() != "" {
		return Choice{}, false
	}
	rest := *c
	rest.alter, rest.answer = s.Rest, s.Answer
	rest.pace.Native = c.pace.Rest
	method, why, against := rest.native()
	if against == "" {
		first := *c
		first.alter = s.First
		against = first.againstInstant()
	}
	if against != "" {
		return Choice{Others: []Rejected{{method, "in two statements: " + against}}}, false
	}
	return Choice{
		Method: method,
		Lock:   s.Answer.Lock,
		Builds: s.Answer.Effect > Metadata,
		Split:  s,
		Why: fmt.Sprintf(
			"in two statements, because one statement would rebuild the table: INSTANT does %s; for the rest, %s",
			s.First.Clauses, why,
		),
	}, true
}

// worthSplitting is how long a statement must take before splitting it is worthwhile.
const worthSplitting = 10 * time.Second

// halves reports whether the ALTER in two statements takes less than half of the time.
func (c *chooser) halves() bool {
	whole := c.pace.Native.takes(c.table.Rows)
	return c.facts.Split != nil && whole > worthSplitting && c.pace.Rest.takes(c.table.Rows) < whole/2
}

// notSo refuses a method that the operator asks for.
func (c *chooser) notSo(wish, method Method) error {
	why, fix := fmt.Sprintf("the server's lightest method is %s", method), fmt.Sprintf("Let the plan choose, or use --method=%s or --method=%s", method, MethodShadow)
	if loses := c.loses(); loses != "" {
		return notBy(c.table, wish, loses, "Let the plan choose")
	}
	for _, r := range c.answer.Refused {
		if r.Method == wish {
			why = r.Why
		}
	}
	return notBy(c.table, wish, why, fix)
}

func notBy(t *schema.Table, wish Method, why, fix string) error {
	return &Refused{
		Table: t.Name.String(),
		Blocking: []Risk{
			{Code: CodeMethod, What: fmt.Sprintf("the server cannot do the ALTER by the method %s", wish), Why: why, Fix: fix, Blocking: true},
		},
	}
}

// loses returns why the server must not change the table itself, or "": rows may be lost. MariaDB copies the rows of partitions by a
// statement without ALGORITHM. Rows were lost in 43 of 125 tries of COALESCE, ADD PARTITION and REORGANIZE with a KILL QUERY while it
// worked (10.11.18 and 11.8.9): the table was empty, or a partition was. On 5.7.22, 8.0.12 and 9.7.4 none were, in 170 tries.
func (c *chooser) loses() string {
	if c.answer.Plain && c.answer.Effect > Metadata && c.facts.Version.MariaDB {
		return "MariaDB loses the rows of the partitions if the statement is interrupted while it copies them"
	}
	return ""
}

// native weighs what the server would do itself; against is why not, or "".
func (c *chooser) native() (m Method, why, against string) {
	a := c.answer
	stale, misplaced := c.stale(), c.misplaces()
	switch {
	case a.Effect == Nothing && !c.alter.SetsAutoIncrement:
		return MethodNone, "the table already has this definition", ""
	case stale != "" && a.Method != MethodCopy:
		return a.Method, "", stale
	case misplaced != "":
		return a.Method, "", misplaced
	case c.loses() != "":
		return a.Method, "", c.loses()
	case a.Method == MethodInstant:
		return MethodInstant, "the server changes only its dictionary", c.againstInstant()
	case a.Effect <= Metadata && a.Lock == "NONE" && len(c.alter.PartitionOps) > 0:
		return MethodInplace, "the server changes only its dictionary", c.againstClosed()
	case a.Effect <= Metadata && a.Lock == "NONE":
		return MethodInplace, "the server changes only its dictionary", ""
	}
	if c.limits.Apart {
		return a.Method, "", "the copy window and the cut-over window have no time in common, and the server would need both"
	}
	takes := c.pace.Native.takes(c.table.Rows)
	if a.Effect == Rebuild && related(c.facts, c.table) {
		return a.Method, "", "the server would rebuild the table, which has foreign keys or is referred to"
	}
	if a.Lock != "NONE" {
		if takes > c.limits.Locked {
			return a.Method, "", fmt.Sprintf("it would block writes for about %s; %s is allowed", round(takes), round(c.limits.Locked))
		}
		return a.Method, fmt.Sprintf("the table is small: writes wait for about %s", round(takes)), ""
	}
	return a.Method, fmt.Sprintf("the server builds it in about %s, while the table is used", round(takes)), c.againstBuild(takes)
}

// stale returns why the server would keep values of a generated column that it had to compute again,
// or "". If a column takes the name of another one, an expression with this name reads another column
// than before. 5.7.22 and 8.0.12 then keep the values, stored or in an index, unless they copy the
// table. MariaDB 10.11 and 11.8 do so if the former column is dropped; if it is renamed, they rename it
// in the expression as well. 9.7.4 refuses such an ALTER.
func (c *chooser) stale() string {
	gone, taken := slices.Clone(c.alter.Dropped), slices.Clone(c.alter.Added)
	for _, r := range c.alter.Renames {
		if strings.EqualFold(r.Old, r.New) {
			continue
		}
		taken = append(taken, r.New)
		if !c.facts.Version.MariaDB {
			gone = append(gone, r.Old)
		}
	}
	for _, name := range gone {
		is := func(other string) bool { return strings.EqualFold(other, name) }
		if !slices.ContainsFunc(taken, is) {
			continue
		}
		for _, column := range c.table.Columns {
			// 5.7 may have the name without backticks.
			if !is(column.Name) && strings.Contains(strings.ToLower(column.Expression), strings.ToLower(name)) {
				return fmt.Sprintf("another column takes the name of %s, and the server would keep the values of %s, which it computes from %[1]s",
					name, column.Name)
			}
		}
	}
	return ""
}

// misplaces returns why a table that the server alters itself would get a damaged index, or "". 9.7.4 keeps
// the number of a virtual column, or of the hidden column of an index over an expression, from before a
// change of the columns. Deletions then leave their entries in the index, and insertions can stop the server
// (row0ins.cc). By experiment: a statement that renames an index over an expression and adds a column does
// so by each algorithm, from the next ALTER in place on. One that makes a virtual column with an index the
// first column does so at once, unless the server copies the table. A shadow is built in order (package
// shadow).
func (c *chooser) misplaces() string {
	renamed := slices.ContainsFunc(c.alter.Named.RenamedKeys, func(r ddl.Rename) bool {
		k, known := c.table.Key(r.Old)
		return known && k.Computed()
	})
	if renamed && len(c.alter.Added) > 0 {
		return "it renames an index over an expression and adds a column, and any later ALTER in place would damage that index"
	}
	for _, name := range c.alter.Named.First {
		if column, known := c.table.Column(name); known && c.answer.Method != MethodCopy && c.table.IndexesVirtual(column) {
			return fmt.Sprintf("it moves the virtual column %s, which has an index, to the first place, and the server would damage that index",
				column.Name)
		}
	}
	return ""
}

// againstInstant returns reasons against INSTANT that only the table itself can show, or "".
func (c *chooser) againstInstant() string {
	if changesColumns := len(c.alter.Added)+len(c.alter.Dropped) > 0; changesColumns && c.facts.RowVersions >= c.facts.mostRowVersions() {
		return fmt.Sprintf(
			"INSTANT added or dropped columns %d times, and the server accepts no more before the table is rebuilt",
			c.facts.RowVersions,
		)
	}
	return ""
}

// A build writes no redo log, so the server flushes its pages at the end, one after the other from
// the flush list: a rebuild of 30 GB took over four hours on a machine with 128 GB of memory.
const (
	largePool = 32 << 30
	muchBuilt = 1 << 30
)

// againstClosed returns why the server should not work on the files of all partitions, or "".
func (c *chooser) againstClosed() string {
	if closed := c.answer.closed(c.table); closed > c.limits.Locked {
		return fmt.Sprintf(
			"at the start and the end the server works on the files of all partitions, and no session can use the table for about %s; at most %s is allowed (--native-max-lock)",
			round(closed), round(c.limits.Locked),
		)
	}
	return ""
}

// againstBuild returns why the server should not build an index, or the table, in place, or "".
func (c *chooser) againstBuild(takes time.Duration) string {
	switch closed := c.againstClosed(); {
	case closed != "":
		return closed
	case c.facts.replicas() > 0 && takes > c.limits.Stall:
		return fmt.Sprintf(
			"replicas repeat it afterwards, and their replication stalls for about %s; at most %s is allowed", round(takes),
			round(c.limits.Stall),
		)
	case takes > c.limits.Longest:
		return fmt.Sprintf("it takes about %s, and if it cannot get its final lock, the build is lost; at most %s is allowed",
			round(takes), round(c.limits.Longest))
	}
	if built := int64(c.pace.Native.Bytes * float64(c.table.Rows)); c.facts.BufferPool > largePool && built > muchBuilt {
		return fmt.Sprintf(
			"at the end the server flushes the %s that it has built, and searches its list of dirty pages for them, which may "+
				"take hours with a buffer pool of %s",
			units.Size(built),
			units.Size(c.facts.BufferPool),
		)
	}
	if takes > c.limits.Stall && c.moves() { // else try: a shadow can take over
		return "the table is written to, and has a unique key in addition to the primary key: a value that moves to another row during the build " +
			"may be taken for a duplicate, and the build is lost"
	}
	if logged := int64(c.pace.Writes * takes.Seconds() * rowBytes(c.table)); logged > c.facts.OnlineLog/2 {
		return fmt.Sprintf(
			"the application writes about %s during the build, and the server's online log holds %s: it may overflow, and the build is lost",
			units.Size(logged), units.Size(c.facts.OnlineLog),
		)
	}
	return ""
}

// moves reports whether the server may see a false duplicate: during a build, a value that moves
// from one row to another may look like a duplicate, because the server also notes rows that may
// still be rolled back
// (https://dev.mysql.com/doc/refman/8.4/en/innodb-online-ddl-limitations.html).
func (c *chooser) moves() bool {
	unique := func(k schema.Key) bool { return k.Unique && k.Name != "PRIMARY" }
	kept := c.answer.Effect == Rebuild && slices.ContainsFunc(c.table.Keys, unique)
	added := slices.ContainsFunc(c.alter.Keys, func(k ddl.NewKey) bool { return k.Unique && !k.Primary })
	return c.pace.Writes != 0 && (kept || added)
}

// work is the bound of the server's work while no session can write.
func (c *chooser) work(wish Method) time.Duration {
	locks := c.answer.Method != MethodInstant && c.answer.Lock != "NONE"
	if !locks || wish == c.answer.Method {
		return 0
	}
	return c.limits.Locked
}

// builds reports whether the server builds indexes or the table with this answer while sessions can
// write.
func (a *Answer) builds() bool {
	return a.Method == MethodInplace && a.Effect > Metadata || a.Method == MethodCopy && a.Lock == "NONE"
}

// How is the text that asks the server for the method and the lock, in front of an ALTER's clauses; "" if it takes none.
func (a *Answer) How() string { return how(a.Method, a.Lock, a.Plain) }

func how(m Method, lock string, plain bool) string {
	if plain {
		return ""
	}
	text := "ALGORITHM=" + strings.ToUpper(string(m))
	if lock != "" {
		text += ", LOCK=" + lock
	}
	return text
}

// NativeStatement is the ALTER by the chosen method of the server's own.
func (p *Plan) NativeStatement() string {
	clauses := p.Alter.Clauses
	if s := p.Choice.Split; s != nil {
		clauses = s.Rest.Clauses
	}
	return "ALTER TABLE " + p.Source.Name.Quoted() + " " + ddl.Prefixed(how(p.Choice.Method, p.Choice.Lock, p.Choice.Plain), clauses)
}

// FirstStatement is the statement that comes before NativeStatement, "" if there is none.
func (p *Plan) FirstStatement() string {
	if p.Choice.Split == nil {
		return ""
	}
	return fmt.Sprintf("ALTER TABLE %s %s, %s", p.Source.Name.Quoted(), how(MethodInstant, "", false), p.Choice.Split.First.Clauses)
}

// round writes a duration with about two figures.
func round(d time.Duration) string {
	for unit := time.Duration(1e12); unit >= time.Millisecond; unit /= 10 {
		if d >= 10*unit {
			d = d.Round(unit)
			break
		}
	}
	if d >= 10*time.Second && d < time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return units.Span(d.Round(time.Millisecond))
}

// asked is why a method was chosen that --method names. A program that takes another's command line names that one's flag.
func asked(wish Method) string { return "--method=" + string(wish) + " asks for it" }
