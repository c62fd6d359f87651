package rowsync

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// A row that the shadow refuses may fit. The shadow may have had a row with its key that only a lax session can write: a strict one
// has an error as the server computes a virtual column of it. The server computes that row once more as another one takes its place:
//
//	it is overwritten                 MySQL and MariaDB: the statement has an error
//	it is deleted, and not purged     MySQL: the INSERT has an error (9.7), or the server crashes (5.7.22, 8.0.12)
//
// So MariaDB deletes and inserts such a row. On MySQL a strict session writes the rows into a fitting table, which has the
// definition of the shadow, and a lax one copies them from there: they fit.

// fitting is the temporary table of a session for that.
const fitting = "midstream_fitting"

// errUnfitted means that the session has no fitting table yet. It cannot be created in a transaction (gtid_mode of 5.7).
var errUnfitted = errors.New("the session has no table in which rows are fitted")

// fitter knows which sessions have a fitting table, and whether they need one.
type fitter struct {
	lax      atomic.Bool // the shadow had a row that only a lax session can write
	sessions sync.Map    // whether a session, by its ID, has the table
}

// careful reports whether rows of the shadow are replaced by way of a fitting table.
func (f *fitter) careful(p predicate) bool {
	return p.spec.Virtual && !p.spec.Silent && (p.refit || f.lax.Load())
}

// prepare creates the fitting table of the session, if it needs one and has none. A shadow of which the server makes no temporary
// table (partitions, a FULLTEXT index) has none. REQUIRES: no transaction is open.
func (f *fitter) prepare(ctx context.Context, session *dbconn.Session, p predicate) {
	if !f.careful(p) {
		return
	}
	if _, tried := f.sessions.Load(session.ID()); !tried {
		_, err := session.Exec(ctx, "CREATE TEMPORARY TABLE "+p.spec.Shadow.Temporary(fitting).Quoted()+" LIKE "+p.spec.Shadow.Quoted())
		f.sessions.Store(session.ID(), err == nil)
	}
}

// fill inserts the source's rows of P, after the shadow's rows of P were removed.
func (s *Syncer) fill(ctx context.Context, session *dbconn.Session, p predicate) (inserted int64, err error) {
	inserted, err = s.fillFit(ctx, session, p)
	if err == nil && s.spec.Rest != "" {
		err = run(ctx, session, p.noting())
	}
	return inserted, err
}

func (s *Syncer) fillFit(ctx context.Context, session *dbconn.Session, p predicate) (inserted int64, err error) {
	if !s.fitter.careful(p) {
		return s.insert(ctx, session, p)
	}
	fits, tried := s.fitter.sessions.Load(session.ID())
	if !tried {
		return 0, errUnfitted
	}
	if fits != true {
		return s.insert(ctx, session, p)
	}
	into := *s.spec
	into.Shadow = s.spec.Shadow.Temporary(fitting)
	p.spec = &into
	if err := run(ctx, session, "DELETE FROM "+into.Shadow.Quoted()); err != nil {
		return 0, err
	}
	if _, err := (&Syncer{spec: &into}).insert(ctx, session, p); err != nil {
		return 0, err
	}
	var names []string
	for _, c := range s.spec.Columns {
		names = append(names, c.Shadow)
	}
	for _, c := range s.spec.Kept {
		names = append(names, c.Name)
	}
	columns := schema.QuoteAll(names)
	err = session.Laxly(ctx, func() (err error) {
		inserted, err = affected(session.Exec(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s",
			s.spec.Shadow.Quoted(), columns, columns, into.Shadow.Quoted())))
		return err
	})
	return inserted, err
}

// refit syncs one row that was refused once more, in the way in which the row that it replaces does not matter.
func (s *Syncer) refit(ctx context.Context, session *dbconn.Session, p predicate) (result Result, err error) {
	p.refit = true
	s.fitter.prepare(ctx, session, p)
	err = s.clear(ctx, session, "keys", func() (err error) {
		result, err = s.replace(ctx, session, p)
		if err == nil && s.spec.Again != "" {
			err = run(ctx, session, p.again())
		}
		return err
	})
	return result, err
}

// Number is the number of the rows. There may be no list.
func (u *Unfit) Number() int64 {
	if u == nil {
		return 0
	}
	n, _ := u.Some(0)
	return n
}
