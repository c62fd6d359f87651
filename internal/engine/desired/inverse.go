package desired

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Inverse finds the ALTER by which the server leads a table back to its old definition, with its comment, indexes and
// CHECKs. says has the table's column for each column of the former one, "" for none. It is nil if nothing differs. The
// error is the reason why no ALTER leads back.
func Inverse(table, former *schema.Table, says map[string]string, version plan.Version) (*ddl.Alter, error) {
	d := differ{have: sideOf(table), want: sideOf(former), version: version, exact: true, says: says,
		argument: func(old, fresh string) string { return old + " to " + fresh }}
	clauses := d.diff()
	if len(d.reasons) > 0 {
		return nil, errors.New(d.reasons[0].What)
	}
	if clauses == "" {
		return nil, nil
	}
	alter, err := ddl.ParseClauses(table.Name, clauses)
	if err != nil {
		return nil, fmt.Errorf("read the ALTER that leads back, %s: %w", clauses, err)
	}
	return alter, nil
}

// Same reports whether a table is as an ALTER has made it of an empty copy: the copy lacks the foreign keys, has names of
// its own for CHECKs, and may have other options.
func Same(table, copied *schema.Table) bool {
	is, wanted := *table, *copied
	is.Options, wanted.Options = nil, nil
	d := differ{have: sideOf(&is), want: sideOf(&wanted), argument: func(old, fresh string) string { return "" }}
	d.have.foreign = nil
	d.want.checks = slices.Clone(d.want.checks)
	for i := range d.want.checks {
		d.want.checks[i].Name = ""
	}
	return strings.TrimSpace(d.diff()) == "" && len(d.reasons) == 0
}
