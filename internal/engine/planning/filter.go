package planning

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/native"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// readFilter reads the condition of --keep as the server does, and has the server judge it.
func (m *maker) readFilter(ctx context.Context) error {
	o, name := &m.options.Plan, m.table.Name
	if o.Filter == "" {
		return nil
	}
	refused := func(what, why, fix string) error { return refuseBy(plan.CodeFilter, name, what, why, fix) }
	const what, condition = "--keep cannot choose the rows", "Give a condition over the columns of the table that depends on nothing else, such as --keep \"created_at >= '2024-01-01'\""
	dialect, err := facts.ReadDialect(ctx, m.server.Pool.DB())
	if err != nil {
		return failed(ReadFacts, name, err)
	}
	text, wrong := dialect.Expression(o.Filter)
	if o.Filter = text; wrong != "" {
		return refused(what, wrong, condition)
	}
	err = native.Judge(ctx, m.server.Pool, m.table, "INT", o.Filter, o.TakesZeroDates(m.table))
	switch {
	case errors.Is(err, native.ErrRefused):
		return refused(what, err.Error(), condition)
	case err != nil:
		return failed(AskServer, name, err)
	case m.options.Config.DropOld:
		return refused("--keep leaves rows out, and --drop-old drops the only table that has them", "they would be lost", "Leave out --drop-old")
	}
	if o.Meet, err = facts.Meets(ctx, m.server.Pool.DB(), name, o.Filter, dialect.MariaDB); err != nil {
		return failed(ReadFacts, name, err)
	}
	if o.Method == "" {
		o.Method, o.Unwanted = plan.MethodShadow, plan.OnlyNewTable
	}
	return nil
}

// restRisk warns of new rows whose keys, or values of unique keys, the old table has for rows that the change has left out.
func restRisk(p *plan.Plan, old *schema.Table, mappings []plan.Mapping) plan.Risk {
	why, fix := p.Back.Refusing("such a row")
	what := " refuses rows that have the key of a row which --keep has left out"
	equal := func(parts []schema.KeyPart) string {
		var same []string
		for _, part := range parts {
			i := slices.IndexFunc(mappings, func(m plan.Mapping) bool { return strings.EqualFold(m.Shadow, part.Column) && m.Source != "" })
			if i < 0 || part.Expression != "" {
				return ""
			}
			same = append(same, part.Of(p.Source.Name.Quoted()+"."+schema.Quote(mappings[i].Source))+" = "+part.Of(old.Name.Quoted()+"."+schema.Quote(part.Column)))
		}
		return strings.Join(same, " AND ")
	}
	var any []string
	for _, k := range old.Keys {
		if !k.Unique {
			continue
		}
		if k.Name != p.Key.Name {
			what = " refuses rows that have the key, or a value of a unique key, of a row which --keep has left out"
		}
		if text := equal(k.Parts); text != "" {
			any = append(any, text)
		}
	}
	return plan.Risk{
		Code: plan.CodeFilter, What: p.Back.Definition() + what, Why: why,
		Fix: strings.TrimPrefix(fmt.Sprintf("%s. SELECT COUNT(*) FROM %s WHERE EXISTS (SELECT 1 FROM %s WHERE (%s) IS NOT TRUE AND (%s)) counts them", fix,
			p.Source.Name.Quoted(), old.Name.Quoted(), p.Back.Rest, strings.Join(any, " OR ")), ". "),
	}
}

// sameSettings refuses an undo if other rows may meet the filter now than at the swap, because the server has other settings. Then rows
// that were left out would be taken for others.
func (m *undoMaker) sameSettings(p *plan.Plan) error {
	was, is := m.saved.Start.Deciding, p.Deciding()
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if was[name] != is[name] {
			return refuse(m.table.Name, notBack, fmt.Sprintf("the setting %s may decide which rows meet the condition of --keep; it was %q at the swap, and is %q",
				name, was[name], is[name]), formerSetting(name, was[name]))
		}
	}
	return nil
}

// formerSetting is how a setting gets its former value.
func formerSetting(name, value string) string {
	if name == "system_time_zone" {
		return "Undo it on a server whose system has that time zone"
	}
	if _, err := strconv.Atoi(value); err != nil {
		value = schema.Literal(value)
	}
	return "Undo it with the former setting: SET GLOBAL " + name + " = " + value
}
