package differ

import (
	"slices"
	"strings"
)

// WithoutUniqueKey returns the case with an index that is not unique in place of the key that identifies the rows,
// on a server that takes such a table.
func (c *Case) WithoutUniqueKey() *Case {
	other := *c
	other.Keys = slices.Clone(c.Keys)
	if columns, primary := strings.CutPrefix(other.Keys[0], "PRIMARY KEY "); primary {
		other.Keys[0] = "KEY by_value " + columns
	} else {
		other.Keys[0] = strings.TrimPrefix(other.Keys[0], "UNIQUE ")
	}
	other.Settings = slices.DeleteFunc(slices.Clone(c.Settings), func(s string) bool { return strings.Contains(s, "primary_key") })
	return &other
}
