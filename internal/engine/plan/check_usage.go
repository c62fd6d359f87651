package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/units"
	"midstream/internal/mysql/schema"
)

// The codes of risks that the server's own counts show.
const (
	CodeNumbersLeft Code = "numbers-left"
	CodeUnused      Code = "unused-index"
)

// Usage is what the server has counted of the table's use.
type Usage struct {
	Uptime time.Duration // since the server's start
	// Counting is for how long the server has certainly counted: since its start, or since the last ALTER of the table.
	Counting time.Duration
	All      int64 // rows that statements have read or written
	// Inserts are rows. Some ALTERs begin this count again, and others do not: all were inserted since the server's start.
	Inserts int64
	Unused  []string // names of indexes that no statement has used
}

const (
	day = 24 * time.Hour
	// longEnoughForRate is how long the server must have counted before its rate of inserts is a forecast.
	longEnoughForRate = day
	// longEnoughForIndexes is how long it must have counted before an index without a use is reported.
	longEnoughForIndexes = 7 * day
	// soonFull is up to when numbers that run out are reported, and fewLeft the share that is reported without a rate.
	soonFull = 365 * day
	fewLeft  = 0.2
)

// checkUsage warns of numbers of AUTO_INCREMENT that run out, and of indexes that no statement uses.
func (c *checker) checkUsage() {
	if c.options.Back != nil {
		return
	}
	c.checkNumbersLeft()
	c.checkUnused()
}

// checkNumbersLeft warns if the column that the server numbers will have no number left.
func (c *checker) checkNumbersLeft() {
	col, most := c.numbered()
	if most == 0 || c.table.AutoIncrement == 0 {
		return
	}
	left := float64(0)
	if next := c.table.AutoIncrement; next <= most {
		left = float64(most-next) + 1
	}
	share, lasts := left/float64(most), time.Duration(-1)
	if u := c.facts.Usage; u != nil && u.Counting >= longEnoughForRate && u.Inserts > 0 {
		days := left * u.Uptime.Hours() / 24 / float64(u.Inserts)
		lasts = time.Duration(min(days, 100*365)) * day
	}
	if share > fewLeft && (lasts < 0 || lasts > soonFull) {
		return
	}
	what := fmt.Sprintf("column %s (%s) has %.3g %% of its numbers left", col.Name, typeOf(col), 100*share)
	why := "an INSERT fails when there is none"
	if lasts >= 0 {
		what += fmt.Sprintf(", and will be full in %s", count(int(lasts/day), "day"))
		why = fmt.Sprintf("the server has inserted %.0f rows a day for %s; %s", float64(c.facts.Usage.Inserts)/(c.facts.Usage.Uptime.Hours()/24),
			count(int(c.facts.Usage.Uptime/day), "day"), why)
	}
	fix := "Make it BIGINT in this ALTER too"
	if related(c.facts, c.table) {
		fix = "Make it BIGINT together with the columns that refer to it: midstream run --together"
	}
	c.warn(CodeNumbersLeft, what, why, fix)
}

// numbered is the column that the server numbers after the ALTER, and the highest number that fits; 0 if that is not known.
func (c *checker) numbered() (schema.Column, uint64) {
	for _, col := range c.alter.Defined {
		if col.AutoIncrement {
			return col, highest(col)
		}
	}
	for _, col := range c.table.Columns {
		if !col.AutoIncrement {
			continue
		}
		gone := contains(c.alter.Dropped, col.Name) || contains(c.alter.Modified, col.Name) ||
			slices.ContainsFunc(c.alter.Defined, func(to schema.Column) bool { return strings.EqualFold(c.origin(to.Name), col.Name) })
		if !gone {
			return col, highest(col)
		}
	}
	return schema.Column{}, 0
}

// highest is the highest number of an integer column; 0 for another type.
func highest(col schema.Column) uint64 {
	bits, is := intBits[col.DataType]
	switch {
	case !is:
		return 0
	case col.Unsigned:
		return 1<<bits - 1
	}
	return 1<<(bits-1) - 1
}

// typeOf is a type for people.
func typeOf(col schema.Column) string {
	if col.Unsigned {
		return col.DataType + " unsigned"
	}
	return col.DataType
}

// checkUnused warns of indexes that no statement has used.
func (c *checker) checkUnused() {
	u := c.facts.Usage
	if u == nil || u.Counting < longEnoughForIndexes || u.All == 0 {
		return
	}
	var unused []string
	for _, k := range c.table.Keys {
		if !k.Unique && k.Type == "BTREE" && contains(u.Unused, k.Name) && !contains(c.alter.DroppedKeys, k.Name) && !c.servesForeign(k) {
			unused = append(unused, k.Name)
		}
	}
	if len(unused) == 0 {
		return
	}
	what := "no statement has used index "
	if len(unused) > 1 {
		what = "no statement has used the indexes "
	}
	c.warn(
		CodeUnused, fmt.Sprintf("%s%s in the %s for which this server counts", what, list(unused), count(int(u.Counting/day), "day")),
		"each write maintains it"+c.builtAgain(), "If no replica and no rare report needs it, drop it; with --soak it is hidden first, and comes back at once",
	)
}

// builtAgain adds what an unused index costs this run.
func (c *checker) builtAgain() string {
	if c.table.IndexBytes == 0 {
		return ""
	}
	return "; all indexes of the table have " + units.Size(c.table.IndexBytes)
}

// servesForeign reports whether a foreign key may need an index. The server does not count that use.
func (c *checker) servesForeign(k schema.Key) bool {
	for _, fk := range append(c.table.Relations(), c.facts.Referencing...) {
		begins := k.Parts[0].Column
		if fk.Child == c.table.Name && contains(fk.Columns, begins) || fk.Parent == c.table.Name && contains(fk.ParentColumns, begins) {
			return true
		}
	}
	return false
}
