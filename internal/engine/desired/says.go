package desired

import (
	"errors"
	"fmt"
	"slices"

	"midstream/internal/mysql/schema"
)

// Says is the operator's declaration of which column continues which: for each table, the new
// column with the old one, "" for a column that is new.
type Says map[schema.Name]map[string]string

// ReadSays reads the values of --map, new column to old. If there are several tables, the table's
// name may precede the new column.
func ReadSays(wanted []Statement, values map[string]string) (Says, error) {
	var problems []error
	says := Says{}
	for fresh, old := range values {
		name, column, err := sayOf(wanted, fresh)
		if err != nil {
			problems = append(problems, fmt.Errorf("--map %s=%s: %w", old, fresh, err))
			continue
		}
		if says[name] == nil {
			says[name] = map[string]string{}
		}
		says[name][column] = old
	}
	return says, errors.Join(problems...)
}

// sayOf reads column, table.column or database.table.column.
func sayOf(wanted []Statement, text string) (table schema.Name, column string, err error) {
	parts, err := schema.Identifiers(text)
	if err != nil {
		return table, "", err
	}
	column, parts = parts[len(parts)-1], parts[:len(parts)-1]
	var found []schema.Name
	for _, s := range wanted {
		own := []string{s.Name.Schema, s.Name.Table}
		if len(parts) <= len(own) && slices.Equal(own[len(own)-len(parts):], parts) {
			found = append(found, s.Name)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], column, nil
	case len(found) == 0:
		return table, "", fmt.Errorf("the files define no such table")
	}
	return table, "", fmt.Errorf("which table? Write table.%s after the =", column)
}

// MapFlag is the --map that declares that a column continues another one.
func MapFlag(wanted []Statement, table schema.Name, old, fresh string) string {
	text := schema.Dotted(fresh)
	same := func(s Statement) bool { return s.Name.Table == table.Table && s.Name != table }
	switch {
	case len(wanted) == 1:
	case slices.ContainsFunc(wanted, same):
		text = schema.Dotted(table.Schema, table.Table, fresh)
	default:
		text = schema.Dotted(table.Table, fresh)
	}
	return "--map " + schema.Shell(old+"="+text)
}
