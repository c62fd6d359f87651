package plan

import (
	"fmt"
	"strings"

	"midstream/internal/mysql/schema"
)

// CodeLossy is the code of new types that change values without an error.
const CodeLossy Code = "lossy"

// CodeGivenUp is the code of values that an undo gives up: those that dropped columns had in some rows.
const CodeGivenUp Code = "given-up"

// checkLosses warns of values that the new definitions of columns change. A value that doesn't fit
// at all is another matter: it stops the run.
func (c *checker) checkLosses() {
	for _, to := range c.alter.Defined {
		from, ok := c.table.Column(c.origin(to.Name))
		if !ok || to.Generated != schema.NotGenerated || c.options.Set.Of(to.Name) != "" {
			continue
		}
		if lost := losses(from, to); len(lost) > 0 {
			c.warn(
				CodeLossy,
				fmt.Sprintf("%s may change values of column %s: they %s", c.saying("the ALTER", "the way back"), from.Name, strings.Join(lost, ", and they ")),
				"neither the server nor a run reports that as an error", "",
			)
		}
	}
}

// checkRenames warns of columns with another name: no definition shows which statements of the application name the old one.
func (c *checker) checkRenames() {
	for _, r := range c.alter.Renames {
		if c.options.Back == nil && !strings.EqualFold(r.Old, r.New) {
			c.warn(CodeRenames, fmt.Sprintf("column %s becomes %s", r.Old, r.New), "from then on, statements that name "+r.Old+" fail",
				"First release an application that works with both names; --hold leaves the moment of the swap to you")
		}
	}
}

// losses returns what happens to values that the server converts to another type without an error
// in strict mode, although they don't come back unchanged. An example is "are rounded to 2
// decimals". TestLossesAsTheServerConverts asks the servers. The new column is as the statement
// defines it: what the statement leaves out is unknown.
func losses(from, to schema.Column) []string {
	switch to.Family() {
	case "integer", "bit", "decimal", "float":
		return numberLosses(from, to)
	case "string", "varbinary", "binary":
		return textLosses(from, to)
	case "enum", "set":
		if isText(from) && from.Family() != "json" {
			return []string{"become the member that is equal in the collation, or that has this number"}
		}
		if from.Number() && fractional(from, 0) {
			return []string{"are rounded to whole numbers, which select the members"}
		}
	case "date", "datetime", "timestamp", "time":
		return timeLosses(from, to)
	case "json":
		switch {
		case from.Family() == "string":
			return []string{"are rewritten as the server formats JSON"}
		case from.DataType == "float" && !from.Fixed():
			return []string{writtenShort}
		case from.DataType == "decimal" && (from.Scale > 0 && from.Precision > doubleDigits || from.Precision > bigintDigits):
			return []string{"are rounded to what a number in JSON holds, about 15 digits"}
		}
	}
	return nil
}

// decimals returns how many decimals, or digits of a second, a value may have.
func decimals(c schema.Column) int { return c.Scale + c.Fraction }

// fractional reports whether values may have more than this number of decimals.
func fractional(c schema.Column, most int) bool { return !c.Fixed() || decimals(c) > most }

// Decimal digits that FLOAT, DOUBLE and BIGINT hold.
const (
	floatDigits  = 7
	doubleDigits = 15
	bigintDigits = 18
)

const writtenShort = "are written with 6 digits"

// digits returns the most digits that a number, or a time read as a number, may have.
func digits(c schema.Column) int {
	bits := 0
	switch c.DataType {
	case "decimal":
		return c.Precision
	case "float", "double":
		if c.Fixed() {
			return c.Precision
		}
		return doubleDigits
	case "date":
		return len("20060102")
	case "datetime", "timestamp":
		return len("20060102150405") + c.Fraction
	case "time":
		return len("8385959") + c.Fraction
	case "bit":
		bits = c.Precision
	case "int":
		bits = 32
	case "bigint":
		bits = 64
	case "set":
		bits = len(c.Members)
	}
	switch {
	case bits > 53: // of DOUBLE
		return doubleDigits + 1
	case bits > 24: // of FLOAT
		return floatDigits + 1
	}
	return floatDigits
}

func numberLosses(from, to schema.Column) []string {
	if to.DataType == "year" && from.DataType != "year" {
		if from.Temporal() && from.DataType != "time" {
			return []string{"lose all but the year"}
		}
		return []string{"are read as years, 70 as 1970"}
	}
	if isText(from) {
		if to.DataType == "bit" && from.Family() != "json" {
			return nil // only whole numbers are accepted
		}
		return []string{"are read as numbers and rounded to what the column holds"}
	}
	if to.Fixed() && fractional(from, decimals(to)) {
		return []string{"are rounded to " + places(decimals(to))}
	}
	most := digits(from)
	if to.Fixed() {
		most = min(most, to.Precision)
	}
	switch {
	case to.DataType == "float" && from.DataType != "float" && most > floatDigits:
		return []string{"are rounded to what FLOAT holds, about 7 digits"}
	case to.DataType == "double" && most > doubleDigits:
		return []string{"are rounded to what DOUBLE holds, about 15 digits"}
	}
	return nil
}

func places(n int) string {
	switch n {
	case 0:
		return "whole numbers"
	case 1:
		return "1 decimal"
	}
	return fmt.Sprintf("%d decimals", n)
}

func textLosses(from, to schema.Column) []string {
	var lost []string
	if from.DataType == "float" && !from.Fixed() {
		lost = append(lost, writtenShort)
	}
	switch {
	case to.DataType == "binary" && (from.DataType != "binary" || from.Length < to.Length):
		lost = append(lost, "are filled up with zero bytes")
	case to.DataType == "char" && from.DataType != "char" && isText(from) && from.Family() != "json":
		lost = append(lost, "lose their trailing blanks")
	case to.DataType == "varchar" && (from.Family() == "binary" || from.Family() == "varbinary") && from.Length > to.Length:
		lost = append(lost, "lose trailing blanks that don't fit")
	}
	return lost
}

func timeLosses(from, to schema.Column) []string {
	var lost []string
	text := isText(from) && from.Family() != "json" || from.HasMembers()
	switch {
	case text && to.DataType == "time":
		return []string{"are read as times and rounded to what the column holds"}
	case text:
		return []string{"are read as dates and rounded to what the column holds"}
	case from.Number() && from.DataType != "year" && to.DataType != "time":
		return []string{"are read as dates, 127 as 2000-01-27"}
	case from.DataType == "time" && to.DataType != "time":
		lost = append(lost, "get the date of the day")
	case to.DataType == "date" && from.DataType != "date":
		lost = append(lost, "lose the time of day")
	case to.DataType == "time" && from.Temporal() && from.DataType != "time":
		lost = append(lost, "lose the date")
	}
	if (from.Temporal() || from.Number()) && to.DataType != "date" && fractional(from, to.Fraction) {
		lost = append(lost, "are rounded to "+seconds(to.Fraction))
	}
	return lost
}

func seconds(n int) string {
	if n == 0 {
		return "whole seconds"
	}
	return count(n, "digit") + " of a second"
}
