package rowsync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// The shadow of an undo may have rows of its own: those that the change had left out (Spec.Rest). No sync deletes or overwrites one.
// Nobody else writes to the shadow, so they are the rows that do not meet the condition and whose key is not in the side table: a
// sync notes there, in its transaction, the keys of rows that it has written and that do not meet the condition either.
//
// So a sync must know of each key which row it would touch. It syncs lists of keys only, and a row of the source with the key of such
// a row does not fit.

// ErrLeftOut means that the shadow has a row with this key, or this unique value, that the change had left out.
var ErrLeftOut = errors.New("the old table has a row with that value which --keep had left out")

// synced is the condition that a row of the shadow is none of its own.
func (s *Spec) synced() string {
	return fmt.Sprintf("((%s) IS TRUE OR EXISTS (SELECT 1 FROM %s WHERE %s))", s.Rest, s.Side.Quoted(),
		equals(of(s.Side.Quoted(), s.sideKeys()), of(s.Shadow.Quoted(), s.ShadowKey)))
}

// noting notes the rows of P, none of which is one of the shadow's own.
func (p predicate) noting() string {
	return p.spec.keeping(0, p.rowsOf()+" AND ("+p.spec.Rest+") IS NOT TRUE")
}

// beside is a sync of keys next to the shadow's own rows.
type beside struct {
	*Syncer
	session *dbconn.Session
	keys    []key.Key
	// own are rows of the shadow's own that the keys find, and taken, for each unique key, the source's rows that have a value of one.
	own   []finding
	taken [][]finding
}

// leftOut is the cause for a row that has a value of such a row in an index of the shadow.
func leftOut(index string) error { return fmt.Errorf("%w: key %s", ErrLeftOut, index) }

// sync syncs the keys that no row of the shadow's own stands in the way of, and sets the others apart.
func (b *beside) sync(ctx context.Context) (result Result, err error) {
	err = b.find(ctx)
	if len(b.keys) > 1 && dbconn.Oversized(err) {
		return keysByHalves(ctx, b.Syncer, b.session, b.keys)
	}
	if err != nil {
		return result, fmt.Errorf("look for rows that were left out: %w", err)
	}
	found := finders(slices.Concat(b.own, slices.Concat(b.taken...)))
	if len(found) > 0 {
		if result, err = b.setApart(ctx); err != nil {
			return result, err
		}
	}
	free := slices.DeleteFunc(slices.Clone(b.keys), func(k key.Key) bool { return has(found, k) })
	if len(free) == 0 {
		return result, nil
	}
	synced, err := b.list(ctx, b.session, free)
	synced.Deleted += result.Deleted
	return synced, err
}

// has reports whether sorted keys have the key.
func has(sorted []key.Key, k key.Key) bool {
	_, found := slices.BinarySearch(sorted, k)
	return found
}

func (b *beside) find(ctx context.Context) error {
	p := predicate{spec: b.spec, keys: b.keys}
	return b.clear(ctx, b.session, "keys", func() (err error) {
		b.taken = make([][]finding, len(b.spec.Unique))
		b.own, err = p.findings(ctx, b.session, p.ownRows())
		for i := 0; i < len(b.spec.Unique) && err == nil; i++ {
			b.taken[i], err = p.findings(ctx, b.session, p.takersOfRest(b.spec.Unique[i]))
		}
		return err
	})
}

// setApart sets the source's rows of these keys apart. A row is set apart for the first key in which it stands in the way.
func (b *beside) setApart(ctx context.Context) (result Result, err error) {
	apart, err := b.setOwnApart(ctx)
	for i := 0; i < len(b.taken) && err == nil; i++ {
		keys := slices.DeleteFunc(finders(b.taken[i]), func(k key.Key) bool { return has(apart, k) })
		if len(keys) == 0 {
			continue
		}
		cause := leftOut(b.spec.Unique[i].Name)
		if b.unfit == nil {
			return result, fmt.Errorf("row with key (%s): %w", b.spec.Key.Format(b.taken[i][0].row), cause)
		}
		var one Result
		one, err = b.Syncer.setApart(ctx, b.session, keys, cause)
		result.Deleted += one.Deleted
		apart = slices.Sorted(slices.Values(append(apart, keys...)))
	}
	return result, err
}

// setOwnApart sets apart the rows whose key a row of the shadow's own has, and returns the keys that find one.
func (b *beside) setOwnApart(ctx context.Context) (own []key.Key, err error) {
	if own = finders(b.own); len(own) == 0 {
		return nil, nil
	}
	cause := leftOut(b.spec.ShadowIndex)
	if b.unfit == nil {
		return own, fmt.Errorf("row with key (%s): %w", b.spec.Key.Format(b.own[0].row), cause)
	}
	var there []finding // the application may have deleted such a row again
	err = b.clear(ctx, b.session, "keys", func() (err error) {
		there, err = b.spec.present(ctx, b.session, own, "")
		return err
	})
	if err == nil {
		b.unfit.settle(slices.Concat(own, foundRows(b.own)), refusing(foundRows(there), cause), there)
	}
	return own, err
}

// ownRows returns a query for the rows of the shadow's own that P finds.
func (p predicate) ownRows() string {
	return fmt.Sprintf("SELECT %s FROM %s AND NOT %s", strings.Join(slices.Concat(p.spec.shadowKeyExprs(), p.marks(p.spec.ShadowKey)), ", "),
		p.rowsOf(), p.spec.synced())
}

const foundBy = schema.KeyAlias + "marks" // marks of a row, as a column

// takersOfRest returns a query for the source's rows of P that have a value of the unique key which a row of the shadow's own has.
func (p predicate) takersOfRest(u UniqueKey) string {
	aliases := make([]string, len(p.spec.ShadowKey))
	var columns []string
	for i, name := range p.spec.Key.Names() {
		aliases[i] = KeyAlias(i)
		columns = append(columns, schema.Quote(name)+" AS "+aliases[i])
	}
	exprs := p.spec.Key.SelectExprsOf(aliases)
	for _, marks := range p.marks(p.spec.Key.Names()) {
		exprs, columns = append(exprs, foundBy), append(columns, marks+" AS "+foundBy)
	}
	return p.ofRest(u, exprs, columns...)
}

// ofRest selects from the source's rows of P and the shadow's own rows that have their values of the unique key.
func (p predicate) ofRest(u UniqueKey, exprs []string, more ...string) string {
	return fmt.Sprintf("SELECT DISTINCT %s FROM %s AND NOT %s", strings.Join(exprs, ", "), p.takersAndHolders(u, more...), p.spec.synced())
}

// findRest fails with ErrDuplicate if a row of the shadow's own has a value of the unique key that a row of P has now.
func (a *exclusive) findRest(ctx context.Context, p predicate, u UniqueKey, duplicate error) error {
	if a.spec.Rest == "" {
		return nil
	}
	rest, err := a.spec.readKeys(ctx, a.session, p.ofRest(u, a.spec.shadowKeyExprs())+" LIMIT 1")
	if err != nil {
		return fmt.Errorf("look for left-out rows that block key %s: %w", u.Name, err)
	}
	if len(rest) > 0 {
		return fmt.Errorf("%w: key %s, the row with key (%s): %w: %w", ErrDuplicate, u.Name, a.spec.Key.Format(rest[0]), ErrLeftOut, duplicate)
	}
	return nil
}
