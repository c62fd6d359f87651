package compare

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
)

// batch is the number of suspects that one query checks.
const batch = 500

// rounds is for how many times Settle a row that keeps changing is checked.
const rounds = 10

// seen is how a suspect differed, and since when.
type seen struct {
	pair
	since time.Time
}

// settle checks the suspects until each is equal, has differed in one way for as long as Settle, or
// has changed for too long.
func (c *Comparison) settle(ctx context.Context) (mismatches, unsettled []key.Key, err error) {
	if len(c.suspects) == 0 {
		return nil, nil, nil
	}
	both, end, err := c.sessions(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	slices.Sort(c.suspects)
	left, history := slices.Compact(c.suspects), map[key.Key]seen{}
	deadline := time.Now().Add(rounds * c.cfg.Settle)
	for {
		if left, err = c.look(ctx, both, left, history, &mismatches); err != nil || len(left) == 0 {
			return mismatches, nil, err
		}
		if time.Now().After(deadline) {
			return mismatches, left, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-time.After(c.cfg.Settle / 5):
		}
	}
}

// look compares the suspects once more, and returns the suspects that are still in doubt.
func (c *Comparison) look(
	ctx context.Context,
	both [2]*dbconn.Session,
	suspects []key.Key,
	history map[key.Key]seen,
	mismatches *[]key.Key,
) (left []key.Key, err error) {
	for part := range slices.Chunk(suspects, batch) {
		found, err := c.digests(ctx, both, rowsync.InKeys(c.spec.key, c.spec.key.Names(), part))
		if err != nil {
			return nil, err
		}
		now := time.Now()
		for _, k := range part {
			p, differs := found[k]
			was, known := history[k]
			switch {
			case !differs:
				delete(history, k)
			case known && was.pair == p && now.Sub(was.since) >= c.cfg.Settle:
				*mismatches = append(*mismatches, k)
			case known && was.pair == p:
				left = append(left, k)
			default:
				history[k] = seen{p, now}
				left = append(left, k)
			}
		}
	}
	return left, nil
}

// Difference is one value that differs, or one row.
type Difference struct {
	Key string // as a literal
	// Column is "" if a table has no such row.
	Column string
	Values [2]string
}

// Differences returns what differs in the rows of the keys, which should be few.
func (c *Comparison) Differences(ctx context.Context, keys []key.Key) ([]Difference, error) {
	both, end, err := c.sessions(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	var all []Difference
	for _, k := range keys {
		condition := rowsync.InKeys(c.spec.key, c.spec.key.Names(), []key.Key{k})
		rows, err := onBoth(ctx, func(ctx context.Context, i int) (cells []cell, err error) {
			err = both[i].Rows(ctx, c.spec.values(i, condition), func(r *sql.Rows) error {
				cells = make([]cell, len(c.spec.Columns))
				var targets []any
				for n := range cells {
					targets = append(targets, &cells[n].digest, &cells[n].text)
				}
				return r.Scan(targets...)
			})
			return cells, err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, c.spec.differences(c.spec.key.Format(k), rows)...)
	}
	return all, nil
}

// cell is one value.
type cell struct{ digest, text sql.NullString }

func (s *Spec) differences(name string, rows [2][]cell) (all []Difference) {
	if rows[0] == nil || rows[1] == nil {
		d := Difference{Key: name}
		for i, row := range rows {
			if d.Values[i] = "row exists"; row == nil {
				d.Values[i] = "no such row"
			}
		}
		return []Difference{d}
	}
	for n, column := range s.Columns {
		a, b := rows[0][n], rows[1][n]
		if a.digest != b.digest {
			all = append(all, Difference{Key: name, Column: column, Values: [2]string{orNull(a.text), orNull(b.text)}})
		}
	}
	return all
}

func orNull(s sql.NullString) string {
	if !s.Valid {
		return "NULL"
	}
	return s.String
}
