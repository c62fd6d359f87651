package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/mysql/schema"
)

// helps reports whether an index of ours may serve a key while the shadow is built. The swap drops it
// under the lock, and may use half of the time for that. No foreign key may take it for its own. A
// further ALTER must keep the definition.
func (c *checker) helps(k Key) bool {
	work := cmp.Or(max(c.options.Work, 0), DefaultWork)
	drop := time.Duration(c.table.Rows) * dropOfRow
	undoes := c.options.Purpose == Undoing // its shadow is the old table, with its rows
	if undoes || k.Whole || drop > work/2 || related(c.facts, c.table) || unhelped(c.after()) != "" {
		return false
	}
	t := c.facts.Trial
	return t == nil || !Rounds(c.alter, t.Altered) && !Rewritten(t.Altered, t.Settled)
}

// dropOfRow is the time that the drop of an index takes for each of its rows: 4 ms for 6,000,000 rows
// (5.7.22), and 30 ms for 20,000,000 (9.7.4), on two busy cores.
const dropOfRow = 2 * time.Nanosecond

// Helper returns the definition of the index that the altered shadow needs during the run, or "".
func (p *Plan) Helper(altered *schema.Table) (string, error) {
	if !p.Key.Helper {
		return "", nil
	}
	columns, err := p.Columns(altered)
	if err != nil {
		return "", err
	}
	if why := unhelped(altered); why != "" {
		return "", &unfollowed{why}
	}
	index, err := helperOf(withDropped(p, altered), columns.Key)
	if err != nil || len(p.Key.Dropped) == 0 {
		return index, err
	}
	return helperColumns(p.Key) + ", ADD " + index, nil
}

// unhelped returns why the swap cannot drop an index of a table in an instant, or "".
func unhelped(altered *schema.Table) string {
	switch {
	case altered.Partitioned:
		return "the swap would drop an index of each partition"
	case slices.ContainsFunc(altered.Keys, func(k schema.Key) bool { return k.Type == "HASH" }):
		return "the server copies a table with a HASH to drop an index (MariaDB)" // it refuses ALGORITHM=INPLACE
	}
	return ""
}

// helperBytes is how long an index may be with every row format and page size.
const helperBytes = 767

// helperOf defines an index of columns. A long column is in it with its first letters.
func helperOf(t *schema.Table, columns []string) (string, error) {
	share := int64(helperBytes / len(columns))
	parts := make([]string, len(columns))
	for i, name := range columns {
		column, _ := t.Column(name)
		parts[i] = schema.Quote(name)
		if isShort(column) {
			continue
		}
		switch column.Family() {
		case "string":
			if bytes(column) > share {
				parts[i] += fmt.Sprintf("(%d)", share/4)
			}
		case "binary", "varbinary":
			if bytes(column) > share {
				parts[i] += fmt.Sprintf("(%d)", share)
			}
		default:
			return "", &unfollowed{fmt.Sprintf("key column %s becomes %s, which no index can have", name, strings.ToUpper(column.Type))}
		}
	}
	return "KEY " + schema.Quote(schema.HelperIndex) + " (" + strings.Join(parts, ", ") + ")", nil
}
