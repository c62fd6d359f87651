package native

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// scratchMark is the table that proves that a schema is ours; its comment begins with our mark. A plan that was killed before it had made
// the table has left an empty schema.
const scratchMark = "midstream_scratch"

// scratchLives is for how many seconds the server keeps the claim of a client that is silent, such as one whose machine has lost its power.
// A plan asks more often.
const scratchLives = 3600

// scratchName matches the names of schemas that OpenScratch makes.
var scratchName = regexp.MustCompile("^" + scratchPrefix + "[a-z2-7]{26}$")

// scratchPrefix begins the names of schemas on a scratch server. The name of the pool follows.
const scratchPrefix = "midstream_scratch_"

// ErrScratchLeft means that the schema on a scratch server could not be dropped.
var ErrScratchLeft = errors.New("a schema is left on the scratch server")

// Scratch is a schema on another server, the scratch server. It has an empty table like the one of a question, so that the
// table's own server needs none.
type Scratch struct {
	Pool   *dbconn.Pool
	Swept  []string // schemas that plans had left, and that were dropped
	claim  *dbconn.Session
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
	mark := schema.Name{Schema: s.name, Table: scratchMark}
	statements := []string{
		"CREATE DATABASE " + schema.Quote(s.name) + " COLLATE " + collation,
		"CREATE TABLE " + mark.Quoted() + " (id INT NOT NULL PRIMARY KEY) COMMENT " + schema.Literal(schema.Mark+"scratch schema of a plan"),
	}
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
	if err := s.claims(ctx); err != nil {
		return nil, fmt.Errorf("claim schema %s: %w", s.name, err)
	}
	defer func(claim *dbconn.Session) {
		if err != nil {
			claim.Close()
		}
	}(s.claim)
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

// claims takes the advisory lock of the schema, which the server releases when this process ends. Then it drops the schemas that other
// plans have left: no session has their lock.
func (s *Scratch) claims(ctx context.Context) (err error) {
	if s.claim, err = silent(ctx, s.Pool, fmt.Sprintf("SET SESSION wait_timeout = %d", scratchLives)); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.claim.Close()
		}
	}()
	if _, err := s.lock(ctx, s.name); err != nil {
		return err
	}
	var names []string
	err = s.claim.Rows(ctx, "SELECT schema_name FROM information_schema.schemata ORDER BY 1", func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		if scratchName.MatchString(name) && name != s.name {
			names = append(names, name)
		}
		return err
	})
	for i := 0; i < len(names) && err == nil; i++ {
		err = s.sweep(ctx, names[i])
	}
	return err
}

// sweep drops a schema if no plan uses it, and if it has our mark or no table. An error of the server leaves it to another plan, whose
// account may drop it.
func (s *Scratch) sweep(ctx context.Context, name string) error {
	free, err := s.lock(ctx, name)
	if err != nil || !free {
		return err
	}
	var tables, marks int
	err = s.claim.Rows(ctx, "SELECT COUNT(*), COALESCE(SUM(table_name = "+schema.Literal(scratchMark)+" AND LEFT(table_comment, 10) = "+
		schema.Literal(schema.Mark)+"), 0) FROM information_schema.tables WHERE table_schema = "+schema.Literal(name),
		func(rows *sql.Rows) error { return rows.Scan(&tables, &marks) })
	if err == nil && (tables == 0 || marks > 0) {
		if _, err = s.claim.Exec(ctx, "DROP DATABASE "+schema.Quote(name)); err == nil {
			s.Swept = append(s.Swept, name)
		} else if dbconn.Number(err) != 0 && !dbconn.ConnectionLost(err) && ctx.Err() == nil {
			err = nil
		}
	}
	if err == nil {
		_, err = s.claim.Exec(ctx, "DO RELEASE_LOCK("+schema.Literal(name)+")")
	}
	return err
}

// lock takes an advisory lock, if no session has it.
func (s *Scratch) lock(ctx context.Context, name string) (got bool, err error) {
	err = s.claim.Rows(ctx, "SELECT COALESCE(GET_LOCK("+schema.Literal(name)+", 0), 0)", func(rows *sql.Rows) error { return rows.Scan(&got) })
	return got, err
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
	defer s.claim.Close()
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
