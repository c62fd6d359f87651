package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// drop plans DROP TABLE: one statement renames the table aside and marks it. The run drops it when
// no session uses it any longer. The same statement drops its foreign keys, as a DROP does, because
// sessions that change the tables that they refer to must not meet them any longer.
func (m *tablePlanner) drop() {
	t, p := &m.facts.Tables[0], m.plan
	if t.Table == nil {
		if !p.Statement.Conditional {
			m.block(
				CodeNoTable, fmt.Sprintf("no such table: %s", t.Name), "",
				"Check the name and the account's privileges: SHOW GRANTS",
			)
		}
		p.Choice = Choice{Method: MethodNone, Why: "there is no such table"}
		return
	}
	m.watch(t)
	m.may(t, "DROP")
	for _, fk := range t.referencing() {
		m.block(
			CodeReferenced, fmt.Sprintf("foreign key %s of %s refers to the table", fk.Constraint, fk.Child),
			"the server drops no table that another table refers to",
			fmt.Sprintf("ALTER TABLE %s DROP FOREIGN KEY %s", fk.Child.Quoted(), schema.Quote(fk.Constraint)),
		)
	}
	m.views(t, "is gone")
	old, reasons := m.asideName(t)
	defer m.triggersOfDrop(t)
	if why := strings.Join(reasons, "; "); why != "" {
		p.Main = "DROP TABLE " + t.Name.Quoted()
		p.Gone = []schema.Name{t.Name}
		p.Choice.Why = "the server drops the table under the lock, because " + why
		m.step("%s", strings.ReplaceAll(p.Main, "`", ""))
		m.longLock(t)
		m.cantKeep(why)
		return
	}
	p.Aside = old
	var clauses []string
	for _, fk := range t.Table.ForeignKeys {
		clauses = append(clauses, "DROP FOREIGN KEY "+schema.Quote(fk.Constraint))
	}
	p.Main = fmt.Sprintf("ALTER TABLE %s %s, ALGORITHM=INPLACE", t.Name.Quoted(), strings.Join(append(clauses,
		"COMMENT = "+schema.Literal(schema.MarkDropped(t.Name, t.Table.Comment)), "RENAME TO "+old.Quoted()), ", "))
	p.Moves, p.Gone = []ddl.TableRename{{From: t.Name, To: old}}, []schema.Name{t.Name}
	p.Choice.Why = "the server changes only its dictionary"
	without := ""
	if n := len(clauses); n > 0 {
		without = ", without its " + count(n, "foreign key")
	}
	m.step("%s is renamed to %s and marked, by one statement%s", t.Name, old, without)
	m.end(t)
	m.fate()
}

// triggersOfDrop says what becomes of the triggers of a table that is dropped.
func (m *tablePlanner) triggersOfDrop(t *TableFacts) {
	n := len(t.Table.Triggers)
	if n == 0 {
		return
	}
	why := "the server drops them with the table"
	switch {
	case m.plan.Keep && m.options.Undo > 0:
		why = "they are kept with the old table, and come back with the undo"
	case m.plan.Keep:
		why = "they are kept with the old table, and dropped with it"
	}
	m.warn(CodeTrigger, fmt.Sprintf("the table has %s: %s", count(n, "trigger"), strings.Join(t.Table.TriggerNames(), ", ")), why, "")
}

// fate says what becomes of the rows that were put aside.
func (m *tablePlanner) fate() {
	if m.plan.Keep {
		m.plan.Choice.Why += "; the rows are kept"
		return
	}
	m.plan.Choice.Why += "; the run drops the rows when no session can be using them"
}

// cantKeep refuses to keep a table that is not put aside.
func (m *tablePlanner) cantKeep(why string) {
	switch {
	case m.options.Undo > 0:
		m.block(CodeNameTaken, "the statement could not be undone", why, "Leave --undo out")
	case m.options.Keep:
		m.block(CodeNameTaken, "the old table cannot be kept", why, "Leave --drop-later out")
	}
}

// end decides what becomes of the table that was put aside. Dropping a large table stalls every
// session of the server, so the run keeps it for a quiet hour unless the operator orders otherwise.
func (m *tablePlanner) end(t *TableFacts) {
	if m.options.Undo > 0 {
		m.plan.Keep = true
		m.step("%s is kept for the undo", m.plan.Aside)
		return
	}
	limit := Limits{Locked: m.options.Stall}.WithDefaults().Locked
	stall, stalls := t.stall(), ""
	if stall > limit && !m.options.Drop && !m.options.Keep {
		stalls = fmt.Sprintf(
			", because its drop would stall the server for about %s, and at most %s is allowed (--drop-old drops it all the same)",
			round(stall), round(limit),
		)
	}
	if m.options.Keep || stalls != "" {
		m.plan.Keep = true
		m.step("%s is kept%s; drop it at a quiet hour with: midstream cleanup  --old %s", m.plan.Aside, stalls, t.Name.Argument())
		return
	}
	if whole := (&TableFacts{Table: t.Table, Facts: t.Facts}); len(t.Partitions) > 1 && whole.stall() > limit {
		m.plan.Slices = t.Partitions
		m.step("%s is dropped, partition by partition", m.plan.Aside)
	} else {
		m.step("%s is dropped", m.plan.Aside)
	}
	if stall > limit {
		m.warn(
			CodeStall, fmt.Sprintf("the drop of %s stalls every session for about %s", m.plan.Aside, round(stall)),
			"the server removes its pages from the buffer pool and the adaptive hash index",
			"Leave it for a quiet hour: --drop-later",
		)
	}
}

// CodeStall is the code of statements that stall sessions that don't use the table.
const CodeStall Code = "stall"

// How long a DROP stalls other sessions, for each MiB of the table in the buffer pool. 464 MiB, all
// in the buffer pool, took 170 to 450 ms with the adaptive hash index and 90 to 160 ms without
// (8.0.12 and 9.7.4, two cores).
const (
	stallHashed   = time.Millisecond
	stallUnhashed = 400 * time.Microsecond
)

// stall is how long sessions may wait while the table, or the largest of its partitions, is
// dropped. How much of it is in the buffer pool is unknown, so stall assumes all of it.
func (t *TableFacts) stall() time.Duration {
	bytes := t.Table.DataBytes + t.Table.IndexBytes
	if n := int64(len(t.Partitions)); n > 1 {
		bytes /= n // the server shows no sizes
	}
	return Stall(bytes, t.Facts.BufferPool, t.Facts.AdaptiveHash)
}

// Stall is how long sessions may wait while a table of that size is dropped, if all of it is in the buffer pool.
func Stall(bytes, bufferPool int64, adaptiveHash bool) time.Duration {
	if bufferPool > 0 {
		bytes = min(bytes, bufferPool)
	}
	rate := stallUnhashed
	if adaptiveHash {
		rate = stallHashed
	}
	return time.Duration(bytes>>20) * rate
}

// asideName is the name that the table gets before it is dropped, or each reason why none is possible.
func (m *tablePlanner) asideName(t *TableFacts) (old schema.Name, reasons []string) {
	old, free := t.Facts.FreeOld(t.Name)
	if !free {
		reasons = append(reasons, "other tables have all the names that it could get first")
	}
	if !strings.EqualFold(t.Table.Engine, "InnoDB") {
		reasons = append(reasons, "its engine is "+t.Table.Engine)
	}
	if free && m.options.Undo <= 0 { // with an undo, mayUndo refuses
		lacked := append(t.Facts.lacks(t.Name, "ALTER"), t.Facts.lacks(old, "CREATE", "INSERT", "DROP")...)
		if len(lacked) > 0 {
			reasons = append(reasons, fmt.Sprintf("the account lacks %s to rename it first", strings.Join(lacked, ", ")))
		}
	}
	return old, reasons
}

// truncate plans TRUNCATE TABLE: one RENAME puts an empty twin in the table's place. If the twin
// would lose something, the server truncates the table itself.
func (m *tablePlanner) truncate() {
	t, p := &m.facts.Tables[0], m.plan
	if t.Table == nil {
		m.block(CodeNoTable, fmt.Sprintf("no such table: %s", t.Name), "", "Check the name and the account's privileges: SHOW GRANTS")
		return
	}
	m.watch(t)
	m.may(t, "DROP")
	for _, fk := range t.referencing() {
		m.block(CodeReferenced, fmt.Sprintf("foreign key %s of %s refers to the table", fk.Constraint, fk.Child),
			"the server truncates no table that another table refers to", "")
	}
	old, reasons := m.asideName(t)
	if why := strings.Join(append(reasons, m.againstTwin(t)...), "; "); why != "" {
		p.Main = "TRUNCATE TABLE " + t.Name.Quoted()
		p.Choice.Why = "the server truncates the table under the lock, because " + why
		m.step("%s", strings.ReplaceAll(p.Main, "`", ""))
		m.longLock(t)
		m.cantKeep(why)
		return
	}
	p.Twin, p.Aside = NamesOf(t.Name).Shadow, old
	p.Main = fmt.Sprintf("RENAME TABLE %s TO %s, %s TO %s", t.Name.Quoted(), old.Quoted(), p.Twin.Quoted(), t.Name.Quoted())
	p.Moves = []ddl.TableRename{{From: t.Name, To: old}, {From: p.Twin, To: t.Name}}
	p.Gone = []schema.Name{p.Twin}
	p.Choice.Why = "an empty table takes its place"
	m.step("%s is created, empty", p.Twin)
	m.step("%s, all at once", strings.ReplaceAll(p.Main, "`", ""))
	m.end(t)
	m.fate()
}

// againstTwin returns each reason why an empty copy cannot take the table's place: what a CREATE TABLE ... LIKE lacks, or what blocks it.
func (m *tablePlanner) againstTwin(t *TableFacts) (reasons []string) {
	twin := NamesOf(t.Name).Shadow
	lacked := append(t.Facts.lacks(twin, "CREATE", "INSERT", "ALTER", "DROP"), t.Facts.lacks(t.Name, "SELECT")...)
	unrecorded := t.Facts.lacks(UndoOf(t.Name), onRecord...)
	taken, stranger := "", m.strangerUndo(t)
	for _, other := range t.Facts.Taken {
		left := slices.ContainsFunc(m.facts.Undos, func(open OpenUndo) bool { return open.Twin == other.Name })
		if t.Facts.sameTable(other.Name, twin) && !left {
			taken = other.Name.String()
		}
	}
	against := func(is bool, why string) {
		if is {
			reasons = append(reasons, why)
		}
	}
	foreign := len(t.Table.ForeignKeys) > 0
	itself := func(fk schema.ForeignKey) bool { return fk.Child == t.Name }
	against(foreign, "it has foreign keys, which a copy would lack")
	against(!foreign && slices.ContainsFunc(slices.Concat(t.Table.ReferencedBy, t.Facts.Referencing), itself), "it refers to itself")
	against(len(t.Table.Triggers) > 0, "it has triggers, which would stay with the old table")
	against(schema.MarkedAside(t.Table.Comment), "it is an old table, by its comment")
	against(taken != "", taken+" blocks the name of an empty copy")
	against(len(lacked) > 0 && m.options.Undo <= 0, fmt.Sprintf("the account lacks %s for an empty copy", strings.Join(lacked, ", ")))
	against(len(lacked) == 0 && len(unrecorded) > 0 && m.options.Undo <= 0,
		fmt.Sprintf("the account lacks %s on %s, which names the tables after a kill", strings.Join(unrecorded, ", "), UndoOf(t.Name)))
	against(stranger != "" && m.options.Undo <= 0, stranger+" blocks the name of the table that names the others after a kill")
	// It would name the foreign keys again.
	against(!foreign && len(lacked) == 0 && m.facts.Unlike != "", "an empty copy would not be the same: "+m.facts.Unlike)
	return reasons
}

// create plans CREATE TABLE.
func (m *tablePlanner) create() {
	t, p := &m.facts.Tables[0], m.plan
	s := p.Statement
	if t.Table != nil {
		p.Choice = Choice{Method: MethodNone, Why: "the table exists, and has this definition"}
		switch {
		case m.facts.Differs == "":
		case s.Conditional:
			p.Choice.Why = "the table exists"
			m.warn(
				CodeTableExists, "the table has another definition: "+m.facts.Differs,
				"IF NOT EXISTS leaves it unchanged", "Change it by an ALTER TABLE",
			)
		default:
			m.block(CodeTableExists, "the table exists with another definition: "+m.facts.Differs, "a CREATE TABLE changes no table",
				fmt.Sprintf("Change it by an ALTER: midstream run  %s", schema.Shell("ALTER TABLE "+t.Name.Quoted()+" ...")))
		}
		return
	}
	m.may(t, "CREATE")
	m.plan.Watched = append([]schema.Name{t.Name}, s.Parents...)
	p.Main = s.Restore(t.Name)
	p.Choice.Why = "the table does not exist: the server creates it"
	m.step("%s is created", t.Name)
}

// longLock warns of a statement that drops files under the lock.
func (m *tablePlanner) longLock(t *TableFacts) {
	whole := TableFacts{Table: t.Table, Facts: t.Facts}
	if stall := whole.stall(); stall > (Limits{Locked: m.options.Stall}).WithDefaults().Locked {
		m.warn(CodeStall, fmt.Sprintf("no session can use %s for about %s, and other sessions stall too", t.Name, round(stall)),
			"the server drops its files, and its pages in the buffer pool, under the lock", "")
	}
}
