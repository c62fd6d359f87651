package plan

import (
	"fmt"
	"strings"

	"midstream/internal/mysql/schema"
)

// mostUnchanged is the number of rows, by the server's estimate, up to which a lazy undo compares all rows.
const mostUnchanged = 1_000_000

// Unseen is why an undo that syncs only the changed rows cannot compare the others, or would take too long to; "" if it
// compares all rows. differs means that these rows may differ. old is the old table.
func (p *Plan) Unseen(old *schema.Table) (why string, differs bool, err error) {
	m := mapper{source: p.Source, shadow: old, alter: p.Alter, user: p.Map}
	pairs, err := m.pairs()
	if err != nil {
		return "", false, err
	}
	if p.Back.Redo && len(p.Set) > 0 {
		return "the redo computes the expressions of --set for rows that have changed since, and the others keep their values", true, nil
	}
	for _, x := range pairs {
		if p.Back.Set.Of(x.from.Name) != "" {
			return fmt.Sprintf("column %s has values of an expression (--set), and the old table has the former ones", x.from.Name), true, nil
		}
		if !comesBack(x.to, x.from) || p.Back.Redo && !comesBack(x.from, x.to) {
			return fmt.Sprintf("column %s has another type, and the old table may have values that the change has %s", x.from.Name, done(x.from, x.to)), true, nil
		}
	}
	if p.Source.Rows > mostUnchanged {
		return "the table has more than 1,000,000 rows", false, nil
	}
	return "", false, nil
}

// done is what a change of a column's type may have done to values, without an error.
func done(a, b schema.Column) string {
	number := func(c schema.Column) bool { return c.Number() || c.Temporal() }
	switch {
	case a.Generated != b.Generated:
	case a.Charset == b.Charset && a.Family() == b.Family() && (isText(a) || a.Family() == "varbinary"):
		return "cut"
	case number(a) && number(b):
		return "rounded"
	}
	return "converted"
}

// GivesUp warns of the former values that an undo does not bring back, because the change has converted them without an error: in a
// row that it syncs, it takes the present value. old is the old table.
func (p *Plan) GivesUp(old *schema.Table) ([]Risk, error) {
	m := mapper{source: p.Source, shadow: old, alter: p.Alter, user: p.Map}
	pairs, err := m.pairs()
	if err != nil {
		return nil, err
	}
	rows, by := "all rows", "the change"
	if p.Back.Redo {
		by = "the undo"
	}
	if p.Back.KeepsUnchanged() {
		rows = "rows that have changed since the swap, in any column,"
	}
	var c checker
	given := p.Back.Set
	if p.Back.Redo { // it computes them again
		given = nil
	}
	for _, x := range converted(pairs, given) {
		c.warn(
			CodeGivenUp, fmt.Sprintf("%s lose their former values of column %s", rows, x.name),
			fmt.Sprintf("%s has converted them (they %s), and %s takes the present value of such a row", by, x.how, p.Back.Verb()),
			fmt.Sprintf("%s has the former values until %s syncs the row: copy those that you need", old.Name, p.Back.Verb()),
		)
	}
	return c.risks, nil
}

// conversion is a column that has lost something by a conversion, and what.
type conversion struct{ name, how string }

// converted are the columns of the old table whose values a change has converted without an error, so that they do not come back. pairs
// lead back. set has the expressions of the change, by the columns of the table.
func converted(pairs []columnPair, set Settings) (all []conversion) {
	for _, x := range pairs {
		if set.Of(x.from.Name) != "" {
			all = append(all, conversion{x.to.Name, "have the values of --set"})
			continue
		}
		plain := x.from.Generated == schema.NotGenerated && x.to.Generated == schema.NotGenerated
		if lost := losses(x.to, x.from); plain && len(lost) > 0 && !comesBack(x.to, x.from) {
			all = append(all, conversion{x.to.Name, strings.Join(lost, ", and they ")})
		}
	}
	return all
}

// comesBack reports whether a value of the old type, which the ALTER has converted, becomes the same value again if it is
// converted back. In doubt it returns false.
func comesBack(from, to schema.Column) bool {
	switch {
	case from.Generated == schema.NotGenerated && to.Generated != schema.NotGenerated:
		return false
	case from.Type == to.Type && from.Charset == to.Charset:
		return true
	case from.Family() == "string" && to.Family() == "string":
		blanks := to.DataType != "char" || from.DataType == "char"
		return blanks && stringFits(from, to) && (from.Charset == to.Charset || reversible[from.Charset] && reversible[to.Charset])
	}
	return exact(from, to)
}

// reversible are charsets whose texts come back unchanged from each other, if they accept them.
var reversible = map[string]bool{"ascii": true, "latin1": true, "utf8": true, "utf8mb3": true, "utf8mb4": true}
