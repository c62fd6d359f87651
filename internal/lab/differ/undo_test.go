package differ

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/park"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
)

// TestU4_Differ: a random change is taken back, and the undo too, while the application writes. After each the table has the
// definition of before, and each row is as the server converts it, or as it was if no session has changed it.
func TestU4_Differ(t *testing.T) {
	for _, version := range inTurn(t) {
		t.Run(version, func(t *testing.T) {
			r := newRunner(t, version)
			r.usual = 15
			r.include = map[string]bool{groupPlain: true, groupQuote: true, groupLimit: true}
			r.try = func(b *bench, ctx context.Context, c *Case, n int) Verdict { return b.tryUndo(ctx, t, c, n) }
			r.all()
			t.Log(r.tally.String())
		})
	}
}

// undoCase is a case whose change is taken back, more than once. It has a random way of its own: the case itself has the
// same table and ALTER as without an undo.
type undoCase struct {
	*bench
	tb      testing.TB
	rand    *rand.Rand
	pool    *dbconn.Pool
	c       *Case
	app     *session
	native  bool              // the server may make the change itself
	logs    bool              // triggers capture the changes
	killed  bool              // a process was
	parked  bool              // some rows are in a table of their own
	values  map[bool][]string // tables with the values that dropped columns had in such rows: of undos, and of redos
	mu      sync.Mutex
	notes   []string
	history []string // what was done, for the text of a verdict
}

// dropsTheTime says that the ALTER drops a column whose default is the time. A new row gets it at the time of the undo, and the
// model's row at another.
func (c *Case) dropsTheTime() bool {
	return slices.ContainsFunc(c.Columns, func(column Column) bool {
		return timed(column) && slices.ContainsFunc(c.Clauses, func(clause string) bool {
			return strings.HasPrefix(clause, "DROP COLUMN") && strings.Contains(strings.ReplaceAll(clause, `"`, "`"), quote(column.Name))
		})
	})
}

// hasEqualMembers says that a column has a type with the members 'é' and 'e', which are equal in most collations, or a SET with the
// member ”. Two of its values have the same text, and a copy of the model loses one of them.
func (c *Case) hasEqualMembers() bool {
	return slices.ContainsFunc(c.Columns, func(column Column) bool {
		sql := column.Kind.sql
		return strings.Contains(sql, "'é'") && strings.Contains(sql, "'e'") || column.Kind.family == sets && strings.Contains(sql, "''")
	})
}

// again is the bench with connections of its own, which have the settings of the case: the session that is the first to open a table
// decides how many digits a division in a generated column has, and others get the open table.
func (b *bench) again() (*bench, error) {
	admin, err := openAdministrator(b.server)
	return &bench{server: b.server, admin: admin, tables: b.tables}, err
}

// tryUndo runs a case, takes its change back, and takes that back.
func (b *bench) tryUndo(ctx context.Context, tb testing.TB, c *Case, n int) Verdict {
	if c.dropsTheTime() {
		return Verdict{Invalid, "a dropped column has the time as its default", ""}
	}
	if c.hasEqualMembers() {
		return Verdict{Invalid, "two members of a type are equal", ""}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*longest)
	defer cancel()
	pool, err := dbconn.Open(ctx, dbconn.Config{
		Network: b.server.Network, Address: b.server.Address, User: b.server.User, Password: dbconn.Secret(b.server.Password),
	}, nil)
	if err != nil {
		return Verdict{Wrong, "the bench fails", err.Error()}
	}
	defer pool.Close()
	b, err = b.again()
	if err != nil {
		return Verdict{Wrong, "the bench fails", err.Error()}
	}
	defer b.admin.Close()
	u := &undoCase{bench: b, tb: tb, pool: pool, c: c, values: map[bool][]string{}, rand: rand.New(rand.NewPCG(*seed, 1<<42+uint64(n)))}
	u.logs, u.native = u.in(8), n%6 == 5
	if u.in(2) {
		u.c = c.keeping()
		u.did("with a column to keep, and one to widen: %s\n%s", u.c.create(), u.c.alter())
	}
	v, err := u.try(ctx)
	v = orFailed(ctx, v, err)
	if v.Outcome == Wrong || *show {
		v.Text += "\n" + strings.Join(append(u.history, u.notes...), "\n")
	}
	return v
}

// in says yes once in n times.
func (u *undoCase) in(n int) bool { return u.rand.IntN(n) == 0 }

func (u *undoCase) did(format string, args ...any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.history = append(u.history, fmt.Sprintf(format, args...))
}

func (u *undoCase) try(ctx context.Context) (v Verdict, err error) {
	table := u.tables[0]
	if u.app, err = u.fresh(ctx, u.c, table.Schema); err != nil {
		return Verdict{}, err
	}
	defer u.app.close()
	for _, text := range u.c.statements(Early) {
		_ = u.app.exec(ctx, text)
	}
	before, err := u.read(ctx, table)
	if err != nil {
		return Verdict{Invalid, "unreadable", err.Error()}, nil
	}
	if err := u.change(ctx); err != nil {
		return Verdict{Both, "the change: " + reason(err), err.Error()}, nil
	}
	if saved, err := leftovers.New(u.pool, table, plan.Undoing).UndoOfAlter(ctx); errors.Is(err, leftovers.ErrNoUndo) || saved == nil {
		return Verdict{Invalid, "nothing to do", fmt.Sprint(err)}, nil
	}
	changed, err := u.read(ctx, table)
	if err != nil {
		return Verdict{Invalid, "unreadable", err.Error()}, nil
	}
	rounds := 2
	if u.in(3) {
		rounds = 4
	}
	for round := 0; round < rounds; round++ {
		want := before.create
		if round%2 == 1 {
			want = changed.create
		}
		if v, err := u.step(ctx, []string{"undo", "redo"}[round%2], want); v.Outcome != "" || err != nil {
			return v, err
		}
		if u.parked && round < 2 { // its rows come back, and go to the old definition once more
			rounds = 4
		}
	}
	if _, err := leftovers.EndUndo(ctx, u.pool, table, true); err != nil {
		return Verdict{Wrong, "the end of the undo fails", err.Error()}, nil
	}
	if left, err := u.names(ctx); err != nil || slices.ContainsFunc(left, func(n string) bool {
		return n != "t" && !strings.HasPrefix(n, "t_parked") && !(u.killed && strings.HasPrefix(n, "midstream_"))
	}) {
		return Verdict{Wrong, "left", fmt.Sprint(left)}, err
	}
	return Verdict{Outcome: Equal}, nil
}

// step takes back the last change of the table.
func (u *undoCase) step(ctx context.Context, what, want string) (Verdict, error) {
	table := u.tables[0]
	s, err := u.scene(ctx)
	if err != nil {
		return Verdict{Wrong, "the bench fails", what + ": " + err.Error()}, nil
	}
	h := u.how(s)
	u.did("%s: %s; pairs (former: present) %v", what, h, s.pairs)
	if u.parked && !s.native && u.in(2) {
		u.mend(ctx, s)
	}
	for range u.rand.IntN(6) {
		u.write(ctx, s)
	}
	if h.unrecorded {
		if err := u.forget(ctx, s); err != nil {
			return Verdict{Wrong, "the end of the undo fails", err.Error()}, nil
		}
	}
	if s.native {
		h.during = nil // the twin has no such writes
		if err := u.copyForServer(ctx, s); err != nil {
			return Verdict{}, err
		}
	}
	parks := h.park
	for try := 0; ; try++ {
		err = u.undo(ctx, s, h)
		unfit := errors.Is(err, park.ErrUnfit) || errors.Is(err, failure.ErrUnfit)
		switch {
		case h.killed: // it resumes, and may be killed again
			u.did("killed at %s: %v", h.at, err)
			h.killed, h.at, u.killed = false, "", true
			if h.nth = 0; try < 2 && u.in(3) {
				h.nth = 1 + u.rand.IntN(120)
			}
			if err == nil { // though its record may not say so
				break
			}
			if done, err := u.done(ctx, s, want); done || err != nil {
				u.did("it was done: %v", err)
				break
			}
			for range u.rand.IntN(3) {
				if !s.native { // the twin has no such writes
					u.write(ctx, s)
				}
			}
			u.did("again; killed before command %d", h.nth)
			continue
		case err != nil && s.native && (unfit || dbconn.Number(err) != 0): // of rows that were written since
			if now, err := u.read(ctx, table); err != nil || now.create != s.create || !slices.Equal(now.rows, s.rows(ctx)) {
				return Verdict{Wrong, what + ": a refused undo has changed the table", fmt.Sprint(err)}, nil
			}
			return Verdict{Decided, what + ": " + reason(err), err.Error()}, nil
		case unfit && !parks:
			parks, h.park, h.nth = true, true, 0
			u.did("unfit: %v", err)
			if now, err := u.read(ctx, table); err != nil || now.create != s.create || !slices.Equal(now.rows, s.rows(ctx)) {
				return Verdict{Wrong, what + ": a refused undo has changed the table", fmt.Sprint(err)}, nil
			}
			if try == 0 && u.in(3) {
				u.write(ctx, s)
			}
			continue
		case unfit: // a row that no table takes
			return Verdict{OnlyUs, what + ": " + reason(err), err.Error()}, nil
		case err != nil && planned(err) && h.cold: // a lazy undo may be possible
			h.cold = false
			u.did("not by all rows: %v", err)
			continue
		case err != nil && planned(err):
			return Verdict{OnlyUs, what + ": " + reason(err), err.Error()}, nil
		case err != nil:
			return Verdict{Wrong, what + " fails: " + reason(err), err.Error()}, nil
		}
		break
	}
	undone, err := u.read(ctx, table)
	if err != nil {
		return Verdict{}, err
	}
	if undone.create != want && !(s.native && inAnyOrder(undone.create) == inAnyOrder(want)) {
		return Verdict{Wrong, what + ": definition", undone.create + "\nwas\n" + want + "\nchanged\n" + s.create}, nil
	}
	if s.native {
		v, err := u.judgeNative(ctx, s, undone.rows)
		if v.Outcome != "" {
			v.Kind = what + " by the server: " + v.Kind
		}
		return v, err
	}
	v, err := u.judge(ctx, s, h, undone.rows)
	if v.Outcome != "" {
		v.Kind = what + ": " + v.Kind
	}
	return v, err
}

// inAnyOrder is a definition without the order of its indexes: the server's ALTER that brings one back makes it the last.
func inAnyOrder(create string) string {
	lines := strings.Split(create, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, ",")
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// done says that an undo had come to its end when its process was killed: the same command would be its redo.
func (u *undoCase) done(ctx context.Context, s *scene, want string) (bool, error) {
	now, err := u.read(ctx, u.tables[0])
	if err != nil || now.create != want {
		return false, err
	}
	names, err := u.names(ctx)
	if err != nil || slices.Contains(names, "t_midstream") {
		return false, err
	}
	saved, err := leftovers.New(u.pool, u.tables[0], plan.Undoing).UndoOfAlter(ctx)
	if s.swapped.IsZero() && errors.Is(err, leftovers.ErrNoUndo) { // it had not written one
		return false, nil
	}
	if err != nil || saved.Undo.Swapped.Equal(s.swapped) {
		return false, err
	}
	return saved.Undo.Native == nil || saved.Undo.Native.Step == checkpoint.Made, nil
}

// names are the tables of the database.
func (u *undoCase) names(ctx context.Context) ([]string, error) {
	return u.column(ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema = '"+u.tables[0].Schema+"' ORDER BY table_name")
}

// column reads the first column of an answer.
func (u *undoCase) column(ctx context.Context, query string) (list []string, err error) {
	rows, err := u.admin.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var s *string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		if s == nil {
			s = new(string)
		}
		list = append(list, *s)
	}
	return list, rows.Err()
}

// left says which tables and triggers are there and should not be, or are not there.
func (u *undoCase) left(ctx context.Context) (string, error) {
	saved, err := leftovers.New(u.pool, u.tables[0], plan.Undoing).UndoOfAlter(ctx)
	if err != nil {
		return "", err
	}
	names, err := u.names(ctx)
	if err != nil {
		return "", err
	}
	want := []string{"t", plan.UndoOf(u.tables[0]).Table}
	if saved.Undo.Native == nil {
		want = append(want, saved.Undo.Old)
	}
	triggers := "0"
	if saved.Undo.Log != "" {
		want, triggers = append(want, saved.Undo.Log), "3"
	}
	names = slices.DeleteFunc(names, func(n string) bool { // a killed process leaves its empty copy to midstream cleanup
		return u.parked && strings.HasPrefix(n, "t_parked") || u.killed && strings.HasPrefix(n, "midstream_")
	})
	slices.Sort(want)
	slices.Sort(names)
	if !slices.Equal(names, want) {
		return fmt.Sprintf("the tables are %v, want %v", names, want), nil
	}
	n, err := u.column(ctx, "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = '"+u.tables[0].Schema+"'")
	if err == nil && n[0] != triggers {
		return fmt.Sprintf("%s triggers, want %s", n[0], triggers), nil
	}
	return "", err
}
