package schema

import (
	"context"
	"errors"
	"strings"

	"midstream/internal/mysql/escape"
)

// missing is an ErrNotFound with what does not exist, and what may have been meant.
type missing struct{ text string }

func (m *missing) Error() string { return m.text }
func (m *missing) Unwrap() error { return ErrNotFound }

// Missing adds to an ErrNotFound whether the database exists, and which table may have been meant. It returns other errors unchanged.
func Missing(ctx context.Context, q Querier, name Name, err error) error {
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	databases, failed := namesIn(ctx, q, "SELECT schema_name FROM information_schema.schemata")
	if failed != nil {
		return err
	}
	known := false
	for _, d := range databases {
		known = known || strings.EqualFold(d, name.Schema)
	}
	if !known {
		text := strings.ReplaceAll(err.Error(), ErrNotFound.Error(), "no such database, or no privilege on it")
		return &missing{text + meant(name.Schema, databases, escape.Line)}
	}
	tables, failed := namesIn(ctx, q, "SELECT table_name FROM information_schema.tables WHERE table_schema = ? AND table_type = 'BASE TABLE' LIMIT 10000",
		name.Schema)
	if failed != nil {
		return err
	}
	similar := meant(name.Table, tables, func(t string) string { return Name{name.Schema, t}.String() })
	return &missing{err.Error() + similar}
}

// meant asks whether a name like the one that was given was meant; "" if none or many are like it.
func meant(given string, names []string, show func(string) string) string {
	var like []string
	for _, n := range names {
		if !strings.HasPrefix(strings.ToLower(n), "midstream_") && distance(strings.ToLower(given), strings.ToLower(n)) <= min(2, len(given)/2) {
			like = append(like, show(n))
		}
	}
	if len(like) == 0 || len(like) > 3 {
		return ""
	}
	return "; did you mean " + strings.Join(like, " or ") + "?"
}

// distance is in how many letters two words differ (Levenshtein).
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	if d := len(from) - len(to); d > 2 || d < -2 {
		return 3 // far enough
	}
	last := make([]int, len(to)+1)
	for j := range last {
		last[j] = j
	}
	for i, x := range from {
		row := make([]int, len(to)+1)
		row[0] = i + 1
		for j, y := range to {
			cost := 1
			if x == y {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
		}
		last = row
	}
	return last[len(to)]
}

// namesIn are the names that a query returns.
func namesIn(ctx context.Context, q Querier, query string, args ...any) (names []string, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}
