package parents

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Lacking is the condition for rows of a table that have no parent by a foreign key with these columns of the table. It names
// each table once, without an alias: LOCK TABLES allows no more.
func Lacking(table schema.Name, fk schema.ForeignKey) string {
	var given, same []string
	for i, name := range fk.Columns {
		column := table.Quoted() + "." + schema.Quote(name)
		given = append(given, column+" IS NOT NULL")
		same = append(same, fk.Parent.Quoted()+"."+schema.Quote(fk.ParentColumns[i])+" = "+column)
	}
	return fmt.Sprintf("%s AND NOT EXISTS (SELECT 1 FROM %s WHERE %s)", strings.Join(given, " AND "), fk.Parent.Quoted(), strings.Join(same, " AND "))
}

// Query lists the rows of a table that have no parent by a foreign key.
func Query(table schema.Name, fk schema.ForeignKey) string {
	return fmt.Sprintf("SELECT * FROM %s WHERE %s", table.Quoted(), Lacking(table, fk))
}

// mostOrphans is the number of rows without a parent that a query returns. If there may be more, the next look is a scan.
const mostOrphans = 1000

// lacking reads the keys of the shadow's rows under a condition that have no parent by a key.
func (p *Proof) lacking(ctx context.Context, session *dbconn.Session, k Key, condition string) (keys []key.Key, err error) {
	spec := p.deps.Spec
	query := fmt.Sprintf("SELECT %s FROM %s WHERE (%s) AND %s LIMIT %d", strings.Join(spec.Key.SelectExprsOf(spec.ShadowKey), ", "),
		spec.Shadow.Quoted(), condition, Lacking(spec.Shadow, k.ForeignKey), mostOrphans)
	err = session.Patiently(ctx, func() error {
		keys = nil
		return session.Rows(ctx, query, func(rows *sql.Rows) error {
			one, err := spec.ScanKey(rows)
			keys = append(keys, one)
			return err
		})
	})
	if len(keys) >= mostOrphans {
		p.Again()
	}
	return keys, err
}

// perQuery is how many rows or values one query looks at.
const perQuery = 200

// look returns the rows without a parent, among rows and the children of values, each with the number of its foreign key.
func (p *Proof) look(ctx context.Context, session *dbconn.Session, l list) (map[key.Key]int, error) {
	orphans := map[key.Key]int{}
	add := func(number int, condition string) error {
		keys, err := p.lacking(ctx, session, p.deps.Keys[number], condition)
		for _, k := range keys {
			orphans[k] = number
		}
		return err
	}
	for number, k := range p.deps.Keys {
		for part := range slices.Chunk(l.rows, perQuery) {
			if err := add(number, rowsync.InKeys(p.deps.Spec.Key, p.deps.Spec.ShadowKey, part)); err != nil {
				return nil, err
			}
		}
		for part := range slices.Chunk(l.values[number], perQuery) {
			if err := add(number, rowsync.InKeys(k.Codec, k.Columns, part)); err != nil {
				return nil, err
			}
		}
	}
	return orphans, p.endView(ctx, session)
}

// endView ends the transaction of queries, which would hold the locks of definitions. Under LOCK TABLES it changes nothing.
func (p *Proof) endView(ctx context.Context, session *dbconn.Session) error {
	_, err := session.Exec(ctx, "COMMIT")
	return err
}

// Scan looks at each row of the shadow once. REQUIRES: the row copy has ended.
func (p *Proof) Scan(ctx context.Context) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	p.clear()
	p.recording, p.again = true, false
	p.mu.Unlock()
	p.settled = time.Now()
	if err := p.scan(ctx); err != nil {
		p.Again()
		return fmt.Errorf("look for the parents of all rows: %w", err)
	}
	p.forget()
	return nil
}

func (p *Proof) scan(ctx context.Context) error {
	if err := p.deps.Fence(ctx); err != nil { // what was received before it is visible to the scan
		return err
	}
	session, err := p.session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := p.checkParents(ctx, session); err != nil {
		return err
	}
	spec := p.deps.Spec
	ranges := rowsync.NewRanges(spec, rowsOfRange, p.deps.Chunk)
	for {
		r, more, err := ranges.Next(ctx, session)
		if err != nil || !more {
			return err
		}
		began := time.Now()
		for number, k := range p.deps.Keys {
			keys, err := p.lacking(ctx, session, k, rowsync.InRange(spec.Key, spec.ShadowKey, r))
			if err != nil {
				return err
			}
			orphans := map[key.Key]int{}
			for _, k := range keys {
				orphans[k] = number
			}
			p.found(orphans)
		}
		if err := p.endView(ctx, session); err != nil {
			return err
		}
		if p.count() >= mostOrphans { // they hold the swap, and the rows are looked at once more
			p.Again()
			return nil
		}
		took := time.Since(began)
		ranges.Took(rowsOfRange, took)
		if err := p.deps.Gate(ctx, took); err != nil {
			return err
		}
	}
}

const rowsOfRange = 10_000

// checkParents fails with ErrChanged if a parent's definition is not the plan's.
func (p *Proof) checkParents(ctx context.Context, session *dbconn.Session) error {
	for _, k := range p.deps.Keys {
		var name, text string
		err := session.Rows(ctx, "SHOW CREATE TABLE "+k.Parent.Quoted(), func(rows *sql.Rows) error { return rows.Scan(&name, &text) })
		if dbconn.NoSuchTable(err) {
			return fmt.Errorf("%w: %s", ErrChanged, k.Parent)
		}
		if err != nil {
			return fmt.Errorf("read the definition of %s: %w", k.Parent, err)
		}
		if now, _ := schema.SplitAutoIncrement(text); !schema.SameDefinition(now, k.Create) {
			return fmt.Errorf("%w: %s", ErrChanged, k.Parent)
		}
	}
	return nil
}
