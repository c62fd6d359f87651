package plan

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/schema"
)

// candidate is a key that the run could follow.
type candidate struct {
	key     Key
	primary bool
	wide    bool // it has more columns than its index
	spread  bool // its rows are looked for in many partitions
	ordered bool
	changed bool // the ALTER may redefine a column
	nulls   bool // a column may be NULL, and no row has NULL there
	size    int64
}

// chooseKey takes the best usable key. If there is none, it returns for each key why it isn't
// usable.
func (c *checker) chooseKey() (chosen candidate, reasons []string) {
	var usable []candidate
	for _, k := range c.table.Keys {
		if c.options.Key != "" && !strings.EqualFold(c.options.Key, k.Name) {
			continue
		}
		found, why := c.candidate(k)
		if why != "" {
			reasons = append(reasons, k.Name+": "+why)
			continue
		}
		c.prune(&found.key)
		found.spread = filesAfter(c.alter, 1) >= manyPartitions && len(c.unpruned(found.key)) > 0
		usable = append(usable, found)
	}
	if len(usable) == 0 {
		return candidate{}, reasons
	}
	slices.SortStableFunc(usable, better)
	return usable[0], nil
}

// warnOfWhole warns of a key by which the rows can only be read all at once.
func (c *checker) warnOfWhole(k Key) {
	if k.Whole {
		c.warn(
			CodeNoKey, "the run copies the table in one piece: the server reads the key "+k.Name+" in another order than it compares",
			"it has a CHAR with a NOPAD collation. If the table gets many rows during the run, that piece takes long", "",
		)
	}
}

// warnOfHelper tells of an index that the shadow has during the run.
func (c *checker) warnOfHelper(k Key) {
	switch {
	case len(k.Dropped) > 0:
		c.warnOfDropped(k)
	case k.Helper:
		c.warn(
			CodeNoKey, fmt.Sprintf("the run finds rows of the new table by an index of its own, %s, and the swap drops it", schema.HelperIndex),
			fmt.Sprintf("the ALTER leaves no index that begins with (%s)", strings.Join(k.Columns(), ", ")), "",
		)
	}
}

// noKey blocks because no key is usable.
func (c *checker) noKey(reasons []string) {
	why := "a run needs a PRIMARY KEY, a UNIQUE key without NULL, or an index of complete columns without NULL, to copy rows and follow changes"
	switch {
	case c.options.Key != "" && len(reasons) == 0:
		why = fmt.Sprintf("the table has no key named %s", c.options.Key)
	case len(reasons) > 0:
		why += " (" + strings.Join(reasons, "; ") + ")"
	}
	fix := c.waysToAKey()
	if steps := c.twoSteps(); steps != "" {
		fix = steps
	} else if c.alter.DropsPrimaryKey && !c.alter.AddsPrimaryKey {
		fix = "Keep the primary key, or first add a UNIQUE key of NOT NULL columns"
	}
	if usable := c.usable(); c.options.Key != "" && len(usable) > 0 {
		fix = "Leave --key out, or name a usable one: " + strings.Join(usable, ", ")
	}
	c.block(CodeNoKey, "no usable key", why, fix)
}

// usable returns the names of the keys that the run could follow.
func (c *checker) usable() []string {
	var names []string
	for _, k := range c.table.Keys {
		if _, why := c.candidate(k); why == "" {
			names = append(names, k.Name)
		}
	}
	return names
}

// better orders candidates: the primary key first, then keys whose order the client knows, then
// keys with fewer and smaller columns. A key with redefined columns, with more columns than its
// index, that is looked for in many partitions, that needs an index of ours, or without an order
// comes after all others. Then come keys that
// lose columns, and an index that is not unique comes last.
func better(a, b candidate) int {
	few := 1
	if a.key.ByValue { // of more and longer columns, a value has fewer rows
		few = -1
	}
	for _, d := range []int{
		order(!a.key.ByValue, !b.key.ByValue),
		order(len(a.key.Dropped) == 0, len(b.key.Dropped) == 0),
		order(!a.nulls, !b.nulls),
		order(!a.key.Whole, !b.key.Whole),
		order(!a.key.Helper, !b.key.Helper),
		order(!a.spread, !b.spread),
		order(!a.wide, !b.wide),
		order(!a.changed, !b.changed),
		order(a.primary, b.primary),
		order(a.ordered, b.ordered),
		few * (len(a.key.Parts) - len(b.key.Parts)),
		few * int(a.size-b.size),
	} {
		if d != 0 {
			return d
		}
	}
	return 0
}

func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// candidate returns a key of the table as a candidate, or why it can't be one.
func (c *checker) candidate(k schema.Key) (found candidate, why string) {
	switch {
	case !k.Unique && c.table.IdentifiesRows():
		return found, "it is not unique"
	case !k.Visible:
		return found, "it is invisible, and FORCE INDEX refuses it"
	case k.Type != "BTREE":
		return found, "its type is " + k.Type
	}
	found = candidate{key: Key{Name: k.Name, ByValue: !k.Unique}, primary: k.Name == "PRIMARY"}
	for _, p := range k.Parts {
		col, why := c.keyColumn(p)
		if col.Nullable && why == "" {
			found.nulls, why = true, c.nullsIn(k, col)
		}
		if why == "" && found.key.ByValue {
			why = c.unlisted(col)
		}
		if why != "" {
			return found, why
		}
		found.key.Parts = append(found.key.Parts, key.Part{Column: col, Descending: p.Descending})
		found.changed = found.changed || c.redefined(col)
		found.key.Whole = found.key.Whole || c.otherOrder(col)
		if contains(c.alter.Dropped, col.Name) {
			found.key.Dropped = append(found.key.Dropped, col.Name)
		}
		found.size += max(col.Length, int64(col.Precision), 4)
	}
	found.key.Own = len(found.key.Parts)
	if why := c.imageLacks(k); why != "" {
		return found, why
	}
	if len(found.key.Dropped) > 0 {
		if why := c.losesDropped(found); why != "" {
			return found, why
		}
		found.key.Helper = true
	} else if why = c.unsearchable(found.key); why != "" {
		found.wide = !found.key.ByValue && c.widen(&found.key)
		found.key.Helper = !found.wide && c.helps(found.key)
		if found.wide || found.key.Helper {
			why = ""
		}
	}
	codec, err := found.key.Codec()
	if err != nil {
		return found, err.Error()
	}
	found.ordered = codec.Ordered()
	return found, why
}

// keyColumn returns a part's column, or why it can't be followed.
func (c *checker) keyColumn(p schema.KeyPart) (col schema.Column, why string) {
	if p.Expression != "" {
		return col, "it has an expression"
	}
	col, ok := c.table.Column(p.Column)
	switch {
	case !ok:
		return col, "column " + p.Column + " is not known"
	case p.Prefix != 0:
		return col, fmt.Sprintf("it holds a prefix of column %s only", col.Name)
	case col.Generated == schema.Virtual:
		return col, fmt.Sprintf("column %s is a virtual generated one", col.Name)
	case col.Generated != schema.NotGenerated && col.DataType == "set" && slices.Contains(col.Members, ""):
		return col, fmt.Sprintf("column %s is a generated SET with an empty member", col.Name)
	case c.otherOrder(col) && !c.facts.Few:
		return col, fmt.Sprintf(
			"column %s is a CHAR with a NOPAD collation: the server reads it in another order than it compares, "+
				"and the table has more than %d rows", col.Name, FewRows,
		)
	case contains(c.alter.Dropped, col.Name):
		return col, "" // losesDropped judges it
	}
	for _, to := range c.alter.Defined {
		if strings.EqualFold(c.origin(to.Name), col.Name) {
			return col, keyLoss(col, to)
		}
	}
	return col, ""
}

// nullsIn returns why a run can't follow a key of which a column may be NULL; "" if it can. It follows no row with NULL: there is none now,
// and the swap waits for none to come. That is found by an index that begins with the column.
func (c *checker) nullsIn(k schema.Key, col schema.Column) string {
	why := fmt.Sprintf("column %s may be NULL", col.Name)
	switch {
	case !slices.Contains(c.facts.NullFree, k.Name):
		return why + ", and rows have NULL there"
	case !c.table.Finds(col.Name):
		return why + ", and no index begins with it"
	case c.options.Back != nil || c.options.KeepsUndo:
		return why + ", and an undo can't follow such a key"
	case c.captured.By == CaptureTrigger:
		return why + ", and triggers can't follow such a key"
	case c.redefined(col):
		return why + ", and the ALTER may change how its values compare"
	}
	return ""
}

// warnOfNulls tells of a key that may have NULL.
func (c *checker) warnOfNulls(chosen candidate) {
	if chosen.nulls {
		c.warn(
			CodeNoKey, "the run follows the key "+chosen.key.Name+", of which a column may be NULL",
			"no row has NULL there now. A row that gets NULL during the run is not copied: the run ends before the swap",
			"Keep the application from writing NULL there until the swap",
		)
	}
}

// otherOrder reports whether the index has a column in another order than comparisons. InnoDB orders
// 'a' with its padding blanks, after "a\t". A comparison orders it without them, before "a\t"
// (MariaDB 11.8.9). So a range misses rows.
func (c *checker) otherOrder(col schema.Column) bool {
	return c.facts.Version.MariaDB && col.DataType == "char" && noPad(col.Collation)
}

// keyLoss returns why a changed key column can't be followed, or "". If two of its values may
// become one, deleting one row from the shadow deletes the other row too. But a run may refuse the
// values that could (apart).
func keyLoss(from, to schema.Column) string {
	lost := merging(from, to)
	if _, ok := apart(from, to); ok || len(lost) == 0 {
		return ""
	}
	return fmt.Sprintf(
		"the ALTER changes values of column %s, and two of them may become one: they %s", from.Name,
		strings.Join(lost, ", and they "),
	)
}

// otherIntegers are names of integer types that the server doesn't use itself.
var otherIntegers = []string{"integer", "int1", "int2", "int3", "int4", "int8", "middleint", "bool", "boolean"}

// redefined reports whether the ALTER may change how a column's values compare. From integer to
// integer it doesn't.
func (c *checker) redefined(col schema.Column) bool {
	for i, name := range c.alter.Modified {
		if strings.EqualFold(name, col.Name) {
			kind := c.alter.NewTypes[i]
			return col.Family() != "integer" ||
				(schema.Column{DataType: kind}).Family() != "integer" && !slices.Contains(otherIntegers, kind)
		}
	}
	return c.alter.ConvertsCharset && col.Charset != "" && col.Charset != "binary"
}

// imageLacks returns why row events may not hold the key, or "". A MINIMAL image has only the
// columns of the key that the server uses as the table's own.
func (c *checker) imageLacks(k schema.Key) string {
	if c.facts.RowImage != "MINIMAL" {
		return ""
	}
	for _, other := range c.table.Keys {
		if !c.table.Identifies(other) {
			continue
		}
		if other.Name == k.Name {
			return ""
		}
		return fmt.Sprintf("binlog_row_image is MINIMAL, and then the binlog holds only the columns of %s", other.Name)
	}
	return ""
}

// unsearchable returns why the shadow could not be searched by the key after the ALTER, as far as
// the statement shows, or "". The shadow that the server really makes is checked later.
func (c *checker) unsearchable(k Key) string {
	if len(c.alter.Unknown) > 0 {
		return ""
	}
	columns := make([]string, len(k.Parts))
	for i, p := range k.Parts {
		columns[i] = c.renamed([]string{p.Column.Name})[0]
	}
	if searchable(c.after(), columns) == nil {
		return fmt.Sprintf("the ALTER leaves no index that begins with (%s), so each change would read the complete shadow",
			strings.Join(columns, ", "))
	}
	return ""
}
