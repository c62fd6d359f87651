package plan

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"unicode/utf8"

	"midstream/internal/mysql/schema"
)

// maxServerName is the server's limit for the name of a table or a constraint, in
// characters.
const maxServerName = 64

// maxName is ours for an artefact's name: the server makes the names of a copy's CHECK
// constraints of it, as orders_shadow_chk_12, and fails where that is too long.
const maxName = maxServerName - len("_chk_99")

// cutMarks are put where a name was cut: the first that is higher than the character
// whose place it takes, so that the cut name sorts after the one that it was cut
// from. UTF-8 sorts as its characters do.
var cutMarks = []rune{'~', '～', '\uFFFF'}

// mostOld is the number of former sources of one table that may stand side by side.
const mostOld = 9

// OldNames returns the names that a former source may get, the one to prefer first:
// orders_old, orders_old2, and so on to orders_old9.
func OldNames(table schema.Name) []schema.Name {
	names := []schema.Name{NamesOf(table).Old}
	for n := 2; n <= mostOld; n++ {
		names = append(names, table.Sibling(suffixed(table.Table, fmt.Sprint(oldSuffix, n))))
	}
	return names
}

// Wish is what the operator would have artefacts called; "" leaves a name to us. The state table has
// always the same one: it is where other runs, and Cleanup, learn what the shadow is called.
type Wish struct {
	Shadow string
	Old    string // of the former source
}

// freeNames returns the artefacts' names for a table: former sources of earlier runs keep
// theirs. What was wished is not looked at any further: the run is refused if it is taken.
func freeNames(table schema.Name, options Options, facts *Facts) Names {
	names, wish := options.Purpose.NamesOf(table), options.Names
	if old, free := facts.FreeOld(table); free {
		names.Old = old
	}
	if options.Purpose == RehearsingOnReplica {
		return names // a run on the primary may have the same wish
	}
	names.Shadow = ShadowName(facts.Version, table, wish.Shadow)
	switch {
	case wish.Old == "":
	case facts.Version.mayBe(wish.Old, table):
		names.Old = table.Sibling(wish.Old)
	default:
		names.Kept = table.Sibling(wish.Old)
	}
	return names
}

// mayBe says that an artefact may have the name while the tables are swapped. In two sessions it
// must sort after the source's: else the RENAME waits for the artefact's lock, has not asked for the
// source's yet, and a writer may come before it.
func (v Version) mayBe(name string, table schema.Name) bool {
	return v.renamesUnderLock() || name > table.Table
}

// ShadowName is what the shadow of a table is called on a server of this version. wish is "" where none is wished.
func ShadowName(v Version, table schema.Name, wish string) schema.Name {
	if wish != "" && v.mayBe(wish, table) {
		return table.Sibling(wish)
	}
	return NamesOf(table).Shadow
}

// checkWish looks whether the run can do with the names that were wished.
func (c *checker) checkWish() {
	wish, table := c.options.Names, c.table.Name
	for _, name := range []string{wish.Shadow, wish.Old} {
		switch {
		case name == "":
		case utf8.RuneCountInString(name) > maxServerName:
			c.block(
				CodeNames, fmt.Sprintf("the name %s has more than %d characters", name, maxServerName),
				"the server accepts no longer name", "Choose a shorter one",
			)
		case wish.Shadow == wish.Old, c.facts.sameTable(table.Sibling(name), table), c.facts.sameTable(table.Sibling(name), c.names.State):
			c.block(CodeNames, fmt.Sprintf("this run uses the name %s for another table", name), "each table needs its own name", "Choose another name")
		}
	}
	if wish.Shadow != "" && wish.Shadow != c.names.Shadow.Table {
		c.warn(
			CodeNames, fmt.Sprintf("the shadow is %s, and not %s", c.names.Shadow.Table, wish.Shadow),
			"this server swaps in two sessions, in the order of names: with a name that sorts before the table's, writes can be lost",
			"",
		)
	}
	if c.names.Kept != (schema.Name{}) {
		c.warn(CodeNames, fmt.Sprintf("the old table is %s for a moment, before it is %s", c.names.Old.Table, c.names.Kept.Table),
			"this server swaps in two sessions, in the order of names", "")
	}
}

// FreeOld returns the first of OldNames that no table has.
func (f *Facts) FreeOld(table schema.Name) (old schema.Name, free bool) {
	for _, old := range OldNames(table) {
		if !slices.ContainsFunc(f.Taken, func(t Taken) bool { return f.sameTable(t.Name, old) }) {
			return old, true
		}
	}
	return schema.Name{}, false
}

// LockName is the name of the advisory lock that a run on the table holds; the server
// allows 64 characters.
func LockName(table schema.Name) string {
	sum := sha256.Sum256([]byte(table.Quoted()))
	return fmt.Sprintf("midstream %x", sum[:20])
}

// suffixed appends a suffix; where the name would be too long the base is cut, and the
// cut marked.
func suffixed(base, suffix string) string {
	if utf8.RuneCountInString(base)+len(suffix) <= maxName && fileLength(base+suffix) <= fileLimit(base) {
		return base + suffix
	}
	runes := []rune(base)
	for at := min(len(runes)-1, maxName-len(suffix)-1); at > 0; at-- {
		for _, mark := range cutMarks {
			name := string(runes[:at]) + string(mark) + suffix
			if runes[at] < mark && fileLength(name) <= fileLimit(base) {
				return name
			}
		}
	}
	return base + suffix // no name of the server's comes here
}

// fileLimit is how long the name of an artefact's file may be. The server adds the
// names of partitions and an ending, and 255 is the file system's limit: 200 leaves
// room, and what the source's own name takes has been proved to be possible.
func fileLimit(base string) int { return max(200, fileLength(base)) }

// fileLength is how long the server writes a name in the file system, at most: five
// bytes for a character that is no ASCII letter, digit or underscore.
func fileLength(name string) int {
	n := 0
	for _, c := range name {
		if c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			n++
		} else {
			n += 5
		}
	}
	return n
}
