package plan

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// The codes of risks about the ALTER.
const (
	CodeOtherTable   Code = "other-table"
	CodeRenamesTable Code = "renames-table"
	CodePartition    Code = "partition"
	CodeTablespace   Code = "tablespace"
	CodeSecondary    Code = "secondary-engine"
	CodeOrderBy      Code = "order-by"
	CodeUnique       Code = "unique"
	CodeUnparsed     Code = "unparsed"
	CodeColumn       Code = "column"
	CodeMap          Code = "map"
	CodeNoPrimary    Code = "no-primary-key"
	CodeAlgorithm    Code = "algorithm"
	CodeNumbers      Code = "auto-increment"
	CodeUncompared   Code = "uncompared"
	CodeNotNull      Code = "not-null"
	CodeNarrows      Code = "narrows"
	CodeRenames      Code = "renames"
	CodeCheck        Code = "check"
	CodeZeroDate     Code = "zero-date"
	CodeVersions     Code = "row-versions"
)

// nativePartition are the partition clauses that move, remove or read rows. The shadow has no rows
// yet, so there they would have no effect, and the rows would stay.
var nativePartition = []string{"DROP PARTITION", "TRUNCATE PARTITION", "EXCHANGE PARTITION", "DISCARD PARTITION",
	"IMPORT PARTITION", "CONVERT PARTITION", "ANALYZE PARTITION", "CHECK PARTITION", "OPTIMIZE PARTITION",
	"REPAIR PARTITION", "REBUILD PARTITION"}

// checkAlter checks what the statement asks for.
func (c *checker) checkAlter() {
	a := c.alter
	if a.Table.Table != "" && (!strings.EqualFold(a.Table.Table, c.table.Name.Table) ||
		a.Table.Schema != "" && !strings.EqualFold(a.Table.Schema, c.table.Name.Schema)) {
		c.block(CodeOtherTable, "the ALTER is for "+a.Table.String(), "the table is "+c.table.Name.String(), "")
	}
	c.checkNative()
	if a.RenamesTable {
		c.block(CodeRenamesTable, "the ALTER renames the table", "a run ends with its own rename",
			fmt.Sprintf("Leave the clause out, and then run: midstream run  %s", schema.Shell("RENAME TABLE "+c.table.Name.Quoted()+" TO ...")))
	}
	c.checkAdded()
	if a.Versions {
		c.block(
			CodeVersions, "the ALTER adds or drops system versioning, or a period",
			"a table with a history of its rows cannot be swapped with a table without one",
			natively,
		)
	}
	if a.Engine != "" && !strings.EqualFold(a.Engine, "InnoDB") {
		c.block(CodeEngine, "the ALTER changes the engine to "+a.Engine,
			"only InnoDB has the transactions that keep the shadow equal to the table", natively)
	}
	c.noteAlter()
	c.checkNumbers()
	c.checkNulls()
	c.checkDates()
	c.checkLosses()
	c.checkRenames()
	c.checkMap()
	c.checkReferences()
	c.checkReserved()
}

// checkNative refuses what must be done on the table itself.
func (c *checker) checkNative() {
	byHand := func(op string) string { return "Run it natively: ALTER TABLE " + c.table.Name.Quoted() + " " + op }
	for _, op := range c.alter.PartitionOps {
		if slices.Contains(nativePartition, op) {
			c.block(CodePartition, "the ALTER has "+op, "a new table has no rows yet, so it would have no effect there; and the server works "+
				"under the table's exclusive lock, for a time that no plan can bound",
				byHand(op+" ...")+", after SET SESSION lock_wait_timeout = 1 (docs/partitions.md)")
		}
	}
	for _, op := range c.alter.TablespaceOps {
		c.block(CodeTablespace, "the ALTER has "+op, "it works on the table's own file", byHand(op))
	}
	for _, op := range c.alter.LoadOps {
		c.block(CodeSecondary, "the ALTER has "+op, "it doesn't change the table", byHand(op))
	}
}

// noteAlter warns of what is worth knowing, and blocks if the ALTER leaves a column's origin
// unclear.
func (c *checker) noteAlter() {
	a := c.alter
	switch unsure := c.unsure(); {
	case len(unsure) > 0:
		c.block(CodeUnparsed, "the ALTER can't be read completely ("+a.Unparsed+"), and it names "+list(unsure),
			"a run must know which old column each new column continues, and a name may be used again",
			"Declare each of them: --map old=new (both may be the same name), or --map =new for a new column")
	case !a.Parsed:
		c.warn(CodeUnparsed, "the ALTER can't be read completely ("+a.Unparsed+")",
			"the first words of each clause show which column continues which; the server reads the rest", "")
	}
	if a.OrdersRows {
		c.warn(CodeOrderBy, "the ALTER has ORDER BY", "InnoDB stores rows in the order of the primary key", "")
	}
	if slices.ContainsFunc(a.Keys, func(k ddl.NewKey) bool { return k.Unique && !c.numbers(k.Columns) }) {
		why, fix := c.refusing("a duplicate")
		c.warn(CodeUnique, c.saying("the ALTER adds a unique key", c.options.Back.HasUnique()), why, fix)
	}
	if a.DropsPrimaryKey && !a.AddsPrimaryKey {
		c.warn(CodeNoPrimary, "the ALTER leaves the table without a primary key",
			"replicas then scan the complete table for each changed row", "")
	}
	if v := c.facts.Version; !v.MariaDB && !v.AtLeast(8, 0, 16) && a.HasCheck() {
		c.warn(CodeCheck, "the ALTER has a CHECK constraint", v.String()+" ignores it: MySQL has them from 8.0.16 on", "")
	}
	if a.Algorithm == "INSTANT" {
		c.warn(CodeAlgorithm, "ALGORITHM=INSTANT is asked of the shadow only", "the run rebuilds the table all the same",
			natively+" if the server accepts it")
	}
}

// unsure are the columns of the table that a doubtful statement may move, if the operator does not
// declare what becomes of them. A column that the statement does not name keeps its name.
func (c *checker) unsure() (names []string) {
	if !c.alter.Doubtful {
		return nil
	}
	m := mapper{user: c.options.Map}
	for _, column := range c.table.Columns {
		if c.alter.Mentions(column.Name) && !m.saidByUser(column.Name) {
			names = append(names, column.Name)
		}
	}
	return names
}

// checkNulls warns of columns that may have NULLs and that the ALTER makes NOT NULL.
func (c *checker) checkNulls() {
	var filled []string // names after the ALTER
	for _, to := range c.alter.Defined {
		if !to.Nullable && !to.AutoIncrement && to.Generated == schema.NotGenerated {
			filled = append(filled, to.Name)
		}
	}
	for _, k := range c.alter.Keys {
		if k.Primary {
			filled = append(filled, k.Columns...)
		}
	}
	for _, name := range distinct(filled) {
		if from, ok := c.table.Column(c.origin(name)); ok && from.Nullable && c.options.Set.Of(name) == "" {
			why, fix := c.refusing("a NULL")
			c.warn(CodeNotNull, c.saying("the ALTER makes column "+from.Name+" NOT NULL", "column "+from.Name+" was NOT NULL before "+c.takenBack()), why,
				strings.TrimPrefix(fmt.Sprintf("%s. SELECT COUNT(*) FROM %s WHERE %s IS NULL counts them", fix, c.table.Name.Quoted(), schema.Quote(from.Name)), ". "))
		}
	}
}

// UndoWord is what takes back a change, or what makes it again: "undo", or "redo".
func UndoWord(redo bool) string {
	if redo {
		return "redo"
	}
	return "undo"
}

// UndoGives is the definition that the table has after an undo, or after a redo.
func UndoGives(redo bool) string {
	if redo {
		return "new definition"
	}
	return "old definition"
}

func (b *Back) redoes() bool { return b != nil && b.Redo }

// Definition is the definition to which the undo goes back; that of a redo is the new one.
func (b *Back) Definition() string { return "the " + UndoGives(b.redoes()) }

// Verb is "the undo" or "the redo".
func (b *Back) Verb() string { return "the " + UndoWord(b.redoes()) }

// Goes is where the undo goes: "back", or, for a redo, "on".
func (b *Back) Goes() string {
	if b.redoes() {
		return "on"
	}
	return "back"
}

// HasUnique is a warning of an undo, if the unique key is not known better.
func (b *Back) HasUnique() string { return b.Definition() + " has a unique key" }

func (c *checker) refusing(row string) (why, fix string) {
	why, fix = c.options.Back.Refusing(row)
	return why, findFirst(fix, c.options.Checks)
}

// Refusing is what a row does that the new definition refuses, and what helps.
func (b *Back) Refusing(row string) (why, fix string) {
	back, this := b, b.Verb()
	switch {
	case back.Adopts() && back.Park:
		return fmt.Sprintf("%s is copied to a table of its own, and %s goes %s without it (--park)", row, this, b.Goes()), ""
	case back.Adopts():
		return row + " ends " + this + " before its swap, with the table unchanged", "To copy such rows to a table of their own, and go " + b.Goes() + " without them: --park"
	case back != nil:
		return row + " ends " + this + ", with the table unchanged", "Change such rows before"
	}
	return row + " stops the run, with the table untouched", FindFirst
}

// FindFirst advises midstream check.
const FindFirst = "midstream check  \"ALTER TABLE ...\" lists every row"

// findFirst is an advice for midstream check itself, if that is what works.
func findFirst(fix string, checks bool) string {
	if checks && fix == FindFirst {
		return "This check lists every such row"
	}
	return fix
}

// Checking are risks of the definition that was asked for, with the advice for midstream check if that is what works.
func Checking(risks []Risk, checks bool) []Risk {
	risks = slices.Clone(risks)
	for i := range risks {
		risks[i].Fix = findFirst(risks[i].Fix, checks)
	}
	return risks
}

// takenBack is what an undo, or a redo, takes back.
func (c *checker) takenBack() string {
	if c.options.Back != nil && c.options.Back.Redo {
		return "the undo"
	}
	return "the change"
}

// saying chooses what is said of a change, or of its undo.
func (c *checker) saying(change, undo string) string {
	if c.options.Purpose == Undoing {
		return undo
	}
	return change
}

// checkDates finds new columns for dates that have no date for existing rows.
func (c *checker) checkDates() {
	if c.options.Back.Adopts() { // its rows have their values, and new rows those of --undo-fill
		return
	}
	for _, to := range c.alter.Defined {
		isDate := to.DataType == "date" || to.DataType == "datetime" || to.DataType == "timestamp"
		if !isDate || c.options.Set.Of(to.Name) != "" || to.Nullable || to.Default != "" || to.Generated != schema.NotGenerated || c.origin(to.Name) != "" {
			continue
		}
		what, fix := fmt.Sprintf(
			"the ALTER adds column %s %s NOT NULL without a default", to.Name, strings.ToUpper(to.DataType),
		), "Give it a DEFAULT, or let it be NULL"
		switch {
		case c.facts.ZeroDates: // existing rows get 0000-00-00
		case c.empty(): // rows may come during a run
			c.warn(CodeZeroDate, what, "the table is empty: a row that is inserted during the run has no date for it, and ends the run", fix)
		default:
			c.block(
				CodeNotNull, what,
				"existing rows have no date for it, and the server rejects 0000-00-00 (sql_mode has NO_ZERO_DATE)",
				fix,
			)
		}
	}
}

// empty reports whether the table has no rows, as far as that is known.
func (c *checker) empty() bool { return c.table.Rows == 0 && !c.facts.HasRows }

// numbers reports whether one of the columns is new and numbered by the server: no two rows have
// the same value of it.
func (c *checker) numbers(columns []string) bool {
	return slices.ContainsFunc(columns, func(name string) bool {
		return contains(c.alter.Numbered, name) && c.origin(name) == ""
	})
}

// origin returns the source's column that a column of the altered table continues, or "".
func (c *checker) origin(name string) string {
	m := mapper{source: c.table, alter: c.alter, user: c.options.Map}
	return m.origin(name).old
}

// checkSpent checks whether a new AUTO_INCREMENT column may run out of numbers. Where the table is followed by values, each change gives
// all rows of its value new numbers: up to mostOfValue for one change.
func (c *checker) checkSpent(name string) {
	if !c.followed.ByValue {
		return
	}
	const detail = "the table is followed by an index that is not unique: each change of a row gives all rows with its value new numbers, and uses up as many"
	what := "the numbers of column " + name + " may run out"
	switch at := slices.IndexFunc(c.alter.Defined, func(col schema.Column) bool { return strings.EqualFold(col.Name, name) }); {
	case at < 0: // SERIAL is a BIGINT; what cannot be read is not judged
	case slices.Contains([]string{"tinyint", "smallint", "mediumint"}, c.alter.Defined[at].DataType):
		c.block(CodeNumbers, what, detail, "Make it BIGINT UNSIGNED")
	case c.alter.Defined[at].DataType != "bigint":
		c.warn(CodeNumbers, what, detail, "Make it BIGINT UNSIGNED if the table is written to")
	}
}

// checkNumbers checks columns that are given AUTO_INCREMENT. The server numbers a row when it is
// inserted without a value. A sync inserts chunks and changed keys, several at once, and inserts a
// row again each time it changes. A new column of that kind is usually a key for rows that had
// none, and any number will do: so the plan warns and does not refuse. A column of the source may
// already have numbers: then the new number of a row with NULL may equal the number of another row,
// so the plan refuses.
func (c *checker) checkNumbers() {
	if Varies(c.alter.Clauses) {
		c.warn(CodeUncompared, "the ALTER has an expression that gives a different value each time: a run cannot compare its values",
			"the run reports such a column as not compared; all other columns of every row are compared", "")
	}
	for _, to := range c.alter.Defined {
		from, continues := c.table.Column(c.origin(to.Name))
		if continues && from.AutoIncrement && !to.AutoIncrement && c.options.Back == nil {
			c.warn(CodeNumbers, "the ALTER takes AUTO_INCREMENT from column "+from.Name,
				"an INSERT without a value for it then fails (error 1364), or gets 0 without strict mode",
				"Write AUTO_INCREMENT in the statement if the column keeps it")
		}
	}
	for _, name := range c.alter.Numbered {
		from, continues := c.table.Column(c.origin(name))
		switch {
		case !continues && c.options.Back.Adopts(): // its rows have their numbers
		case !continues:
			c.warn(
				CodeNumbers,
				"the ALTER adds the AUTO_INCREMENT column "+name,
				"the server's own ALTER numbers the rows 1, 2, 3 in the order of the key; a run numbers them as it writes them, by several "+
					"connections at once, and again when they change: every row gets a unique number, but out of order and with gaps",
				natively+" if the order of the numbers matters",
			)
			c.checkSpent(name)
		case from.AutoIncrement:
		case from.Nullable:
			c.block(CodeNumbers, "the ALTER makes column "+from.Name+" AUTO_INCREMENT, and it may be NULL",
				"a row with NULL would get a number that another row may have",
				"Give those rows numbers and make the column NOT NULL first, or run the ALTER natively")
		case !contains(c.facts.SQLMode, "NO_AUTO_VALUE_ON_ZERO"):
			why, fix := c.refusing("a row whose value is 0")
			c.warn(CodeNumbers, c.saying("the ALTER makes column "+from.Name+" AUTO_INCREMENT", "column "+from.Name+" was AUTO_INCREMENT before "+c.takenBack()),
				why+": the server's own ALTER would give it a new number", fix)
		}
	}
}
