package wholetables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// link is a foreign key that acts once a dropped table is back, and the tables that have the rows of its two sides.
type link struct {
	schema.ForeignKey
	child, parent schema.Name
}

// linksOf are the foreign keys of a dropped table, of which table has the rows, and those of other tables that refer to it. A foreign
// key from the table to itself is left out: no session has changed its rows.
func linksOf(ctx context.Context, q schema.Querier, b *plan.TablesBack, table schema.Name) (all []link, err error) {
	for _, fk := range b.Was.ForeignKeys {
		if fk.Parent != b.Source {
			all = append(all, link{fk, table, fk.Parent})
		}
	}
	since, err := schema.ForeignKeys(ctx, q, b.Source)
	for _, fk := range since {
		if fk.Child != b.Source {
			all = append(all, link{fk, fk.Child, table})
		}
	}
	return all, err
}

// lacks are the columns of the parent that the foreign key refers to, and that the table does not have.
func (l link) lacks(parent *schema.Table) (columns []string) {
	for _, name := range l.ParentColumns {
		if _, has := parent.Column(name); !has {
			columns = append(columns, name)
		}
	}
	return columns
}

// orphans finds the rows that the foreign key would refuse.
func (l link) orphans(ctx context.Context, session *dbconn.Session) (event.Finding, error) {
	var on, whole []string
	for i, column := range l.Columns {
		on = append(on, fmt.Sprintf("p.%s = c.%s", schema.Quote(l.ParentColumns[i]), schema.Quote(column)))
		whole = append(whole, fmt.Sprintf("c.%s IS NOT NULL", schema.Quote(column)))
	}
	from := fmt.Sprintf("FROM %s AS c WHERE %s AND NOT EXISTS (SELECT 1 FROM %s AS p WHERE %s)",
		l.child.Quoted(), strings.Join(whole, " AND "), l.parent.Quoted(), strings.Join(on, " AND "))
	f := event.Finding{
		Kind: "foreign_key", Name: l.Constraint, Query: "SELECT c.* " + from, Refused: true, At: time.Now(),
		What: fmt.Sprintf("without a parent in %s, by the foreign key %s", l.parent, l.Constraint),
	}
	if l.child == l.Child { // of another table, or of the table once it is back
		f.What = fmt.Sprintf("of %s %s", l.child, f.What)
	}
	err := session.Rows(ctx, "SELECT COUNT(*) "+from, func(r *sql.Rows) error { return r.Scan(&f.Rows) })
	if err != nil {
		err = fmt.Errorf("look for rows of %s without a parent: %w", l.child, err)
	}
	return f, err
}

// findOrphans fails with unfit rows if rows of the dropped table, or of a table that refers to it, refer to rows that do not exist. Each
// is emitted as a finding, with the SELECT that lists them.
func (c *Change) findOrphans(ctx context.Context, table schema.Name) error {
	links, err := linksOf(ctx, c.pool.DB(), c.plan.Back, table)
	if err != nil || len(links) == 0 {
		return err
	}
	session, err := c.pool.Session(ctx, dbconn.NoTimeLimit)
	if err != nil {
		return err
	}
	defer session.Close()
	var refused []string
	for _, l := range links {
		f, err := l.orphans(ctx, session)
		if err != nil {
			return err
		}
		if f.Rows == 0 {
			continue
		}
		c.emit(f)
		refused = append(refused, fmt.Sprintf("%s %s (%s)", rowsText(f.Rows), f.What, f.Query))
	}
	if len(refused) > 0 {
		return &unfit{what: strings.Join(refused, "; "), next: plan.LackParents + "; then run the same command again."}
	}
	return nil
}

// reportOrphans looks again once the constraints act: a row may have lost its parent just before.
func (c *Change) reportOrphans(ctx context.Context) {
	if err := c.findOrphans(context.WithoutCancel(ctx), c.plan.Back.Source); err != nil {
		c.note(fmt.Sprintf("the table is back; %v", err))
	}
}

// planPatience bounds the search for rows without a parent for a plan. The undo searches for as long as it takes.
const planPatience = 10 * time.Second

// errLong ends a search for a plan.
var errLong = errors.New("the search takes too long for a plan")

// lookOrphaned finds for the plan what findOrphans would. Within planPatience it may find no more than what is to be searched.
func lookOrphaned(ctx context.Context, pool *dbconn.Pool, known *plan.BackFacts) error {
	links, err := linksOf(ctx, pool.DB(), &known.Back, known.Back.Aside)
	if err != nil || len(links) == 0 || len(known.Orphaned) > 0 {
		return err
	}
	session, err := pool.Session(ctx, dbconn.NoTimeLimit)
	if err != nil {
		return err
	}
	defer session.Close()
	bounded, cancel := context.WithTimeoutCause(ctx, planPatience, errLong)
	defer cancel()
	for _, l := range links {
		if l.parent == known.Back.Aside {
			known.Children = append(known.Children, l.child)
			if lacked := l.lacks(known.Back.Was); len(lacked) > 0 {
				known.Misled = append(known.Misled, plan.Misled{Key: l.ForeignKey, Columns: lacked})
				continue
			}
		}
		f, err := l.orphans(bounded, session)
		switch {
		case errors.Is(err, errLong) && ctx.Err() == nil:
			known.Unsearched = append(known.Unsearched, f)
		case err != nil:
			return err
		case f.Rows > 0:
			known.Unfit = append(known.Unfit, f)
		}
	}
	return nil
}
