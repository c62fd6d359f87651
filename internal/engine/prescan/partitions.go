package prescan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// partitions selects the rows that no partition of the shadow takes (error 1526). A temporary table
// has no partitions, so that no stage can judge them.
type partitions struct {
	condition string // over the source's columns
	columns   []string
	// wrong means that the shadow has accepted such a row.
	wrong atomic.Bool
}

// partitionsOf returns nil if the shadow takes every row, or if the condition is not known.
func partitionsOf(s *Spec) *partitions {
	text := s.Shadow.Partitioning
	columns := namedIn(text, s.Shadow)
	if text == "" || text == s.Source.Partitioning && s.allUnchanged(columns) {
		return nil
	}
	for _, name := range columns { // the query names the source's columns
		from, is := s.Source.Column(name)
		c, taken := s.column(name)
		if !is || !s.unchanged(name) || from.Generated == schema.NotGenerated && (!taken || !strings.EqualFold(c.From.Name, name)) {
			return nil
		}
	}
	condition := outsideOf(text)
	if condition == "" {
		return nil
	}
	return &partitions{condition: condition, columns: columns}
}

// namedIn lists the columns that a text names, in backticks or not (5.7).
func namedIn(text string, t *schema.Table) (names []string) {
	tokens, _ := token.Split(text)
	for _, c := range t.Columns {
		if slices.ContainsFunc(tokens, func(t token.Token) bool { return t.Name() && strings.EqualFold(t.Text, c.Name) }) {
			names = append(names, c.Name)
		}
	}
	return names
}

// outsideOf returns the condition for values that no partition takes, "" if there are none or it is
// not known. The text is that of SHOW CREATE TABLE.
func outsideOf(text string) string {
	tokens, closed := token.Split(text)
	if !closed || len(tokens) < 4 {
		return ""
	}
	kind, rest := tokens[2], tokens[3:]
	columns := rest[0].Is("COLUMNS")
	if columns {
		rest = rest[1:]
	}
	of, rest := inParentheses(rest)
	var exprs []string
	if columns {
		for _, piece := range token.List(of) {
			exprs = append(exprs, schema.Quote(piece[0].Text))
		}
	} else if len(of) > 0 {
		exprs = []string{"(" + token.Plain(text, of) + ")"}
	}
	// The last parentheses of depth 0 are the list of partitions, behind SUBPARTITION BY.
	var list []token.Token
	for len(rest) > 0 {
		if rest[0].Is("(") {
			list, rest = inParentheses(rest)
		} else {
			rest = rest[1:]
		}
	}
	switch {
	case len(exprs) == 0 || len(list) == 0:
		return ""
	case kind.Is("RANGE"):
		return beyond(text, exprs, list)
	case kind.Is("LIST"):
		return unlisted(text, exprs, list)
	}
	return ""
}

// inParentheses returns the tokens in the parentheses at the head of tokens, and the tokens behind.
func inParentheses(tokens []token.Token) (in, behind []token.Token) {
	if len(tokens) == 0 || !tokens[0].Is("(") {
		return nil, tokens
	}
	for i, t := range tokens[1:] {
		if t.Is(")") && t.Depth == tokens[0].Depth {
			return tokens[1 : i+1], tokens[i+2:]
		}
	}
	return nil, nil
}

// valuesOf returns what stands in the parentheses behind VALUES LESS THAN, or VALUES IN, of each
// partition. known is false for a partition without, such as DEFAULT or MAXVALUE.
func valuesOf(list []token.Token) (values [][][]token.Token, known bool) {
	for _, partition := range token.List(list) {
		at := slices.IndexFunc(partition, func(t token.Token) bool { return t.Is("VALUES") && t.Depth == list[0].Depth })
		if at < 0 {
			return nil, false
		}
		open := slices.IndexFunc(partition[at:], func(t token.Token) bool { return t.Is("(") })
		if open < 0 || open > 3 {
			return nil, false
		}
		in, _ := inParentheses(partition[at+open:])
		values = append(values, token.List(in))
	}
	return values, len(values) > 0
}

// beyond returns the condition for values at or above the bound of the last partition. A NULL is
// below all bounds.
func beyond(text string, exprs []string, list []token.Token) string {
	values, known := valuesOf(list)
	if !known {
		return ""
	}
	bound := values[len(values)-1]
	if len(bound) != len(exprs) {
		return ""
	}
	condition := ""
	for i := len(exprs) - 1; i >= 0; i-- {
		if bound[i][0].Is("MAXVALUE") {
			condition = "FALSE"
			continue
		}
		value := token.Plain(text, bound[i])
		switch condition {
		case "":
			condition = exprs[i] + " >= " + value
		case "FALSE":
			condition = exprs[i] + " > " + value
		default:
			condition = fmt.Sprintf("(%s > %s OR %[1]s = %[2]s AND %s)", exprs[i], value, condition)
		}
	}
	if condition == "FALSE" {
		return ""
	}
	return condition
}

// unlisted returns the condition for values that no partition lists.
func unlisted(text string, exprs []string, list []token.Token) string {
	values, known := valuesOf(list)
	if !known {
		return ""
	}
	var all []string
	null := false
	for _, value := range slices.Concat(values...) {
		isNull := slices.ContainsFunc(value, func(t token.Token) bool { return t.Is("NULL") })
		switch {
		case value[0].Is("DEFAULT"), isNull && len(exprs) > 1:
			return ""
		case isNull:
			null = true
		default:
			all = append(all, token.Plain(text, value))
		}
	}
	var conditions []string
	if !null {
		for _, expr := range exprs {
			conditions = append(conditions, expr+" IS NULL")
		}
	}
	if len(all) > 0 {
		conditions = append(conditions, fmt.Sprintf("(%s) NOT IN (%s)", strings.Join(exprs, ", "), strings.Join(all, ", ")))
	}
	if len(all) == 0 { // NULL alone is listed
		return exprs[0] + " IS NOT NULL"
	}
	return strings.Join(conditions, " OR ")
}

// lookForPartitions counts the rows of a range, and those that no partition takes. The shadow itself
// must refuse the first of them: what it accepts is rolled back.
func (w *worker) lookForPartitions(ctx context.Context, place int, where string) (rows int64, err error) {
	p, spec := w.work.partitions, w.deps.Spec
	if p == nil || p.wrong.Load() {
		return 0, nil
	}
	var outside int64
	query := fmt.Sprintf("SELECT COUNT(*), COUNT(CASE WHEN %s THEN 1 END) FROM %s", p.condition, spec.from(where))
	if err := w.query(ctx, query, &rows, &outside); err != nil || outside == 0 {
		return rows, p.drop(err)
	}
	first, err := w.keys(ctx, place, spec.keysOf("("+where+") AND ("+p.condition+")")+fmt.Sprintf(" LIMIT %d", w.cfg.Shown))
	if err != nil || len(first) == 0 {
		return rows, err
	}
	_, err = w.try(ctx, &stage{spec: spec, name: spec.Shadow.Name.Quoted(), columns: spec.Shadow.Columns}, w.isKey(first[0].key))
	switch {
	case dbconn.NoPartition(err):
	case err == nil:
		p.wrong.Store(true)
		return rows, nil
	case dbconn.ValueRefused(err), dbconn.Duplicate(err): // another finding is about it
	default:
		return rows, err
	}
	w.findings.addRows(finding{kind: KindPartition, owner: "PARTITION BY", columns: p.columns, condition: p.condition,
		what: "that no partition of the new table takes"}, outside, first, nil)
	return rows, nil
}

// drop drops a condition that the server can't evaluate.
func (p *partitions) drop(err error) error {
	if dbconn.Number(err) == 0 || dbconn.ConnectionLost(err) || dbconn.Contended(err) {
		return err
	}
	p.wrong.Store(true)
	return nil
}
