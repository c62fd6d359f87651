package native

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// ErrRefused means that the server takes the statement by no algorithm.
var ErrRefused = errors.New("the server refuses the statement")

// ErrNoCopy means that the server refuses to make an empty copy of the table. A shadow begins with
// such a copy.
var ErrNoCopy = errors.New("the server refuses to make an empty copy of the table")

// attempt is a way that the server is asked for.
type attempt struct {
	method plan.Method
	lock   string
}

// attempts are made in this order, the lightest first.
var attempts = []attempt{
	{plan.MethodInstant, ""}, {plan.MethodInplace, "NONE"},
	{plan.MethodInplace, "SHARED"}, {plan.MethodCopy, "NONE"}, {plan.MethodCopy, ""},
}

// ErrLeft means that a clone could not be dropped.
var ErrLeft = errors.New("a clone is left")

// removal is how long the removal of a clone is tried for.
const removal = 10 * time.Second

// Question is a statement to try on an empty clone.
type Question struct {
	// CopiesOnline means that the server can copy a table that is written to. Then Ask asks for
	// LOCK=NONE.
	CopiesOnline bool
	Table        *schema.Table
	Alter        *ddl.Alter
	// ZeroDates lets the ALTER have zero dates.
	ZeroDates bool
	// From is the lightest method that is asked for; "" for all.
	From plan.Method
	// Clone is the name of the clone: letters, digits and underscores, for InnoDB spells others
	// in a way of its own.
	Clone schema.Name
	// ClausesFor returns an ALTER's clauses for the clone as CREATE TABLE LIKE has made it.
	ClausesFor func(alter *ddl.Alter, clone *schema.Table) string
	// Adds are the foreign keys that the ALTER adds, for Try. ClausesFor leaves them out.
	Adds []schema.ForeignKey
	// Binds are the foreign keys, of the table and to it, because of which the server may refuse the ALTER, for Ask.
	Binds []schema.ForeignKey
	// skips is the number of attempts that the server refuses because of foreign keys.
	skips int
	// RowFormat is the clause that gives the clone the row format of the table; nil to read that from the server.
	RowFormat *string
	// anew makes the clone like a shadow: a row format that nothing names is the server's default,
	// and not the table's.
	anew bool
}

// attempts returns the attempts that the question leaves. The statement's own ALGORITHM and LOCK
// come after those of an attempt, and count.
func (q Question) attempts() []attempt {
	var left []attempt
	begun := q.From == ""
	for _, a := range attempts {
		begun = begun || a.method == q.From
		said := q.Alter.Algorithm
		if a.method == plan.MethodCopy && a.lock != "" && !q.CopiesOnline {
			continue
		}
		if !begun || said != "" && said != "DEFAULT" && !strings.EqualFold(said, string(a.method)) {
			continue
		}
		if lock := q.Alter.Lock; lock != "" && lock != "DEFAULT" {
			if a.lock != "" && a.lock != lock && slices.ContainsFunc(left, func(b attempt) bool { return b.method == a.method }) {
				continue // it would be the same again
			}
			a.lock = lock
		}
		left = append(left, a)
	}
	return left[min(q.skips, len(left)):]
}

// Ask makes an empty clone of the table, lets the server run the statement on it by the lightest
// algorithm that it takes, and drops it. It fails with ErrRefused if the server takes the statement
// by none, and with ErrForeign if that is because of foreign keys. REQUIRES: no table has the clone's name.
func Ask(ctx context.Context, pool *dbconn.Pool, q Question) (*plan.Answer, error) {
	if len(q.Binds) == 0 {
		return q.outcome(ctx, pool, q.Alter)
	}
	refused, taken, err := q.permits(ctx, pool)
	if err != nil {
		return nil, err
	}
	if taken {
		q.skips = len(refused)
	}
	answer, err := q.outcome(ctx, pool, q.Alter)
	switch {
	case err != nil:
		return nil, err
	case !taken:
		return nil, fmt.Errorf("%w: %s", ErrForeign, refused[len(refused)-1].Why)
	}
	answer.Refused = append(refused, answer.Refused...)
	return answer, nil
}

// Then is Ask for the last of the statements that come after the one of the question.
func Then(ctx context.Context, pool *dbconn.Pool, q Question, next ...*ddl.Alter) (*plan.Answer, error) {
	return q.outcome(ctx, pool, append([]*ddl.Alter{q.Alter}, next...)...)
}

// try lets the server run the statement on the clone, and returns how it did so. before is the
// clone's state before the statement.
func (q Question) try(ctx context.Context, pool *dbconn.Pool, session *dbconn.Session, before *sight) (*plan.Answer, error) {
	answer := &plan.Answer{}
	text := q.ClausesFor(q.Alter, before.table)
	for _, a := range q.attempts() {
		answer.Method, answer.Lock = a.method, a.lock
		taken, err := q.trySo(ctx, pool, session, before, answer, text)
		if err != nil {
			return nil, err
		}
		if taken {
			return answer, nil
		}
	}
	if len(answer.Refused) == 0 {
		return nil, fmt.Errorf("%w: its ALGORITHM=%s is lighter than %s", ErrRefused, q.Alter.Algorithm, q.From)
	}
	why := answer.Refused[len(answer.Refused)-1].Why
	if len(q.Alter.PartitionOps) > 0 && namesNone(q.Alter.Algorithm) && namesNone(q.Alter.Lock) {
		plain := &plan.Answer{Plain: true, Method: plan.MethodCopy}
		taken, err := q.trySo(ctx, pool, session, before, plain, text)
		if err != nil {
			return nil, err
		}
		if taken {
			if plain.Effect <= plan.Metadata {
				plain.Method, plain.Lock = plan.MethodInplace, "NONE"
			}
			plain.Refused = []plan.Rejected{{Method: plan.MethodInstant, Why: "the server takes no ALGORITHM with " + q.Alter.PartitionOps[0]}}
			return plain, nil
		}
		why = plain.Refused[0].Why // the others have refused the ALGORITHM
	}
	return nil, fmt.Errorf("%w: %s", ErrRefused, why)
}

// namesNone reports whether a statement leaves the algorithm, or the lock, to the server.
func namesNone(wish string) bool { return wish == "" || wish == "DEFAULT" }

// trySo lets the server run the statement in the way of the answer, and completes the answer. If the server does not take it, that is
// noted in the answer.
func (q Question) trySo(
	ctx context.Context, pool *dbconn.Pool, session *dbconn.Session, before *sight, answer *plan.Answer, text string,
) (taken bool, err error) {
	began := time.Now()
	_, err = session.Exec(ctx, "ALTER TABLE "+q.Clone.Quoted()+" "+ddl.Prefixed(answer.How(), text))
	if err != nil && unanswered(err) {
		return false, fmt.Errorf("ask on clone %s: %w", q.Clone, err)
	}
	if err != nil {
		if no := (plan.Rejected{Method: answer.Method, Why: dbconn.Message(err)}); !slices.Contains(answer.Refused, no) {
			answer.Refused = append(answer.Refused, no)
		}
		return false, nil
	}
	answer.Setup = time.Since(began)
	after, err := look(ctx, pool.DB(), q.Clone)
	if err != nil {
		return false, err
	}
	if answer.Trial, err = q.settle(ctx, pool, before, after); err != nil {
		return false, err
	}
	answer.Effect, answer.Definition = before.effect(after, len(q.Alter.Keys) > 0 && answer.Method != plan.MethodInstant), after.definition
	if answer.Method == plan.MethodInstant && answer.Effect == plan.Rebuild && q.Alter.Algorithm == "" {
		// MariaDB takes ALGORITHM=INSTANT for PARTITION BY, and copies.
		answer.Method = plan.MethodCopy
	}
	return true, nil
}

// unanswered reports whether an error gives no information about the statement.
func unanswered(err error) bool {
	return dbconn.Number(err) == 0 || dbconn.ConnectionLost(err) || dbconn.Contended(err) || dbconn.Denied(err) || dbconn.Exhausted(err) ||
		dbconn.Unwilling(err)
}

// clone makes the marked, empty clone, and returns a function that drops it. It keeps the table's
// definition unchanged, by a session like the session that makes the shadow. The operator's own
// settings may refuse something that an application's have made, such as an ENUM with two equal
// members.
func (q Question) clone(ctx context.Context, pool *dbconn.Pool, session *dbconn.Session) (remove func() error, err error) {
	remove = func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removal)
		defer cancel()
		drop := "DROP TABLE IF EXISTS " + q.Clone.Quoted()
		if _, err := session.Exec(ctx, drop); err == nil {
			return nil
		}
		session.Close() // it must not hold the clone
		again, err := pool.Session(ctx)
		if err == nil {
			defer again.Close()
			_, err = again.Exec(ctx, drop)
		}
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrLeft, q.Clone, err)
		}
		return nil
	}
	maker, err := silent(ctx, pool, append(pool.Defining(), "USE "+schema.Quote(q.Table.Name.Schema))...)
	if err != nil {
		return nil, err
	}
	defer maker.Close()
	format := ""
	if !q.anew {
		if format, err = q.rowFormat(ctx, pool); err != nil {
			return nil, err
		}
	}
	if _, err := maker.Exec(ctx, fmt.Sprintf("CREATE TABLE %s LIKE %s", q.Clone.Quoted(), q.Table.Name.Quoted())); err != nil {
		err = fmt.Errorf("make clone %s: %w", q.Clone, err)
		switch {
		case dbconn.Number(err) == 0 || dbconn.ConnectionLost(err): // it may be there
			err = errors.Join(err, remove())
		case !unanswered(err):
			err = fmt.Errorf("%w: %w", ErrNoCopy, err)
		}
		return nil, err
	}
	mark := schema.Literal(schema.MarkFor(schema.CloneKind, q.Table.Name))
	if _, err := maker.Exec(ctx, fmt.Sprintf("ALTER TABLE %s COMMENT = %s%s", q.Clone.Quoted(), mark, format)); err != nil {
		return nil, errors.Join(fmt.Errorf("mark clone %s: %w", q.Clone, err), remove())
	}
	return remove, nil
}

// rowFormat returns the clause that gives the clone the row format of the table. The table may have
// it from another default, and LIKE may not carry it over.
func (q Question) rowFormat(ctx context.Context, pool *dbconn.Pool) (clause string, err error) {
	if q.RowFormat != nil {
		return *q.RowFormat, nil
	}
	return rowFormat(ctx, pool, q.Table.Name)
}

func rowFormat(ctx context.Context, pool *dbconn.Pool, table schema.Name) (clause string, err error) {
	err = pool.DB().QueryRowContext(ctx, fmt.Sprintf("SELECT IF(create_options LIKE '%%row_format%%' OR row_format = 'Compressed' OR"+
		" LOWER(row_format) = @@GLOBAL.innodb_default_row_format, '', CONCAT(', ROW_FORMAT = ', row_format))"+
		" FROM information_schema.tables WHERE table_schema = %s AND table_name = %s", schema.Literal(table.Schema), schema.Literal(table.Table))).Scan(&clause)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read the row format of %s: %w", table, err)
	}
	return clause, nil
}

// sight is what can be seen of the clone at one moment.
type sight struct {
	table      *schema.Table
	definition string
	// indexes has InnoDB's numbers of all indexes: a rename keeps them. tables has the number of each one's table, or partition.
	indexes, tables []uint64
}

func look(ctx context.Context, db *sql.DB, clone schema.Name) (*sight, error) {
	s := &sight{}
	var err error
	if s.table, err = schema.LoadOwn(ctx, db, clone); err != nil {
		return nil, fmt.Errorf("read clone %s: %w", clone, err)
	}
	s.definition, _ = schema.SplitAutoIncrement(s.table.Create)
	err = facts.FromInnoDB(ctx, func(views string) error { return s.read(ctx, db, views, clone) })
	if err != nil {
		return nil, fmt.Errorf("read clone %s: %w", clone, err)
	}
	return s, nil
}

// read reads the numbers of the clone and its indexes from InnoDB's views.
func (s *sight) read(ctx context.Context, db *sql.DB, views string, clone schema.Name) error {
	s.tables, s.indexes = nil, nil
	rows, err := db.QueryContext(ctx, `
		SELECT t.table_id, IFNULL(i.index_id, 0) FROM information_schema.`+views+`tables t
		  LEFT JOIN information_schema.`+views+`indexes i ON i.table_id = t.table_id
		 WHERE t.name LIKE ? ORDER BY t.table_id, i.index_id`,
		"%/"+clone.Table+"%") // a partition's goes on behind it
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var table, index uint64
		if err := rows.Scan(&table, &index); err != nil {
			return err
		}
		s.tables, s.indexes = append(s.tables, table), append(s.indexes, index)
	}
	return rows.Err()
}

// effect returns the changes between two sights. keyed means that the statement adds indexes:
// InnoDB does not show the indexes of partitions.
func (s *sight) effect(after *sight, keyed bool) plan.Effect {
	fresh := func(of, among []uint64) bool {
		return slices.ContainsFunc(of, func(id uint64) bool { return !slices.Contains(among, id) })
	}
	switch {
	case fresh(after.tables, s.tables) && fresh(s.tables, after.tables): // a partition that is new copies nothing
		return plan.Rebuild
	case keyed, after.adds(s):
		return plan.Index
	case s.definition != after.definition:
		return plan.Metadata
	}
	return plan.Nothing
}

// adds reports whether a table, or a partition, that was there before has another index now.
func (s *sight) adds(before *sight) bool {
	for i, id := range s.indexes {
		if !slices.Contains(before.indexes, id) && slices.Contains(before.tables, s.tables[i]) {
			return true
		}
	}
	return false
}
