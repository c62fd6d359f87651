package differ

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/together"
	"midstream/internal/lab/oracle"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// TestL11_DifferTogether: random tables that foreign keys join, changed as a group, have the outcome that the server's own ALTERs have
// without the foreign keys, which come back after them.
func TestL11_DifferTogether(t *testing.T) {
	chosen := strings.Split(*versions, ",")
	if *versions == flag.Lookup("versions").DefValue {
		chosen = []string{"9.7"}
	}
	for _, version := range chosen {
		t.Run(version, func(t *testing.T) {
			r := newRunner(t, version)
			numbers := make(chan int)
			var working sync.WaitGroup
			for _, b := range r.benches {
				working.Go(func() {
					for n := range numbers {
						r.clan(b, n)
					}
				})
			}
			from, to := *first, *first+cmp.Or(*count, 10)
			if *only >= 0 {
				from, to = *only, *only+1
			}
			for n := from; n < to; n++ {
				numbers <- n
			}
			close(numbers)
			working.Wait()
			t.Log(r.tally.String())
			// MySQL 8.0.12 and MariaDB have no step that swaps such tables: the plan refuses there.
			if can := serverOf(version).newest(); *only < 0 && can != (r.tally.counts[Equal] > 0) {
				t.Errorf("%d groups were changed", r.tally.counts[Equal])
			}
		})
	}
}

// clan runs a clan.
func (r *runner) clan(b *bench, n int) {
	c := makeClan(r.version, *seed, n)
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	v, err := b.tryClan(ctx, c)
	v = orFailed(ctx, v, err)
	if *show {
		r.Logf("case %d: %s %s\n%s\n%s", n, v.Outcome, v.Kind, v.Text, c)
	}
	if r.tally.count(v, n) && v.Outcome == Wrong {
		r.Errorf("case %d of seed %d on %s: %s: %.9000s\n%s\nrerun: make differ DIFFER=\"-versions %s -seed %d -case %d\"",
			n, *seed, r.version, v.Kind, v.Text, c, r.version, *seed, n)
	}
}

// tryClan runs a clan and judges it.
func (b *bench) tryClan(ctx context.Context, c *clan) (Verdict, error) {
	app, err := b.freshClan(ctx, c, b.tables[0].Schema)
	if err != nil {
		return Verdict{}, err
	}
	defer app.close()
	w := &writer{of: func(s Stage) []string { return c.writes[s] }, app: app, ctx: ctx, free: make(chan struct{})}
	ours := b.runClan(ctx, c, w)
	if ctx.Err() != nil {
		return Verdict{Wrong, "hang", fmt.Sprint(ours)}, nil
	}
	w.mu.Lock()
	log := w.log
	w.mu.Unlock()
	if left, err := b.left(ctx, ours == nil, c.names()...); left != "" || err != nil {
		return Verdict{Wrong, "left", fmt.Sprintf("left: %s; error: %v", left, ours)}, err
	}
	twin, err := b.freshClan(ctx, c, b.tables[1].Schema)
	if err != nil {
		return Verdict{}, err
	}
	defer twin.close()
	for _, d := range log {
		if n := dbconn.Number(twin.exec(ctx, d.sql)); n != d.number {
			return Verdict{Wrong, "a write", fmt.Sprintf("%s: error %d on the table, and %d on its twin; the run: %v", d.sql, d.number, n, ours)}, nil
		}
	}
	if ours != nil {
		if differences, err := b.compareClan(ctx, c); len(differences) > 0 || err != nil {
			return Verdict{Wrong, "touched", strings.Join(differences, "\n") + "\nerror: " + ours.Error()}, err
		}
	}
	theirs := b.nativeClan(ctx, c)
	switch {
	case theirs != nil && dbconn.Number(theirs) == 0:
		return Verdict{}, theirs
	case ours != nil && theirs != nil:
		return Verdict{Both, reason(ours), fmt.Sprintf("%v\nthe server: %v", ours, theirs)}, nil
	case ours == nil && theirs != nil:
		return Verdict{Wrong, fmt.Sprintf("done, and the server refuses with %d", dbconn.Number(theirs)), theirs.Error()}, nil
	case ours != nil && planned(ours):
		return Verdict{OnlyUs, reason(ours), ours.Error()}, nil
	case ours != nil:
		return Verdict{Wrong, "fails: " + reason(ours), ours.Error()}, nil
	}
	differences, err := b.compareClan(ctx, c)
	if len(differences) > 0 {
		return Verdict{Wrong, "differs", strings.Join(differences, "\n")}, nil
	}
	return Verdict{Outcome: Equal}, err
}

// freshClan makes a database with the tables and their first rows.
func (b *bench) freshClan(ctx context.Context, c *clan, database string) (*session, error) {
	for _, text := range []string{"DROP DATABASE IF EXISTS " + quote(database), "CREATE DATABASE " + quote(database)} {
		if _, err := b.admin.ExecContext(ctx, text); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
	}
	app, err := b.application(ctx, &Case{Mode: "STRICT_TRANS_TABLES"}, database)
	if err != nil {
		return nil, err
	}
	for _, text := range c.create() {
		if err := app.exec(ctx, text); err != nil {
			app.close()
			return nil, &invalid{err}
		}
	}
	for _, text := range c.writes[Before] {
		_ = app.exec(ctx, text) // the twin takes as much of it
	}
	return app, nil
}

// runClan has the engine change the tables as a group.
func (b *bench) runClan(ctx context.Context, c *clan, w *writer) error {
	pool, err := b.pool(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	var names []schema.Name
	var partners []plan.Partner
	for _, k := range c.tables {
		name := schema.Name{Schema: b.tables[0].Schema, Table: k.name}
		statement, err := ddl.ParseStatement("ALTER TABLE " + name.Quoted() + " " + strings.Join(k.clauses, ", "))
		if err != nil {
			return err
		}
		names, partners = append(names, name), append(partners, plan.Partner{Alter: statement.Alter})
	}
	var plans []*plan.Plan
	for i, k := range c.tables {
		others := slices.Delete(slices.Clone(partners), i, i+1)
		p, err := b.plan(ctx, pool, "ALTER TABLE "+names[i].Quoted()+" "+strings.Join(k.clauses, ", "), plan.Options{Together: others})
		if err != nil {
			return err
		}
		plans = append(plans, p)
	}
	group := together.New(names)
	controls := make([]*operator.Control, len(plans))
	for i := range controls {
		settings := operator.Settings{FullSpeed: true, When: operator.When{Hold: c.hold}}
		settings.RowCopy.Workers = 2
		controls[i] = operator.NewControl(settings)
		group.Member(i).Join(controls[i])
	}
	if c.hold {
		ended := make(chan struct{})
		defer close(ended)
		go func() {
			select {
			case <-w.free:
				_, _ = controls[0].CutOver(ctx, false) // else the runs do not end, which is seen
			case <-ended:
			}
		}()
	}
	return errors.Join(group.Run(ctx, func(ctx context.Context, i int) error {
		cfg := migration.Config{Together: group.Member(i)}
		cfg.RowCopy.MaxRows, cfg.RowCopy.MinRows = 3, 3
		_, err := migration.New(pool, b.binlog(), plans[i], cfg, controls[i], w.listen).Run(ctx)
		return err
	})...)
}

// nativeClan has the server change the twins.
func (b *bench) nativeClan(ctx context.Context, c *clan) error {
	s, err := b.session(ctx, b.tables[1].Schema)
	if err != nil {
		return err
	}
	defer s.close()
	for _, text := range c.native() {
		if err := s.exec(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

// compareClan compares each table with its twin.
func (b *bench) compareClan(ctx context.Context, c *clan) (list []string, err error) {
	for _, k := range c.tables {
		of := func(i int) schema.Name { return schema.Name{Schema: b.tables[i].Schema, Table: k.name} }
		differences, err := oracle.Differences(ctx, b.admin, of(0), of(1))
		if err != nil {
			return nil, fmt.Errorf("compare %s: %w", k.name, err)
		}
		for _, d := range differences {
			list = append(list, k.name+": "+d)
		}
	}
	return list, nil
}
