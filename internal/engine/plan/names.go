package plan

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"unicode/utf8"

	"midstream/internal/mysql/schema"
)

// maxServerName is the server's limit for the name of a table or a constraint, in characters.
const maxServerName = 64

// maxName is our limit for an artefact's name, in characters. The server makes the names of a
// copy's CHECK constraints from it, such as orders_shadow_chk_12, and fails if that name is too
// long.
const maxName = maxServerName - len("_chk_99")

// cutMarks mark where a name was cut. The mark is the first that is higher than the character that
// it replaces, so the cut name sorts after the original name. UTF-8 sorts as its characters do.
var cutMarks = []rune{'~', '～', '\uFFFF'}

// mostOld is the number of old tables of one table that may exist at the same time.
const mostOld = 9

// OldNames returns the names that an old table may get, the preferred one first: orders_old,
// orders_old2, and so on to orders_old9.
func OldNames(table schema.Name) []schema.Name {
	names := []schema.Name{NamesOf(table).Old}
	for n := 2; n <= mostOld; n++ {
		names = append(names, table.Sibling(suffixed(table.Table, fmt.Sprint(oldSuffix, n))))
	}
	return names
}

// IsAside reports whether a table of that name and comment still is what Midstream has put aside for a source, and no table that was
// renamed since: it has a name that Midstream gives, or the one that the operator has chosen.
func IsAside(source, name schema.Name, comment string) bool {
	return slices.Contains(OldNames(source), name) || slices.Contains(UndoneNames(source), name) ||
		name == source.Sibling(schema.NamedOld(comment, source))
}

// MarkOld is the comment of the old table of a source. It has the table's name, if Midstream does not give such a name itself, and the
// names of the tables with values of parked rows. rest means that the table has rows which the change has left out.
func MarkOld(source, name schema.Name, values schema.ParkedValues, was string, rest bool) string {
	if rest {
		return schema.MarkRest(source, was)
	}
	chosen := name.Table
	if IsAside(source, name, "") {
		chosen = ""
	}
	return schema.MarkOldWith(source, chosen, values, was)
}

// Wish holds the operator's names for artefacts; "" lets the plan choose a name. The state table
// always has the same name: other runs, and Cleanup, read there what the shadow is called.
type Wish struct {
	Shadow string
	Old    string // of the old table
}

// freeNames returns the artefacts' names for a table: old tables of earlier runs keep their
// names. It does not check whether a wished name is free: the run is refused if it is taken.
func freeNames(table schema.Name, options Options, facts *Facts) Names {
	names, wish := options.Purpose.NamesOf(table), options.Names
	if old, free := facts.FreeOld(table); free {
		names.Old = old
	}
	if options.Purpose == RehearsingOnReplica {
		return names // a primary's run may wish it too
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

// mayBe reports whether an artefact may have the name while the tables are swapped. If the swap
// takes two sessions, the name must sort after the source's. Otherwise the RENAME waits for the
// artefact's lock before it asks for the source's lock, and a writer may come first.
func (v Version) mayBe(name string, table schema.Name) bool {
	return v.renamesUnderLock() || name > table.Table
}

// ShadowName is the name of a table's shadow on a server of this version. wish is "" if the
// operator wishes none.
func ShadowName(v Version, table schema.Name, wish string) schema.Name {
	if wish != "" && v.mayBe(wish, table) {
		return table.Sibling(wish)
	}
	return NamesOf(table).Shadow
}

// inOrder is why a name that sorts before the table's cannot be used.
const inOrder = "this server swaps in two sessions, in the order of names: with a name that sorts before the table's, writes can be lost"

// checkWish checks whether the run can use the names that the operator wishes.
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
			inOrder,
			"",
		)
	}
	switch {
	case c.names.Kept == schema.Name{}:
	case c.options.KeepsUndo:
		c.block(CodeNames, fmt.Sprintf("no undo could swap %s back", c.names.Kept), inOrder,
			fmt.Sprintf("Choose a name for --old-name that sorts after %s, or leave it out: the name is %s then", table.Table, NamesOf(table).Old.Table))
	default:
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

// LockName is the name of the advisory lock that a run on the table holds; the server allows 64
// characters.
func LockName(table schema.Name) string {
	sum := sha256.Sum256([]byte(table.Quoted()))
	return fmt.Sprintf("midstream %x", sum[:20])
}

// suffixed appends a suffix. If the name would be too long, it cuts the base and marks the cut. Two tables
// may get the same name then: only names of old tables may be so, because there are several of them.
func suffixed(base, suffix string) string { return shortened(base, "", suffix) }

// ownName is suffixed, for a table that must have this name. If the base is cut, the name has a part of the
// base's hash: it is no name of another table.
func ownName(base, suffix string) string {
	return shortened(base, fmt.Sprintf("%x", sha256.Sum256([]byte(base)))[:6], suffix)
}

// shortened appends a suffix to the base, or to the beginning of the base, a mark and a tag.
func shortened(base, tag, suffix string) string {
	if utf8.RuneCountInString(base)+len(suffix) <= maxName && fileLength(base+suffix) <= fileLimit(base) {
		return base + suffix
	}
	suffix = tag + suffix
	runes := []rune(base)
	for at := min(len(runes)-1, maxName-len(suffix)-1); at > 0; at-- {
		for _, mark := range cutMarks {
			name := string(runes[:at]) + string(mark) + suffix
			if runes[at] < mark && fileLength(name) <= fileLimit(base) {
				return name
			}
		}
	}
	return base + suffix // no valid name of the server's
}

// fileLimit is how long the name of an artefact's file may be, in bytes. The server adds the names
// of partitions and an ending, and 255 is the file system's limit: 200 leaves room. The length of
// the source's own name is proved to be possible.
func fileLimit(base string) int { return max(200, fileLength(base)) }

// fileLength is the greatest length of a name in the file system, in bytes: five bytes for a
// character that is no ASCII letter, digit or underscore.
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
