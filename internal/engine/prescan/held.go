package prescan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// held is a constraint over columns that do not change. It is a CHECK that the source has too: MariaDB may have rows
// that violate it, which were written with check_constraint_checks = OFF. The shadow refuses them.
// Or it is a foreign key that the ALTER adds.
type held struct {
	kind     Kind
	owner    string
	what     string
	columns  []string
	violates string // the condition for rows that violate it
	only     string // a condition under which the server refuses them, with AND behind it; "" for always
}

// addHeld adds a CHECK that the ALTER leaves as it is. It leaves out the CHECK of a JSON column: all
// rows of all tables with JSON would be read, for a mistake that the CHECK hardly allows.
func (w *work) addHeld(s *Spec, check schema.Check, columns []string) {
	isJSON := slices.ContainsFunc(columns, func(name string) bool { return check.Clause == "json_valid("+schema.Quote(name)+")" })
	if s.Violable && !isJSON {
		// A session without these CHECKs takes all rows.
		w.held = append(w.held, held{kind: KindCheck, owner: check.Name, columns: s.Source.Mentioned(check.Clause),
			violates: "NOT (" + check.Clause + ")", what: "against CHECK (" + check.Clause + ")", only: "@@check_constraint_checks = 1 AND "})
	}
}

// lookForViolations counts the rows of a range that violate a constraint.
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
		most := w.cfg.Shown
		if h.kind == KindParent {
			most = mostOrphans + 1
		}
		first, err := w.keys(ctx, place, spec.keysOf("("+where+") AND "+h.violated())+fmt.Sprintf(" LIMIT %d", most))
		if err != nil {
			return 0, err
		}
		if h.kind == KindParent {
			w.orphans.add(h, counts[i], first)
			continue
		}
		fresh := finding{kind: h.kind, owner: h.owner, columns: h.columns, condition: h.violates, what: h.what}
		w.findings.addRows(fresh, counts[i], first, nil)
	}
	return rows, nil
}

// violated is the condition for rows that are refused.
func (h held) violated() string { return "(" + h.only + h.violates + ")" }
