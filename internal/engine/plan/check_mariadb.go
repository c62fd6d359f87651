package plan

import (
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// The codes of risks that only MariaDB has.
const (
	CodeOverlaps Code = "overlaps"
	CodeFormat   Code = "old-format"
)

// checkOverlaps refuses a key WITHOUT OVERLAPS. The shadow may refuse a changed row of the source
// because of a shadow row whose own change is not applied yet. That row has other values than the
// new row, so no lookup by the key finds it.
func (c *checker) checkOverlaps(altered *schema.Table) {
	if c.facts.Trial == nil { // before the ALTER
		altered = predict(c.table, c.alter)
	}
	for _, k := range altered.Keys {
		if strings.Contains(strings.ToUpper(k.Definition), " WITHOUT OVERLAPS") {
			c.block(
				CodeOverlaps, "the key "+k.Name+" is a WITHOUT OVERLAPS key",
				"a run cannot find the rows that conflict with another row under it", natively,
			)
		}
	}
}

// checkFormats refuses columns in the format that MariaDB had before 10.1: the binlog does not show
// how long their values are.
func (c *checker) checkFormats() {
	if c.captured.By == CaptureTrigger {
		return
	}
	i := slices.IndexFunc(c.table.Columns, func(col schema.Column) bool {
		return strings.Contains(col.Type, "/* mariadb-5.3 */") && (col.Fraction > 0 || col.DataType == "time")
	})
	if i >= 0 {
		c.block(
			CodeFormat, "column "+c.table.Columns[i].Name+" has the format of MariaDB 5.3",
			"the binlog does not show how long its values are",
			"Convert the table once, natively, with mysql56_temporal_format=ON: ALTER TABLE "+c.table.Name.Quoted()+" FORCE, ALGORITHM=COPY; or use --capture=trigger",
		)
	}
}
