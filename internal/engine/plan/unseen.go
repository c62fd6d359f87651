package plan

import (
	"fmt"

	"midstream/internal/mysql/schema"
)

// mostUnchanged is the number of rows, by the server's estimate, up to which a lazy undo compares all rows.
const mostUnchanged = 1_000_000

// Unseen is why an undo that syncs only the changed rows cannot compare the others, or would take too long to; "" if it
// compares all rows. differs means that these rows may differ. old is the old table.
func (p *Plan) Unseen(old *schema.Table) (why string, differs bool, err error) {
	m := mapper{source: p.Source, shadow: old, alter: p.Alter, user: p.Map}
	pairs, err := m.pairs()
	if err != nil {
		return "", false, err
	}
	for _, x := range pairs {
		if !comesBack(x.to, x.from) || p.Back.Redo && !comesBack(x.from, x.to) {
			return fmt.Sprintf("column %s has another type, and the old table may have values that the change has rounded", x.from.Name), true, nil
		}
	}
	if p.Source.Rows > mostUnchanged {
		return "the table has more than 1,000,000 rows", false, nil
	}
	return "", false, nil
}

// comesBack reports whether a value of the old type, which the ALTER has converted, becomes the same value again if it is
// converted back. In doubt it returns false.
func comesBack(from, to schema.Column) bool {
	switch {
	case from.Generated == schema.NotGenerated && to.Generated != schema.NotGenerated:
		return false
	case from.Type == to.Type && from.Charset == to.Charset:
		return true
	case from.Family() == "string" && to.Family() == "string":
		blanks := to.DataType != "char" || from.DataType == "char"
		return blanks && stringFits(from, to) && (from.Charset == to.Charset || reversible[from.Charset] && reversible[to.Charset])
	}
	return exact(from, to)
}

// reversible are charsets whose texts come back unchanged from each other, if they accept them.
var reversible = map[string]bool{"ascii": true, "latin1": true, "utf8": true, "utf8mb3": true, "utf8mb4": true}
