package prescan

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// work is all that has to be looked at.
type work struct {
	trials []*trial
	losses []*loss
	keys   []schema.Key
	held   []held
	// partitions is nil if they take every row.
	partitions *partitions
}

// trial is what the shadow takes or refuses by itself: a column, a generated column or a CHECK.
type trial struct {
	stage  *stage
	column Column // zero for a CHECK or an index
	check  string // its name
	key    string // the name of an index over an expression
	clause string
	rules  []*rule
}

// loss is a column with values that the server changes without an error.
type loss struct {
	column    Column
	condition string
}

// workOf leaves out what the definitions alone prove.
func workOf(s *Spec) *work {
	w := &work{partitions: partitionsOf(s)}
	for _, o := range s.Orphans {
		w.held = append(w.held, held{kind: KindParent, owner: o.Constraint, what: o.What, columns: o.Columns, violates: o.Condition})
	}
	for _, c := range s.Columns {
		if !c.Fits {
			w.add(s, trial{column: c, rules: rulesFor(c, s.expr(c.To.Name))}, []string{c.To.Name})
		}
		if l := lossOf(c); l != nil {
			w.losses = append(w.losses, l)
		}
	}
	for _, c := range s.Shadow.Columns {
		filled := c.Generated == schema.NotGenerated && s.expr(c.Name) == "" && c.Computes() && len(s.Shadow.Mentioned(c.Default)) > 0
		if (filled || c.Generated != schema.NotGenerated && !s.unchanged(c.Name)) && !s.keeps(c.Name) {
			w.add(s, trial{column: Column{To: c}}, []string{c.Name})
		}
	}
	for _, check := range s.Shadow.AllChecks() {
		w.addCheck(s, check)
	}
	for _, k := range s.Shadow.Keys {
		if s.keeps(columnsOf(s, k)...) {
			continue
		}
		was, known := s.Source.Key(k.Name)
		if same := known && was.Definition == k.Definition && s.allUnchanged(columnsOf(s, k)); k.Computed() && !same {
			w.addKey(s, k)
		}
		if k.Unique && mayRepeat(s, k) {
			w.keys = append(w.keys, k)
		}
	}
	return w
}

func (w *work) add(s *Spec, t trial, columns []string, checks ...string) {
	t.stage = s.stage(fmt.Sprintf("midstream_check_%d", len(w.trials)+1), columns, checks...)
	w.trials = append(w.trials, &t)
}

// addKey adds an index over an expression. The server computes the expression when it writes a row,
// and may refuse the value. Duplicates are another matter.
func (w *work) addKey(s *Spec, k schema.Key) {
	w.add(s, trial{key: k.Name}, columnsOf(s, k))
	st := w.trials[len(w.trials)-1].stage
	st.keys = []string{strings.TrimPrefix(k.Definition, "UNIQUE ")}
}

// addCheck adds a CHECK that no row of the source is known to pass.
func (w *work) addCheck(s *Spec, check schema.Check) {
	if !check.Enforced {
		return
	}
	columns := s.Shadow.Mentioned(check.Clause)
	if s.keeps(columns...) {
		return
	}
	known := slices.ContainsFunc(s.Source.AllChecks(), func(c schema.Check) bool { return c.Enforced && c.Clause == check.Clause })
	plain := s.allUnchanged(columns)
	if known && plain {
		w.addHeld(s, check, columns)
		return
	}
	if s.validJSON(check, columns) {
		return
	}
	t := trial{check: check.Name, clause: check.Clause}
	// The query can't use a renamed column's new name.
	for _, name := range columns {
		_, there := s.Source.Column(name)
		c, taken := s.column(name)
		plain = plain && there && (!taken || c.Set == "" && strings.EqualFold(c.From.Name, name))
	}
	if plain {
		t.rules = []*rule{{kind: KindCheck, condition: "NOT (" + check.Clause + ")"}}
	}
	w.add(s, t, columns, check.Clause)
}

// validJSON reports whether the CHECK is the CHECK that a JSON column of MariaDB has, and holds. It
// holds if the column is a new one of NULLs, or continues a column that has the CHECK.
func (s *Spec) validJSON(check schema.Check, columns []string) bool {
	if len(columns) != 1 || check.Clause != "json_valid("+schema.Quote(columns[0])+")" {
		return false
	}
	c, taken := s.column(columns[0])
	if !taken {
		to, _ := s.Shadow.Column(columns[0])
		return to.Nullable && !to.Computes() && strings.EqualFold(to.Default, "NULL")
	}
	return c.From.Check == "json_valid("+schema.Quote(c.From.Name)+")" && s.allUnchanged(columns)
}

// all is the stage of every trial at once.
func (w *work) all(s *Spec) *stage {
	var columns, checks, keys []string
	for _, t := range w.trials {
		keys = append(keys, t.stage.keys...)
		checks = append(checks, t.stage.checks...)
		for _, c := range t.stage.columns {
			columns = append(columns, c.Name)
		}
	}
	st := s.stage("midstream_check", columns, checks...)
	st.keys = keys
	return st
}

// mayRepeat reports whether two rows may have the same value of a unique key of the shadow.
func mayRepeat(s *Spec, k schema.Key) bool {
	for _, u := range s.Sync.Unique {
		if strings.EqualFold(u.Name, k.Name) && u.Enforced {
			return false
		}
	}
	if was, ok := s.Source.Key(k.Name); ok && was.Definition == k.Definition && s.allUnchanged(columnsOf(s, k)) {
		return false
	}
	for _, part := range k.Parts {
		c, ok := s.Shadow.Column(part.Column)
		if !ok || c.Generated != schema.NotGenerated || s.expr(c.Name) != "" {
			continue
		}
		if c.AutoIncrement || c.Default == "" && c.Nullable || strings.EqualFold(c.Default, "NULL") {
			// Every row has another number, or NULL.
			return false
		}
	}
	return true
}

// columnsOf lists the columns of the shadow that a key names.
func columnsOf(s *Spec, k schema.Key) []string {
	var names []string
	for _, part := range k.Parts {
		if part.Expression != "" {
			names = append(names, s.Shadow.Mentioned(part.Expression)...)
		} else {
			names = append(names, part.Column)
		}
	}
	return names
}

// dependsOn reports whether a trial uses a column that is another trial's to refuse.
func (t *trial) dependsOn(refused map[string]bool) bool {
	return slices.ContainsFunc(t.stage.columns, func(c schema.Column) bool { return refused[c.Name] && c.Name != t.column.To.Name })
}

// lossOf returns the loss of a column's values, if a condition selects the values with a loss.
func lossOf(c Column) *loss {
	switch {
	case c.Changed != "":
		return &loss{column: c, condition: c.Changed}
	case c.Losses == "":
		return nil
	}
	name := schema.Quote(c.From.Name)
	from, to := c.From, c.To
	condition := ""
	switch {
	case to.Number() && to.Fixed() && to.DataType != "bit" && to.DataType != "year" && (from.Number() || from.Family() == "string"):
		condition = fmt.Sprintf("%s <> ROUND(%[1]s, %d)", name, to.Scale)
	case from.Temporal() && to.DataType == "date":
		condition = "TIME(" + name + ") <> 0"
	case from.Temporal() && to.Temporal() && to.Fraction < from.Fraction:
		condition = fmt.Sprintf("MICROSECOND(%s) %% %d <> 0", name, pow10(6-to.Fraction))
	case from.Family() == "string" && to.DataType == "char":
		condition = "RIGHT(" + name + ", 1) = ' '"
	default:
		return nil
	}
	return &loss{column: c, condition: condition}
}

func pow10(n int) int {
	p := 1
	for range n {
		p *= 10
	}
	return p
}
