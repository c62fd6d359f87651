package capture

import "midstream/internal/mysql/binlog"

// parentsWritten hands out what rows of a parent were, or keeps it until the end of their group decides about it. A new row of a
// parent is the parent of more rows, so it is left out.
func (c *Capture) parentsWritten(e binlog.Rows) error {
	if e.Kind == binlog.Insert {
		return nil
	}
	rows := make([]parentRow, 0, len(e.Tuples))
	for _, values := range e.Tuples {
		if len(values) > 0 {
			rows = append(rows, parentRow{number: e.Watch - WatchParents, values: values})
		}
	}
	if e.MayBeXA {
		c.parents = append(c.parents, rows...)
		return nil
	}
	return c.handParents(rows)
}

// handParents hands out what rows of parents were.
func (c *Capture) handParents(rows []parentRow) error {
	for _, row := range rows {
		if err := c.deps.Parent(row.number, row.values); err != nil {
			return err
		}
	}
	return nil
}
