package ddl

import (
	"strings"

	"midstream/internal/mysql/schema/token"
)

// scan fills an Alter from the first words of its clauses.
type scan struct {
	alter *Alter
	text  string
	base  int // where Clauses begins in text

	current words // the clause that is read
}

// clauses splits at the commas and reads every piece. Some clauses hold commas of
// their own (ORDER BY a, b; DROP PARTITION p0, p1); their later pieces are names.
func (s *scan) clauses(tokens []token.Token) {
	previous := ""
	for _, c := range token.List(tokens) {
		if len(c) == 0 {
			s.current = nil
			s.unknown()
			continue
		}
		w := words(c)
		if w.continues(previous) {
			continue
		}
		s.current = w
		previous = s.clause(w)
		s.tail(w)
	}
}

// continues reports whether the piece is one more name in the list of the clause before it. That
// clause began with these words.
func (w words) continues(clause string) bool {
	if clause != "ORDER BY" && !strings.HasSuffix(clause, " PARTITION") ||
		!w[0].Name() || w.at(0, "ADD", "ALTER", "CHANGE", "CONVERT", "DROP", "LOCK", "ORDER", "RENAME") {
		return false
	}
	return len(w) <= 2 || w.at(1, "INTO") // REORGANIZE PARTITION a, b INTO (...)
}

// words is a clause, read by its first words.
type words []token.Token

// at reports whether word i is one of the keywords.
func (w words) at(i int, keywords ...string) bool {
	if i >= len(w) {
		return false
	}
	for _, k := range keywords {
		if w[i].Is(k) {
			return true
		}
	}
	return false
}

// begin reports whether the clause begins with these keywords.
func (w words) begin(keywords ...string) bool {
	for i, k := range keywords {
		if !w.at(i, k) {
			return false
		}
	}
	return true
}

// find returns the first place of the keyword outside parentheses, or -1.
func (w words) find(keyword string) int {
	for i, t := range w {
		if t.Depth == w[0].Depth && t.Is(keyword) {
			return i
		}
	}
	return -1
}

// skip cuts the first words if they are one of the given sequences.
func (w words) skip(sequences ...string) words {
	for _, sequence := range sequences {
		if parts := strings.Fields(sequence); w.begin(parts...) {
			return w[len(parts):]
		}
	}
	return w
}

// name reads a column's name, possibly a qualified one, and returns the words after it.
func (w words) name() (string, words) {
	if len(w) == 0 || !w[0].Name() {
		return "", nil
	}
	for len(w) > 2 && w[1].Is(".") && w[2].Name() {
		w = w[2:]
	}
	return w[0].Text, w[1:]
}

// defines reports whether the words can be a column's definition: a type, or AS (...).
func (w words) defines() bool { return len(w) > 0 && w[0].Kind == token.Word }

// over reports whether no more words of the clause follow.
func (w words) over() bool {
	return len(w) == 0 || w.begin("PARTITION", "BY") || w.begin("REMOVE", "PARTITIONING")
}

// text returns the first n words, for messages and for telling clauses apart.
func (w words) text(n int) string {
	var parts []string
	for i := 0; i < n && i < len(w); i++ {
		parts = append(parts, strings.ToUpper(w[i].Text))
	}
	return strings.Join(parts, " ")
}

// unknown notes that the clause can't be read.
func (s *scan) unknown() {
	text := "nothing between commas"
	if w := s.current; len(w) > 0 {
		text = shorten(s.text[w[0].Start:w[len(w)-1].End])
	}
	s.alter.Unknown = append(s.alter.Unknown, text)
}

// partitionVerbs are the first words of ALTER's clauses for partitions.
var partitionVerbs = []string{"ADD", "DROP", "TRUNCATE", "COALESCE", "REORGANIZE", "EXCHANGE", "ANALYZE",
	"CHECK", "OPTIMIZE", "REBUILD", "REPAIR", "DISCARD", "IMPORT", "CONVERT"}

// clause reads one clause and returns its first words where others depend on them.
func (s *scan) clause(w words) string {
	a := s.alter
	if w.at(0, partitionVerbs...) && w.at(1, "PARTITION") {
		a.PartitionOps = append(a.PartitionOps, w.text(2))
		return w.text(2)
	}
	switch {
	case w.at(0, "ADD"):
		s.add(w[1:])
	case w.at(0, "DROP"):
		s.drop(w[1:])
	case w.at(0, "CHANGE"):
		s.change(w[1:].skip("COLUMN").skip("IF EXISTS"))
	case w.at(0, "MODIFY"):
		s.modify(w[1:].skip("COLUMN").skip("IF EXISTS"))
	case w.at(0, "RENAME"):
		s.rename(w[1:])
	case w.at(0, "ALTER"):
		s.alterPart(w[1:])
	case w.begin("ORDER", "BY"):
		a.OrdersRows = true
		return "ORDER BY"
	case w.begin("CONVERT", "TO"):
		a.ConvertsCharset = true
	case w.begin("PARTITION", "BY"), w.begin("REMOVE", "PARTITIONING"): // tail notes them
	case w.at(0, "DISCARD", "IMPORT") && w.at(1, "TABLESPACE"):
		a.TablespaceOps = append(a.TablespaceOps, w.text(2))
	case w.at(0, "SECONDARY_LOAD", "SECONDARY_UNLOAD"):
		a.LoadOps = append(a.LoadOps, w.text(1))
	case w.at(0, "ALGORITHM"):
		a.Algorithm = value(w[1:])
	case w.at(0, "LOCK"):
		a.Lock = value(w[1:])
	case w.at(0, "FORCE"):
	case w.at(0, "ENABLE", "DISABLE") && w.at(1, "KEYS"):
	case w.at(0, "WITH", "WITHOUT") && w.at(1, "VALIDATION"):
	case option(w):
		s.options(w)
	default:
		s.unknown()
	}
	return ""
}

// tail finds what may follow the last clause without a comma.
func (s *scan) tail(w words) {
	for i := range w {
		if w[i].Depth != w[0].Depth {
			continue
		}
		switch {
		case w[i:].begin("PARTITION", "BY"):
			s.alter.PartitionOps = append(s.alter.PartitionOps, "PARTITION BY")
			return
		case w[i:].begin("REMOVE", "PARTITIONING"):
			s.alter.PartitionOps = append(s.alter.PartitionOps, "REMOVE PARTITIONING")
			return
		}
	}
}

// value returns the word behind an optional "=".
func value(w words) string {
	w = w.skip("=")
	return w.text(1)
}

// rename reads what follows RENAME.
func (s *scan) rename(w words) {
	switch {
	case w.at(0, "COLUMN"):
		old, rest := w[1:].skip("IF EXISTS").name()
		if fresh, rest := rest.skip("TO").name(); fresh != "" && rest.over() {
			s.renamed(old, fresh)
			return
		}
		s.unknown()
	case w.at(0, "INDEX", "KEY"):
	default:
		s.alter.RenamesTable = true
		s.alter.RenamedTo, _ = readName(w.skip("TO", "AS", "="))
	}
}

// renamed notes a column's new name.
func (s *scan) renamed(old, fresh string) {
	if old != fresh {
		s.alter.Renames = append(s.alter.Renames, Rename{Old: old, New: fresh})
	}
}

// change reads what follows CHANGE [COLUMN].
func (s *scan) change(w words) {
	old, rest := w.name()
	fresh, definition := rest.name()
	if fresh == "" || !definition.defines() {
		s.unknown()
		return
	}
	s.renamed(old, fresh)
	s.modified(old, fresh, definition)
}

// modify reads what follows MODIFY [COLUMN].
func (s *scan) modify(w words) {
	name, definition := w.name()
	if name == "" || !definition.defines() {
		s.unknown()
		return
	}
	s.modified(name, name, definition)
}

func (s *scan) modified(old, fresh string, definition words) {
	s.alter.Modified = append(s.alter.Modified, old)
	s.alter.NewTypes = append(s.alter.NewTypes, strings.ToLower(definition.text(1)))
	s.definition(fresh, definition)
}

// alterPart reads what follows ALTER: a column's default, an index, a check.
func (s *scan) alterPart(w words) {
	switch {
	case w.at(0, "INDEX", "KEY"):
		if name, rest := w[1:].skip("IF EXISTS").name(); rest.at(0, "INVISIBLE", "IGNORED") {
			s.alter.HiddenKeys = append(s.alter.HiddenKeys, name)
		}
	case w.at(0, "CHECK", "CONSTRAINT"):
		s.checkName(w[1:])
	}
}

// checkName notes the place of a constraint's name.
func (s *scan) checkName(w words) string {
	name, _ := w.name()
	if name != "" {
		s.alter.Checks = append(s.alter.Checks, CheckRef{Name: name, Start: w[0].Start - s.base, End: w[0].End - s.base})
	}
	return name
}
