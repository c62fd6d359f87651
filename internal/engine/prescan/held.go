package prescan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// held is a CHECK that the source has too, over columns that do not change. MariaDB may have rows
// that violate it, which were written with check_constraint_checks = OFF. The shadow refuses them.
type held struct{ check schema.Check }

// addHeld adds a CHECK that the ALTER leaves as it is. It leaves out the CHECK of a JSON column: all
// rows of all tables with JSON would be read, for a mistake that the CHECK hardly allows.
func (w *work) addHeld(s *Spec, check schema.Check, columns []string) {
	isJSON := slices.ContainsFunc(columns, func(name string) bool { return check.Clause == "json_valid("+schema.Quote(name)+")" })
	if s.Violable && !isJSON {
		w.held = append(w.held, held{check})
	}
}

// lookForViolations counts the rows of a range that violate a CHECK which the source has too.
func (w *worker) lookForViolations(ctx context.Context, place int, where string) (rows int64, err error) {
	if len(w.work.held) == 0 {
		return 0, nil
	}
	spec, exprs := w.deps.Spec, []string{"COUNT(*)"}
	counts := make([]int64, len(w.work.held))
	targets := []any{&rows}
	for i, h := range w.work.held {
		exprs = append(exprs, fmt.Sprintf("COUNT(CASE WHEN %s THEN 1 END)", h.violated()))
		targets = append(targets, &counts[i])
	}
	err = w.query(ctx, fmt.Sprintf("SELECT %s FROM %s", strings.Join(exprs, ", "), spec.from(where)), targets...)
	if dbconn.Number(err) != 0 && !dbconn.ConnectionLost(err) && !dbconn.Contended(err) {
		return 0, nil // it can't be asked of all rows; the copy has the last word
	}
	if err != nil {
		return 0, err
	}
	for i, h := range w.work.held {
		if counts[i] == 0 {
			continue
		}
		first, err := w.keys(ctx, place, spec.keysOf("("+where+") AND "+h.violated())+fmt.Sprintf(" LIMIT %d", w.cfg.Shown))
		if err != nil {
			return 0, err
		}
		fresh := finding{kind: KindCheck, owner: h.check.Name, columns: spec.Source.Mentioned(h.check.Clause),
			condition: "NOT (" + h.check.Clause + ")", what: "against CHECK (" + h.check.Clause + ")"}
		w.findings.addRows(fresh, counts[i], first, nil)
	}
	return rows, nil
}

// violated is the condition for rows that the shadow refuses. A session without these CHECKs takes
// all rows.
func (h held) violated() string {
	return "(@@check_constraint_checks = 1 AND NOT (" + h.check.Clause + "))"
}
