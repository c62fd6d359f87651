package ptosc

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"midstream/internal/mysql/schema"
)

// Meet looks at the server for what follows from its state: loads without a number, free names, the
// table of DSNs, the history. It returns the flags of midstream run that come besides, and whether
// the run is to go on with one that was stopped.
func (a *Asked) Meet(ctx context.Context, db *sql.DB) (flags []string, resumes bool, err error) {
	for _, name := range slices.Sorted(maps.Keys(a.loads)) {
		if err := a.openLoads(ctx, db, name); err != nil {
			return nil, false, err
		}
		flags = append(flags, "--"+name+"="+loadText(a.loads[name]))
	}
	names, err := a.names(ctx, db)
	if err != nil || a.Mode != Execute {
		return append(flags, names...), false, err
	}
	flags = append(flags, names...)
	if t := a.Replicas.table; t != nil {
		if a.Replicas.Only, err = a.Replicas.listed(ctx, db); err != nil {
			return nil, false, fmt.Errorf("--recursion-method: read %s: %w", schema.Name{Schema: t.Database, Table: t.Table}, err)
		}
		flags = append(flags, a.Replicas.flags()...)
	}
	if err := a.history.begin(ctx, db, a); err != nil {
		return nil, false, &Unfit{err}
	}
	return flags, a.history.resume != "", nil
}

// sessionsOf are how many sessions of a run such variables may count, which that program's one
// session hardly adds to.
var sessionsOf = map[string]float64{"threads_connected": 20, "threads_running": 10}

// openLoads gives those loads a number that have none: a fifth more than the variable is now, and
// of critical ones twice as much.
func (a *Asked) openLoads(ctx context.Context, db *sql.DB, name string) error {
	factor := map[string]float64{"max-load": 1.2, "critical-load": 2}[name]
	for i, l := range a.loads[name] {
		if !l.open {
			continue
		}
		var variable, text string
		err := db.QueryRowContext(ctx, "SHOW GLOBAL STATUS WHERE Variable_name = "+schema.Literal(l.variable)).Scan(&variable, &text)
		if errors.Is(err, sql.ErrNoRows) {
			return &Unfit{fmt.Errorf("Error checking --%s: Variable %s does not exist or its value is blank", name, l.variable)}
		}
		if err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
		now, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return &Unfit{fmt.Errorf("Error checking --%s: Variable %s is %q, no number", name, l.variable, text)}
		}
		a.loads[name][i] = load{variable: l.variable, most: math.Ceil(now*factor) + sessionsOf[strings.ToLower(l.variable)]}
	}
	return nil
}

// Unfit says that what was asked for doesn't fit the server. Nothing was changed.
type Unfit struct{ Err error }

func (u *Unfit) Error() string { return u.Err.Error() }
func (u *Unfit) Unwrap() error { return u.Err }

// listed reads the addresses of replicas from a table of DSNs.
func (r *Replicas) listed(ctx context.Context, db *sql.DB) (list []string, err error) {
	list = []string{}
	rows, err := db.QueryContext(
		ctx, "SELECT dsn FROM "+schema.Name{Schema: r.table.Database, Table: r.table.Table}.Quoted()+" ORDER BY id",
	)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		d, err := parseDSN(text, r.below)
		if err != nil {
			return nil, err
		}
		list = append(list, d.address())
	}
	return list, rows.Err()
}
