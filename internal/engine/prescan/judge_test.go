package prescan_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/key"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/prescan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// kinds are types. Each has values, some of which another type accepts and some of which it
// refuses.
var kinds = []struct {
	kind   string
	values []string
}{
	{"smallint", []string{"-1", "0", "7", "200", "2000", "-30000"}},
	{"int unsigned", []string{"0", "1999", "4294967295", "3"}},
	{"decimal(8,3)", []string{"0.5", "-0.5", "127.499", "127.5", "99999.999", "-128.501"}},
	{"double", []string{"0.1", "-128.5", "1e20", "255.5", "1e300"}},
	{"bit(12)", []string{"0", "255", "4095"}},
	{"tinyint", []string{"-128", "127", "0"}},
	{"year", []string{"0", "1901", "2155"}},
	{
		"varchar(12)",
		[]string{
			"''", "'a'", "'ab '", "'127'", "'128'", "' 7 '", "'1e3'", "'abcdefgh'", "'ä€'", "'2020-01-02'", "'[1]'",
			"'b,a'", "'0'", "'3'", "'12:30'",
		},
	},
	{"varchar(4)", []string{"''", "'abcd'", "'a   '"}},
	{"char(4) charset latin1", []string{"'ä'", "'abcd'", "'200'"}},
	{"text", []string{"'abcde'", "'a       '", "'{}'", "'x😀'", "'a'"}},
	{"tinytext", []string{"'abc'", "REPEAT('ä', 127)"}},
	{"varbinary(8)", []string{"'abc'", "0xFF", "'ab      '", "'12'", "0xC3A4"}},
	{"binary(5)", []string{"'abc'", "'12345'"}},
	{"enum('a','b','zz')", []string{"'a'", "'zz'"}},
	{"enum('A','c')", []string{"'A'", "'c'"}},
	{"set('a','b','zz')", []string{"''", "'a,b'", "'zz'"}},
	{"date", []string{"'2020-01-02'", "'0000-00-00'", "'2020-00-03'", "'1960-01-01'"}},
	{
		"datetime(3)",
		[]string{"'2020-01-02 03:04:05.678'", "'1969-12-31 23:59:59.999'", "'9999-12-31 23:59:59.999'", "'2038-01-19 03:14:07.999'"},
	},
	{"timestamp", []string{"'2020-01-02 03:04:05'"}},
	{"time", []string{"'12:30:00'", "'-800:00:00'"}},
	{"json", []string{"'{}'", "'12'", "'\"a\"'"}},
}

// TestRulesAsTheServerJudges: for every pair of types, the prescan names exactly the rows for which
// a sync's INSERT .. SELECT is refused, and its SELECTs list exactly these rows. If the definitions
// alone prove that rows fit, the server refuses none.
func TestRulesAsTheServerJudges(t *testing.T) {
	onEach(t, func(b *bench) {
		pool := b.open()
		defer pool.Close()
		session, err := pool.Session(b.ctx())
		if err != nil {
			b.Fatal(err)
		}
		defer session.Close()
		tables := make([]*schema.Table, len(kinds))
		for i, k := range kinds {
			name := schema.Name{Schema: b.schema, Table: fmt.Sprintf("t%d", i)}
			b.exec(
				fmt.Sprintf(
					"CREATE TABLE %s (id INT PRIMARY KEY, v %s) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci",
					name.Quoted(), k.kind,
				),
			)
			for n, v := range k.values {
				b.exec(fmt.Sprintf("INSERT INTO %s VALUES (%d, %s)", name.Quoted(), n+1, v))
			}
			b.exec(fmt.Sprintf("CREATE TABLE %s.n%d LIKE %s", b.schema, i, name.Quoted()))
			if tables[i], err = schema.Load(b.ctx(), pool.DB(), name); err != nil {
				b.Fatal(err)
			}
		}
		for i, from := range kinds {
			for j, to := range kinds {
				spec, fits := b.specOf(tables[i], tables[j], to.kind)
				var refused []string
				for n := range from.values {
					_, err := session.Exec(b.ctx(), fmt.Sprintf("INSERT INTO %s.n%d SELECT id + %d, %s FROM %s WHERE id = %d",
						b.schema, j, 1000*i, spec.Sync.Columns[1].Expr, tables[i].Name.Quoted(), n+1))
					if err != nil {
						refused = append(refused, fmt.Sprint(n+1))
					}
				}
				if fits && len(refused) > 0 {
					b.Errorf("%s fits %s by the definitions, but the server refuses %v", from.kind, to.kind, refused)
				}
				findings, err := prescan.New(
					prescan.Config{Rows: 5}, prescan.Deps{Pool: pool, Spec: spec, Emit: event.Discard, Gate: atOnce},
				).Run(
					b.ctx(),
				)
				if err != nil {
					b.Fatalf("%s to %s: %v", from.kind, to.kind, err)
				}
				found := b.listed(findings)
				slices.Sort(refused)
				if !slices.Equal(found, refused) {
					b.Errorf("%s to %s: found %v, the server refuses %v: %+v", from.kind, to.kind, found, refused, findings)
				}
			}
		}
	})
}

// atOnce is a gate that is always open.
func atOnce(context.Context, int, time.Duration) error { return nil }

// specOf describes how the rows of one table would be inserted into another.
func (b *bench) specOf(from, to *schema.Table, kind string) (spec *prescan.Spec, fits bool) {
	b.Helper()
	alter, err := ddl.ParseClauses(from.Name, "MODIFY v "+kind)
	if err != nil {
		b.Fatal(err)
	}
	p := plan.Plan{Source: from, Alter: alter, Key: plan.Key{Name: "PRIMARY", Parts: []key.Part{{Column: from.Columns[0]}}}}
	columns, err := p.Columns(to)
	if err != nil {
		b.Fatal(err)
	}
	codec, err := p.Key.Codec()
	if err != nil {
		b.Fatal(err)
	}
	spec = &prescan.Spec{
		Source: from,
		Shadow: to,
		Sync:   &rowsync.Spec{Source: from.Name, Shadow: to.Name, Key: codec, SourceIndex: "PRIMARY"},
	}
	for n, m := range columns.Mappings {
		spec.Sync.Columns = append(spec.Sync.Columns, rowsync.Column{Shadow: m.Shadow, Expr: m.Expr})
		spec.Columns = append(spec.Columns, prescan.Column{From: from.Columns[n], To: to.Columns[n], Fits: m.Fits,
			Kept: m.Change == plan.Same, Converted: m.Change == plan.Converted})
	}
	return spec, columns.Mappings[1].Fits
}

// listed runs the SELECTs of findings and returns the ids.
func (b *bench) listed(findings []event.Finding) []string {
	b.Helper()
	var all []string
	for _, f := range findings {
		ids := b.texts(f.Query)
		if int(f.Rows) != len(ids) {
			b.Errorf("%d rows, but %v are listed by %s", f.Rows, ids, f.Query)
		}
		all = append(all, ids...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestWorkerHeldStill: a worker that must wait while the others take the last range doesn't prevent
// the prescan from ending.
func TestWorkerHeldStill(t *testing.T) {
	onEach(t, func(b *bench) {
		pool := b.open()
		defer pool.Close()
		var tables [2]*schema.Table
		for i, kind := range []string{"INT", "TINYINT"} {
			name := schema.Name{Schema: b.schema, Table: fmt.Sprintf("h%d", i)}
			b.exec(fmt.Sprintf("CREATE TABLE %s (id INT PRIMARY KEY, v %s)", name.Quoted(), kind))
			b.exec(fmt.Sprintf("INSERT INTO %s VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)", name.Quoted()))
			var err error
			if tables[i], err = schema.Load(b.ctx(), pool.DB(), name); err != nil {
				b.Fatal(err)
			}
		}
		spec, _ := b.specOf(tables[0], tables[1], "TINYINT")
		hold := func(ctx context.Context, worker int, _ time.Duration) error {
			if worker == 0 {
				return nil
			}
			<-ctx.Done()
			return context.Cause(ctx)
		}
		ctx, cancel := context.WithTimeout(b.ctx(), time.Minute)
		defer cancel()
		s := prescan.New(prescan.Config{Rows: 1, Workers: 3}, prescan.Deps{Pool: pool, Spec: spec, Emit: event.Discard, Gate: hold})
		if findings, err := s.Run(ctx); err != nil || len(findings) > 0 || s.Rows() != 5 {
			b.Errorf("%v, %v, %d rows", findings, err, s.Rows())
		}
	})
}
