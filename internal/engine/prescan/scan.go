package prescan

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"midstream/internal/engine/event"
	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
)

// Config of a prescan.
type Config struct {
	Workers int // defaults to 2
	Rows    int // of a range; defaults to 10,000
	// Shown is the number of keys in a finding. Defaults to 10.
	Shown int
	// Listed is the number of rows of a kind that are listed one by one. Defaults to 1,000.
	Listed int
}

// WithDefaults returns the config, with defaults for the fields that are not set.
func (c Config) WithDefaults() Config {
	if c.Workers <= 0 {
		c.Workers = 2
	}
	if c.Rows <= 0 {
		c.Rows = 10_000
	}
	if c.Shown <= 0 {
		c.Shown = 10
	}
	if c.Listed <= 0 {
		c.Listed = 1000
	}
	return c
}

// Deps are what a prescan works with.
type Deps struct {
	Pool *dbconn.Pool
	Spec *Spec
	Emit event.Listener
	// Gate blocks while the worker with that number, the first being 0, must hold still after
	// a range that took so long.
	Gate func(ctx context.Context, worker int, took time.Duration) error
	// Chunk is the time that the next range should take. If it is nil, a range has Config.Rows.
	Chunk func() time.Duration
	// Patience is how long a row may have no parent by a foreign key that the ALTER adds. Defaults to a minute.
	Patience time.Duration
}

// Scanner looks at one source. Its counters are safe for concurrent use.
type Scanner struct {
	cfg      Config
	deps     Deps
	work     *work
	findings findings
	orphans  orphans

	next   sync.Mutex // held to take a range
	ranges *rowsync.Ranges
	taken  int

	rows    atomic.Int64
	looking atomic.Int64
}

// New returns a scanner that has looked at nothing.
func New(cfg Config, deps Deps) *Scanner {
	cfg = cfg.WithDefaults()
	if deps.Patience <= 0 {
		deps.Patience = defaultPatience
	}
	return &Scanner{cfg: cfg, deps: deps, work: workOf(deps.Spec), findings: findings{cfg: cfg, codec: deps.Spec.Sync.Key},
		ranges: rowsync.NewRanges(deps.Spec.Sync, cfg.Rows, deps.Chunk)}
}

// Needed reports whether the definitions alone don't prove that the shadow takes every row.
func (s *Scanner) Needed() bool {
	return s.scans() || len(s.work.keys) > 0 || s.deps.Spec.Sync.ByValue
}

// scans reports whether the rows are looked at range by range.
func (s *Scanner) scans() bool {
	return len(s.work.trials)+len(s.work.losses)+len(s.work.held) > 0 || s.work.partitions != nil
}

// Rows returns the number of the source's rows that were checked so far.
func (s *Scanner) Rows() int64 { return s.rows.Load() }

// InFlight returns the number of ranges that are being checked, and of statements over the complete
// table.
func (s *Scanner) InFlight() int { return int(s.looking.Load()) }

// Run looks at every row once and returns what it found. It may be called once.
func (s *Scanner) Run(ctx context.Context) ([]event.Finding, error) {
	if s.scans() {
		err := s.scanAll(ctx)
		for errors.Is(err, errDisproved) {
			s.findings.all, s.taken, s.orphans.found = nil, 0, nil
			s.ranges = rowsync.NewRanges(s.deps.Spec.Sync, s.cfg.Rows, s.deps.Chunk)
			s.rows.Store(0)
			err = s.scanAll(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("prescan: %w", err)
		}
	}
	if err := s.settleOrphans(ctx); err != nil {
		return nil, fmt.Errorf("prescan: look again for parents: %w", err)
	}
	if err := s.lookForCrowds(ctx); err != nil {
		return nil, fmt.Errorf("prescan: count the rows of each value: %w", err)
	}
	for _, k := range s.work.keys {
		if err := s.lookForTwins(ctx, k); err != nil {
			return nil, fmt.Errorf("prescan: look for duplicates under key %s: %w", k.Name, err)
		}
	}
	return s.findings.events(s.deps.Spec), nil
}

// errDisproved means that rows were counted by a rule that the server has disproved since.
var errDisproved = errors.New("the server accepts a value that a rule expects it to refuse")

// setup returns the statements that make a session fit for prescanning.
func (s *Scanner) setup(stages ...*stage) []string {
	// A SELECT may take any time, and an index may be sorted by complete values.
	setup := []string{dbconn.NoTimeLimit, "SET SESSION max_sort_length = 8388608", "SET SESSION group_concat_max_len = 1048576"}
	setup = append(setup, s.deps.Spec.Sync.Values.Setup()...)
	for _, st := range stages {
		setup = append(setup, dbconn.Lenient(st.create()...)...)
	}
	return append(setup, rowsync.Setup...)
}

func (s *Scanner) scanAll(ctx context.Context) error {
	workers, ctx := errgroup.WithContext(ctx)
	held, release := context.WithCancel(ctx)
	defer release()
	for n := range s.cfg.Workers {
		workers.Go(func() error { return s.scan(ctx, n, held, release) })
	}
	return workers.Wait()
}

// scan is the worker with that number. When it takes the last range, it releases the held workers:
// no work is left for them, and the gate may never open.
func (s *Scanner) scan(ctx context.Context, number int, held context.Context, release func()) error {
	w := worker{Scanner: s}
	var stages []*stage
	if len(s.work.trials) > 0 {
		w.all = s.work.all(s.deps.Spec)
		stages = append(stages, w.all)
		for _, t := range s.work.trials {
			stages = append(stages, t.stage)
		}
	}
	var err error
	if w.session, err = s.deps.Pool.Session(ctx, s.setup(stages...)...); err != nil {
		return err
	}
	defer w.session.Close()
	for {
		s.looking.Add(1)
		took, more, err := w.lookAtNext(ctx)
		s.looking.Add(-1)
		if err == nil && !more {
			release()
		}
		if err != nil || !more {
			return err
		}
		if err := s.deps.Gate(held, number, took); err != nil && (ctx.Err() != nil || held.Err() == nil) {
			return err
		}
	}
}

// worker is one session that looks at ranges.
type worker struct {
	*Scanner
	session *dbconn.Session
	all     *stage // nil if no value is tried
}

func (w *worker) take(ctx context.Context) (place int, r key.Range, more bool, err error) {
	w.next.Lock()
	defer w.next.Unlock()
	w.taken++
	r, more, err = w.ranges.Next(ctx, w.session)
	return w.taken, r, more, err
}

// lookAtNext looks at the next range, if there is one.
func (w *worker) lookAtNext(ctx context.Context) (took time.Duration, more bool, err error) {
	place, r, more, err := w.take(ctx)
	if err != nil || !more {
		return 0, more, err
	}
	started, key := time.Now(), w.deps.Spec.Sync.Key
	rows, err := w.look(ctx, place, rowsync.InRange(key, key.Names(), r))
	took = time.Since(started)
	w.ranges.Took(rows, took)
	w.rows.Add(rows)
	return took, true, err
}

// look looks at the rows of a range, and returns their number.
func (w *worker) look(ctx context.Context, place int, where string) (rows int64, err error) {
	if rows, err = w.lookForLosses(ctx, place, where); err != nil {
		return 0, err
	}
	inRange, err := w.lookForPartitions(ctx, place, where)
	if err != nil {
		return 0, err
	}
	checked, err := w.lookForViolations(ctx, place, where)
	if err != nil {
		return 0, err
	}
	rows = max(rows, inRange, checked)
	if w.all != nil {
		taken, err := w.try(ctx, w.all, where)
		switch {
		case dbconn.ValueRefused(err):
			if taken, err = w.narrow(ctx, place, where); err != nil {
				return 0, err
			}
		case err != nil:
			return 0, err
		}
		rows = max(rows, taken)
	}
	return rows, nil
}

// try has the server judge rows. What it took is taken back.
func (w *worker) try(ctx context.Context, st *stage, where string) (rows int64, err error) {
	err = w.session.Patiently(ctx, func() error {
		result, err := w.session.Exec(ctx, st.fill(where))
		if err == nil {
			rows, _ = result.RowsAffected()
		}
		if again := st.spec.again(st.columns); err == nil && again != "" {
			_, err = w.session.Exec(ctx, "UPDATE "+st.name+" SET "+again)
		}
		return err
	})
	if _, rollback := w.session.Exec(ctx, "ROLLBACK"); err == nil {
		err = rollback
	}
	return rows, err
}

// query reads one row.
func (w *worker) query(ctx context.Context, query string, targets ...any) error {
	err := w.session.Patiently(ctx, func() error {
		return w.session.Rows(ctx, query, func(rows *sql.Rows) error { return rows.Scan(targets...) })
	})
	if _, commit := w.session.Exec(ctx, "COMMIT"); err == nil {
		err = commit // ends the read view
	}
	return err
}

// keys reads keys, each with the place of the range.
func (w *worker) keys(ctx context.Context, place int, query string) (keys []numbered, err error) {
	err = w.session.Patiently(ctx, func() error {
		keys = nil
		return w.session.Rows(ctx, query, func(rows *sql.Rows) error {
			k, err := w.deps.Spec.Sync.ScanKey(rows)
			keys = append(keys, numbered{place, k})
			return err
		})
	})
	if _, commit := w.session.Exec(ctx, "COMMIT"); err == nil {
		err = commit
	}
	return keys, err
}

// lookForLosses counts the rows of a range with values that change without an error.
func (w *worker) lookForLosses(ctx context.Context, place int, where string) (rows int64, err error) {
	if len(w.work.losses) == 0 {
		return 0, nil
	}
	exprs := []string{"COUNT(*)"}
	counts := make([]int64, len(w.work.losses))
	targets := []any{&rows}
	for i, l := range w.work.losses {
		exprs = append(exprs, fmt.Sprintf("COUNT(CASE WHEN %s THEN 1 END)", l.condition))
		targets = append(targets, &counts[i])
	}
	spec := w.deps.Spec
	if err := w.query(ctx, fmt.Sprintf("SELECT %s FROM %s", strings.Join(exprs, ", "), spec.from(where)), targets...); dbconn.ValueRefused(err) {
		return 0, nil // an expression has no value for a row; the trials find it
	} else if err != nil {
		return 0, err
	}
	for i, l := range w.work.losses {
		if counts[i] == 0 {
			continue
		}
		fresh := l.findingOf()
		var first []numbered
		if !w.findings.enough(KindLoss, fresh.owner, place) {
			if first, err = w.keys(
				ctx,
				place,
				spec.keysOf("("+where+") AND ("+l.condition+")")+fmt.Sprintf(" LIMIT %d", w.cfg.Shown),
			); err != nil {
				return 0, err
			}
		}
		w.findings.addRows(fresh, counts[i], first, nil)
	}
	return rows, nil
}

// narrow finds the rows of a range that are refused, and by what.
func (w *worker) narrow(ctx context.Context, place int, where string) (rows int64, err error) {
	if err := w.query(ctx, "SELECT COUNT(*) FROM "+w.deps.Spec.from(where), &rows); err != nil {
		return 0, err
	}
	refused := map[string]bool{}
	for _, t := range w.work.trials {
		if t.dependsOn(refused) {
			continue
		}
		_, err := w.try(ctx, t.stage, where)
		if err == nil {
			continue
		}
		if !dbconn.ValueRefused(err) {
			return 0, err
		}
		refused[t.column.To.Name] = true
		if err := w.explain(ctx, t, place, where); err != nil {
			return 0, err
		}
	}
	return rows, nil
}

// explain finds the rows of a range that a trial refuses: by its rules, and the rest by halving.
func (w *worker) explain(ctx context.Context, t *trial, place int, where string) error {
	rest := "(" + where + ")"
	for _, r := range t.rules {
		for r != nil {
			applied, err := w.apply(ctx, t, r, place, where)
			if err != nil {
				return err
			}
			if applied {
				rest += " AND (" + r.condition + ") IS NOT TRUE"
				break
			}
			r = r.otherwise
		}
	}
	if w.findings.full(t.name()) {
		return nil
	}
	// A condition in the INSERT would be judged by the strict mode, too.
	keys, err := w.keys(ctx, place, w.deps.Spec.keysOf(rest))
	if err != nil {
		return err
	}
	if w.deps.Spec.Sync.ByValue { // all rows of a value are tried together
		keys = slices.CompactFunc(keys, func(a, b numbered) bool { return a.key == b.key })
	}
	for part := range slices.Chunk(keys, halved) {
		if err := w.halve(ctx, t, part); err != nil {
			return err
		}
	}
	return nil
}

// halved is the number of keys at which halving begins.
const halved = 1024

func (t *trial) name() string {
	return cmp.Or(t.check, t.key, t.column.To.Name)
}

// apply counts the rows of a range that a rule names. It returns false if the rule is not
// believed.
func (w *worker) apply(ctx context.Context, t *trial, r *rule, place int, where string) (applied bool, err error) {
	if r.is(disproved) {
		return false, nil
	}
	spec, named := w.deps.Spec, "("+where+") AND ("+r.condition+")"
	or := func(expr, null string) string {
		if expr == "" {
			return null
		}
		return expr
	}
	var count, length sql.NullInt64
	var least, most, members sql.NullString
	query := fmt.Sprintf("SELECT COUNT(*), MAX(%s), CAST(MIN(%s) AS CHAR), CAST(MAX(%[2]s) AS CHAR), GROUP_CONCAT(DISTINCT %s) FROM %s",
		or(r.length, "NULL"), or(r.value, "NULL"), or(r.members, "NULL"), spec.from(named))
	if err := w.query(ctx, query, &count, &length, &least, &most, &members); err != nil {
		return w.disprove(r, err)
	}
	if count.Int64 == 0 {
		return true, nil
	}
	first, err := w.keys(ctx, place, spec.keysOf(named)+fmt.Sprintf(" LIMIT %d", w.cfg.Shown))
	if err != nil {
		return false, err
	}
	if believed, err := w.prove(ctx, t, r, first); !believed || err != nil {
		return false, err
	}
	fresh := t.findingOf(r.kind)
	fresh.condition = r.condition
	w.findings.addRows(fresh, count.Int64, first, func(n *needs) { n.add(length.Int64, least.String, most.String, members.String) })
	return true, nil
}

// disprove drops a rule that the server can't evaluate.
func (w *worker) disprove(r *rule, err error) (bool, error) {
	if dbconn.Number(err) == 0 || dbconn.ConnectionLost(err) || dbconn.Contended(err) {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trust = disproved
	return false, nil
}

// prove tries the first rows of a range that a rule names, each by itself. The error is
// errDisproved if the rule has been believed before.
func (w *worker) prove(ctx context.Context, t *trial, r *rule, first []numbered) (believes bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range first {
		_, err := w.try(ctx, t.stage, w.isKey(k.key))
		switch {
		case err == nil && r.trust == believed:
			r.trust = disproved
			return false, errDisproved
		case err == nil:
			r.trust = disproved
			return false, nil
		case !dbconn.ValueRefused(err):
			return false, err
		}
	}
	if r.trust == untried {
		r.trust = believed
	}
	return r.trust == believed, nil
}

func listOf(keys []numbered) []key.Key {
	list := make([]key.Key, len(keys))
	for i, k := range keys {
		list[i] = k.key
	}
	return list
}

// isKey returns the condition for the rows of keys.
func (w *worker) isKey(keys ...key.Key) string {
	codec := w.deps.Spec.Sync.Key
	return rowsync.InKeys(codec, codec.Names(), keys)
}

// halve finds the rows, among some, that a trial refuses.
func (w *worker) halve(ctx context.Context, t *trial, keys []numbered) error {
	if len(keys) == 0 || w.findings.full(t.name()) {
		return nil
	}
	_, err := w.try(ctx, t.stage, w.isKey(listOf(keys)...))
	if err == nil || !dbconn.ValueRefused(err) {
		return err
	}
	if len(keys) == 1 {
		w.findings.addListed(t.findingOf(t.kindOf(err)), keys[0], false)
		return nil
	}
	if err := w.halve(ctx, t, keys[:len(keys)/2]); err != nil {
		return err
	}
	return w.halve(ctx, t, keys[len(keys)/2:])
}

// kindOf derives a row's problem from the server's error.
func (t *trial) kindOf(err error) Kind {
	to := t.column.To
	switch {
	case t.check != "":
		return KindCheck
	case t.key != "":
		return KindInvalid
	case dbconn.NullRefused(err):
		return KindNull
	case to.HasMembers():
		return KindMember
	case dbconn.TooLong(err), dbconn.Truncated(err) && to.Charset != "":
		return KindLong
	case dbconn.OutOfRange(err):
		return KindRange
	case to.Charset != "" && to.Charset != "binary":
		return KindCharacters
	}
	return KindInvalid
}

// long is the number of rows above which a query over all of them is reported.
const long = 1_000_000

// tellLong reports a query that may hold up the purge.
func (s *Scanner) tellLong(name string) {
	if rows := s.deps.Spec.Source.Rows; rows >= long {
		s.deps.Emit(event.Note{At: time.Now(), Text: fmt.Sprintf("looking for duplicates under key %s in one query over about %d rows: "+
			"until it ends, the server keeps old versions of changed rows", name, rows)})
	}
}
