package tableddl

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"midstream/internal/engine/event"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Look reads what a plan of the statement needs, and spells the statement's tables as the server
// does. For TRUNCATE and CREATE TABLE it makes the server create an empty clone, compares the clone
// with the table, and drops it.
func Look(
	ctx context.Context,
	pool *dbconn.Pool,
	statement *ddl.Statement,
	terms lock.Terms,
	emit event.Listener,
) (*plan.StatementFacts, error) {
	l := looker{pool: pool, statement: statement, terms: terms, emit: emit, facts: &plan.StatementFacts{}}
	if err := l.spell(ctx); err != nil {
		return nil, err
	}
	for _, name := range statement.Tables() {
		t, err := l.table(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("read the definition of %s: %w", name, err)
		}
		l.facts.Tables = append(l.facts.Tables, t)
	}
	var err error
	first := l.facts.Tables[0]
	switch {
	case first.Table == nil:
	case statement.Kind == ddl.KindTruncate:
		l.facts.Unlike, err = l.unlike(ctx, first)
	case statement.Kind == ddl.KindCreate:
		l.facts.Differs, err = l.differs(ctx, first)
	}
	return l.facts, err
}

type looker struct {
	pool      *dbconn.Pool
	statement *ddl.Statement
	terms     lock.Terms
	emit      event.Listener
	facts     *plan.StatementFacts
}

// spell spells the names as the server does, if letter case does not distinguish tables.
func (l *looker) spell(ctx context.Context) error {
	var mode int
	if err := l.pool.DB().QueryRowContext(ctx, "SELECT @@GLOBAL.lower_case_table_names").Scan(&mode); err != nil {
		return err
	}
	if mode == 1 {
		l.statement.Respell(func(n schema.Name) schema.Name {
			return schema.Name{Schema: strings.ToLower(n.Schema), Table: strings.ToLower(n.Table)}
		})
	}
	return nil
}

// table reads all known facts of one table.
func (l *looker) table(ctx context.Context, name schema.Name) (plan.TableFacts, error) {
	t := plan.TableFacts{Name: name}
	db := l.pool.DB()
	var err error
	if t.Facts, err = facts.Gather(ctx, db, name); err != nil {
		return t, err
	}
	t.Table, err = schema.Load(ctx, db, name)
	switch {
	case errors.Is(err, schema.ErrNotFound):
		var n int
		err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?", name.Schema).Scan(&n)
		t.Table, t.NoDatabase = nil, n == 0
		return t, err
	case errors.Is(err, schema.ErrNotBaseTable):
		t.Table = nil
		return t, db.QueryRowContext(ctx, "SELECT table_type FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
			name.Schema, name.Table).Scan(&t.Other)
	case err != nil:
		return t, err
	}
	t.Table.Rows = max(t.Table.Rows, t.Facts.Counted)
	if t.Views, err = l.views(ctx, name); err != nil {
		return t, err
	}
	if t.Table.Partitioned {
		if t.Files, err = schema.Files(ctx, db, name); err != nil {
			return t, err
		}
		t.Partitions, err = l.list(ctx, `SELECT DISTINCT partition_name FROM information_schema.partitions
			WHERE table_schema = ? AND table_name = ? AND partition_name IS NOT NULL`, name.Schema, name.Table)
	}
	return t, err
}

// views are the views whose definition, as the server writes it, uses the table. Before 8.0.13 the
// server has no list of what a view uses.
func (l *looker) views(ctx context.Context, name schema.Name) ([]schema.Name, error) {
	rows, err := l.pool.DB().QueryContext(ctx, `SELECT table_schema, table_name FROM information_schema.views
		WHERE INSTR(view_definition, ?) > 0 ORDER BY table_schema, table_name`, name.Quoted())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var views []schema.Name
	for rows.Next() {
		var view schema.Name
		if err := rows.Scan(&view.Schema, &view.Table); err != nil {
			return nil, err
		}
		views = append(views, view)
	}
	return views, rows.Err()
}

func (l *looker) list(ctx context.Context, query string, args ...any) (all []string, err error) {
	rows, err := l.pool.DB().QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// unlike returns what CREATE TABLE ... LIKE does not copy, or "".
func (l *looker) unlike(ctx context.Context, t plan.TableFacts) (string, error) {
	clone := l.pool.CloneOf(t.Name, "")
	create := fmt.Sprintf("CREATE TABLE %s LIKE %s", clone.Quoted(), t.Name.Quoted())
	if !l.may(t, clone) {
		return "the account may not make one to compare", nil
	}
	if rounded, err := l.rounded(ctx, t); rounded != "" || err != nil {
		return rounded, err
	}
	return l.compare(ctx, t, clone, create, nil, func(text string) string { return text })
}

// rounded returns which default of a FLOAT a copy rounds, or "": SHOW CREATE TABLE shows only six
// digits of it. A table without rows does not show the difference.
func (l *looker) rounded(ctx context.Context, t plan.TableFacts) (string, error) {
	for _, c := range t.Table.Columns {
		shown, err := strconv.ParseFloat(strings.Trim(c.Default, "'"), 64)
		if err != nil || c.DataType != "float" || c.Fixed() {
			continue
		}
		var exact sql.NullFloat64
		row := l.pool.DB().QueryRowContext(
			ctx, fmt.Sprintf("SELECT DEFAULT(%s) + 0e0 FROM %s LIMIT 1", schema.Quote(c.Name), t.Name.Quoted()),
		)
		if err := row.Scan(&exact); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return "", fmt.Errorf("read the default of column %s: %w", c.Name, err)
		}
		if exact.Valid && float32(exact.Float64) != float32(shown) {
			return fmt.Sprintf("the default of column %s has more than six digits", c.Name), nil
		}
	}
	return "", nil
}

// differs returns how the existing table differs from the definition of a CREATE TABLE, or "". The
// clone gets other names of constraints, because the table has the real ones already.
func (l *looker) differs(ctx context.Context, t plan.TableFacts) (string, error) {
	clone := l.pool.CloneOf(t.Name, "")
	if !l.may(t, clone) {
		return "the account may not make an empty table to compare", nil
	}
	var names []string
	definition := l.statement.DefinitionWith(func(ref ddl.ConstraintRef) string {
		names = append(names, fmt.Sprintf("%s_%d", clone.Table, len(names)), ref.Name)
		return names[len(names)-2]
	})
	for i := range names {
		names[i] = schema.Quote(names[i])
	}
	create := fmt.Sprintf("CREATE TABLE %s %s", clone.Quoted(), definition)
	return l.compare(ctx, t, clone, create, l.statement.Parents, strings.NewReplacer(names...).Replace)
}

// may reports whether the account may create the clone and drop it.
func (l *looker) may(t plan.TableFacts, clone schema.Name) bool {
	for _, privilege := range []string{"CREATE", "ALTER", "DROP"} {
		if !t.Facts.Grants.On(privilege, clone.Schema, clone.Table) {
			return false
		}
	}
	return true
}

// compare creates the clone, under the bounded lock if that locks other tables. It returns the
// first difference between the clone and the table.
func (l *looker) compare(
	ctx context.Context,
	t plan.TableFacts,
	clone schema.Name,
	create string,
	locked []schema.Name,
	back func(string) string,
) (difference string, err error) {
	session, err := l.pool.Session(ctx, append(l.pool.AsTheServer(true), "USE "+schema.Quote(t.Name.Schema))...)
	if err != nil {
		return "", err
	}
	defer session.Close()
	defer func() {
		if _, failed := session.Exec(context.WithoutCancel(ctx), "DROP TABLE IF EXISTS "+clone.Quoted()); failed != nil {
			err = errors.Join(err, fmt.Errorf("drop clone %s: %w", clone, failed))
		}
	}()
	if len(locked) == 0 {
		_, err = session.Exec(ctx, create)
	} else {
		r := runner{Change: Change{Table: clone, Statement: create, Created: true, Long: true}, pool: l.pool, began: sights{clone: {}}}
		asker := lock.Asker{Pool: l.pool, Lookout: &lock.Watcher{DB: l.pool.DB(), Tables: locked},
			Terms: func() lock.Terms { return l.terms }, Emit: l.emit}
		_, _, err = asker.Run(ctx, r.attempt)
	}
	if err != nil {
		return "", fmt.Errorf("make clone %s: %w", clone, err)
	}
	made, err := schema.LoadOwn(ctx, l.pool.DB(), clone)
	if err == nil {
		_, err = session.Exec(
			ctx,
			fmt.Sprintf("ALTER TABLE %s COMMENT = %s", clone.Quoted(), schema.Literal(schema.MarkFor(schema.CloneKind, t.Name))),
		)
	}
	if err != nil {
		return "", fmt.Errorf("read clone %s: %w", clone, err)
	}
	return firstDifference(plainCreate(t.Table.Create, t.Name), plainCreate(back(made.Create), clone)), nil
}

// plainCreate is a SHOW CREATE TABLE without the table's own name, without names of constraints
// that are made from it, and without the AUTO_INCREMENT counter. Constraints, which the server
// sorts by name, come last in an order of their own.
func plainCreate(create string, table schema.Name) string {
	create, _ = schema.SplitAutoIncrement(create)
	quoted := schema.Quote(table.Table)
	create = strings.Replace(create, quoted, "", 1)
	quoted = quoted[1 : len(quoted)-1]
	create = regexp.MustCompile("CONSTRAINT `"+regexp.QuoteMeta(quoted)+"_(chk|ibfk)_[0-9]+`").ReplaceAllString(create, "CONSTRAINT")
	var lines, constraints []string
	for _, line := range strings.Split(create, "\n") {
		if line = strings.TrimSuffix(strings.TrimSpace(line), ","); strings.HasPrefix(line, "CONSTRAINT") {
			constraints = append(constraints, line)
		} else {
			lines = append(lines, line)
		}
	}
	slices.Sort(constraints)
	return strings.Join(append(lines, constraints...), "\n")
}

// firstDifference returns the first line in which two definitions differ, "" if they are equal.
func firstDifference(there, wanted string) string {
	a, b := strings.Split(there, "\n"), strings.Split(wanted, "\n")
	line := func(lines []string, i int) string {
		if i >= len(lines) {
			return "nothing"
		}
		return lines[i]
	}
	for i := range max(len(a), len(b)) {
		if one, other := line(a, i), line(b, i); one != other {
			return fmt.Sprintf("it has %s, and not %s", one, other)
		}
	}
	return ""
}
