package differ

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/park"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/oracle"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// TestU4_Differ: a random change is taken back, and the undo too. After the undo the table has its former definition,
// and each row is as it was, or as the server converts the new table's row. After the redo it has the new definition.
func TestU4_Differ(t *testing.T) {
	for _, version := range strings.Split(*versions, ",") {
		t.Run(version, func(t *testing.T) {
			r := newRunner(t, version)
			r.include = map[string]bool{groupPlain: true}
			r.try = func(b *bench, ctx context.Context, c *Case, n int) Verdict { return b.tryUndo(ctx, c, n%2 == 1) }
			r.all()
			t.Log(r.tally.String())
		})
	}
}

// undoCase is a case whose change is taken back.
type undoCase struct {
	*bench
	pool *dbconn.Pool
	c    *Case
	cold bool
	mu   sync.Mutex
	// saved is what the undo table had before the undo.
	key, former []string
	// moved means that a key may have changed: in a lazy undo the values of dropped columns go with the row.
	moved bool
	pairs map[string]string
	notes []string
}

// tryUndo runs a case, takes its change back, and takes that back.
func (b *bench) tryUndo(ctx context.Context, c *Case, cold bool) Verdict {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	pool, err := dbconn.Open(ctx, dbconn.Config{
		Network: b.server.Network, Address: b.server.Address, User: b.server.User, Password: dbconn.Secret(b.server.Password),
	}, nil)
	if err != nil {
		return Verdict{Wrong, "the bench fails", err.Error()}
	}
	defer pool.Close()
	u := &undoCase{bench: b, pool: pool, c: c, cold: cold}
	v, err := u.try(ctx)
	v = orFailed(ctx, v, err)
	if v.Outcome == Wrong {
		v.Text += "\n" + strings.Join(u.notes, "\n")
	}
	return v
}

func (u *undoCase) try(ctx context.Context) (Verdict, error) {
	table := u.tables[0]
	app, err := u.fresh(ctx, u.c, table.Schema)
	if err != nil {
		return Verdict{}, err
	}
	defer app.close()
	for _, text := range u.c.statements(Early) {
		_ = app.exec(ctx, text)
	}
	before, err := u.read(ctx, table)
	if err != nil {
		return Verdict{Invalid, "unreadable", err.Error()}, nil
	}
	if err := u.change(ctx); err != nil {
		return Verdict{Both, "the change: " + reason(err), err.Error()}, nil
	}
	changed, err := u.read(ctx, table)
	if err != nil {
		return Verdict{Invalid, "unreadable", err.Error()}, nil
	}
	if err := u.note(ctx); err != nil {
		return Verdict{}, err
	}
	for _, s := range []Stage{Late, Held} {
		for _, text := range u.c.statements(s) {
			_ = app.exec(ctx, text)
			set, _, _ := strings.Cut(text, " WHERE ")
			u.moved = u.moved || strings.HasPrefix(text, "UPDATE") &&
				slices.ContainsFunc(u.key, func(k string) bool { return strings.Contains(set, schema.Quote(k)) })
		}
	}
	last, err := u.read(ctx, table)
	if err != nil {
		return Verdict{Invalid, "unreadable", err.Error()}, nil
	}
	parked := false
	err = u.undo(ctx, false)
	if errors.Is(err, park.ErrUnfit) || errors.Is(err, migration.ErrUnfit) {
		if now, err := u.read(ctx, table); err != nil || now.create != last.create || !slices.Equal(now.rows, last.rows) {
			return Verdict{Wrong, "a refused undo has changed the table", fmt.Sprint(err)}, nil
		}
		parked, err = true, u.undo(ctx, true)
	}
	if err != nil {
		if planned(err) {
			return Verdict{OnlyUs, "undo: " + reason(err), err.Error()}, nil
		}
		return Verdict{Wrong, "undo fails: " + reason(err), err.Error()}, nil
	}
	undone, err := u.read(ctx, table)
	if err != nil {
		return Verdict{}, err
	}
	if undone.create != before.create {
		return Verdict{Wrong, "undo: definition", undone.create + "\nwas\n" + before.create + "\nchanged\n" + changed.create}, nil
	}
	if v, err := u.judge(ctx, before, undone, last, parked); err != nil || v.Outcome != "" {
		return v, err
	}
	if err := u.undo(ctx, false); err != nil {
		if planned(err) {
			return Verdict{OnlyUs, "redo: " + reason(err), err.Error()}, nil
		}
		if errors.Is(err, park.ErrUnfit) || errors.Is(err, migration.ErrUnfit) {
			return Verdict{Decided, "redo: unfit", err.Error()}, nil
		}
		return Verdict{Wrong, "redo fails: " + reason(err), err.Error()}, nil
	}
	redone, err := u.read(ctx, table)
	switch {
	case err != nil:
		return Verdict{}, err
	case redone.create != changed.create:
		return Verdict{Wrong, "redo: definition", redone.create + "\nwas\n" + changed.create}, nil
	case !u.cold && !parked && !slices.Equal(redone.rows, last.rows):
		return Verdict{Wrong, "redo: rows", fmt.Sprintf("%q\nwere\n%q", redone.rows, last.rows)}, nil
	}
	return Verdict{Outcome: Equal}, nil
}

// change runs the case's ALTER, with an undo.
func (u *undoCase) change(ctx context.Context) error {
	p, err := u.plan(ctx, u.pool, "ALTER TABLE "+u.tables[0].Quoted()+" "+u.c.alter())
	if err != nil {
		return err
	}
	if p.NoWayBack != "" { // a run with --undo is refused
		return &plan.Refused{Table: u.tables[0].String(), Blocking: []plan.Risk{{Code: plan.CodeUndo, What: p.NoWayBack, Blocking: true}}}
	}
	return u.work(ctx, p)
}

func (u *undoCase) undo(ctx context.Context, parks bool) error {
	server := planning.Server{Pool: u.pool, Address: u.server.Address, Binlog: u.at()}
	p, err := planning.Make(ctx, server, &ddl.Alter{Table: u.tables[0]}, planning.Options{
		Undo: &planning.Undo{Cold: u.cold, Park: parks}, Config: undoConfig(), FactsOnly: true,
	})
	if err != nil {
		return err
	}
	return u.work(ctx, p)
}

func undoConfig() (cfg migration.Config) {
	cfg.RowCopy.MaxRows, cfg.RowCopy.MinRows, cfg.Undo = 3, 3, longest
	return cfg
}

func (u *undoCase) at() binlog.Server {
	return binlog.Server{Network: u.server.Network, Address: u.server.Address, User: u.server.User, Password: u.server.Password}
}

func (u *undoCase) work(ctx context.Context, p *plan.Plan) error {
	settings := operator.Settings{FullSpeed: true, When: operator.When{Park: p.Back != nil && p.Back.Park}}
	settings.RowCopy.Workers = 2
	_, err := migration.New(u.pool, u.at(), p, undoConfig(), operator.NewControl(settings), u.listen).Run(ctx)
	return err
}

// listen remembers notes, for the text of a verdict.
func (u *undoCase) listen(e event.Event) {
	if n, is := e.(event.Note); is {
		u.mu.Lock()
		u.notes = append(u.notes, n.Text)
		u.mu.Unlock()
	}
}

// note reads how columns and keys of the two tables belong together.
func (u *undoCase) note(ctx context.Context) error {
	saved, err := leftovers.New(u.pool, u.tables[0], plan.Undoing).UndoOfAlter(ctx)
	if err != nil {
		return err
	}
	u.pairs = map[string]string{}
	for fresh, former := range saved.Undo.Pairs {
		u.pairs[former] = fresh
	}
	u.former = nil
	for _, c := range saved.Start.Columns {
		if c.Generated == schema.NotGenerated {
			u.former = append(u.former, c.Name)
		}
	}
	old, err := schema.Load(ctx, u.pool.DB(), u.tables[0].Sibling(saved.Undo.Old))
	if err != nil {
		return err
	}
	u.key = nil
	for _, k := range old.Keys {
		if k.Name == saved.Start.Key {
			for _, p := range k.Parts {
				u.key = append(u.key, p.Column)
			}
		}
	}
	return nil
}

// content is a table's definition, and its rows in an order of their texts.
type content struct {
	create string
	rows   []string
}

func (u *undoCase) read(ctx context.Context, table schema.Name) (content, error) {
	var c content
	definition, err := schema.Load(ctx, u.pool.DB(), table)
	if err != nil {
		return c, err
	}
	create, _ := schema.SplitAutoIncrement(definition.Create)
	c.create = oracle.Plainer(create)
	var columns []string
	for _, column := range definition.Columns {
		columns = append(columns, column.Name)
	}
	c.rows, err = u.rows(ctx, table, columns)
	return c, err
}

// rows reads columns of a table as texts.
func (u *undoCase) rows(ctx context.Context, table schema.Name, columns []string) ([]string, error) {
	exprs := make([]string, len(columns))
	for i, c := range columns {
		exprs[i] = "IFNULL(HEX(CAST(" + schema.Quote(c) + " AS BINARY)), 'NULL')"
	}
	found, err := u.admin.QueryContext(ctx, "SELECT CAST(CONCAT_WS(' ', "+strings.Join(exprs, ", ")+") AS CHAR CHARACTER SET ascii) FROM "+table.Quoted())
	if err != nil {
		return nil, err
	}
	defer found.Close()
	rows := []string{}
	for found.Next() {
		var row sql.NullString
		if err := found.Scan(&row); err != nil {
			return nil, err
		}
		rows = append(rows, row.String)
	}
	slices.Sort(rows)
	return rows, found.Err()
}

// judge compares the rows after the undo with what the server makes of the new table's rows (the model), and with the rows
// from before the change: a lazy undo leaves those that nobody has touched.
func (u *undoCase) judge(ctx context.Context, before, undone, last content, parked bool) (Verdict, error) {
	if !parked && len(undone.rows) != len(last.rows) {
		return Verdict{Wrong, "undo: number of rows", fmt.Sprintf("%d rows, and there were %d", len(undone.rows), len(last.rows))}, nil
	}
	if parked {
		return Verdict{}, nil
	}
	model, err := u.model(ctx)
	if err != nil {
		return Verdict{}, nil // the server can't insert the rows as they are
	}
	for _, row := range undone.rows {
		if !slices.Contains(model, row) && (u.cold || !slices.Contains(before.rows, row) && !u.moved) {
			return Verdict{Wrong, "undo: rows", fmt.Sprintf("%q is neither in\n%q\nnor in\n%q", row, model, before.rows)}, nil
		}
	}
	return Verdict{}, nil
}

// model makes the twin from the new table: kept columns from the rows before the change, the others as the server
// converts them.
func (u *undoCase) model(ctx context.Context) ([]string, error) {
	twin, undone := u.tables[1], plan.UndoneOf(u.tables[0])
	app, err := u.fresh(ctx, u.c, twin.Schema)
	if err != nil {
		return nil, err
	}
	defer app.close()
	for _, text := range u.c.statements(Early) {
		_ = app.exec(ctx, text)
	}
	var names, values, on []string
	for _, c := range u.former {
		names = append(names, schema.Quote(c))
		if fresh, paired := u.pairs[c]; paired {
			values = append(values, "n."+schema.Quote(fresh))
		} else {
			values = append(values, "s."+schema.Quote(c))
		}
	}
	for _, k := range u.key {
		fresh, paired := u.pairs[k]
		if !paired {
			return nil, errors.New("the key has no pair")
		}
		on = append(on, fmt.Sprintf("n.%s <=> s.%s", schema.Quote(fresh), schema.Quote(k)))
	}
	if len(on) == 0 {
		return nil, errors.New("no key")
	}
	for _, text := range []string{
		"SET SESSION sql_mode = CONCAT(@@GLOBAL.sql_mode, ',STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO')",
		"CREATE TABLE before_it LIKE t",
		"INSERT INTO before_it (" + strings.Join(names, ", ") + ") SELECT " + strings.Join(names, ", ") + " FROM t",
		"DELETE FROM t",
		fmt.Sprintf("INSERT INTO t (%s) SELECT %s FROM %s n LEFT JOIN before_it s ON %s",
			strings.Join(names, ", "), strings.Join(values, ", "), undone.Quoted(), strings.Join(on, " AND ")),
	} {
		if err := app.exec(ctx, text); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
	}
	model, err := u.read(ctx, twin)
	return model.rows, err
}
