package plan

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// MostOfValue is the number of rows that a value of a followed index may have, if the index is not unique: each change of one of them
// syncs them all.
const MostOfValue = 10_000

// unlisted returns why a run can't follow the values of an index that is not unique, because of one of its columns; "" if it can.
func (c *checker) unlisted(col schema.Column) string {
	const notUnique = "it is not unique, and "
	switch {
	case c.options.Back != nil || c.options.KeepsUndo:
		return notUnique + "an undo can't follow such an index"
	case c.captured.By == CaptureTrigger:
		return notUnique + "triggers can't follow such an index"
	case c.otherOrder(col):
		return fmt.Sprintf("%scolumn %s is a CHAR with a NOPAD collation: the server reads it in another order than it compares", notUnique, col.Name)
	case c.redefined(col):
		return fmt.Sprintf("%sthe ALTER may change how values of column %s compare", notUnique, col.Name)
	}
	return ""
}

// warnOfValues tells of an index that is not unique, and refuses it if rows may change unseen.
func (c *checker) warnOfValues(k Key) {
	switch {
	case !k.ByValue:
	case len(c.acting) > 0:
		c.block(
			CodeNoKey, "the run would follow the index "+k.Name+", which is not unique",
			"foreign keys change rows without a trace in the binlog ("+strings.Join(c.acting, ", ")+"), and then only a unique key can be followed",
			"Add a PRIMARY KEY first, natively",
		)
	default:
		c.warn(
			CodeNoKey, "rows are followed by the index "+k.Name+", which is not unique",
			fmt.Sprintf("each change copies all rows again that have the same (%s). The run refuses a value with more than %d rows before the copy",
				strings.Join(k.Columns(), ", "), MostOfValue),
			c.otherIndexes(k),
		)
	}
}

// otherIndexes is what to do if another index has fewer rows for each value.
func (c *checker) otherIndexes(k Key) string {
	others := slices.DeleteFunc(c.usable(), func(name string) bool { return name == k.Name })
	if len(others) == 0 {
		return ""
	}
	return "If another index has fewer rows for a value, name it: --key=" + strings.Join(others, ", --key=")
}

// waysToAKey is what to do about a table without a key that a run can follow.
func (c *checker) waysToAKey() string {
	name := c.table.Name.Quoted()
	if c.table.IdentifiesRows() {
		return "Add one first, natively: ALTER TABLE " + name + " ADD PRIMARY KEY (...)"
	}
	id := free("id", func(name string) bool {
		_, taken := c.table.Column(name)
		return taken || contains(c.alter.Added, name)
	})
	invisible := ""
	if v := c.facts.Version; v.MariaDB && v.AtLeast(10, 3, 3) || !v.MariaDB && v.AtLeast(8, 0, 23) {
		invisible = " INVISIBLE"
	}
	rebuild := Cost{Setup: setup, Rows: assumedRebuild / rowBytes(c.table)}.takes(c.table.Rows)
	fix := fmt.Sprintf("Let the server add a primary key: ALTER TABLE %s ADD COLUMN %s BIGINT UNSIGNED NOT NULL AUTO_INCREMENT%s PRIMARY KEY; "+
		"writes wait for about %s", name, schema.Quote(id), invisible, round(rebuild))
	if c.unlisted(schema.Column{}) != "" {
		return fix
	}
	followed := free("followed", func(name string) bool { _, taken := c.table.Key(name); return taken })
	index := Cost{Setup: setup, Rows: assumedIndex}.takes(c.table.Rows)
	return fmt.Sprintf("%s. Or let it add an index of columns whose values have few rows each and no NULL: "+
		"ALTER TABLE %s ADD INDEX %s (%s), ALGORITHM=INPLACE, LOCK=NONE; that takes about %s, and the application may write. "+
		"Then run this change again; it may also drop that index",
		fix, name, schema.Quote(followed), c.indexable(), round(index))
}

// free is a name that is not taken: the given one, or that with a number.
func free(name string, taken func(string) bool) string {
	found := name
	for n := 2; taken(found); n++ {
		found = fmt.Sprintf("%s%d", name, n)
	}
	return found
}

// indexable proposes the columns of an index: those of which no value may be NULL, of a type that can be followed.
func (c *checker) indexable() string {
	for _, col := range c.table.Columns {
		if _, why := c.keyColumn(schema.KeyPart{Column: col.Name}); why != "" || col.Nullable || contains(c.alter.Modified, col.Name) || contains(c.alter.Dropped, col.Name) {
			continue
		}
		switch col.Family() {
		case "integer", "datetime", "timestamp", "decimal":
			return schema.Quote(col.Name)
		}
	}
	return "..."
}
