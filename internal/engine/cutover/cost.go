package cutover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// ErrSlow means that the swap would now take longer than the work under the lock may. The lock was
// not asked for, or was released.
var ErrSlow = errors.New("the swap would take longer than --lock-work")

// Once the server has begun a RENAME, it finishes it, even if it is asked to stop: for each file it
// writes its logs to the disk a few times. So the run must know beforehand that a swap of many
// files is short. To measure the time per file, the meter renames a small table with probeFiles
// partitions a few times.
const (
	probeFiles  = 16
	probeRounds = 6
	mostIndexes = 60
)

// Measure returns the time that a swap of this shape would take now. It makes small tables next to
// the source, with the mark of a clone, and drops them again. If it returns an error, nothing was
// measured.
func Measure(ctx context.Context, pool *dbconn.Pool, source schema.Name, shape plan.Shape) (plan.Swap, error) {
	m, err := newMeter(ctx, pool, source)
	if err != nil {
		return plan.Swap{}, fmt.Errorf("measure the swap of %s: %w", source, err)
	}
	defer m.close()
	swap, err := m.measure(ctx, shape)
	if err != nil {
		return plan.Swap{}, fmt.Errorf("measure the swap of %s: %w", source, err)
	}
	return swap, nil
}

// meter makes the small tables.
type meter struct {
	pool          *dbconn.Pool
	session       *dbconn.Session
	table, second schema.Name
	mark          string
}

func newMeter(ctx context.Context, pool *dbconn.Pool, source schema.Name) (*meter, error) {
	session, err := pool.Session(ctx)
	if err != nil {
		return nil, err
	}
	m := &meter{pool: pool, session: session, table: pool.CloneOf(source, "_swap"), second: pool.CloneOf(source, "_swap2"),
		mark: schema.Literal(schema.MarkFor(schema.CloneKind, source))}
	if _, err := session.Exec(ctx, "SET SESSION sql_log_bin = 0"); err != nil && !dbconn.Denied(err) { // no replica needs them
		session.Close()
		return nil, err
	}
	return m, nil
}

// close drops the tables. What can't be dropped now is found by its mark.
func (m *meter) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	drop := fmt.Sprintf("DROP TABLE IF EXISTS %s, %s", m.table.Quoted(), m.second.Quoted())
	if _, err := m.session.Exec(ctx, drop); err != nil {
		_ = m.pool.Exec(ctx, drop) // its mark identifies it
	}
	m.session.Close()
}

func (m *meter) measure(ctx context.Context, shape plan.Shape) (plan.Swap, error) {
	var file, statement time.Duration
	var err error
	if shape.ManyFiles() {
		if file, err = m.file(ctx, shape.Indexes); err != nil {
			return plan.Swap{}, err
		}
	}
	if shape.ManyStatements() {
		if statement, err = m.statement(ctx); err != nil {
			return plan.Swap{}, err
		}
	}
	return shape.At(file, statement), nil
}

// file is what a RENAME takes for each file.
func (m *meter) file(ctx context.Context, indexes int) (time.Duration, error) {
	var columns, keys strings.Builder
	for i := range min(indexes, mostIndexes) {
		fmt.Fprintf(&columns, ", c%d INT", i)
		fmt.Fprintf(&keys, ", KEY (c%d)", i)
	}
	_, err := m.session.Exec(
		ctx,
		fmt.Sprintf("CREATE TABLE %s (id INT NOT NULL PRIMARY KEY%s%s) ENGINE=InnoDB COMMENT=%s PARTITION BY HASH (id) PARTITIONS %d",
			m.table.Quoted(), &columns, &keys, m.mark, probeFiles),
	)
	if err != nil {
		return 0, err
	}
	from, to := m.table, m.second
	took, err := m.median(ctx, func(int) string {
		statement := fmt.Sprintf("RENAME TABLE %s TO %s", from.Quoted(), to.Quoted())
		from, to = to, from
		return statement
	})
	if err == nil {
		_, err = m.session.Exec(ctx, "DROP TABLE "+from.Quoted())
	}
	return took / probeFiles, err
}

// statement is what a statement takes that changes a table's foreign keys, or its dictionary otherwise.
func (m *meter) statement(ctx context.Context) (time.Duration, error) {
	_, err := m.session.Exec(
		ctx,
		fmt.Sprintf("CREATE TABLE %s (id INT NOT NULL PRIMARY KEY) ENGINE=InnoDB COMMENT=%s", m.table.Quoted(), m.mark),
	)
	if err != nil {
		return 0, err
	}
	return m.median(ctx, func(n int) string {
		return fmt.Sprintf("ALTER TABLE %s ALTER COLUMN id SET DEFAULT %d", m.table.Quoted(), n)
	})
}

// median returns the median time of several statements: a single statement may have met a moment
// when the disk stalled.
func (m *meter) median(ctx context.Context, statement func(n int) string) (time.Duration, error) {
	var took []time.Duration
	for n := range probeRounds {
		began := time.Now()
		if _, err := m.session.Exec(ctx, statement(n)); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// measureCost measures the time of the swap, if the swap may be long. It fails with ErrSlow if that time
// exceeds the bound of the work under the lock.
func (a *swapAttempt) measureCost(ctx context.Context) error {
	for _, p := range a.parts {
		if err := p.measureCost(ctx); err != nil {
			return err
		}
	}
	return a.checkCost(a.budget.Work)
}

func (p *part) measureCost(ctx context.Context) error {
	if !p.Tables.Shape.ManyFiles() && !p.Tables.Shape.ManyStatements() {
		return nil
	}
	swap, err := Measure(ctx, p.Pool, p.Tables.Source, p.Tables.Shape)
	switch {
	case err == nil:
	case dbconn.ConnectionLost(err), ctx.Err() != nil:
		return err
	case dbconn.Contended(err): // by a backup, as the swap would be
		return fmt.Errorf("%w: %w", ErrNotGranted, err)
	default:
		swap = p.Tables.Shape.Assumed()
	}
	p.cost = swap
	return nil
}

// takes is how long the swap takes, with a margin.
func (a *swapAttempt) takes() time.Duration {
	var sum time.Duration
	for _, p := range a.parts {
		sum += p.cost.Rename + p.cost.Declare
	}
	return plan.Safely(sum)
}

// checkCost fails with ErrSlow if the swap takes longer than is left.
func (a *swapAttempt) checkCost(left time.Duration) error {
	var sum plan.Swap
	for _, p := range a.parts {
		sum.Rename, sum.Declare, sum.Files = sum.Rename+p.cost.Rename, sum.Declare+p.cost.Declare, sum.Files+p.cost.Files
	}
	takes := sum.Rename + sum.Declare
	switch {
	case left <= 0:
		return fmt.Errorf("%w: no time is left for it", ErrSlow)
	case plan.Safely(takes) > left:
		return fmt.Errorf("%w: it takes about %s now, %d files take %s of it, and %s is left", ErrSlow,
			takes.Round(time.Millisecond), sum.Files, sum.Rename.Round(time.Millisecond), max(left, 0).Round(time.Millisecond))
	}
	return nil
}

// measureDistance measures a round trip to the server. It fails with ErrSlow if the round trips alone take
// longer than the work under the lock may.
func (h *underLock) measureDistance(ctx context.Context) error {
	for range distanceRounds {
		began := time.Now()
		if _, err := h.holder.Exec(ctx, "DO 1"); err != nil {
			return fmt.Errorf("measure a round trip to the server: %w", err)
		}
		if took := time.Since(began); h.trip == 0 || took < h.trip {
			h.trip = took
		}
	}
	if far := h.distance(); plan.LeastTrips*h.trip > h.budget.Work {
		return fmt.Errorf("%w: %s", ErrSlow, far)
	}
	return nil
}

// distanceRounds is how often a round trip is measured; the shortest one counts.
const distanceRounds = 3

func (h *underLock) distance() plan.Distance {
	trips := 0
	for _, p := range h.parts {
		trips += p.Tables.Shape.Trips(p.Tables.RenameUnderLock, p.Tables.Log != (schema.Name{}))
	}
	return plan.Distance{Trip: h.trip, Trips: trips, Work: h.budget.Work}
}

// explain adds to ErrOverrun that the server is far away, if it is.
func (h *underLock) explain(err error) error {
	if far := h.distance(); errors.Is(err, ErrOverrun) && !far.Fits() {
		return fmt.Errorf("%w; %s", err, far)
	}
	return err
}

// CountFiles counts the files of tables, which a swap renames. It waits for sessions that keep it from looking.
func CountFiles(ctx context.Context, q schema.Querier, tables ...*schema.Table) ([]int, error) {
	counts := make([]int, len(tables))
	for i, table := range tables {
		counts[i] = 1
		for try := 1; table.Partitioned; try++ {
			n, err := schema.Files(ctx, q, table.Name)
			if err == nil {
				counts[i] = n
				break
			}
			if !dbconn.Contended(err) {
				return nil, err
			}
			if err := dbconn.BackOff(ctx, try); err != nil {
				return nil, err
			}
		}
	}
	return counts, nil
}
