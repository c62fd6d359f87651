package rowchange

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/carry"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/native"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Options are an operator's wishes.
type Options struct {
	// Key is the name of the key by which rows are walked; "" for the best one.
	Key string
	// Rest is the table that takes the rows of a DELETE; empty for none.
	Rest schema.Name
	// Replicates allows a server that replicates from another one.
	Replicates bool
	// NoRecount leaves out the count of rows that match at the end.
	NoRecount bool
}

// Plan is what a row change will do.
type Plan struct {
	Statement *ddl.RowChange
	Source    *schema.Table
	Key       plan.Key
	Server    plan.Server
	Options   Options
	// RestThere means that the table for deleted rows exists; otherwise the run creates it like the source.
	RestThere bool
	// Meets is the server's estimate of the rows that meet the condition; less than 0 if it gives none.
	Meets int64
	// Former describes the checkpoint from which the run resumes; "" if there is none.
	Former string
	Risks  []plan.Risk

	spec *rowsync.Spec
}

// State is the name of the state table.
func (p *Plan) State() schema.Name { return plan.RowsOf(p.Source.Name) }

// Done is the word for what happens to a row.
func (p *Plan) Done() string {
	if p.Statement.Verb == ddl.Delete {
		return "deleted"
	}
	return "updated"
}

// Paces between which servers delete or update rows, and read them, in rows a second. They are rough.
const (
	slowChange, fastChange = 2_000, 20_000
	slowRead, fastRead     = 200_000, 2_000_000
)

// Expected is about how long the run takes next to an idle application.
func (p *Plan) Expected() (least, most time.Duration) {
	rows, meets := float64(p.Source.Rows), float64(max(0, p.Meets))
	seconds := func(change, read float64) time.Duration {
		return time.Duration((meets/change + rows/read) * float64(time.Second))
	}
	return seconds(fastChange, fastRead), seconds(slowChange, slowRead)
}

// Steps are what the run does, for people.
func (p *Plan) Steps() []string {
	does, rest := "delete", ""
	if p.Statement.Verb == ddl.Update {
		does = "update"
	}
	steps := []string{fmt.Sprintf("create %s, with the checkpoint", p.State())}
	if name := p.Options.Rest; name != (schema.Name{}) {
		rest = fmt.Sprintf("copy them to %s and ", name)
		if !p.RestThere {
			steps = append(steps, fmt.Sprintf("create %s like %s", name, p.Source.Name))
		}
	}
	steps = append(steps, fmt.Sprintf("walk the rows once by %s (%s): find the next rows that match, without locks, and %s%s them by their keys "+
		"in a short transaction that moves the checkpoint", p.Key.Name, strings.Join(p.Key.Columns(), ", "), rest, does))
	if !p.Options.NoRecount {
		steps = append(steps, "count the rows that match at the end (--no-recount leaves it out)")
	}
	return append(steps, fmt.Sprintf("drop %s", p.State()))
}

// maker makes one plan.
type maker struct {
	pool  *dbconn.Pool
	plan  *Plan
	facts *plan.Facts

	blocking []plan.Risk
}

// Make reads a statement and the facts, and asks the server about the expressions. It writes nothing. It fails with a *plan.Refused, with
// ddl.ErrNotRowChange, or with an error of reading.
func Make(ctx context.Context, pool *dbconn.Pool, text, database string, o Options) (*Plan, error) {
	dialect, err := facts.ReadDialect(ctx, pool.DB())
	if err != nil {
		return nil, err
	}
	statement, err := ddl.ParseRowChangeIn(dialect, text)
	if err != nil {
		return nil, err
	}
	if statement.Table.Schema == "" {
		statement.Table.Schema = database
	}
	m := maker{pool: pool, plan: &Plan{Statement: statement, Options: o, Meets: -1}}
	if m.plan.Source, err = schema.Load(ctx, pool.DB(), statement.Table); err != nil {
		return nil, err
	}
	name := m.plan.Source.Name
	m.plan.Statement.Table = name
	pool.Use(name.Schema) // names in a subquery are of it, and replicas filter by it
	if m.facts, err = facts.Gather(ctx, pool.DB(), name); err != nil {
		return nil, err
	}
	m.plan.Source.Rows = max(m.plan.Source.Rows, m.facts.Counted)
	m.plan.Server = plan.ServerOf(m.facts)
	for _, check := range []func(context.Context) error{m.checkServer, m.checkTable, m.checkKey, m.checkStatement, m.checkRest} {
		if err := check(ctx); err != nil {
			return nil, err
		}
	}
	if len(m.blocking) > 0 {
		return nil, &plan.Refused{Table: name.String(), Blocking: m.blocking, Others: m.plan.Risks}
	}
	if m.plan.Meets, err = facts.Meets(ctx, pool.DB(), name, statement.Where, m.plan.Server.Version.MariaDB); err != nil {
		return nil, err
	}
	m.plan.Former, err = former(ctx, pool, m.plan)
	return m.plan, err
}

func (m *maker) block(code plan.Code, what, why, fix string) {
	m.blocking = append(m.blocking, plan.Risk{Code: code, What: what, Why: why, Fix: fix, Blocking: true})
}

func (m *maker) warn(code plan.Code, what, why, fix string) {
	m.plan.Risks = append(m.plan.Risks, plan.Risk{Code: code, What: what, Why: why, Fix: fix})
}

func (m *maker) checkServer(context.Context) error {
	f, name := m.facts, m.plan.Source.Name
	if f.LogBin && f.BinlogFormat == "STATEMENT" {
		m.block(plan.CodeBinlogFormat, "binlog_format is STATEMENT", "the server refuses such transactions under READ COMMITTED, and locks "+
			"ranges of rows otherwise", "SET GLOBAL binlog_format = 'ROW', or MIXED")
	}
	if f.Galera {
		m.block(plan.CodeCluster, "the server is a member of a Galera cluster", "Midstream is not tested there", "")
	}
	if f.ReadOnly {
		m.block(plan.CodeReadOnly, "the server is read-only", "rows are to be changed", "Connect to the primary")
	} else if f.IsReplica && f.Following && !m.plan.Options.Replicates {
		m.block(plan.CodeFollows, "this server replicates from another one", "it looks like a replica: its table would differ from the primary's",
			"Connect to the primary. If you mean this server, use --source-replicates")
	}
	if f.RunBy != 0 {
		m.block(plan.CodeAtWork, fmt.Sprintf("another run of Midstream is working on the table (connection %d)", f.RunBy),
			"only one run at a time may work on a table", "Wait until it has ended, or stop it: midstream abort  "+name.Argument())
	}
	for _, taken := range f.Taken {
		if taken.Name == m.plan.State() && taken.Comment != schema.MarkFor(plan.RowsKind, name) {
			m.block(plan.CodeNameTaken, fmt.Sprintf("%s exists and is not Midstream's", taken.Name), "the run needs the name",
				"Rename it, or drop it if it is not needed")
		}
	}
	return nil
}

func (m *maker) checkTable(context.Context) error {
	t, verb := m.plan.Source, string(m.plan.Statement.Verb)
	if plan.SystemSchema(t.Name.Schema) {
		m.block(plan.CodeSystemSchema, t.Name.Schema+" is the server's own schema", "", "")
	}
	if schema.Marked(t.Comment) {
		m.block(plan.CodeArtefact, fmt.Sprintf("the table is one of Midstream's (its comment is %q)", t.Comment), "an undo or another run may need its rows", "")
	}
	if !strings.EqualFold(t.Engine, "InnoDB") {
		m.block(plan.CodeEngine, "the table's engine is "+t.Engine, "only InnoDB has transactions and row locks", "")
	}
	var fires []string
	for _, trigger := range t.Triggers {
		if strings.EqualFold(trigger.Event, verb) {
			fires = append(fires, trigger.Name)
		}
	}
	if len(fires) > 0 {
		m.warn(plan.CodeTrigger, "triggers fire for each row: "+strings.Join(fires, ", "),
			"as for the application's own "+verb+"; what they write is in the transaction of the chunk", "")
	}
	m.checkForeign()
	return nil
}

// checkForeign names the tables whose rows refer to rows that are deleted, or whose referred columns change.
func (m *maker) checkForeign() {
	t, deletes := m.plan.Source, m.plan.Statement.Verb == ddl.Delete
	keys := slices.Clone(t.ReferencedBy)
	for _, fk := range m.facts.Referencing {
		if !slices.ContainsFunc(keys, fk.Is) {
			keys = append(keys, fk)
		}
	}
	for _, fk := range keys {
		action := fk.OnUpdate
		if deletes {
			action = fk.OnDelete
		} else if !slices.ContainsFunc(fk.ParentColumns, m.assigns) {
			continue
		}
		name := fmt.Sprintf("rows of %s refer to rows of the table (%s)", fk.Child, fk.Constraint)
		switch {
		case !schema.ActsBy(action):
			m.warn(plan.CodeReferenced, name, "the run stops at a row that has such a child, and resumes when the child is gone", "")
		case deletes && m.plan.Options.Rest != (schema.Name{}) && fk.Child == t.Name:
			m.block(plan.CodeReferenced, name+" ON DELETE "+action, "rows that go by that are not in the archive", "Leave --rest out")
		default:
			m.warn(plan.CodeReferenced, name+", ON "+string(m.plan.Statement.Verb)+" "+action,
				"the server changes these children too, in the transaction of the chunk; they are not counted, and triggers do not fire for them", "")
		}
	}
}

// assigns reports whether the statement gives a column a value.
func (m *maker) assigns(column string) bool {
	return slices.ContainsFunc(m.plan.Statement.Assigned, func(a ddl.Assignment) bool { return strings.EqualFold(a.Column, column) })
}

func (m *maker) checkKey(context.Context) error {
	t, p := m.plan.Source, m.plan
	k, found, reasons := plan.RowKey(m.facts, t, p.Options.Key)
	if !found {
		why := "rows are walked by a PRIMARY KEY or a UNIQUE key without NULL"
		if len(reasons) > 0 {
			why += " (" + strings.Join(reasons, "; ") + ")"
		} else if p.Options.Key != "" {
			why = "the table has no key named " + p.Options.Key
		}
		m.block(plan.CodeNoKey, "no usable key", why, "Add a primary key: midstream run  \"ALTER TABLE ...\"")
		return nil
	}
	codec, err := k.Codec()
	if err != nil {
		return err
	}
	p.Key = k
	p.spec = &rowsync.Spec{Source: t.Name, Key: codec, SourceIndex: k.Name, Partitioned: t.Partitioned}
	zoned, chars := "", ""
	for _, part := range k.Parts {
		c := part.Column
		moves := p.Statement.Verb == ddl.Update && strings.Contains(strings.ToUpper(c.Definition), "ON UPDATE ")
		from := t.ComputedFrom(c.Name) // with the column itself
		if moves || slices.ContainsFunc(from, func(c schema.Column) bool { return m.assigns(c.Name) }) {
			m.block(plan.CodeRows, "the statement changes "+c.Name+", a column of the key "+k.Name,
				"rows are walked in the order of that key: a row could be changed twice or never", "Choose another key with --key, or change these rows by hand")
		}
		for _, trigger := range t.Triggers {
			if p.Statement.Verb == ddl.Update && trigger.Timing == "BEFORE" && trigger.Event == string(ddl.Update) &&
				slices.ContainsFunc(from, func(c schema.Column) bool { return carry.Assigns(trigger, c.Name) }) {
				m.block(plan.CodeTrigger, fmt.Sprintf("the trigger %s may change %s, a column of the key %s", trigger.Name, c.Name, k.Name),
					"rows are walked in the order of that key: a row could be changed twice or never", "Choose another key with --key")
			}
		}
		if c.DataType == "timestamp" && !p.Server.InUTC {
			zoned = c.Name
		}
		if c.DataType == "char" {
			chars = c.Name
		}
	}
	const other = "Choose another key with --key"
	if zoned != "" {
		m.block(plan.CodeRows, "the key "+k.Name+" has the TIMESTAMP column "+zoned, "in the server's time zone, one local time may mean two moments", other)
	}
	if chars != "" && slices.Contains(p.Server.SQLMode, dbconn.PadChar) {
		m.block(plan.CodeRows, "the key "+k.Name+" has the CHAR column "+chars, "the server's sql_mode has "+dbconn.PadChar, other)
	}
	return nil
}

// setup are the settings of a session that computes the statement's expressions: the server's own.
func (p *Plan) setup(pool *dbconn.Pool) []string {
	return append(pool.AsTheServer(p.zeroDates()), dbconn.NoRangeLimit)
}

// zeroDates reports whether a date may be zero. A DELETE writes no date.
func (p *Plan) zeroDates() bool { return p.Statement.Verb == ddl.Delete || p.Source.HasZeroDates() }

func (m *maker) checkStatement(ctx context.Context) error {
	p := m.plan
	session, err := m.pool.Session(ctx, p.setup(m.pool)...)
	if err != nil {
		return err
	}
	defer session.Close()
	switch err := session.Rows(ctx, "EXPLAIN "+p.Statement.String(), func(*sql.Rows) error { return nil }); {
	case dbconn.Number(err) != 0 && !dbconn.ConnectionLost(err) && !dbconn.Contended(err):
		m.block(plan.CodeRows, "the server does not take the statement", dbconn.Message(err), "Correct the statement")
		return nil
	case err != nil:
		return err
	}
	if err := m.checkNumber(ctx, session); err != nil {
		return err
	}
	var now string
	if err := session.Rows(ctx, "SELECT NOW()", func(r *sql.Rows) error { return r.Scan(&now) }); err != nil {
		return err
	}
	constant := "Write an expression over the columns that depends on nothing else. In place of NOW(), write the time itself: it is '" + now +
		"' on the server"
	err = native.Judge(ctx, m.pool, p.Source, "INT", p.Statement.Where, p.zeroDates())
	if errors.Is(err, native.ErrRefused) {
		m.block(plan.CodeRows, "the condition may not mean the same in each chunk", err.Error(), constant)
		err = nil
	}
	for _, a := range p.Statement.Assigned {
		column, is := p.Source.Column(a.Column)
		if err != nil || !is || a.Default() {
			continue
		}
		column.Nullable = true
		if err = native.Judge(ctx, m.pool, p.Source, column.Bare(), a.Expr, p.zeroDates()); errors.Is(err, native.ErrRefused) {
			m.block(plan.CodeRows, "the value of "+a.Column+" may not mean the same in each chunk", err.Error(), constant)
			err = nil
		}
	}
	return err
}

// checkNumber blocks a condition that is a number with decimals or a text by itself, on a server that rounds it (MySQL 5.7 and 8.0.12):
// the server's own statement leaves a row with 0.4 alone, and IF takes 0.4 for true.
func (m *maker) checkNumber(ctx context.Context, session *dbconn.Session) error {
	rounds := true
	err := session.Rows(ctx, "SELECT 1 FROM (SELECT 0.4 AS number UNION SELECT 0) some WHERE number", func(*sql.Rows) error {
		rounds = false
		return nil
	})
	if err != nil || !rounds {
		return err
	}
	var kind string
	query := fmt.Sprintf("SELECT (%s) FROM (SELECT 1) one LEFT JOIN %s ON FALSE", m.plan.Statement.Where, m.plan.Source.Name.Quoted())
	err = session.Rows(ctx, query, func(r *sql.Rows) error {
		types, err := r.ColumnTypes()
		if err == nil {
			kind = types[0].DatabaseTypeName()
		}
		return err
	})
	if err == nil && !strings.HasSuffix(kind, "INT") {
		m.block(plan.CodeRows, "the condition is a value of the type "+kind+", and no comparison", "the server rounds it in WHERE, and nowhere else",
			"Write a comparison: ("+m.plan.Statement.Where+") <> 0")
	}
	return err
}

// checkRest checks the table that takes deleted rows.
func (m *maker) checkRest(ctx context.Context) error {
	p := m.plan
	rest := p.Options.Rest
	if rest == (schema.Name{}) {
		return nil
	}
	const what = "--rest cannot keep the rows"
	switch {
	case p.Statement.Verb != ddl.Delete:
		m.block(plan.CodeRows, what, "an UPDATE leaves no rows out", "Leave --rest out")
		return nil
	case rest == p.Source.Name, rest == p.State():
		m.block(plan.CodeRows, what, "it names "+rest.String()+" itself", "Name another table")
		return nil
	}
	there, err := schema.Load(ctx, m.pool.DB(), rest)
	if errors.Is(err, schema.ErrNotFound) {
		return nil
	}
	var kind *schema.OtherKind
	if errors.As(err, &kind) {
		m.block(plan.CodeRows, what, err.Error(), "Name a table")
		return nil
	}
	if err != nil {
		return err
	}
	p.RestThere, p.Options.Rest = true, there.Name
	switch {
	case !strings.EqualFold(there.Engine, "InnoDB"):
		m.block(plan.CodeRows, what, rest.String()+" has the engine "+there.Engine, "Name another table")
	case schema.Marked(there.Comment):
		m.block(plan.CodeRows, what, rest.String()+" is one of Midstream's tables", "Name another table")
	case len(there.Triggers) > 0:
		m.block(plan.CodeRows, what, rest.String()+" has triggers, which may change the rows", "Name another table")
	case !sameTypes(p.Source, there):
		m.block(plan.CodeRows, what, rest.String()+" has other columns", "Name a table that does not exist: the run creates it like "+p.Source.Name.String())
	}
	return nil
}

// sameTypes reports whether a table has all stored columns of another one, with the same types, and no others that need a value.
func sameTypes(source, rest *schema.Table) bool {
	for _, c := range source.Columns {
		to, is := rest.Column(c.Name)
		same := is && to.Type == c.Type && to.Charset == c.Charset && to.Generated == schema.NotGenerated
		if c.Generated == schema.NotGenerated && !same {
			return false
		}
	}
	return true
}
