package differ

import (
	"cmp"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"midstream/internal/lab/mysqltest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	mysqltest.Main(m)
}

var (
	versions = flag.String("versions", "9.7,mariadb-10.11", "versions of the server, with commas between them")
	seed     = flag.Uint64("seed", 31, "of the cases")
	only     = flag.Int("case", -1, "run this case alone")
	first    = flag.Int("first", 0, "the first case")
	count    = flag.Int("cases", 0, "how many cases to run on each server; 0: 40, and 15 of an undo, which takes five times as long")
	atOnce   = flag.Int("at-once", 4, "how many cases to run at once")
	until    = flag.Duration("for", 0, "end after this time; 0: when all cases have been run")
	shrink   = flag.Bool("reduce", false, "reduce each kind of wrong case once")
	without  = flag.String("without", "", "groups of settings to leave out: "+strings.Join(Groups, ", "))
	show     = flag.Bool("show", false, "print each case and its verdict")
	refusals = flag.Bool("refusals", false, "print why each case is refused only by us")
)

// TestL11_Differ: a random case has the outcome that the server's own ALTER has.
func TestL11_Differ(t *testing.T) {
	for _, version := range strings.Split(*versions, ",") {
		t.Run(version, func(t *testing.T) {
			r := newRunner(t, version)
			r.all()
			t.Log(r.tally.String())
		})
	}
}

// TestL11_DifferKeep: a random case with a condition of --keep has the outcome of a DELETE of the other rows and the server's own ALTER.
func TestL11_DifferKeep(t *testing.T) {
	for _, version := range inTurn(t) {
		t.Run(version, func(t *testing.T) {
			r := newRunner(t, version)
			r.make = func(n int) *Case { return Make(version, *seed, n, r.include).WithCondition(*seed, n) }
			r.all()
			t.Log(r.tally.String())
		})
	}
}

// TestL11_DifferSet: a random case with expressions of --set has the outcome of an UPDATE and the server's own ALTER.
func TestL11_DifferSet(t *testing.T) {
	for _, version := range inTurn(t) {
		t.Run(version, func(t *testing.T) {
			r := newRunner(t, version)
			r.make = func(n int) *Case { return Make(version, *seed, n, r.include).WithExpressions(*seed, n) }
			r.all()
			t.Log(r.tally.String())
		})
	}
}

// TestL11_DifferByValue: a random case without the key that identifies the rows has the outcome that the server's own ALTER has.
func TestL11_DifferByValue(t *testing.T) {
	for _, version := range inTurn(t) {
		t.Run(version, func(t *testing.T) {
			r := newRunner(t, version)
			r.make = func(n int) *Case { return Make(version, *seed, n, r.include).WithoutUniqueKey() }
			r.all()
			t.Log(r.tally.String())
		})
	}
}

// TestL11_DifferDroppedKey: a random case that drops the columns of the key has the outcome that the server's own ALTER has.
func TestL11_DifferDroppedKey(t *testing.T) {
	for _, version := range inTurn(t) {
		t.Run(version, func(t *testing.T) {
			r := newRunner(t, version)
			r.make = func(n int) *Case { return Make(version, *seed, n, r.include).WithoutKeyColumns() }
			r.all()
			t.Log(r.tally.String())
		})
	}
}

// inTurn are the versions that were chosen, or the one that has its turn.
func inTurn(t *testing.T) []string {
	list := strings.Split(*versions, ",")
	if *versions == flag.Lookup("versions").DefValue {
		list = mysqltest.InTurn(t, list...)
	}
	return list
}

// runner runs the cases of a version.
type runner struct {
	*testing.T
	version string
	usual   int // how many cases if nobody says it; 0: 40
	server  *mysqltest.Instance
	benches []*bench
	include map[string]bool
	was     []string // assignments that undo the settings
	tally   tally
	reduced map[string]bool
	make    func(n int) *Case
	try     func(b *bench, ctx context.Context, c *Case, n int) Verdict
}

func newRunner(t *testing.T, version string) *runner {
	r := &runner{T: t, version: version, server: mysqltest.Server(t, version), include: map[string]bool{}, reduced: map[string]bool{},
		try: func(b *bench, ctx context.Context, c *Case, _ int) Verdict { return b.Try(ctx, c) }}
	r.make = func(n int) *Case { return Make(version, *seed, n, r.include) }
	for _, g := range Groups {
		r.include[g] = !slices.Contains(strings.Split(*without, ","), g)
	}
	admin := administrator(t, r.server)
	n := *atOnce
	if *only >= 0 {
		n = 1
	}
	for i := range n {
		r.benches = append(r.benches, newBench(r.server, admin, i))
	}
	r.summer()
	r.quiet()
	r.remember()
	t.Cleanup(func() {
		r.set(r.was)
		for _, b := range r.benches {
			for _, name := range b.tables {
				r.exec("DROP DATABASE IF EXISTS " + quote(name.Schema))
			}
		}
	})
	return r
}

// administrator is a pool of connections that the settings of the cases do not reach.
func administrator(t *testing.T, server *mysqltest.Instance) *sql.DB {
	db, err := openAdministrator(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func openAdministrator(server *mysqltest.Instance) (*sql.DB, error) {
	config := server.Config("")
	config.Params = map[string]string{"autocommit": "1", "completion_type": "0", "sql_big_selects": "1", "lock_wait_timeout": "20",
		"sql_select_limit": "18446744073709551615", "sql_safe_updates": "0"}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func (r *runner) exec(text string) {
	r.Helper()
	s, err := r.benches[0].session(context.Background(), "", text)
	if err != nil {
		r.Fatal(err)
	}
	s.close()
}

func (r *runner) set(assignments []string) {
	r.Helper()
	for _, a := range assignments {
		r.exec("SET GLOBAL " + a)
	}
}

// quiet spares the server work that no case is about: counts of its own memory, files and mutexes, and threads that
// count the rows of a small table.
func (r *runner) quiet() {
	statements := []string{"UPDATE performance_schema.setup_instruments SET enabled = 'NO'" +
		" WHERE name LIKE 'memory/%' OR name LIKE 'wait/io/%' OR name LIKE 'wait/synch/%'"}
	if serverOf(r.version).newest() {
		statements = append(statements, "SET GLOBAL innodb_parallel_read_threads = 1")
	}
	for _, text := range statements {
		if _, err := r.benches[0].admin.Exec(text); err != nil {
			r.Fatal(text, err)
		}
	}
}

// remember reads what the settings are before the cases.
func (r *runner) remember() {
	names := []string{"sql_mode"}
	for _, v := range variables {
		if v.only == nil || v.only(serverOf(r.version)) {
			names = append(names, v.name)
		}
	}
	for _, name := range names {
		var value string
		if err := r.benches[0].admin.QueryRow("SELECT @@GLOBAL." + name).Scan(&value); err != nil {
			r.Fatal(name, err)
		}
		if strings.Trim(value, "0123456789") != "" || value == "" {
			value = "'" + value + "'"
		}
		r.was = append(r.was, name+" = "+value)
	}
}

// summer makes the zone Midstream/Summer, whose clocks go forward in March and back in October of 2020.
func (r *runner) summer() {
	var n int
	if err := r.benches[0].admin.QueryRow(
		"SELECT COUNT(*) FROM mysql.time_zone_name WHERE name = 'Midstream/Summer'",
	).Scan(
		&n,
	); err != nil ||
		n > 0 {
		return
	}
	s, err := r.benches[0].session(
		context.Background(), "", "INSERT INTO mysql.time_zone (use_leap_seconds) VALUES ('N')",
		"SET @zone = LAST_INSERT_ID()",
		"INSERT INTO mysql.time_zone_name (name, time_zone_id) VALUES ('Midstream/Summer', @zone)",
		"INSERT INTO mysql.time_zone_transition_type (time_zone_id, transition_type_id, `offset`, is_dst, abbreviation) VALUES (@zone, 0, 3600, 0, 'CET'), (@zone, 1, 7200, 1, 'CEST')",
		"INSERT INTO mysql.time_zone_transition (time_zone_id, transition_time, transition_type_id) VALUES (@zone, 1585443600, 1), (@zone, 1603587600, 0)",
	)
	if err != nil {
		r.Fatal(err)
	}
	s.close()
}

// all runs the cases, batch by batch.
func (r *runner) all() {
	from, to := *first, *first+cmp.Or(*count, r.usual, 40)
	if *only >= 0 {
		from, to = *only, *only+1
	}
	end := time.Now().Add(*until)
	told := time.Now()
	for from < to && (*until == 0 || time.Now().Before(end)) {
		batch := min(to, (from/PerBatch+1)*PerBatch)
		r.batch(from, batch)
		from = batch
		if time.Since(told) > time.Minute {
			told = time.Now()
			fmt.Fprintf(os.Stderr, "%s, %s: %s\n", r.version, told.Format("15:04:05"), r.tally.String())
		}
	}
}

// batch runs cases that have the same settings.
func (r *runner) batch(from, to int) {
	r.set(r.was)
	r.set(r.make(from).Settings)
	numbers := make(chan int)
	var working sync.WaitGroup
	for _, b := range r.benches {
		working.Go(func() {
			for n := range numbers {
				r.one(b, n)
			}
		})
	}
	for n := from; n < to; n++ {
		numbers <- n
	}
	close(numbers)
	working.Wait()
	r.set(r.was)
}

// one runs a case.
func (r *runner) one(b *bench, n int) {
	c := r.make(n)
	v := r.try(b, context.Background(), c, n)
	if *show {
		r.Logf("case %d: %s %s\n%s\n%s", n, v.Outcome, v.Kind, v.Text, c.Folder())
	}
	if *refusals && v.Outcome == OnlyUs {
		r.Logf("case %d: refused only by us: %s\n%s", n, v.Text, strings.Join(c.Clauses, ", "))
	}
	if !r.tally.count(v, n) || v.Outcome != Wrong {
		return
	}
	if *shrink {
		c = b.Reduce(c, v)
	}
	r.Errorf(
		"case %d of seed %d on %s: %s: %.9000s\n%s\nrerun: make differ DIFFER=\"-versions %s -seed %d -case %d -reduce\"",
		n, *seed, r.version, v.Kind, v.Text, c.Folder(), r.version, *seed, n,
	)
}
