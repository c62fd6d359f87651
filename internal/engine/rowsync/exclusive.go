package rowsync

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/dbconn"
)

// exclusive is a sync that runs while no other sync does. It may delete rows outside of its P that
// block it, once they are known to be stale. The source has changed since they were synced, so
// their own sync is yet to come, and brings them back.
type exclusive struct {
	*Syncer
	session *dbconn.Session
	// together counts how often in turn a row could not be synced together with all rows that have
	// a change yet to be applied.
	together int
}

// syncAlone tries a sync again while no other sync runs, and makes way for it.
func (s *Syncer) syncAlone(ctx context.Context, session *dbconn.Session, p predicate) (Result, error) {
	s.alone.Lock()
	defer s.alone.Unlock()
	a := &exclusive{Syncer: s, session: session}
	p.evict = true
	if p.chunk != nil {
		p.fresh = p.fresh && s.spec.KeyChanged // an earlier try may be committed
		return a.insist(ctx, p, aloneTries)
	}
	return a.inParts(ctx, p, p.keys)
}

// inParts syncs a list part by part, in smaller ones where values change hands faster than
// a part is synced.
func (a *exclusive) inParts(ctx context.Context, p predicate, keys []key.Key) (sum Result, err error) {
	for size := aloneKeys; len(keys) > 0; {
		size = min(size, len(keys))
		p.keys = keys[:size]
		tries := partTries
		switch {
		case size == 1:
			tries = aloneTries
		case a.unfit != nil: // a row that does not fit is not worth more
			tries = unfitTries
		}
		result, err := a.insist(ctx, p, tries)
		if size > 1 && dbconn.Duplicate(err) && !errors.Is(err, ErrDuplicate) {
			size /= 2
			continue
		}
		sum.Inserted += result.Inserted
		sum.Deleted += result.Deleted
		if err = told(err); size == 1 && errors.Is(err, ErrDuplicate) {
			return sum, &twin{error: err, key: keys[0], rest: keys[1:]}
		}
		if err != nil {
			return sum, err
		}
		keys = keys[size:]
	}
	return sum, nil
}

// twin is an ErrDuplicate of one row of a list. The keys before it in the list are synced, and the rest are not.
type twin struct {
	error
	key  key.Key
	rest []key.Key
}

func (t *twin) Unwrap() error { return t.error }

// told makes an ErrDuplicate of the server's message, if no other was found.
func told(err error) error {
	if dbconn.Duplicate(err) && !errors.Is(err, ErrDuplicate) {
		return fmt.Errorf("%w: %w", ErrDuplicate, err)
	}
	return err
}

// insist tries until the sync is done, or a duplicate is found to be real. A try has three ends:
//
//	done, or another error    it is returned
//	duplicate                 makeWay finds its cause, and the sync is tried again, up to tries times
//	lock of another session   insist waits for it, however long it is held: no try is used up
//
// While it waits, other syncs may run. So a row that was stale before may not be stale any more.
func (a *exclusive) insist(ctx context.Context, p predicate, tries int) (Result, error) {
	a.together = 0
	for try, waits := 1, 1; ; {
		result, err := a.once(ctx, a.session, p)
		if dbconn.Duplicate(err) {
			if try == tries {
				return result, lastDuplicate(p, err)
			}
			p.stale, err = a.makeWay(ctx, p, err, try)
			try++
			if err == nil {
				continue
			}
		}
		if !dbconn.Contended(err) { // the sync's own error, or makeWay's
			return result, err
		}
		p.stale = nil
		if err := a.yield(ctx, waits); err != nil {
			return result, err
		}
		waits++
	}
}

// lastDuplicate returns the error of a sync that ran out of tries. inParts then tries a list of
// keys in smaller parts, and so gets the server's own error.
func lastDuplicate(p predicate, err error) error {
	if p.chunk != nil {
		return told(err)
	}
	return err
}

// yield lets other syncs have their turn.
func (a *exclusive) yield(ctx context.Context, try int) error {
	a.alone.Unlock()
	defer a.alone.Lock()
	return dbconn.BackOff(ctx, try)
}

// makeWay looks for the cause of a duplicate. It returns the keys of the stale rows that block the
// sync, or ErrDuplicate with the two rows.
func (a *exclusive) makeWay(ctx context.Context, p predicate, duplicate error, try int) (stale []key.Key, err error) {
	byValue := !a.spec.KeyChanged && !a.spec.Opaque && !a.spec.ByValue
	if !byValue && try > 1 {
		if err := a.yield(ctx, try); err != nil {
			return nil, err
		}
	}
	if stale, err = a.findStale(ctx, p, duplicate); err != nil || byValue {
		return stale, err
	}
	keys, err := a.outstanding(ctx, a.settled(p))
	if err != nil {
		return nil, err
	}
	if p.chunk == nil && len(keys) <= mostTogether {
		err := a.tryTogether(ctx, p.and(keys))
		if dbconn.Duplicate(err) {
			return stale, a.remember(ctx, p, err)
		}
		if err != nil {
			return stale, err
		}
	}
	return stale, a.setAside(ctx, keys)
}

// findStale finds rows of the shadow that have a value that a row of P has now, and returns the
// stale ones. A row is stale if the source has another value for it than the shadow. Nothing
// changes the shadow during findStale, so a change of that row is yet to be applied. It doesn't
// matter whether P's row has lost the value again by then. Two rows of the source that have the
// value at one time are twins, and no sync can help.
func (a *exclusive) findStale(ctx context.Context, p predicate, duplicate error) (stale []key.Key, err error) {
	defer func() { _, _ = a.session.Exec(context.WithoutCancel(ctx), "COMMIT") }() // ends the transaction of the queries
	for _, u := range a.spec.Unique {
		if err := a.findRest(ctx, p, u, duplicate); err != nil {
			return nil, err
		}
		if u.Enforced {
			continue
		}
		if err := p.findTwins(ctx, a.session, u, duplicate); err != nil {
			return nil, err
		}
		holders, err := p.findHolders(ctx, a.session, u, duplicate)
		if err != nil {
			return nil, err
		}
		if len(holders) == 0 || a.spec.KeyChanged || a.spec.ByValue { // the row of such a holder's key may be another one in the source
			continue
		}
		found, err := a.spec.readKeys(ctx, a.session, p.staleAmong(u, holders))
		if err != nil {
			return nil, fmt.Errorf("look for stale rows that block key %s: %w", u.Name, err)
		}
		stale = append(stale, found...)
	}
	return stale, nil
}

// findHolders reads the keys of rows of the shadow outside of P that hold a value of the unique key that a row of P has now. If the key
// has changed its type or collation, it leaves out what the source's type does not take, and the source may have no such row. It fails
// with ErrDuplicate if one of them has the value in the source too.
func (p predicate) findHolders(ctx context.Context, session *dbconn.Session, u UniqueKey, duplicate error) (holders []key.Key, err error) {
	if !p.spec.KeyChanged {
		holders, err = p.spec.readKeys(ctx, session, p.holders(u, mostHolders))
	} else {
		query := fmt.Sprintf("SELECT DISTINCT %s FROM %s LIMIT %d", strings.Join(p.spec.shadowKeyExprs(), ", "), p.takersAndHolders(u), mostHolders)
		err = session.Rows(ctx, query, func(rows *sql.Rows) error {
			if k, err := p.spec.ScanKey(rows); err == nil && !slices.Contains(p.keys, k) {
				holders = append(holders, k)
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("look for rows that block key %s: %w", u.Name, err)
	}
	if len(holders) == 0 {
		return nil, nil
	}
	return holders, p.and(holders).findTwins(ctx, session, u, duplicate)
}

// findTwins fails with ErrDuplicate if two rows of P in the source have one value of the unique key.
func (p predicate) findTwins(ctx context.Context, session *dbconn.Session, u UniqueKey, duplicate error) error {
	var value, first, second sql.NullString
	found := false
	err := session.Rows(ctx, p.twins(u), func(rows *sql.Rows) error {
		found = true
		return rows.Scan(&value, &first, &second)
	})
	if err != nil {
		return fmt.Errorf("look for duplicates in key %s: %w", u.Name, err)
	}
	if found {
		return fmt.Errorf("%w: value %q of key %s exists in the rows with key (%s) and (%s): %w",
			ErrDuplicate, value.String, u.Name, first.String, second.String, duplicate)
	}
	return nil
}

// twinOf is the ErrDuplicate of a row that the shadow refuses next to a row that the source has too; nil if there is no such row, so that
// what blocks it may be stale.
func twinOf(ctx context.Context, session *dbconn.Session, p predicate, duplicate error) error {
	for _, u := range p.spec.Unique {
		if u.Enforced {
			continue
		}
		_, err := p.findHolders(ctx, session, u, duplicate)
		if errors.Is(err, ErrDuplicate) {
			return err
		}
		if err != nil {
			return nil
		}
	}
	return nil
}

// setAside deletes the shadow's rows of all keys with a sync that is yet to come, whatever their
// values. It is for a blocking row that can't be identified by its value.
func (a *exclusive) setAside(ctx context.Context, keys []key.Key) error {
	for part := range slices.Chunk(keys, aloneKeys) {
		if err := a.delete(ctx, part); err != nil {
			return fmt.Errorf("set rows aside whose change is yet to be applied: %w", err)
		}
	}
	return nil
}

// delete deletes the shadow's rows of some keys.
func (a *exclusive) delete(ctx context.Context, keys []key.Key) error {
	return transact(ctx, a.session, func() (err error) {
		if a.spec.KeyChanged {
			_, err = a.deleteConverted(ctx, a.session, keys)
		} else {
			_, err = a.remove(ctx, a.session, predicate{spec: a.spec, keys: keys}.rowsOf())
		}
		return err
	})
}
