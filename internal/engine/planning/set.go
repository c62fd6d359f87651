package planning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/native"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

const (
	cannotSet = "--set cannot give column "
	giveSet   = "Give an expression over the columns that the table has now, which depends on nothing else, such as --set \"email_norm=LOWER(email)\""
)

// readSet reads the expressions of --set as the server does.
func (m *maker) readSet(ctx context.Context) error {
	o, name := &m.options.Plan, m.table.Name
	if len(o.Set) == 0 || o.Back != nil { // a redo has what the change was given
		return nil
	}
	dialect, err := facts.ReadDialect(ctx, m.server.Pool.DB())
	if err != nil {
		return failed(ReadFacts, name, err)
	}
	read := plan.Settings{}
	for _, given := range slices.Sorted(maps.Keys(o.Set)) {
		column := strings.Trim(strings.TrimSpace(given), "`")
		expr, wrong := dialect.Expression(o.Set[given])
		switch {
		case wrong != "":
			return refuseBy(plan.CodeSet, name, cannotSet+column+" its values", wrong, giveSet)
		case read.Of(column) != "":
			return refuseBy(plan.CodeSet, name, cannotSet+column+" its values", "two expressions are for it", "Give one of them")
		}
		read[column] = expr
	}
	o.Set = read
	if o.Method == "" {
		o.Method, o.Unwanted = plan.MethodShadow, cmp.Or(o.Unwanted, plan.OnlyNewTableTakes)
	}
	return nil
}

// judgeSet lets the server judge the expressions of --set, each as a generated column of its column's type.
func (m *maker) judgeSet(ctx context.Context) error {
	o, name := m.options.Plan, m.table.Name
	if o.Back != nil {
		return nil
	}
	for _, column := range slices.Sorted(maps.Keys(o.Set)) {
		to := m.altered(column)
		to.Nullable = true
		err := native.Judge(ctx, m.server.Pool, m.table, to.Bare(), o.Set[column], o.TakesZeroDates(m.table))
		if errors.Is(err, native.ErrRefused) {
			return refuseBy(plan.CodeSet, name, cannotSet+column+" its values", err.Error(), giveSet)
		}
		if err != nil {
			return failed(AskServer, name, err)
		}
	}
	return nil
}

// typeOf is the type of a column of a statement, without what only the server knows.
func typeOf(c schema.Column) string {
	kind := c.DataType
	switch {
	case c.HasMembers():
		members := make([]string, len(c.Members))
		for i, member := range c.Members {
			members[i] = schema.Literal(member)
		}
		kind += "(" + strings.Join(members, ", ") + ")"
	case c.Length > 0:
		kind += fmt.Sprintf("(%d)", c.Length)
	case c.DataType == "decimal":
		kind += fmt.Sprintf("(%d, %d)", c.Precision, c.Scale)
	case c.Fraction > 0:
		kind += fmt.Sprintf("(%d)", c.Fraction)
	}
	if c.Unsigned {
		kind += " unsigned"
	}
	return kind
}

// altered is a column of the altered table, as far as it is known.
func (m *maker) altered(column string) schema.Column {
	if t := m.facts.Trial; t != nil {
		if c, is := t.Altered.Column(column); is {
			return c
		}
	}
	for _, c := range m.alter.Defined {
		if strings.EqualFold(c.Name, column) {
			return schema.Column{Name: column, Type: typeOf(c)}
		}
	}
	if c, is := m.table.Column(column); is {
		return c
	}
	return schema.Column{Name: column, Type: "longtext"}
}
