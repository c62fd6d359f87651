package summary

import (
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/compare"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
)

// Comparison is what midstream verify found out about two tables.
type Comparison struct {
	Names       [2]schema.Name
	Spec        *compare.Spec
	Result      compare.Result
	Took        time.Duration
	Differences []compare.Difference // of the rows whose values are shown
}

// Uncompared lists the columns that only one of two tables has.
func Uncompared(spec *compare.Spec) string {
	var b strings.Builder
	for _, column := range spec.Only {
		fmt.Fprintf(&b, "Not compared: %s, which only one table has.\n", escape.Line(column))
	}
	return b.String()
}

// OfComparison writes what was compared, the rows that differ, and whether the tables are equal.
func OfComparison(c Comparison) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Compared %s of %s and %s of %s in %s, in %s.\n", humanize.Plural(c.Result.Rows[0], "row"), c.Names[0],
		humanize.Plural(c.Result.Rows[1], "row"), c.Names[1], humanize.Plural(len(c.Spec.Columns), "column"), humanize.Span(c.Took))
	if len(c.Differences) > 0 {
		b.WriteString("Rows that differ (first table | second table):\n")
	}
	for _, d := range c.Differences {
		if d.Column != "" {
			d.Column = ", column " + d.Column
		}
		fmt.Fprintf(&b, "  row %s%s: %s | %s\n", escape.Args(d.Key, d.Column, d.Values[0], d.Values[1])...)
	}
	if why, _ := c.Failure(); why != "" {
		return b.String()
	}
	equal := "Equal."
	if n := len(c.Spec.Only); n > 0 {
		equal = fmt.Sprintf("Equal in %s; %s %s not compared.",
			humanize.Plural(len(c.Spec.Columns), "column"), humanize.Plural(n, "other"), humanize.Was(n))
	}
	b.WriteString(equal)
	if n := c.Result.Suspects; n > 0 {
		fmt.Fprintf(&b, " (%s differed at first and became equal.)", humanize.Plural(n, "row"))
	}
	b.WriteString("\n")
	return b.String()
}

// Failure says why tables are not equal, and what to do; "" if they are.
func (c Comparison) Failure() (why, next string) {
	switch r := c.Result; {
	case len(r.Mismatches) > 0:
		why = humanize.Plural(len(r.Mismatches), "row") + " differ"
		if len(r.Mismatches) == 1 {
			why = "1 row differs"
		}
		if r.More {
			why = "at least " + why + "; the other rows were not compared"
		}
		return why, "if sessions write to a table, try again with a longer --settle; if the two should be equal, find out what wrote to one of them"
	case len(r.Unsettled) > 0:
		return humanize.Plural(len(r.Unsettled), "row") + " kept changing and could not be compared",
			"try again when there is less traffic; if one table follows the other slowly, with a longer --settle"
	}
	return "", ""
}
