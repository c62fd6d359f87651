package ddl

import (
	"cmp"
	"strings"

	"midstream/internal/mysql/schema/token"
)

// add reads what follows ADD.
func (s *scan) add(w words) {
	if s.addKey(w) {
		return
	}
	if w.begin("PERIOD", "FOR") || w.begin("SYSTEM", "VERSIONING") { // MariaDB
		s.alter.Versions = true
		return
	}
	w = w.skip("COLUMN")
	conditional := w.begin("IF", "NOT", "EXISTS")
	w = w.skip("IF NOT EXISTS")
	if !w.at(0, "(") {
		s.addColumn(w, conditional)
		return
	}
	inside := w[1:]
	for i, t := range inside {
		if t.Is(")") && t.Depth == w[0].Depth {
			if !inside[i+1:].over() {
				s.unknown()
			}
			inside = inside[:i]
			break
		}
	}
	for _, piece := range token.List(inside) {
		if !s.addKey(piece) {
			s.addColumn(piece, conditional)
		}
	}
}

func (s *scan) addColumn(w words, conditional bool) {
	name, definition := w.name()
	if name == "" || !definition.defines() {
		s.unknown()
		return
	}
	if conditional {
		s.alter.AddedIfMissing = append(s.alter.AddedIfMissing, name)
	} else {
		s.alter.Added = append(s.alter.Added, name)
	}
	s.definition(name, definition)
}

// definition reads the keys that a column's definition makes, and whether the server
// numbers it.
func (s *scan) definition(column string, w words) {
	w = w.unpartitioned()
	if w.at(0, "SERIAL") || w.find("AUTO_INCREMENT") > 0 || w.find("SERIAL") > 0 {
		s.alter.Numbered = append(s.alter.Numbered, column)
	}
	for i := range w {
		if w[i].Depth != w[0].Depth {
			continue
		}
		switch {
		case w[i].Is("UNIQUE"):
			s.newKey(NewKey{Unique: true, Columns: []string{column}})
		case w[i].Is("PRIMARY"), w[i].Is("KEY") && i > 0 && !w.at(i-1, "UNIQUE", "PRIMARY"):
			s.newKey(NewKey{Primary: true, Unique: true, Columns: []string{column}})
		case w[i].Is("REFERENCES"):
			s.alter.AddsForeignKey = true
		case w[i].Is("CONSTRAINT") && !w.at(i+1, "CHECK"):
			s.checkName(w[i+1:])
		}
	}
}

// unpartitioned is a clause without the partitions that may follow it with no comma: PARTITION BY KEY makes no key.
func (w words) unpartitioned() words {
	for i := range w {
		if w[i].Depth == w[0].Depth && (w[i:].begin("PARTITION", "BY") || w[i:].begin("REMOVE", "PARTITIONING")) {
			return w[:i]
		}
	}
	return w
}

func (s *scan) newKey(k NewKey) {
	s.alter.Keys = append(s.alter.Keys, k)
	s.alter.AddsPrimaryKey = s.alter.AddsPrimaryKey || k.Primary
}

// addKey reads a key or a constraint; it reports whether there is one.
func (s *scan) addKey(w words) bool {
	constraint := ""
	if w.at(0, "CONSTRAINT") {
		w = w[1:]
		if len(w) > 1 && !w.at(0, "CHECK", "PRIMARY", "UNIQUE", "FOREIGN") {
			if w.at(1, "CHECK") {
				s.checkName(w)
			}
			constraint, w = w[0].Text, w[1:]
		}
	}
	switch {
	case w.at(0, "CHECK"):
	case w.at(0, "FOREIGN"):
		s.alter.AddsForeignKey = true
	case w.at(0, "PRIMARY"):
		s.newKey(NewKey{Name: "PRIMARY", Primary: true, Unique: true, Columns: keyColumns(w)})
	case w.at(0, "UNIQUE"):
		k := keyOf(w[1:].skip("INDEX", "KEY"), true)
		k.Name = cmp.Or(k.Name, constraint)
		s.newKey(k)
	case w.at(0, "INDEX", "KEY"):
		s.newKey(keyOf(w[1:], false))
	case w.at(0, "FULLTEXT", "SPATIAL"), w.at(0, "VECTOR") && w.at(1, "INDEX", "KEY"):
		// never the key of a lookup
	default:
		return false
	}
	return true
}

// keyOf reads [IF NOT EXISTS] [name] [USING type] (parts).
func keyOf(w words, unique bool) NewKey {
	w = w.skip("IF NOT EXISTS")
	k := NewKey{Unique: unique, Columns: keyColumns(w)}
	if len(w) > 0 && w[0].Name() && !w.at(0, "USING", "TYPE") {
		k.Name = w[0].Text
	}
	return k
}

// keyColumns reads the parts in the first parentheses.
func keyColumns(w words) []string {
	open := w.find("(")
	if open < 0 {
		return nil
	}
	var inside []token.Token
	for _, t := range w[open+1:] {
		if t.Is(")") && t.Depth == w[open].Depth {
			break
		}
		inside = append(inside, t)
	}
	var columns []string
	for _, part := range token.List(inside) {
		name := ""
		if len(part) > 0 && part[0].Name() {
			name = part[0].Text
		}
		columns = append(columns, name)
	}
	return columns
}

// drop reads what follows DROP.
func (s *scan) drop(w words) {
	a := s.alter
	switch {
	case w.begin("PRIMARY", "KEY"):
		a.DropsPrimaryKey = true
		a.DroppedKeys = append(a.DroppedKeys, "PRIMARY")
	case w.at(0, "INDEX", "KEY"):
		s.dropKey(w[1:].skip("IF EXISTS"))
	case w.begin("FOREIGN", "KEY"):
		a.DropsForeignKey = true
		name, _ := w[2:].skip("IF EXISTS").name()
		a.DroppedForeign = append(a.DroppedForeign, name)
		if w[2:].begin("IF", "EXISTS") {
			a.ForeignIfExists = append(a.ForeignIfExists, name)
		}
	case w.at(0, "CHECK"):
		s.checkName(w[1:])
	case w.at(0, "CONSTRAINT"):
		w = w[1:].skip("IF EXISTS")
		s.checkName(w)
		name, _ := w.name()
		a.DroppedConstraints = append(a.DroppedConstraints, name)
		s.dropKey(w) // it may be a unique key's name
	case w.begin("PERIOD", "FOR"), w.begin("SYSTEM", "VERSIONING"):
		a.Versions = true
	default:
		name, rest := w.skip("COLUMN").skip("IF EXISTS").name()
		if name == "" || !rest.skip("RESTRICT", "CASCADE").over() {
			s.unknown()
			return
		}
		a.Dropped = append(a.Dropped, name)
	}
}

func (s *scan) dropKey(w words) {
	name, _ := w.name()
	if isPrimary(name) {
		s.alter.DropsPrimaryKey = true
		name = "PRIMARY"
	}
	s.alter.DroppedKeys = append(s.alter.DroppedKeys, name)
}

// isPrimary reports whether an index's name is the primary key's.
func isPrimary(name string) bool { return strings.EqualFold(name, "PRIMARY") }

// tableOptions are the first words of a table's options.
var tableOptions = []string{"AUTOEXTEND_SIZE", "AUTO_INCREMENT", "AVG_ROW_LENGTH", "CHARACTER", "CHARSET",
	"CHECKSUM", "COLLATE", "COMMENT", "COMPRESSION", "CONNECTION", "DATA", "DEFAULT", "DELAY_KEY_WRITE",
	"ENCRYPTED", "ENCRYPTION", "ENCRYPTION_KEY_ID", "ENGINE", "ENGINE_ATTRIBUTE", "INDEX", "INSERT_METHOD",
	"ITEF_QUOTES", "KEY_BLOCK_SIZE", "MAX_ROWS", "MIN_ROWS", "PACK_KEYS", "PAGE_CHECKSUM", "PAGE_COMPRESSED",
	"PAGE_COMPRESSION_LEVEL", "PASSWORD", "ROW_FORMAT", "SECONDARY_ENGINE", "SECONDARY_ENGINE_ATTRIBUTE",
	"START", "STATS_AUTO_RECALC", "STATS_PERSISTENT", "STATS_SAMPLE_PAGES", "STORAGE", "TABLESPACE",
	"TABLE_CHECKSUM", "TRANSACTIONAL", "TYPE", "UNION"}

func option(w words) bool { return w.at(0, tableOptions...) }

// options reads table options. They need no comma between them.
func (s *scan) options(w words) {
	for i := range w {
		if w[i].Depth != w[0].Depth || i > 0 && w.at(i-1, "=") {
			continue
		}
		switch {
		case w.at(i, "ENGINE", "TYPE"):
			s.alter.Engine = value(w[i+1:])
		case w.at(i, "COMMENT"):
			s.alter.SetsComment = true
		case w.at(i, "AUTO_INCREMENT"):
			s.alter.SetsAutoIncrement = true
		}
	}
}
