package planning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/desired"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/native"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/specs"
	"midstream/internal/mysql/schema"
)

// undoably adds to a plan by which the server changes the table itself how that can be taken back. If it cannot, and the
// operator wishes for a change that can, a shadow takes its place.
func (m *maker) undoably(p *plan.Plan) (*plan.Plan, error) {
	trial := m.facts.Trial
	if p.Choice.Method == plan.MethodShadow {
		return m.wayBack(p)
	}
	drops := plan.DropsForeign(m.table, m.alter)
	if p.Choice.Method == plan.MethodNone || trial == nil && !drops || !p.Purpose.Swaps() {
		return p, nil
	}
	if p.Inverse = plan.InverseOfDrop(m.table, m.alter); trial != nil {
		p.Inverse = m.invert(trial)
		p.Inverse.NoteDrop(m.table, m.alter)
	}
	if err := m.besideOpenUndo(p); err != nil {
		return nil, err
	}
	p.EndsUndo = p.EndsUndo || p.Back != nil && !p.Keeps()
	if p.Inverse.Why == "" || p.Purpose != plan.Altering {
		return p, nil
	}
	shadow, err := m.shadowInstead(p)
	wish, longest := m.options.Plan.UndoWish, m.options.Plan.Limits.WithDefaults().Longest
	require := m.requiresUndo()
	switch wanted := m.options.Config.Undo > 0; {
	case wanted && require && err != nil:
		return nil, err
	case err != nil:
	case wanted && (require || wish == plan.UndoPrefer && m.takes(shadow).Elapsed <= longest):
		return shadow, nil
	}
	return p, nil
}

// requiresUndo reports whether a change that cannot be undone is to be refused, if an undo is to be kept.
func (m *maker) requiresUndo() bool {
	wish := m.options.Plan.UndoWish
	return wish == plan.UndoRequire || wish == ""
}

// wayBack notes in a plan by a shadow why it cannot be taken back, and refuses it if an undo is required.
func (m *maker) wayBack(p *plan.Plan) (*plan.Plan, error) {
	trial := m.facts.Trial
	if trial == nil || p.Purpose != plan.Altering {
		return p, nil
	}
	before, after, mappings, err := m.mapped(trial)
	if err != nil {
		return p, nil //nolint:nilerr // the run reports it
	}
	pairs := map[string]string{}
	for _, c := range mappings {
		pairs[c.Shadow] = c.Source
	}
	says := backwards(&after, &before, pairs)
	back, err := desired.Back(&after, &before, m.table.Comment, says, nil)
	if err != nil {
		return p, nil //nolint:nilerr // no plan depends on it
	}
	p.FindWayBack(m.facts, &before, &after, back, says)
	if mappings, err := plan.MapColumns(&after, &before, back, says); err == nil {
		p.BackRefuses = specs.DoubtsOf(&after, &before, mappings, true)
	}
	if p.NoWayBack == "" || m.options.Config.Undo <= 0 || !m.requiresUndo() {
		return p, nil
	}
	return nil, &plan.Refused{Table: m.table.Name.String(), Blocking: []plan.Risk{{
		Code: plan.CodeUndo, What: "the change cannot be undone afterwards", Why: p.NoWayBack,
		Fix: p.UndoFix() + "; or --undo-method=auto makes the change all the same", Blocking: true,
	}}}
}

// mapped is the table before and after the ALTER, as a trial has shown it, and which column continues which.
func (m *maker) mapped(trial *plan.Trial) (before, after schema.Table, mappings []plan.Mapping, err error) {
	before, after = *trial.Copied, *trial.Altered
	before.Name, after.Name = m.table.Name, m.table.Name
	mappings, err = plan.MapColumns(&before, &after, m.alter, m.options.Plan.Map)
	return before, after, mappings, err
}

// invert finds the ALTER that leads back from an altered empty copy of the table.
func (m *maker) invert(trial *plan.Trial) *plan.Inverse {
	before, after := *trial.Copied, *trial.Altered
	if before.Comment == after.Comment { // our mark
		after.Comment = m.table.Comment
	}
	before.Comment = m.table.Comment
	v := plan.Invert(&before, &after, m.alter, m.options.Plan.Map)
	says := backwards(&after, &before, v.Pairs)
	back, err := desired.Inverse(&after, &before, says, m.facts.Version)
	switch {
	case err != nil && v.Why == "":
		v.Why = "no ALTER leads back: " + err.Error()
	case err != nil:
	case v.Why == "" && blockSize(&before) != blockSize(&after):
		v.Why = "the server would keep the KEY_BLOCK_SIZE on the indexes"
	case v.Why == "" && (hidesBytes(&before) || hidesBytes(&after)):
		v.Why = "the table has a default with bytes that are no text, and the record of an undo keeps only texts"
	case back == nil && v.Why == "":
		v.Why = "the definition is unchanged, so nothing is to be taken back"
	case back != nil:
		v.Back(&before, back, says)
		if mappings, err := plan.MapColumns(&after, &before, back, says); err == nil {
			v.Refuses = specs.DoubtsOf(&after, &before, mappings, false)
		}
		v.By = m.back
		v.Why = cmp.Or(v.Why, m.notBack)
	}
	return &v
}

// blockSize is the KEY_BLOCK_SIZE of a table; "" for none. Indexes that were there while a table had one keep it in their
// definition.
func blockSize(t *schema.Table) string {
	for _, o := range t.Options {
		if o.Name == "KEY_BLOCK_SIZE" {
			return o.Value
		}
	}
	return ""
}

// hidesBytes reports whether a default may have bytes that are no text. MySQL shows ? for each of them, MariaDB the bytes.
func hidesBytes(t *schema.Table) bool {
	return slices.ContainsFunc(t.Columns, func(c schema.Column) bool {
		return !utf8.ValidString(c.Default) || c.Charset == "binary" && strings.Contains(c.Default, "?")
	})
}

// shadowInstead is the plan by a shadow, in place of a plan by the server's own method that cannot be taken back. It
// notes the cost of that in the latter.
func (m *maker) shadowInstead(p *plan.Plan) (*plan.Plan, error) {
	why := plan.Risk{
		Code: plan.CodeUndo, What: "the change cannot be undone afterwards", Why: p.Inverse.Why,
		Fix: "--undo-method=auto makes the change all the same; or leave out --method, if you gave it", Blocking: true,
	}
	options := m.options.Plan
	if m.facts.Trial == nil { // it only drops foreign keys
		return nil, &plan.Refused{Table: m.table.Name.String(), Blocking: []plan.Risk{why}}
	}
	if options.Method != "" {
		p.Inverse.NotInstead = "you asked for the method " + string(options.Method)
		return nil, &plan.Refused{Table: m.table.Name.String(), Blocking: []plan.Risk{why}}
	}
	options.Method, options.Unwanted = plan.MethodShadow, "it could not be undone: "+p.Inverse.Why
	shadow, err := plan.Make(m.facts, m.table, m.alter, options)
	var refused *plan.Refused
	if errors.As(err, &refused) {
		p.Inverse.NotInstead = refused.Blocking[0].What
		return nil, &plan.Refused{Table: refused.Table, Blocking: append([]plan.Risk{why}, refused.Blocking...), Others: refused.Others}
	}
	if err == nil {
		shadow, err = m.wayBack(shadow)
	}
	if err != nil {
		return nil, err
	}
	if shadow.NoWayBack != "" {
		p.Inverse.NotInstead = shadow.NoWayBack
		return nil, errors.New(shadow.NoWayBack)
	}
	takes := m.takes(shadow)
	p.Inverse.Instead = &takes
	return shadow, nil
}

// takes is what a plan will probably cost.
func (m *maker) takes(p *plan.Plan) plan.Prediction {
	settings := m.options.Settings.WithDefaults()
	bounds := plan.Bounds{Wait: settings.Lock.Wait, Work: settings.Lock.Work}
	return p.Predict(p.Pace.Shared(1-settings.Rest), bounds, m.options.Config.WithDefaults().Defers(p))
}

// besideOpenUndo refuses a change by the server that an open undo of the change before would not survive, or notes in
// the plan that it ends that undo.
func (m *maker) besideOpenUndo(p *plan.Plan) error {
	if m.open == nil || m.open.Record.Ledger != nil {
		return nil
	}
	why := m.againstUndo(p.Inverse)
	switch {
	case why == "":
		return nil
	case m.options.EndUndo:
		p.EndsUndo = true
		return nil
	}
	what, fix := plan.StillOpen(m.table.Name, until(m.open.Record), m.open.Record.Back)
	return refuse(m.table.Name, what, why, fix)
}

// againstUndo is why the open undo of the change before does not survive this one; "" if it does. An undo with an old
// table reads the columns that both tables have, by their names.
func (m *maker) againstUndo(v *plan.Inverse) string {
	switch {
	case m.open.Record.Native != nil:
		return "that undo needs the table as the last change has left it"
	case m.options.Config.Undo > 0:
		return "only the last change of a table can be undone, and --undo would end that undo"
	}
	for _, c := range m.table.Columns {
		if _, reads := m.open.Record.Pairs[c.Name]; !reads {
			continue
		}
		switch now, stays := v.After.Column(c.Name); {
		case !stays || now.Generated != c.Generated:
			return fmt.Sprintf("the undo reads column %s, which this change drops or renames", c.Name)
		case now.Type != c.Type || now.Charset != c.Charset || now.Collation != c.Collation:
			return fmt.Sprintf("the undo reads column %s, which this change gives another type", c.Name)
		}
	}
	if name := leftovers.Replaces(m.open.OldColumns, m.open.Record.Pairs, m.table, v.After); name != "" {
		return fmt.Sprintf("the undo brings back another column %s, with its former values, and would replace the values of this one", name)
	}
	for _, k := range m.table.Keys {
		if now, stays := v.After.Key(k.Name); k.Unique && (!stays || !sameParts(k, now)) {
			return fmt.Sprintf("the undo may find rows by the unique key %s, which this change drops or alters", k.Name)
		}
	}
	return ""
}

// sameParts reports whether two keys have the same columns.
func sameParts(a, b schema.Key) bool {
	text := func(k schema.Key) string {
		var parts []string
		for _, p := range k.Parts {
			parts = append(parts, fmt.Sprint(p.Column, p.Prefix, p.Expression))
		}
		return strings.Join(parts, ",")
	}
	return a.Unique == b.Unique && text(a) == text(b)
}

// makeNativeUndo makes the plan of the undo of a change that the server has made itself: its ALTER leads back to the former
// definition. It runs like a change.
func makeNativeUndo(
	ctx context.Context, server Server, table *schema.Table, record checkpoint.Undo, options Options,
) (*plan.Plan, error) {
	record, why := leftovers.Settled(record, table)
	if why != "" {
		return nil, refuse(table.Name, notBack, why, changeIt(table.Name)+"; midstream undo  --end "+table.Name.Argument()+" removes the record")
	}
	version, err := facts.ReadVersion(ctx, server.Pool.DB())
	if err != nil {
		return nil, failed(ReadFacts, table.Name, server.readingFrom(err))
	}
	says := backwards(table, record.Native.Before, record.Pairs)
	alter, err := desired.Inverse(table, record.Native.Before, says, version)
	if err == nil && alter == nil {
		err = errors.New("the definition is the old one already")
	}
	if err != nil {
		return nil, refuse(table.Name, notBack, err.Error(), changeIt(table.Name))
	}
	o := &options.Plan
	o.Purpose, o.Map, o.OpenUndo = plan.Undoing, says, ""
	o.Back = &plan.Back{
		Native: true, For: record.For, Mode: plan.UndoLazy, Swapped: record.Swapped, Alter: record.Native.Alter, Redo: record.Back,
	}
	options.Undo = nil
	o.ZeroDates = o.ZeroDates || record.Native.Before.HasZeroDates()
	p, err := Make(ctx, server, alter, options)
	if errors.Is(err, native.ErrRefused) {
		return nil, refuse(table.Name, notBack, err.Error(), changeIt(table.Name)+"; midstream undo  --end "+table.Name.Argument()+" removes the record")
	}
	if err != nil {
		return nil, err
	}
	if mappings, err := plan.MapColumns(table, record.Native.Before, alter, says); err == nil {
		warnOfRows(p, record.Native.Before, mappings)
	}
	for fresh, old := range says {
		if old == "" && record.Back {
			p.Risks = append(p.Risks, plan.Risk{
				Code: plan.CodeUndo, What: fmt.Sprintf("column %s has its default in each row afterwards", fresh),
				Why: "the undo has given its values up",
			})
		}
	}
	return p, nil
}
