package rowsync

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"midstream/internal/mysql/schema"
)

const (
	// mostTogether is the most rows whose change is yet to be applied with which a row is synced together.
	mostTogether = 2000
	// togetherTries is how often in turn that must meet a duplicate.
	togetherTries = 10
)

// tryTogether syncs P, which has all keys whose change is yet to be applied, by one statement, and
// takes it back. Two rows that hand a value over are both in it as they are at one moment. Two that
// keep the same value fail it, whatever their order is: to set the one aside for the other would go
// on for ever, as each counts as changed once more.
func (a *exclusive) tryTogether(ctx context.Context, p predicate) error {
	_, err := a.replace(ctx, a.session, p)
	if _, rollback := a.session.Exec(context.WithoutCancel(ctx), "ROLLBACK"); err == nil {
		err = rollback
	}
	if err == nil {
		a.together = 0
	}
	return err
}

// remember counts a duplicate that the rows have together. A row that meets one time after time, each time with
// what was committed until then, has a real one: no other change is on its way that could explain it.
func (a *exclusive) remember(ctx context.Context, p predicate, duplicate error) error {
	if len(p.keys) > 1 { // the list is halved until the row is alone
		return nil
	}
	if a.together++; a.together < togetherTries {
		return nil
	}
	return fmt.Errorf("%w: %s: %w", ErrDuplicate, a.rivals(ctx, p), duplicate)
}

// rivals names the row of P, and the row of the shadow that has its value of a unique key, as far
// as that can be found out. All is taken back.
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
		if _, err = a.session.Exec(ctx, p.naming()); err == nil {
			other = one("SELECT " + rival)
		}
	}
	if other == "" {
		return row + " has the value of another row"
	}
	return row + " and the row with key (" + other + ") have the same value"
}

// rival is the variable that naming sets.
const rival = "@midstream_rival"

// naming returns a statement that inserts P's row, or notes the key of the row that is in its way,
// which it leaves as it is.
func (p predicate) naming() string {
	shadow := p.spec.Shadow.Quoted() + "."
	var keys []string
	for _, name := range p.spec.ShadowKey {
		keys = append(keys, shadow+schema.Quote(name))
	}
	column := schema.Quote(p.spec.Columns[0].Shadow)
	return fmt.Sprintf("%s ON DUPLICATE KEY UPDATE %s = IF((%s := CONCAT_WS(', ', %s)) IS NULL, %s, %s)",
		p.insertion(), column, rival, strings.Join(keys, ", "), shadow+column, shadow+column)
}
