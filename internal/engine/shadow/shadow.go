package shadow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// ErrRefused means that the server does not make the shadow, or refuses the ALTER on the empty
// shadow: no row was read yet.
var ErrRefused = errors.New("the server refuses the ALTER")

// Shadow is the shadow of one source.
type Shadow struct {
	Name   schema.Name
	Source schema.Name

	// Table is the shadow as the server made it, all indexes included.
	Table *schema.Table
	// Comment is the comment that the table should have in the end.
	Comment string
	// Unmarked means that the shadow has its final comment from the beginning, because a further
	// ALTER would change its definition. Only the state table records that it is ours.
	Unmarked bool
	// Deferred are the indexes that are left for later.
	Deferred []schema.Key
}

// Wanted is what a shadow is made of.
type Wanted struct {
	Source *schema.Table
	Name   schema.Name
	// Clauses returns the ALTER's clauses for the copy of the source as CREATE TABLE LIKE has made it.
	Clauses func(copied *schema.Table) string
	// ZeroDates lets the clauses have zero dates.
	ZeroDates bool
	// Rounds reports whether a further ALTER would change a default of the altered shadow. SHOW
	// CREATE TABLE does not show that.
	Rounds func(altered *schema.Table) bool
	// Rewrites reports whether a further ALTER, which made settled, has changed an expression of the altered shadow, and not only how it
	// is spelled.
	Rewrites func(altered, settled *schema.Table) bool
	// Helper returns the definition of an index that the shadow has until the swap; "" for none.
	Helper func(altered *schema.Table) (string, error)
}

// Create makes the shadow. REQUIRES: no table of its name is there. On error the
// shadow is returned as well if it may have been created.
func Create(ctx context.Context, pool *dbconn.Pool, w Wanted) (*Shadow, error) {
	session, err := pool.Session(ctx, pool.Defining()...)
	if err != nil {
		return nil, fmt.Errorf("create shadow %s: %w", w.Name, err)
	}
	defer session.Close()
	s, err := create(ctx, pool, session, w, schema.MarkFor("shadow", w.Source.Name))
	if err != nil {
		return s, err
	}
	var settled *schema.Table
	if !w.Rounds(s.Table) {
		settled, err = s.settle(ctx, pool, session)
	}
	if err != nil {
		return s, err
	}
	helper, err := w.Helper(s.Table)
	switch {
	case err != nil:
		return s, fmt.Errorf("alter shadow %s: %w: %w", w.Name, ErrRefused, err)
	case settled != nil && (s.sameAs(settled) || helper != "" && !w.Rewrites(s.Table, settled)):
		s.Table = settled
		return s, s.addHelper(ctx, pool, helper)
	case helper != "":
		return s, fmt.Errorf("alter shadow %s: %w: a further ALTER changes its definition, and the run needs an index of its own", w.Name, ErrRefused)
	}
	if _, err := session.Exec(ctx, "DROP TABLE "+w.Name.Quoted()); err != nil {
		return s, fmt.Errorf("create shadow %s again: %w", w.Name, err)
	}
	return create(ctx, pool, session, w, "")
}

// create makes the shadow with a mark in its comment, or without one if mark is "".
func create(ctx context.Context, pool *dbconn.Pool, session *dbconn.Session, w Wanted, mark string) (*Shadow, error) {
	s := &Shadow{Name: w.Name, Source: w.Source.Name, Comment: w.Source.Comment, Unmarked: mark == ""}
	if _, err := session.Exec(ctx, fmt.Sprintf("CREATE TABLE %s LIKE %s", w.Name.Quoted(), w.Source.Name.Quoted())); err != nil {
		if dbconn.Number(err) != 0 && !dbconn.ConnectionLost(err) {
			s = nil
		}
		if refused(err) {
			err = fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return s, fmt.Errorf("create shadow %s: %w", w.Name, err)
	}
	if err := s.begin(ctx, session, w.Source.AutoIncrement, mark); err != nil {
		return s, err
	}
	copied, err := schema.LoadOwn(ctx, pool.DB(), w.Name)
	if err != nil {
		return s, fmt.Errorf("read shadow %s: %w", w.Name, err)
	}
	if copied, err = s.restore(ctx, pool, session, w.Source, copied); err != nil {
		return s, err
	}
	if err := s.alter(ctx, pool, w.Clauses(copied), w.ZeroDates); err != nil {
		if refused(err) {
			err = fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return s, fmt.Errorf("alter shadow %s: %w", w.Name, err)
	}
	if s.Table, err = schema.LoadOwn(ctx, pool.DB(), w.Name); err != nil {
		return s, fmt.Errorf("read shadow %s: %w", w.Name, err)
	}
	if !s.Unmarked && s.misplaces() {
		if _, err := session.Exec(ctx, "ALTER TABLE "+w.Name.Quoted()+" FORCE, ALGORITHM=COPY"); err != nil {
			return s, fmt.Errorf("build shadow %s in order: %w", w.Name, err)
		}
	}
	switch {
	case s.Unmarked:
		s.Comment = s.Table.Comment
	case s.Table.Comment != mark: // the ALTER sets its own comment
		s.Comment = s.Table.Comment
		if _, err := session.Exec(ctx, comment(w.Name, mark)); err != nil {
			return s, fmt.Errorf("mark shadow %s: %w", w.Name, err)
		}
	}
	return s, nil
}

// misplaces reports whether the server may have a virtual column with an index, or the hidden column of an
// index over an expression, under a wrong number after the ALTER. With the next ALTER in place, as one that
// sets a comment, 9.7.4 then leaves entries of deleted rows in the index, and an insertion can stop the
// server (package plan has the cases). A copy, here of no row, brings the columns to their places.
func (s *Shadow) misplaces() bool {
	return slices.ContainsFunc(s.Table.Keys, schema.Key.Computed) || slices.ContainsFunc(s.Table.Columns, s.Table.IndexesVirtual)
}

// restore sets the options again that CREATE TABLE LIKE has lost, and returns the copy with them.
// The error is an ErrRefused if one of them cannot be set again.
func (s *Shadow) restore(
	ctx context.Context,
	pool *dbconn.Pool,
	session *dbconn.Session,
	source, copied *schema.Table,
) (*schema.Table, error) {
	if again := schema.Settable(source.LostIn(copied)); again != "" {
		if _, err := session.Exec(ctx, "ALTER TABLE "+s.Name.Quoted()+" "+again); err != nil {
			return nil, fmt.Errorf("set options of shadow %s: %w", s.Name, err)
		}
		var err error
		if copied, err = schema.LoadOwn(ctx, pool.DB(), s.Name); err != nil {
			return nil, fmt.Errorf("read shadow %s: %w", s.Name, err)
		}
	}
	if lost := source.LostIn(copied); len(lost) > 0 {
		return nil, fmt.Errorf("alter shadow %s: %w: its copy has lost %s of %s", s.Name, ErrRefused, lost[0].Name, source.Name)
	}
	return copied, nil
}

// begin gives the empty copy its mark and the source's counter. CREATE TABLE LIKE begins to count
// at 1. Then every row that the copy inserts would raise the counter and log it: 4 % of the copy's
// time.
func (s *Shadow) begin(ctx context.Context, session *dbconn.Session, counter uint64, mark string) error {
	var clauses []string
	if mark != "" {
		clauses = append(clauses, "COMMENT = "+schema.Literal(mark))
	}
	if counter > 1 {
		clauses = append(clauses, fmt.Sprintf("AUTO_INCREMENT = %d", counter))
	}
	if len(clauses) == 0 {
		return nil
	}
	if _, err := session.Exec(ctx, "ALTER TABLE "+s.Name.Quoted()+" "+strings.Join(clauses, ", ")); err != nil {
		return fmt.Errorf("mark shadow %s: %w", s.Name, err)
	}
	return nil
}

// settle returns the shadow's definition after a further ALTER; nil if the server refuses that. With each ALTER, MySQL writes the string
// literals of expressions again, in the charset of the columns that they are compared with. _utf8mb4'é' next to a latin1 column becomes
// _latin1'?' (9.7.4), and 0 next to a ucs2 column '\00' (5.7.22). settle sets the final comment and then the mark again, while the
// shadow is empty.
func (s *Shadow) settle(ctx context.Context, pool *dbconn.Pool, session *dbconn.Session) (*schema.Table, error) {
	if !hasLiterals(s.Table) {
		return s.Table, nil
	}
	mark := schema.MarkFor("shadow", s.Source)
	for _, text := range []string{s.Comment, mark} {
		if _, err := session.Exec(ctx, comment(s.Name, text)); refused(err) {
			return nil, nil
		} else if err != nil {
			return nil, fmt.Errorf("mark shadow %s: %w", s.Name, err)
		}
	}
	now, err := schema.LoadOwn(ctx, pool.DB(), s.Name)
	if err != nil {
		return nil, fmt.Errorf("read shadow %s: %w", s.Name, err)
	}
	return now, nil
}

// sameAs reports whether the shadow has the columns, checks and indexes that it had when it was made.
func (s *Shadow) sameAs(now *schema.Table) bool {
	return s.Table.SameColumns(now) && slices.Equal(s.Table.Checks, now.Checks) &&
		slices.EqualFunc(s.Table.Keys, now.Keys, func(a, b schema.Key) bool { return a.Definition == b.Definition })
}

// hasLiterals reports whether an expression of the definition has a text or a number.
func hasLiterals(t *schema.Table) bool {
	quoted := func(expression string) bool { return strings.ContainsAny(expression, "'0123456789") }
	return slices.ContainsFunc(
		t.Columns, func(c schema.Column) bool { return quoted(c.Expression) || c.Computes() && quoted(c.Default) },
	) ||
		slices.ContainsFunc(t.Checks, func(c schema.Check) bool { return quoted(c.Clause) }) ||
		slices.ContainsFunc(t.Keys, func(k schema.Key) bool { return k.Computed() && quoted(k.Definition) })
}

// alter carries out the operator's clauses.
func (s *Shadow) alter(ctx context.Context, pool *dbconn.Pool, clauses string, zeroDates bool) error {
	if clauses == "" { // it only adds foreign keys
		return nil
	}
	session, err := pool.Session(ctx, pool.AsTheServer(zeroDates)...)
	if err != nil {
		return err
	}
	defer session.Close()
	alter := "ALTER TABLE " + s.Name.Quoted() + " " + clauses
	if _, err = session.Exec(ctx, alter); dbconn.OneFulltext(err) {
		// The server does not turn to COPY by itself for this one thing, and the shadow is empty.
		_, err = session.Exec(ctx, alter+", ALGORITHM=COPY")
	}
	return err
}

// ErrAltered means that a shadow was altered since the run made it.
var ErrAltered = errors.New("the shadow was altered")

// Found returns the shadow that a former run made; made is its definition then. Indexes that are
// missing are deferred. Found fails with ErrAltered if anything else differs.
func Found(ctx context.Context, pool *dbconn.Pool, source schema.Name, made *schema.Table, comment string) (*Shadow, error) {
	s := &Shadow{Name: made.Name, Source: source, Table: made, Comment: comment}
	now, err := schema.LoadOwn(ctx, pool.DB(), made.Name)
	if err != nil {
		return nil, fmt.Errorf("read shadow %s: %w", made.Name, err)
	}
	if !made.SameColumns(now) || len(made.Checks) != len(now.Checks) || made.Partitioned != now.Partitioned {
		return nil, ErrAltered
	}
	named := func(keys []schema.Key, k schema.Key) bool {
		return slices.ContainsFunc(keys, func(other schema.Key) bool { return other.Definition == k.Definition })
	}
	for _, k := range now.Keys {
		if !named(made.Keys, k) {
			return nil, ErrAltered
		}
	}
	for _, k := range made.Keys {
		if !named(now.Keys, k) && k.Name != schema.HelperIndex {
			s.Deferred = append(s.Deferred, k)
		}
	}
	return s, nil
}

// Adopt returns the old table of an earlier run, to which an undo goes back. columns are those that it had as
// the source, and was its comment then: the mark may have only a part of it. Adopt fails with ErrAltered if it has
// other columns now, or, unless an undo has begun before, no mark.
func Adopt(
	ctx context.Context, pool *dbconn.Pool, source, old schema.Name, columns []schema.Column, begun bool, was string,
) (*Shadow, error) {
	table, err := schema.Load(ctx, pool.DB(), old)
	if err != nil {
		return nil, fmt.Errorf("read the old table %s: %w", old, err)
	}
	if !table.SameColumns(&schema.Table{Columns: columns}) {
		return nil, fmt.Errorf("the old table %s: %w", old, ErrAltered)
	}
	comment, marked := schema.MarkedOld(table.Comment, source)
	if !marked && !begun {
		return nil, fmt.Errorf("the old table %s: %w: it has no mark of an old table, so it may be another one", old, ErrAltered)
	}
	if schema.IsMarkOld(table.Comment, source, was) {
		comment = was
	}
	if !marked { // an undo before this one was killed
		comment = table.Comment
	}
	return &Shadow{Name: old, Source: source, Table: table, Comment: comment}, nil
}

// refused reports whether a statement failed because of its text, and not because of the server's
// state or the account's rights.
func refused(err error) bool {
	return err != nil && dbconn.Number(err) != 0 && !dbconn.Contended(err) && !dbconn.ConnectionLost(err) &&
		!dbconn.Denied(err) && !dbconn.Exhausted(err) && !dbconn.Passes(err)
}

func comment(table schema.Name, text string) string {
	return fmt.Sprintf("ALTER TABLE %s COMMENT = %s", table.Quoted(), schema.Literal(text))
}

// Unmark gives the shadow its final comment.
func (s *Shadow) Unmark(ctx context.Context, pool *dbconn.Pool) error {
	if s.Unmarked {
		return nil
	}
	return s.exec(ctx, pool, comment(s.Name, s.Comment), "comment")
}

// exec runs one statement on the shadow.
func (s *Shadow) exec(ctx context.Context, pool *dbconn.Pool, statement, what string, setup ...string) error {
	session, err := pool.Session(ctx, append(pool.Defining(), setup...)...)
	if err != nil {
		return fmt.Errorf("%s of shadow %s: %w", what, s.Name, err)
	}
	defer session.Close()
	if _, err := session.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s of shadow %s: %w", what, s.Name, err)
	}
	return nil
}

// OwnIndex makes the index on just these columns the table's own, if there is one. An index that
// the server has made for a foreign key gives way to the index that it makes for the next one, and
// that takes as long as any index. An index with a given name doesn't give way. REQUIRES: no other
// session uses the shadow.
func (s *Shadow) OwnIndex(ctx context.Context, pool *dbconn.Pool, columns []string) error {
	const meanwhile = "midstream_index"
	for _, k := range s.Table.Keys {
		if k.Unique || len(k.Parts) != len(columns) || !k.Leads(columns) {
			continue
		}
		for _, names := range [][2]string{{k.Name, meanwhile}, {meanwhile, k.Name}} {
			err := s.exec(
				ctx, pool,
				fmt.Sprintf("ALTER TABLE %s RENAME INDEX %s TO %s", s.Name.Quoted(), schema.Quote(names[0]), schema.Quote(names[1])),
				"rename index",
			)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Deferrable returns the indexes that may be built after the copy: plain indexes. It leaves out
// indexes that enforce something (UNIQUE), serve the sync, or carry the AUTO_INCREMENT column. It
// leaves out kinds that can't be built while rows change, or in place together with others: indexes
// of an expression (error 1846). An index that comes before a kept index is not deferred either,
// because the server would put it behind the kept one.
func (s *Shadow) Deferrable(syncIndex string) []schema.Key {
	if s.Unmarked {
		return nil
	}
	var keys []schema.Key
	for _, k := range slices.Backward(s.Table.Keys) {
		if k.Name == schema.HelperIndex {
			continue // the swap drops it
		}
		if k.Unique || k.Type == "FULLTEXT" { // the server sorts these first or last
			continue
		}
		if k.Type != "BTREE" || strings.EqualFold(k.Name, syncIndex) || k.Computed() {
			break
		}
		if first, ok := s.Table.Column(k.Parts[0].Column); ok && first.AutoIncrement {
			break
		}
		keys = append(keys, k)
	}
	slices.Reverse(keys)
	return keys
}

// Defer drops the indexes until BuildIndexes.
func (s *Shadow) Defer(ctx context.Context, pool *dbconn.Pool, keys []schema.Key) error {
	if len(keys) == 0 {
		return nil
	}
	var clauses []string
	for _, k := range keys {
		clauses = append(clauses, "DROP INDEX "+schema.Quote(k.Name))
	}
	err := s.exec(ctx, pool, "ALTER TABLE "+s.Name.Quoted()+" "+strings.Join(clauses, ", "), "defer indexes")
	if err == nil {
		s.Deferred = keys
	}
	return err
}

// DropOthers drops the indexes that the shadow did not have when it was made: the server makes one for a foreign key, and it stays if the
// foreign key goes. REQUIRES: the shadow is empty.
func (s *Shadow) DropOthers(ctx context.Context, pool *dbconn.Pool) error {
	now, err := schema.LoadOwn(ctx, pool.DB(), s.Name)
	if err != nil {
		return fmt.Errorf("read shadow %s: %w", s.Name, err)
	}
	var clauses []string
	for _, k := range now.Keys {
		if !slices.ContainsFunc(s.Table.Keys, func(made schema.Key) bool { return made.Name == k.Name }) && k.Name != schema.HelperIndex {
			clauses = append(clauses, "DROP INDEX "+schema.Quote(k.Name))
		}
	}
	if len(clauses) == 0 {
		return nil
	}
	return s.exec(ctx, pool, "ALTER TABLE "+s.Name.Quoted()+" "+strings.Join(clauses, ", "), "drop the indexes of foreign keys")
}

// BuildIndexes builds the deferred indexes, in one statement, with so many threads.
//
// REQUIRES: apply holds still. The server could build while rows change (LOCK=NONE), but then its
// online log may overflow (error 1799). On 9.7.4, rows that are deleted and inserted again during
// the build fail a plain index with error 1859, "Duplicate entry". It fails at the end, and all the
// work is lost. The binlog is the better log.
func (s *Shadow) BuildIndexes(ctx context.Context, pool *dbconn.Pool, threads int) error {
	if len(s.Deferred) == 0 {
		return nil
	}
	// Only our own short syncs use the shadow: the build may wait for them.
	setup := append(pool.BuildSetup(ctx, threads), "SET SESSION lock_wait_timeout = 3600")
	var clauses []string
	for _, k := range s.Deferred {
		clauses = append(clauses, "ADD "+k.Definition)
	}
	err := s.exec(ctx, pool, "ALTER TABLE "+s.Name.Quoted()+" "+strings.Join(clauses, ", ")+
		", ALGORITHM=INPLACE, LOCK=SHARED", "build indexes", setup...)
	if err == nil {
		s.Deferred = nil
	}
	return err
}

// Analyze fills the statistics of the new table. Without them the server would plan the first
// queries after the swap blindly.
func (s *Shadow) Analyze(ctx context.Context, pool *dbconn.Pool) error {
	return s.exec(ctx, pool, "ANALYZE TABLE "+s.Name.Quoted(), "analyze")
}
