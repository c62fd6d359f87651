package schema

import (
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
	"unicode"

	"midstream/internal/mysql/escape"
)

// Name is a table's qualified name, unquoted, as the server spells it.
type Name struct {
	Schema string
	Table  string
}

// String returns the name for people: schema.table without quotes, with what a terminal would obey escaped.
func (n Name) String() string { return escape.Line(n.Bare()) }

// Dotted returns the name for programs: schema.table, with a part that has a dot or a backtick in
// backticks. ParseName reads it.
func (n Name) Dotted() string {
	if n.Schema == "" {
		return Dotted(n.Table)
	}
	return Dotted(n.Schema, n.Table)
}

// Bare returns schema.table without any quotes. Marks and digests of earlier versions have it, so
// it must not change.
func (n Name) Bare() string { return n.Schema + "." + n.Table }

// List is a list of names for people, as String has them.
func List(names []Name) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = name.String()
	}
	return strings.Join(texts, ", ")
}

// Quoted returns `schema`.`table` for a statement.
func (n Name) Quoted() string { return Quote(n.Schema) + "." + Quote(n.Table) }

// Statement returns the name for a statement that people read: in backticks only if it needs them.
func (n Name) Statement() string {
	if plain.MatchString(n.Schema) && plain.MatchString(n.Table) {
		return n.Bare()
	}
	return n.Quoted()
}

// plain is a name that a statement has without backticks. One of a word of SQL looks so, too.
var plain = regexp.MustCompile(`^[\p{L}_$][\p{L}\p{N}_$]*$`)

// Argument returns the name as a shell takes it on Midstream's command line. Plain names
// are not quoted.
func (n Name) Argument() string {
	text := Shell(n.Dotted())
	if strings.HasPrefix(n.Dotted(), "-") { // else it would be a flag
		text = "-- " + text
	}
	return text
}

// ParseName reads a table's name as a person writes it: database.table. A part may be in backticks,
// as in SQL. Without backticks, the first dot separates the two, and all other dots are the
// table's. database may give the first part; "" for none.
func ParseName(database, text string) (Name, error) {
	if first, rest, dotted := strings.Cut(
		text,
		".",
	); dotted && database == "" && first != "" && rest != "" && first[0] != '`' &&
		rest[0] != '`' {
		return Name{Schema: first, Table: rest}, nil
	}
	parts, err := Identifiers(text)
	switch {
	case err != nil:
		return Name{}, err
	case len(parts) == 2 && (database == "" || database == parts[0]):
		return Name{Schema: parts[0], Table: parts[1]}, nil
	case len(parts) == 2:
		return Name{}, fmt.Errorf("%s names database %s, --database names %s", text, parts[0], database)
	case len(parts) == 1 && database != "":
		return Name{Schema: database, Table: parts[0]}, nil
	case len(parts) == 1:
		return Name{}, fmt.Errorf("the database of %s is missing: write database.%[1]s, or use --database", text)
	}
	return Name{}, fmt.Errorf("%q is not a table's name: must be database.table", text)
}

// NameOf reads a name that Dotted has spelt. It returns the text as a table without a database if it is none.
func NameOf(dotted string) Name {
	name, err := ParseName("", dotted)
	if err != nil {
		return Name{Table: dotted}
	}
	return name
}

// Identifiers splits a text at dots outside of backticks.
func Identifiers(text string) ([]string, error) {
	var parts []string
	for {
		var part string
		if strings.HasPrefix(text, "`") {
			end := 1
			for end < len(text) && (text[end] != '`' || strings.HasPrefix(text[end:], "``")) {
				if text[end] == '`' {
					end++
				}
				end++
			}
			if end >= len(text) {
				return nil, fmt.Errorf("a backtick is not closed: %s", text)
			}
			part, text = strings.ReplaceAll(text[1:end], "``", "`"), text[end+1:]
		} else {
			end := len(text)
			if dot := strings.IndexByte(text, '.'); dot >= 0 {
				end = dot
			}
			part, text = text[:end], text[end:]
		}
		if part == "" {
			return nil, errors.New("a table's name is database.table")
		}
		parts = append(parts, part)
		if text == "" {
			return parts, nil
		}
		if text[0] != '.' {
			return nil, fmt.Errorf("a dot is expected before %s", text)
		}
		text = text[1:]
	}
}

// Dotted joins names by dots. It quotes names that have a dot themselves.
func Dotted(names ...string) string {
	var parts []string
	for _, name := range names {
		if strings.ContainsAny(name, ".`") {
			name = Quote(name)
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, ".")
}

// Shell returns a text as one argument of a shell command. It does not quote plain texts. A text
// with characters that a terminal would obey becomes $'...'; all shells of today take that.
func Shell(text string) string {
	if escape.Line(text) != text {
		return ansiQuoted(text)
	}
	for _, r := range text {
		if !strings.ContainsRune("._-=/", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
		}
	}
	if text == "" {
		return "''"
	}
	return text
}

// ansiQuoted spells each hidden byte as three octal digits: later digits can't belong to it.
func ansiQuoted(text string) string {
	var b strings.Builder
	b.WriteString("$'")
	for _, r := range strings.Split(text, "") { // by characters, or invalid bytes
		switch {
		case r == "'" || r == `\`:
			b.WriteString(`\` + r)
		case escape.Line(r) == r:
			b.WriteString(r)
		default:
			for i := range len(r) {
				fmt.Fprintf(&b, `\%03o`, r[i])
			}
		}
	}
	return b.String() + "'"
}

// Sibling returns the name of another table of the same schema.
func (n Name) Sibling(table string) Name { return Name{Schema: n.Schema, Table: table} }

// Temporary returns the name of a temporary table for work on the table: a session may work on several tables.
func (n Name) Temporary(what string) Name {
	of := fnv.New32a()
	of.Write([]byte(n.Table))
	return n.Sibling(fmt.Sprintf("%s_%08x", what, of.Sum32()))
}

// LockTables is the statement that locks tables for its session alone.
func LockTables(tables ...Name) string {
	var locked []string
	for _, t := range tables {
		locked = append(locked, t.Quoted()+" WRITE")
	}
	return "LOCK TABLES " + strings.Join(locked, ", ")
}

// Exchange is a swap: the source gets the name of the old table, and the shadow that of the source, or Into. Then the source's name is
// free, or View gets it.
type Exchange struct{ Source, Old, Shadow, Into, View Name }

// Swap is the statement that makes exchanges, all of them or none.
func Swap(exchanges ...Exchange) string {
	var pairs []string
	for _, e := range exchanges {
		to := e.Source
		if e.Into != (Name{}) {
			to = e.Into
		}
		pairs = append(pairs, e.Source.Quoted()+" TO "+e.Old.Quoted(), e.Shadow.Quoted()+" TO "+to.Quoted())
		if e.View != (Name{}) {
			pairs = append(pairs, e.View.Quoted()+" TO "+e.Source.Quoted())
		}
	}
	return "RENAME TABLE " + strings.Join(pairs, ", ")
}

// AnyNull is the query whether a row of a table has NULL in a column. It reads one entry of an index that begins with the column.
func AnyNull(table Name, column string) string {
	return "SELECT EXISTS (SELECT 1 FROM " + table.Quoted() + " WHERE " + Quote(column) + " IS NULL)"
}

// Quote returns an identifier in backticks, fit for a statement.
func Quote(identifier string) string {
	return "`" + strings.ReplaceAll(identifier, "`", "``") + "`"
}

// QuoteAll quotes every identifier and joins them with ", ".
func QuoteAll(identifiers []string) string {
	quoted := make([]string, len(identifiers))
	for i, id := range identifiers {
		quoted[i] = Quote(id)
	}
	return strings.Join(quoted, ", ")
}
