package shadow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/dbconn"
	"midstream/internal/schema"
)

// ErrRefused says that the server does not make the shadow, or does not take the ALTER, which it was asked for on the
// empty shadow: no row was read yet.
var ErrRefused = errors.New("the server refuses the ALTER")

// Shadow is the shadow of one source.
type Shadow struct {
	Name   schema.Name
	Source schema.Name

	// Table is the shadow as the server made it, all indexes included.
	Table *schema.Table
	// Comment is the one that the table shall have in the end.
	Comment string
	// Deferred are the indexes that are left for later.
	Deferred []schema.Key
}

// Create makes the shadow. clauses returns the ALTER's clauses for the copy of the source
// as CREATE TABLE LIKE has made it; zeroDates lets them have zero dates. REQUIRES: no table of its name is there. On error the
// shadow is returned as well if it may have been created.
func Create(ctx context.Context, pool *dbconn.Pool, source *schema.Table, name schema.Name, clauses func(copied *schema.Table) string, zeroDates bool) (*Shadow, error) {
	session, err := pool.Session(ctx, pool.Defining()...)
	if err != nil {
		return nil, fmt.Errorf("create shadow %s: %w", name, err)
	}
	defer session.Close()
	s := &Shadow{Name: name, Source: source.Name, Comment: source.Comment}
	if _, err := session.Exec(ctx, fmt.Sprintf("CREATE TABLE %s LIKE %s", name.Quoted(), source.Name.Quoted())); err != nil {
		if dbconn.Number(err) != 0 && !dbconn.ConnectionLost(err) {
			s = nil
		}
		if refused(err) {
			err = fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return s, fmt.Errorf("create shadow %s: %w", name, err)
	}
	mark := schema.MarkFor("shadow", source.Name)
	marking := comment(name, mark)
	if source.AutoIncrement > 1 {
		// CREATE TABLE LIKE begins to count anew, and then every row that the copy inserts
		// raises the counter and logs it: 4 % of the copy's time.
		marking += fmt.Sprintf(", AUTO_INCREMENT = %d", source.AutoIncrement)
	}
	if _, err := session.Exec(ctx, marking); err != nil {
		return s, fmt.Errorf("mark shadow %s: %w", name, err)
	}
	copied, err := schema.Load(ctx, pool.DB(), name)
	if err != nil {
		return s, fmt.Errorf("read shadow %s: %w", name, err)
	}
	if again := schema.Settable(source.LostIn(copied)); again != "" {
		if _, err := session.Exec(ctx, "ALTER TABLE "+name.Quoted()+" "+again); err != nil {
			return s, fmt.Errorf("set options of shadow %s: %w", name, err)
		}
		if copied, err = schema.Load(ctx, pool.DB(), name); err != nil {
			return s, fmt.Errorf("read shadow %s: %w", name, err)
		}
	}
	if lost := source.LostIn(copied); len(lost) > 0 {
		return s, fmt.Errorf("alter shadow %s: %w: its copy has lost %s of %s", name, ErrRefused, lost[0].Name, source.Name)
	}
	if err := s.alter(ctx, pool, clauses(copied), zeroDates); err != nil {
		if refused(err) {
			err = fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return s, fmt.Errorf("alter shadow %s: %w", name, err)
	}
	if s.Table, err = schema.Load(ctx, pool.DB(), name); err != nil {
		return s, fmt.Errorf("read shadow %s: %w", name, err)
	}
	if s.Table.Comment != mark { // the ALTER sets a comment of its own
		s.Comment = s.Table.Comment
		if _, err := session.Exec(ctx, comment(name, mark)); err != nil {
			return s, fmt.Errorf("mark shadow %s: %w", name, err)
		}
	}
	return s, nil
}

// alter carries out the operator's clauses.
func (s *Shadow) alter(ctx context.Context, pool *dbconn.Pool, clauses string, zeroDates bool) error {
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

// ErrAltered says that a shadow is not what it was.
var ErrAltered = errors.New("the shadow was altered")

// Found returns the shadow that a former run made, which was then as made says. Indexes that
// are not there are deferred. It fails with ErrAltered if it is another in anything else.
func Found(ctx context.Context, pool *dbconn.Pool, source schema.Name, made *schema.Table, comment string) (*Shadow, error) {
	s := &Shadow{Name: made.Name, Source: source, Table: made, Comment: comment}
	now, err := schema.Load(ctx, pool.DB(), made.Name)
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
		if !named(now.Keys, k) {
			s.Deferred = append(s.Deferred, k)
		}
	}
	return s, nil
}

// refused says that a statement failed for what it says, and not for the state of the server
// or the rights of the account.
func refused(err error) bool {
	return dbconn.Number(err) != 0 && !dbconn.Contended(err) && !dbconn.ConnectionLost(err) &&
		!dbconn.Denied(err) && !dbconn.Exhausted(err)
}

func comment(table schema.Name, text string) string {
	return fmt.Sprintf("ALTER TABLE %s COMMENT = %s", table.Quoted(), schema.Literal(text))
}

// Unmark gives the shadow the comment that it shall have in the end.
func (s *Shadow) Unmark(ctx context.Context, pool *dbconn.Pool) error {
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

// OwnIndex makes the index on just these columns the table's own, if there is one. One that the
// server has made for a foreign key gives way to the one that it makes for the next, which takes as long
// as any index; one that was given a name doesn't. REQUIRES: nobody else uses the shadow.
func (s *Shadow) OwnIndex(ctx context.Context, pool *dbconn.Pool, columns []string) error {
	const meanwhile = "midstream_index"
	for _, k := range s.Table.Keys {
		if k.Unique || len(k.Parts) != len(columns) || !k.Leads(columns) {
			continue
		}
		for _, names := range [][2]string{{k.Name, meanwhile}, {meanwhile, k.Name}} {
			err := s.exec(ctx, pool, fmt.Sprintf("ALTER TABLE %s RENAME INDEX %s TO %s", s.Name.Quoted(), schema.Quote(names[0]), schema.Quote(names[1])), "rename index")
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Deferrable returns the indexes that may be built after the copy: plain ones that
// neither enforce anything (UNIQUE), nor serve the sync, nor carry the AUTO_INCREMENT
// column, nor are of a kind that can't be built while rows change, or in place together with others: those of
// an expression (error 1846). An index that comes before one that stays is not deferred either, because
// the server would put it behind that one.
func (s *Shadow) Deferrable(syncIndex string) []schema.Key {
	var keys []schema.Key
	for _, k := range slices.Backward(s.Table.Keys) {
		if k.Unique || k.Type == "FULLTEXT" { // the server sorts these before and behind all others
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

// BuildIndexes builds the deferred indexes, in one statement.
//
// REQUIRES: apply holds still. The server could build while rows change (LOCK=NONE), but
// then its online log may overflow (error 1799), and on 9.7.4 rows that are deleted and
// inserted anew meanwhile fail the build of a plain index with error 1859, "Duplicate
// entry", at its end: all the work is thrown away. The binlog is the better log.
func (s *Shadow) BuildIndexes(ctx context.Context, pool *dbconn.Pool) error {
	if len(s.Deferred) == 0 {
		return nil
	}
	// Only our own short syncs use the shadow: the build may wait for them.
	setup := append(pool.BuildSetup(ctx), "SET SESSION lock_wait_timeout = 3600")
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

// Analyze fills the statistics of the new table, so that the first queries after the
// swap are not planned blindly.
func (s *Shadow) Analyze(ctx context.Context, pool *dbconn.Pool) error {
	return s.exec(ctx, pool, "ANALYZE TABLE "+s.Name.Quoted(), "analyze")
}
