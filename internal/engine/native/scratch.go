package native

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// scratchPrefix begins the names of schemas on a scratch server. The name of the pool follows.
const scratchPrefix = "midstream_scratch_"

// ErrScratchLeft means that the schema on a scratch server could not be dropped.
var ErrScratchLeft = errors.New("a schema is left on the scratch server")

// Scratch is a schema on another server, the scratch server. It has an empty table like the one of a question, so that the
// table's own server needs none.
type Scratch struct {
	Pool   *dbconn.Pool
	name   string // of the schema
	format string // the clause for the table's row format
	tables map[schema.Name]schema.Name
}

// OpenScratch makes the schema and its tables: the table, and the parents of the foreign keys that the ALTER adds. here is the
// table's server. If it returns an error, nothing is left there, or the error wraps ErrScratchLeft.
func OpenScratch(
	ctx context.Context, here, pool *dbconn.Pool, table *schema.Table, adds []schema.ForeignKey,
) (s *Scratch, err error) {
	s = &Scratch{Pool: pool, name: scratchPrefix + strings.ToLower(pool.Name()), tables: map[schema.Name]schema.Name{}}
	if s.format, err = rowFormat(ctx, here, table.Name); err != nil {
		return nil, err
	}
	var collation string
	err = here.DB().QueryRowContext(ctx, "SELECT default_collation_name FROM information_schema.schemata WHERE schema_name = "+
		schema.Literal(table.Name.Schema)).Scan(&collation)
	if err != nil {
		return nil, fmt.Errorf("read the collation of %s: %w", table.Name.Schema, err)
	}
	statements := []string{"CREATE DATABASE " + schema.Quote(s.name) + " COLLATE " + collation}
	add := func(t *schema.Table, called string) {
		s.tables[t.Name] = schema.Name{Schema: s.name, Table: called}
		statements = append(statements, s.create(t))
	}
	add(table, table.Name.Table)
	for i, fk := range adds {
		if _, there := s.tables[fk.Parent]; there {
			continue
		}
		parent, err := schema.LoadOwn(ctx, here.DB(), fk.Parent)
		if err != nil {
			return nil, fmt.Errorf("read the parent of foreign key %s: %w", fk.Constraint, err)
		}
		add(parent, fmt.Sprintf("midstream_parent_%d", i+1))
	}
	session, err := silent(ctx, pool, append(pool.Defining(), "SET SESSION time_zone = '+00:00'")...)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	// SHOW CREATE TABLE was read with this time zone: it shows moments in the session's.
	for i, statement := range statements {
		if _, err = session.Exec(ctx, statement); err == nil {
			continue
		}
		if i > 0 || dbconn.Number(err) == 0 || dbconn.ConnectionLost(err) {
			err = errors.Join(err, s.Close(ctx))
		}
		return nil, fmt.Errorf("make schema %s: %w", s.name, err)
	}
	return s, nil
}

// create is the statement for a table of the schema, without foreign keys.
func (s *Scratch) create(t *schema.Table) string {
	text, _ := schema.SplitAutoIncrement(t.Create)
	for _, clause := range t.ForeignClauses {
		text = strings.Replace(text, ",\n  "+clause, "", 1)
	}
	return strings.Replace(text, schema.Quote(t.Name.Table), s.tables[t.Name].Quoted(), 1)
}

// Question is the question for the table of the schema.
func (s *Scratch) Question(q Question) Question {
	table := *q.Table
	table.Name = s.tables[q.Table.Name]
	q.Adds = slices.Clone(q.Adds)
	for i, fk := range q.Adds {
		q.Adds[i].Parent = s.tables[fk.Parent]
	}
	q.Table, q.Clone, q.RowFormat = &table, s.Pool.CloneOf(table.Name, ""), &s.format
	return q
}

// Close drops the schema. It fails with ErrScratchLeft if that is not possible.
func (s *Scratch) Close(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), removal)
	defer cancel()
	session, err := silent(bounded, s.Pool)
	if err == nil {
		defer session.Close()
		_, err = session.Exec(bounded, "DROP DATABASE IF EXISTS "+schema.Quote(s.name))
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrScratchLeft, s.name, err)
	}
	return nil
}
