package leftovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Aside is a table that a swap, a DROP or a TRUNCATE has put aside.
type Aside struct {
	Name, Source schema.Name
	Bytes        int64 // the server's estimate
	Partitions   []string
	// Undo means that there is an undo table of the source: Needed says whether that undo needs it.
	Undo bool
	// Accesses counts the rows read and written in it since the server began; 0 if the server doesn't count them.
	Accesses uint64
	// Made is the time when the server created the table, as a text that another table of the name does not have.
	Made string
}

// Asides finds all tables on a server that were put aside, by their marks.
func Asides(ctx context.Context, q schema.Querier) ([]Aside, error) {
	rows, err := q.QueryContext(ctx, `
		SELECT t.table_schema, t.table_name, t.table_comment, IFNULL(t.data_length, 0) + IFNULL(t.index_length, 0),
		       CONCAT(IFNULL(t.create_time, '')),
		       IFNULL((SELECT GROUP_CONCAT(DISTINCT p.partition_name) FROM information_schema.partitions p
		                WHERE p.table_schema = t.table_schema AND p.table_name = t.table_name), '')
		  FROM information_schema.tables t
		 WHERE t.table_type = 'BASE TABLE' AND LEFT(t.table_comment, ?) = ?
		 ORDER BY t.table_schema, t.table_name`, len(schema.Mark), schema.Mark)
	if err != nil {
		return nil, fmt.Errorf("look for old tables: %w", err)
	}
	defer rows.Close()
	var found []Aside
	undos := map[schema.Name]bool{}
	for rows.Next() {
		var a Aside
		var comment, partitions string
		if err := rows.Scan(&a.Name.Schema, &a.Name.Table, &comment, &a.Bytes, &a.Made, &partitions); err != nil {
			return nil, err
		}
		if partitions != "" {
			a.Partitions = strings.Split(partitions, ",")
		}
		if source, is := strings.CutPrefix(comment, schema.MarkFor(checkpoint.UndoKind, schema.Name{Schema: a.Name.Schema})); is {
			undos[a.Name.Sibling(source)] = true
		}
		if source, _, is := schema.SourceOfAside(comment, a.Name.Schema); is {
			a.Source = source
			found = append(found, a)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for i := range found {
		a := &found[i]
		a.Undo = undos[a.Source]
		if a.Accesses, err = accesses(ctx, q, a.Name); err != nil && !dbconn.Denied(err) && !dbconn.NoSuchTable(err) {
			return nil, fmt.Errorf("look for readers of %s: %w", a.Name, err)
		}
	}
	return found, nil
}

// OldsOf finds the tables of one source that were put aside; none if they cannot be read.
func OldsOf(ctx context.Context, pool *dbconn.Pool, table schema.Name) []Aside {
	all, err := Asides(ctx, pool.DB())
	if err != nil {
		return nil // it is only told
	}
	return slices.DeleteFunc(all, func(a Aside) bool { return a.Source != table })
}

// Needed reports whether an undo needs the table: its time is not over, or that is not known.
func (a Aside) Needed(ctx context.Context, pool *dbconn.Pool) (bool, error) {
	if !a.Undo {
		return false, nil
	}
	all, err := Undoables(ctx, pool, &a.Source)
	if err != nil || len(all) != 1 || all[0].State != UndoEnded {
		return true, err
	}
	now, err := ServerTime(ctx, pool.DB())
	return err != nil || !now.After(all[0].Record.Until), err
}

// ErrKept means that a table that was put aside must not be dropped: its mark or its source is gone, or an undo
// needs it.
var ErrKept = errors.New("the table must be kept")

// DropAside drops a table that was put aside, as Cleanup does with old: no run works on its source, and no session uses
// it (ErrInUse, ErrClaimed, ErrKept). REQUIRES: no undo needs it; what is left of one is dropped too.
func DropAside(ctx context.Context, pool *dbconn.Pool, a Aside) error {
	if a.Undo {
		if ended, err := EndUndo(ctx, pool, a.Source, false); err != nil || slices.Contains(ended.Dropped, a.Name) {
			return err
		}
	}
	held, err := ClaimTable(ctx, pool, a.Source, func(error) {})
	if err != nil {
		return err
	}
	defer held.Release()
	c := Cleaner{pool: pool, source: a.Source}
	tables, err := c.List(ctx)
	if err != nil {
		return fmt.Errorf("look for %s: %w", a.Name, err)
	}
	t, is := tables[a.Name]
	if !is || !schema.MarkedAside(t.comment) {
		return fmt.Errorf("%s: %w: it is gone, or has no mark any more", a.Name, ErrKept)
	}
	listed, err := c.judge(ctx, &t, tables, true)
	switch {
	case err != nil:
		return err
	case t.Spared:
		return fmt.Errorf("%s: %w: %s", a.Name, ErrKept, t.Why)
	case !listed:
		return fmt.Errorf("%s: %w: %s does not exist", a.Name, ErrKept, a.Source)
	}
	old := Old{Pool: pool, Source: a.Source, Name: a.Name}
	if len(a.Partitions) > 1 {
		if err := old.Empty(ctx, a.Partitions); err != nil {
			return err
		}
	}
	if err := old.Drop(ctx); err != nil {
		return err
	}
	if delete(tables, a.Name); c.HasUndo(tables) || tables.hasOld(c.source) {
		return nil
	}
	return dropOurs(ctx, &c, tables, plan.KeptOf(a.Source))
}

// betweenSlices is the least time for sessions that a slice has stalled to catch up; they get as
// long as it took.
const betweenSlices = 50 * time.Millisecond

// Empty takes the rows out of a partitioned table, one partition at a time.
func (o Old) Empty(ctx context.Context, partitions []string) error {
	ctx = context.WithoutCancel(ctx) // many partitions may take long
	for _, partition := range partitions {
		began := time.Now()
		err := RetryBriefly(ctx, func() error {
			session, err := o.Pool.Session(ctx)
			if err != nil {
				return err
			}
			defer session.Close()
			_, err = session.Exec(ctx, fmt.Sprintf("ALTER TABLE %s TRUNCATE PARTITION %s", o.Name.Quoted(), schema.Quote(partition)))
			return err
		})
		if err != nil {
			return fmt.Errorf("empty partition %s of %s: %w", partition, o.Name, err)
		}
		if err := dbconn.Sleep(ctx, max(betweenSlices, time.Since(began))); err != nil {
			return err
		}
	}
	return nil
}
