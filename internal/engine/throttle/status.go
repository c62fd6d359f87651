package throttle

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"midstream/internal/mysql/schema"
)

// Limit is the most that a status variable of the server may be.
type Limit struct {
	Variable string
	Most     float64
}

// ParseLimits reads "Threads_running=50,Threads_connected=900".
func ParseLimits(text string) ([]Limit, error) {
	var limits []Limit
	for part := range strings.SplitSeq(text, ",") {
		name, number, ok := strings.Cut(strings.TrimSpace(part), "=")
		most, err := strconv.ParseFloat(number, 64)
		if !ok || name == "" || err != nil || !(most >= 0) || math.IsInf(most, 0) {
			return nil, fmt.Errorf("%q is not a limit: must be VARIABLE=NUMBER, such as Threads_running=50; separate several with commas", part)
		}
		limits = append(limits, Limit{name, most})
	}
	return limits, nil
}

// status reads status variables of the server, by their names in lower case.
func status(ctx context.Context, db *sql.DB, names ...string) (map[string]float64, error) {
	var list []string
	for _, name := range names {
		list = append(list, schema.Literal(name))
	}
	rows, err := db.QueryContext(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ("+strings.Join(list, ", ")+")")
	if err != nil {
		return nil, fmt.Errorf("read status variables: %w", err)
	}
	defer rows.Close()
	values := map[string]float64{}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, fmt.Errorf("read status variables: %w", err)
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("read status variables: %s is %q, no number", name, text)
		}
		values[strings.ToLower(name)] = n
	}
	return values, rows.Err()
}

// over lists the limits that are exceeded now.
func over(ctx context.Context, db *sql.DB, limits []Limit) (string, error) {
	var names []string
	for _, l := range limits {
		names = append(names, l.Variable)
	}
	values, err := status(ctx, db, names...)
	if err != nil {
		return "", err
	}
	var exceeded []string
	for _, l := range limits {
		now, known := values[strings.ToLower(l.Variable)]
		if !known {
			return "", fmt.Errorf("the server has no status variable %s", l.Variable)
		}
		if now > l.Most {
			exceeded = append(exceeded, fmt.Sprintf("%s is %g, at most %g", l.Variable, now, l.Most))
		}
	}
	return strings.Join(exceeded, "; "), nil
}

// CheckLimits fails if the server lacks one of the variables.
func CheckLimits(ctx context.Context, db *sql.DB, limits ...Limit) error {
	if len(limits) == 0 {
		return nil
	}
	_, err := over(ctx, db, limits)
	return err
}

// MaxLoad is a sensor of status variables.
func MaxLoad(db *sql.DB, limits []Limit) Sensor {
	return Sensor{
		Name:  "max-load",
		Every: 500 * time.Millisecond,
		Look:  func(ctx context.Context) (string, error) { return over(ctx, db, limits) },
	}
}

// CriticalLoad ends the run if a status variable exceeds its limit in two looks in a row.
func CriticalLoad(db *sql.DB, limits []Limit) Sensor {
	seen := false
	return Sensor{Name: "critical-load", Every: 500 * time.Millisecond, Look: func(ctx context.Context) (string, error) {
		why, err := over(ctx, db, limits)
		if err == nil && why != "" && seen {
			return "", fmt.Errorf("%w: %s", ErrCritical, why)
		}
		seen = err == nil && why != ""
		return why, err
	}}
}

// History is a sensor of InnoDB's history list: old versions of rows that purge has not removed
// yet. While another session's old read view holds them, their number only grows. Every reader of a
// hot row walks through them.
func History(db *sql.DB, most int) Sensor {
	read := func(ctx context.Context) (n float64, err error) {
		err = db.QueryRowContext(ctx, "SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'").Scan(&n)
		return n, err
	}
	return Sensor{Name: "history", Every: time.Second, Look: Bounded(float64(most), read, func(now, most float64) string {
		return fmt.Sprintf("InnoDB's history list has %.0f entries; the limit is %.0f, and the run continues at half of it", now, most)
	})}
}

// CheckpointAge is a sensor of the part of the redo log that is not flushed, from 0 to 1. At about
// 7/8 the server flushes for every statement. It needs MySQL 8.0.30 or later.
func CheckpointAge(db *sql.DB, most float64) Sensor {
	read := func(ctx context.Context) (float64, error) {
		v, err := status(ctx, db, "Innodb_redo_log_current_lsn", "Innodb_redo_log_checkpoint_lsn", "Innodb_redo_log_capacity_resized")
		if err != nil || v["innodb_redo_log_capacity_resized"] <= 0 {
			return 0, err
		}
		return (v["innodb_redo_log_current_lsn"] - v["innodb_redo_log_checkpoint_lsn"]) / v["innodb_redo_log_capacity_resized"], nil
	}
	return Sensor{Name: "redo", Every: 500 * time.Millisecond, Look: between(most, most-0.1, read, func(now, most float64) string {
		return fmt.Sprintf("%.0f %% of the redo log is not flushed yet; the limit is %.0f %%", 100*now, 100*most)
	})}
}
