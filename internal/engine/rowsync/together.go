package rowsync

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"midstream/internal/mysql/schema"
)

const (
	// mostTogether limits the number of rows with a change yet to be applied that are synced
	// together with a row.
	mostTogether = 2000
	// togetherTries is how often in turn that must meet a duplicate.
	togetherTries = 10
	// unfitTries is the same number if a row that is refused is tried again at the end.
	unfitTries = 2
)

// tryTogether syncs P, with all keys that have a change yet to be applied, by one statement, and
// rolls it back. If two rows hand a value over, P has both of them as they are at one moment. If
// two rows keep the same value, the statement fails in any order of theirs. To set one aside for
// the other would go on for ever, because each counts as changed once more.
func (a *exclusive) tryTogether(ctx context.Context, p predicate) error {
	a.fitter.prepare(ctx, a.session, p)
	_, err := a.replace(ctx, a.session, p)
	if _, rollback := a.session.Exec(context.WithoutCancel(ctx), "ROLLBACK"); err == nil {
		err = rollback
	}
	if err == nil {
		a.together = 0
	}
	return err
}

// remember counts a duplicate that the rows have together. Each try has everything that was
// committed until then. A row that meets a duplicate time after time has a real one: no other
// change is on its way that could explain it.
func (a *exclusive) remember(ctx context.Context, p predicate, duplicate error) error {
	if len(p.keys) > 1 { // halves until the row is alone
		return nil
	}
	tries := togetherTries
	if a.unfit != nil {
		tries = unfitTries
	}
	if a.together++; a.together < tries {
		return nil
	}
	return fmt.Errorf("%w: %s: %w", ErrDuplicate, a.rivals(ctx, p), duplicate)
}

// rivals names the row of P, and the row of the shadow that has its value of a unique key, as far
// as that can be found. It rolls everything back.
func (a *exclusive) rivals(ctx context.Context, p predicate) string {
	defer func() { _, _ = a.session.Exec(context.WithoutCancel(ctx), "ROLLBACK") }()
	one := func(query string) (text string) {
		var found sql.NullString
		_ = a.session.Rows(ctx, query, func(rows *sql.Rows) error { return rows.Scan(&found) }) // for people: "" if it fails
		return found.String
	}
	row := "the row with key (" + one(p.rowAt(0)) + ")"
	other := ""
	if _, err := a.empty(ctx, a.session, p); err == nil {
		other = a.named(ctx, p, one)
	}
	if other == "" {
		return row + " has the value of another row"
	}
	return row + " and the row with key (" + other + ") have the same value"
}

// named returns the key of the row that blocks P's row. P was removed from the shadow.
func (a *exclusive) named(ctx context.Context, p predicate, one func(query string) string) string {
	insertions := []string{p.insertion()}
	if len(a.spec.Kept) > 0 {
		if a.spec.convertSource(ctx, a.session, p) != nil {
			return ""
		}
		insertions = []string{p.returning(a.spec.Side.Quoted()), p.arriving(false)}
	}
	for _, insertion := range insertions {
		if _, err := a.session.Exec(ctx, p.naming(insertion)); err != nil {
			return ""
		}
		if other := one("SELECT " + rival); other != "" {
			return other
		}
	}
	return ""
}

// rival is the variable that naming sets.
const rival = "@midstream_rival"

// naming makes an insertion of P's row record the key of a row that blocks it, and leave that row
// unchanged.
func (p predicate) naming(insertion string) string {
	shadow := p.spec.Shadow.Quoted() + "."
	var keys []string
	for _, name := range p.spec.ShadowKey {
		keys = append(keys, shadow+schema.Quote(name))
	}
	column := schema.Quote(p.spec.Columns[0].Shadow)
	return fmt.Sprintf("%s ON DUPLICATE KEY UPDATE %s = IF((%s := CONCAT_WS(', ', %s)) IS NULL, %s, %s)",
		insertion, column, rival, strings.Join(keys, ", "), shadow+column, shadow+column)
}
