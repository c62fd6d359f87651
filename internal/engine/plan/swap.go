package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// CodeSwap is the risk that the swap takes longer than the work under the lock may.
const CodeSwap Code = "swap"

// Shape is what the time of the server's work under the swap's lock depends on.
type Shape struct {
	// Files are the files of both tables: one for each table, or one for each partition.
	Files int
	// Indexes are the secondary indexes of a table.
	Indexes int
	// Declared are statements about foreign keys and triggers before the RENAME, Settled those
	// after it.
	Declared int
	Settled  int
	// declaring are the round trips to the server of the statements before the RENAME.
	declaring int
}

// Up to so many files and statements, the server needs some ten milliseconds, so nothing is
// measured.
const (
	fewFiles      = 8
	fewStatements = 24
)

// ManyFiles reports whether renaming the files may take long.
func (s Shape) ManyFiles() bool { return s.Files > fewFiles }

// ManyStatements reports whether the statements about foreign keys and triggers may take long.
func (s Shape) ManyStatements() bool { return s.Declared+s.Settled > fewStatements }

// Swap is the time that the server takes at the moment for a swap of a shape.
type Swap struct {
	Shape
	Rename  time.Duration // of the tables
	Declare time.Duration // the statements before the RENAME
	Settle  time.Duration // the statements after it
	// Assumed means that the time could not be measured.
	Assumed bool
}

// The assumed time for a file and for a statement, if it can't be measured (9.7.4, idle, a fast
// disk).
const (
	assumedFile      = time.Millisecond
	assumedStatement = 10 * time.Millisecond
)

// At is the time of a swap of this shape, computed from the time of one file and of one statement.
func (s Shape) At(file, statement time.Duration) Swap {
	return Swap{
		Shape:   s,
		Rename:  time.Duration(s.Files) * file,
		Declare: time.Duration(s.Declared) * statement,
		Settle:  time.Duration(s.Settled) * statement,
	}
}

// MayMeasure reports whether small tables may be created to measure a swap: on a replica they must
// not be in the binlog, and with a scratch server nothing is created here.
func (f *Facts) MayMeasure() bool { return f.Scratch == "" && (!f.IsReplica || f.maySilence()) }

// Assumed is the time of a swap of this shape that can't be measured.
func (s Shape) Assumed() Swap {
	swap := s.At(assumedFile, assumedStatement)
	swap.Assumed = true
	return swap
}

// statementsOf counts the statements about foreign keys and triggers that move in a swap.
func (s Shape) statementsOf(keys, triggers int) Shape {
	s.Declared, s.Settled = keys+triggers, 2*keys+3*triggers
	s.declaring = keyTrips*keys + triggerTrips*triggers
	return s
}

// ShapeOf is the shape of the swap of two tables with so many files.
func (p *Plan) ShapeOf(source, shadow int) Shape {
	s := Shape{Files: source + shadow, Indexes: max(len(p.Source.Keys)-1, 0)}
	return s.statementsOf(len(Carried(p)), len(p.Source.Triggers))
}

// ShapeBefore is the shape of the swap that an ALTER needs, for a table that has so many files. It
// reads from the ALTER's text what becomes of the partitions.
func ShapeBefore(table *schema.Table, alter *ddl.Alter, files int) Shape {
	s := Shape{Files: files + filesAfter(alter, files), Indexes: max(len(table.Keys)-1, 0)}
	return s.statementsOf(len(remaining(table, alter)), len(table.Triggers))
}

var (
	quotedText    = regexp.MustCompile(`'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|` + "`(?:[^`]|``)*`")
	partitionRows = regexp.MustCompile(`(?i)\bVALUES\b`)
	partitions    = regexp.MustCompile(`(?i)\bPARTITIONS\s+(\d+)`)
	subpartitions = regexp.MustCompile(`(?i)\bSUBPARTITIONS\s+(\d+)`)
)

// filesAfter is about the number of files that an ALTER makes of so many.
func filesAfter(alter *ddl.Alter, files int) int {
	if len(alter.PartitionOps) == 0 {
		return files
	}
	text := quotedText.ReplaceAllString(alter.Clauses, " ")
	switch {
	case slices.Contains(alter.PartitionOps, "REMOVE PARTITIONING"):
		return 1
	case slices.Contains(alter.PartitionOps, "PARTITION BY"):
		return partsIn(text)
	}
	return files + max(len(partitionRows.FindAllString(text, -1)), numberIn(partitions, text))
}

// numberIn is the number that a pattern finds, 0 if there is none.
func numberIn(pattern *regexp.Regexp, text string) int {
	m := pattern.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// The bounds of an exclusive lock, unless the operator sets others: DefaultWait for the wait, and
// DefaultWork for the work under the lock.
const (
	DefaultWait = 250 * time.Millisecond
	DefaultWork = 250 * time.Millisecond
)

// LeastForKeys is how long each statement about foreign keys may hold the lock after the swap,
// whatever is left of the budget. LeastForTriggers is the time of all work that can also be done
// later: on names of constraints, and on triggers.
const (
	LeastForKeys     = time.Second
	LeastForTriggers = 250 * time.Millisecond
)

// afterSwap is how long foreign keys and triggers may hold the lock after the swap, beyond the
// budget.
func afterSwap(keys, triggers int) time.Duration {
	switch {
	case keys > 0:
		return LeastForKeys
	case triggers > 0:
		return LeastForTriggers
	}
	return 0
}

// swapText describes what the exclusive lock of the swap is for.
func (p *Plan) swapText(after time.Duration) string {
	text := "the swap, under that lock"
	if s := p.Swap; s != nil && s.ManyFiles() {
		text += fmt.Sprintf(" (%d files are renamed in about %s)", s.Files, round(s.Rename))
	}
	if after > 0 {
		text += fmt.Sprintf(", and the remaining work on foreign keys and triggers, for up to %s more if the server is slow", after)
	}
	return text
}

// checkSwap refuses a swap that would take longer than the work under the lock may: the server does
// not interrupt a RENAME.
func (c *checker) checkSwap() {
	swap := c.facts.Swap
	if swap == nil {
		return
	}
	work := c.work()
	least := swap.Rename + swap.Declare
	if swap.fits(work) {
		return
	}
	var parts []string
	if swap.ManyFiles() {
		parts = append(parts, fmt.Sprintf("renames %d files (one for each partition of both tables)", swap.Files))
	}
	if n := swap.Declared + swap.Settled; n > 0 {
		parts = append(parts, fmt.Sprintf("changes foreign keys and triggers by %d statements", n))
	}
	known := "measured now"
	if swap.Assumed {
		known = "assumed"
	}
	c.swapRisk(
		fmt.Sprintf(
			"the swap %s: that takes about %s (%s), and --lock-work allows %s", strings.Join(parts, " and "),
			round(least+swap.Settle), known, round(work),
		),
		least+swap.Settle,
	)
}

// work is the time that --lock-work allows for the work under the lock.
func (c *checker) work() time.Duration {
	if c.options.Work <= 0 {
		return DefaultWork
	}
	return c.options.Work
}

// wishedWork is the --lock-work for a swap that takes so long.
func wishedWork(takes time.Duration) time.Duration {
	return (2*takes + 100*time.Millisecond).Truncate(100 * time.Millisecond)
}

// MoreWork is how to give work under the lock more time, if it takes so long.
func MoreWork(takes time.Duration) string {
	if wish := max(2*time.Second, wishedWork(takes)); wish <= longestWork {
		return fmt.Sprintf("Allow more time under the lock, in which queries wait, such as --lock-work=%s", wish)
	}
	return "Choose a time with less load on the server"
}

// Safely is the time to allow for work that takes about so long: another moment may be slower, and
// the last changes need time too.
func Safely(takes time.Duration) time.Duration { return takes * 3 / 2 }

// fits reports whether a swap fits the time for work under the lock.
func (s Swap) fits(work time.Duration) bool {
	return Safely(s.Rename+s.Declare) <= work && s.Settle <= work+LeastForKeys
}

// longestWork is the most that --lock-work accepts.
const longestWork = 30 * time.Second

// swapRisk refuses the swap. It only warns if there is no swap, or if each attempt measures again
// and the work is done already.
func (c *checker) swapRisk(what string, takes time.Duration) {
	fix := "Have fewer partitions, foreign keys or triggers"
	if wish := wishedWork(takes); wish <= longestWork {
		fix = fmt.Sprintf("Allow more, if queries may wait that long: --lock-work=%s", wish)
	}
	const why = "the swap takes longer than --lock-work, all queries of the table wait for it, and the server cannot stop a RENAME that it has started"
	if c.options.Purpose.Rehearses() || c.stopped() {
		c.warn(CodeSwap, what, why, fix)
		return
	}
	c.block(CodeSwap, what, why, fix)
}

// stopped reports whether an earlier run was stopped, so that the next run resumes its work.
func (c *checker) stopped() bool {
	return slices.ContainsFunc(c.facts.Taken, func(t Taken) bool {
		return c.facts.sameTable(t.Name, c.names.State) && schema.MarkedFor(t.Comment, c.table.Name)
	})
}
