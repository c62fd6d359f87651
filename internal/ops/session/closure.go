package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"midstream/internal/engine/closure"
	"midstream/internal/engine/desired"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
	"midstream/internal/ops/record"
)

// Needed is what the foreign keys need as well; nil for nothing.
func (t *Together) Needed() *record.Needed {
	if t == nil {
		return nil
	}
	return t.needed
}

// Next is what to do after a plan: text, or the command that was printed if the given statements are incomplete. t may be nil.
func (t *Together) Next(text string) string {
	if t.Needed() == nil {
		return text
	}
	return "the complete command above; with check instead of run, it tests every row first (--verbose: locks, grants, key)"
}

// Complete finds what the foreign keys of the statements need as well. A plan resumes with the complete statements, and other verbs are
// refused. problem is what is wrong with the command line. err is an *Error or a *plan.Refused.
func (t *Together) Complete(ctx context.Context, s *Server, flags *pflag.FlagSet) (problem, err error) {
	if problem, err = t.distinct(ctx, s); problem != nil || err != nil {
		return problem, err
	}
	dialect, err := facts.ReadDialect(ctx, s.Pool.DB())
	if err != nil {
		return nil, unread(err)
	}
	var alters []*ddl.Alter
	for _, text := range t.Statements {
		target := Target{Database: t.Database, sentence: &text}
		statement, err := target.read(dialect)
		if err != nil || statement.Alter == nil || !slices.Contains(t.Names, statement.Alter.Table) {
			return nil, nil // the plan refuses it
		}
		alters = append(alters, statement.Alter)
	}
	t.alters = alters
	c, err := closed(ctx, s, alters)
	switch {
	case err != nil:
		return nil, err
	case slices.ContainsFunc(c.Members, func(m closure.Member) bool { return m.Table == nil }): // the plan refuses it
		return nil, nil
	case c.Complete() && len(alters) == 1 && !c.SelfReferring():
		return errAlone, nil
	case c.Complete():
		return nil, nil
	}
	t.needed = neededOf(c)
	if len(c.Problems) > 0 {
		return nil, t.refused(c, nil)
	}
	texts := t.texts(c, dialect)
	verb, runs := t.verb, t.verb != "plan"
	if !runs {
		verb = "run"
	}
	t.needed.Command = "midstream " + verb + " "
	if len(c.Members) > 1 { // one table needs no group, and may then have --undo
		t.needed.Command += " --together"
	}
	for _, flag := range t.again(flags, len(c.Members) > 1) {
		t.needed.Command += " " + schema.Shell(flag)
	}
	t.needed.Command += " " + schema.Shell(strings.Join(texts, "; "))
	if runs {
		return nil, t.refused(c, nil)
	}
	t.Statements, t.Database, t.Names, t.Tables, t.alters = texts, "", nil, nil, nil
	for _, m := range c.Members {
		t.add(m.Alter)
	}
	t.wishes = append(t.wishes, make([]Wishes, len(t.Names)-len(t.wishes))...)
	t.regroup()
	return nil, nil
}

// agree refuses files that give the columns of a foreign key different types.
func (t *Together) agree(ctx context.Context, s *Server, changes []*desired.Change) error {
	var alters []*ddl.Alter
	for _, c := range changes {
		if c.Alter != nil {
			alters = append(alters, c.Alter)
		}
	}
	c, err := closed(ctx, s, alters)
	if err != nil || c.Complete() {
		return err
	}
	t.needed = neededOf(c)
	return t.refused(c, changes)
}

// closed completes statements. The error is an *Error.
func closed(ctx context.Context, s *Server, alters []*ddl.Alter) (*closure.Closure, error) {
	if !slices.ContainsFunc(alters, closure.MayNeed) {
		return &closure.Closure{}, nil
	}
	var collations map[string]string
	var failed error
	c, err := closure.Of(alters, closure.Source{
		Load: func(name schema.Name) (*schema.Table, error) { return schema.Load(ctx, s.Pool.DB(), name) },
		Collation: func(charset string) string {
			if collations == nil {
				collations, failed = defaultCollations(ctx, s.Pool.DB())
			}
			return collations[strings.ToLower(charset)]
		},
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, unread(fmt.Errorf("follow the foreign keys: %w", err))
	}
	return c, nil
}

// defaultCollations are those of the character sets, in a session of the server.
func defaultCollations(ctx context.Context, q schema.Querier) (map[string]string, error) {
	all := map[string]string{}
	for _, query := range []string{
		"SELECT character_set_name, default_collate_name FROM information_schema.character_sets",
		"SHOW GLOBAL VARIABLES LIKE 'default_collation_for_utf8mb4'",
	} {
		rows, err := q.QueryContext(ctx, query)
		if err != nil {
			return all, err
		}
		for rows.Next() {
			var name, collation string
			if err := rows.Scan(&name, &collation); err != nil {
				return all, errors.Join(err, rows.Close())
			}
			all[strings.ToLower(strings.TrimPrefix(name, "default_collation_for_"))] = collation
		}
		if err := rows.Err(); err != nil {
			return all, err
		}
	}
	if _, has := all["utf8"]; !has {
		all["utf8"] = all["utf8mb3"]
	}
	return all, nil
}

// texts are the complete statements, as a server of the dialect reads them.
func (t *Together) texts(c *closure.Closure, d token.Dialect) (texts []string) {
	for i, m := range c.Members {
		text := statementOf(m)
		if d.NoBackslashEscapes {
			text = withoutEscapes(text)
		}
		texts = append(texts, text)
		t.needed.Tables[i].Statement = text
	}
	return texts
}

func statementOf(m closure.Member) string {
	return "ALTER TABLE " + m.Alter.Table.Statement() + " " + m.Alter.Clauses
}

// withoutEscapes is a text for a server on which a backslash escapes nothing.
func withoutEscapes(text string) string {
	tokens, _ := token.Split(text)
	for _, t := range slices.Backward(tokens) {
		if t.Kind == token.String {
			text = text[:t.Start] + "'" + strings.ReplaceAll(t.Text, "'", "''") + "'" + text[t.End:]
		}
	}
	return text
}

// again are the flags of the command line, for the complete command. In a group, the value of a flag for one table begins with that table.
func (t *Together) again(set *pflag.FlagSet, group bool) (flags []string) {
	if set != nil {
		for _, flag := range Again(set) {
			name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
			ofTable := slices.ContainsFunc(wishFlags(), func(w wishFlag) bool { return w.name == name })
			if !ofTable && name != "together" && name != "calibrate" {
				flags = append(flags, flag)
			}
		}
	}
	for i, w := range t.wishes {
		for _, g := range w.given {
			of := ""
			if group {
				of = t.Names[i].Dotted() + ": "
			}
			flags = append(flags, "--"+g.flag+"="+of+g.text)
		}
	}
	return flags
}

// neededOf is the record of a closure.
func neededOf(c *closure.Closure) *record.Needed {
	n := &record.Needed{Bytes: c.Bytes()}
	for _, m := range c.Members {
		t := record.NeededTable{Table: m.Alter.Table.Dotted(), Given: m.Given, Statement: statementOf(m), Columns: []record.NeededColumn{}}
		if m.Table != nil {
			t.Bytes = m.Table.DataBytes + m.Table.IndexBytes
		}
		for _, need := range m.Needs {
			t.Columns = append(t.Columns, record.NeededColumn{
				Column: need.Column, From: need.From, To: need.To, Constraint: need.Key.Constraint, Child: need.Key.Child.Dotted(),
				Parent: need.Key.Parent.Dotted(), OtherColumn: need.Other, OtherTable: need.OtherTable.Dotted(),
			})
		}
		n.Tables = append(n.Tables, t)
	}
	return n
}

// refused refuses an incomplete group. changes are those of the files of --to; nil for statements.
func (t *Together) refused(c *closure.Closure, changes []*desired.Change) *plan.Refused {
	r := &plan.Refused{Table: schema.List(t.Names)}
	for _, p := range c.Problems {
		r.Blocking = append(r.Blocking, plan.Risk{Code: plan.CodeTogether, What: p.Table.String() + ": " + p.What, Why: p.Why, Fix: p.Fix, Blocking: true})
	}
	for _, m := range c.Members {
		for _, n := range m.Needs {
			risk := plan.Risk{
				Code: plan.CodeTogether, Blocking: true,
				What: fmt.Sprintf("column %s of %s (%s) needs the type %s as well", n.Column, m.Alter.Table, n.From, n.To),
				Why:  fmt.Sprintf("foreign key %s of %s binds it to column %s of %s", n.Key.Constraint, n.Key.Child, n.Other, n.OtherTable),
			}
			if changes != nil {
				risk.Fix = "Define the table with that type in the files"
				at := slices.IndexFunc(changes, func(d *desired.Change) bool { return d.Name() == m.Alter.Table })
				if at >= 0 {
					risk.Fix = "Give the column that type in " + changes[at].Statement.Place()
				}
			}
			r.Blocking = append(r.Blocking, risk)
		}
	}
	if t.needed.Command != "" {
		r.Blocking[len(r.Blocking)-1].Fix = fmt.Sprintf("Give the complete statements (plan instead of %s shows the plan): %s", t.verb, t.needed.Command)
	}
	return r
}
