package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// CodePartitions is the risk that changes are looked for in all partitions of the new table.
const CodePartitions Code = "partitions"

// manyPartitions is from how many partitions on a key without their columns costs more than one with them. A key of several columns costs
// the server more, above all 5.7.
const manyPartitions = 32

// searchOfPartition is the time to look for a key in a partition that does not have it: for 1,000 keys in 1,000 partitions, a DELETE took
// 5.9 to 6.5 s (9.7.4), 1.7 to 2.5 s (5.7.22), and 0.2 to 0.5 s (MariaDB 10.11 and 11.8).
func (v Version) searchOfPartition() time.Duration {
	switch {
	case v.MariaDB:
		return 400 * time.Nanosecond
	case v.AtLeast(8, 0, 0):
		return 6 * time.Microsecond
	}
	return 2 * time.Microsecond
}

// prune adds to a key the columns by which the ALTER partitions the table, if it lacks them. Otherwise each sync would look for each key
// in all partitions. The binlog shows these columns before and after a change, so the run deletes the row from the partition that it has
// left. The shadow needs an index that begins with all columns of the key.
//
// NB: it depends on the ALTER's text and not on the trial, which a run that resumes does not have.
func (c *checker) prune(k *Key) {
	by := c.partitionedBy()
	if len(by) == 0 || k.ByValue || k.Helper || filesAfter(c.alter, 1) < manyPartitions {
		return
	}
	columns := c.renamed(k.Columns())
	for _, index := range predict(c.table, c.alter).Keys {
		if !index.Unique || !begins(&index, columns) {
			continue
		}
		if more, ok := c.pruning(index.Parts[min(len(columns), len(index.Parts)):], by, columns); ok && len(more) > 0 {
			pruned := Key{Parts: slices.Concat(k.Parts, more)}
			codec, err := k.Codec()
			with, err2 := pruned.Codec()
			if err == nil && err2 == nil && with.Ordered() == codec.Ordered() {
				k.Parts = pruned.Parts
				return
			}
		}
	}
}

// pruning returns the source's columns for the parts of an index behind the key, up to the last column that partitions need. ok is false
// if the index lacks one of these, or if a column cannot be followed.
func (c *checker) pruning(parts []schema.KeyPart, by, columns []string) (more []key.Part, ok bool) {
	left := slices.DeleteFunc(slices.Clone(by), func(name string) bool { return contains(columns, name) })
	for _, part := range parts {
		if len(left) == 0 {
			break
		}
		col, why := c.followsToo(part)
		if why != "" {
			return nil, false
		}
		left = slices.DeleteFunc(left, func(name string) bool { return strings.EqualFold(name, part.Column) })
		more = append(more, key.Part{Column: col})
	}
	return more, len(left) == 0
}

// followsToo returns the source's column of a part of the new table's index, or why the run cannot follow it in addition to a key.
func (c *checker) followsToo(part schema.KeyPart) (col schema.Column, why string) {
	i := slices.IndexFunc(c.table.Columns, func(col schema.Column) bool {
		return !contains(c.alter.Dropped, col.Name) && strings.EqualFold(renamed(c.alter, col.Name), part.Column)
	})
	if i < 0 || part.Prefix != 0 || part.Expression != "" {
		return col, fmt.Sprintf("the table has no column %s", part.Column)
	}
	col = c.table.Columns[i]
	if _, why := c.keyColumn(schema.KeyPart{Column: col.Name}); why != "" {
		return col, why
	}
	switch {
	case c.facts.RowImage == "MINIMAL":
		return col, "binlog_row_image is MINIMAL"
	case c.options.Back != nil:
		return col, "an undo follows the key alone"
	case col.Nullable:
		return col, fmt.Sprintf("column %s may be NULL", col.Name)
	case col.Generated != schema.NotGenerated:
		return col, fmt.Sprintf("column %s is generated", col.Name)
	case c.refers(col):
		return col, fmt.Sprintf("a foreign key has column %s", col.Name)
	case c.redefined(col) || c.options.Set.Of(col.Name) != "":
		return col, fmt.Sprintf("the change redefines column %s", col.Name)
	}
	return col, ""
}

// partitionedBy returns the columns by which the ALTER's PARTITION BY partitions the table, by their new names; nil if it has none.
func (c *checker) partitionedBy() (columns []string) {
	if !slices.Contains(c.alter.PartitionOps, "PARTITION BY") || len(c.alter.Unknown) > 0 {
		return nil
	}
	tokens, _ := token.Split(c.alter.Clauses)
	for i := 1; i < len(tokens); i++ {
		if tokens[i].Depth > 0 || !tokens[i].Is("BY") || !tokens[i-1].Is("PARTITION") && !tokens[i-1].Is("SUBPARTITION") {
			continue
		}
		for i++; i < len(tokens) && tokens[i].Depth == 0 && !tokens[i].Is("("); i++ { // RANGE COLUMNS, KEY ALGORITHM = 2
		}
		for ; i < len(tokens) && !(tokens[i].Is(")") && tokens[i].Depth == 0); i++ {
			if named := tokens[i]; named.Name() && slices.ContainsFunc(c.table.Columns, func(col schema.Column) bool {
				return strings.EqualFold(renamed(c.alter, col.Name), named.Text)
			}) {
				columns = append(columns, named.Text)
			}
		}
	}
	return columns
}

// warnOfPartitions warns of what a new table in partitions does to the key: the columns of its partitions are a part of each unique key,
// and a run that does not follow them looks for each changed row in all partitions.
func (c *checker) warnOfPartitions(k Key) {
	by := c.partitionedBy()
	if len(by) == 0 || k.Name == "" || k.ByValue {
		return
	}
	own := c.renamed(k.Columns()[:k.Own])
	unique := slices.ContainsFunc(c.after().Keys, func(u schema.Key) bool {
		return u.Unique && !slices.ContainsFunc(u.Parts, func(p schema.KeyPart) bool { return !contains(own, p.Column) || p.Prefix != 0 })
	})
	if !unique {
		c.warn(
			CodeUnique, fmt.Sprintf("(%s) is no longer unique in the new table", strings.Join(own, ", ")),
			"each unique key of a table in partitions has the columns of the partitions, so two rows may then differ only in those",
			"Let the application rely on that only if it makes the values itself, as AUTO_INCREMENT does",
		)
	}
	parts := filesAfter(c.alter, 1)
	lacks := c.unpruned(k)
	if len(lacks) == 0 || parts < manyPartitions {
		return
	}
	takes := 1000 * time.Duration(parts) * c.facts.Version.searchOfPartition()
	why := fmt.Sprintf("that takes about %s for 1,000 rows, because the run does not follow %s", round(takes), strings.Join(lacks, ", "))
	if rate := c.facts.Writes; rate > 0 {
		why += fmt.Sprintf(": %.0f rows are written in a second now", rate)
	}
	c.warn(CodePartitions, fmt.Sprintf("the run looks for each changed row in all %d partitions", parts), why, c.waysToPrune(lacks))
}

// unpruned returns the columns by which the ALTER partitions the table that a key lacks.
func (c *checker) unpruned(k Key) []string {
	followed := c.renamed(k.Columns())
	return slices.DeleteFunc(c.partitionedBy(), func(name string) bool { return contains(followed, name) })
}

// waysToPrune is what to do so that the run follows the columns of the partitions.
func (c *checker) waysToPrune(lacks []string) string {
	for _, name := range lacks {
		if _, why := c.followsToo(schema.KeyPart{Column: name}); why != "" {
			return "It could not: " + why
		}
	}
	return "It would with a primary key of the followed key and these columns"
}
