package schema

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// CloneKind is the word, in its mark, for an empty copy of a table, or of the altered table.
const CloneKind = "clone"

// TrialKind is the word, in its mark, for the new table that a trial on a replica has left there
// for comparison. That table is in no binlog.
const TrialKind = "trial"

// MarkFor returns the comment that an artefact of a run on the source carries.
func MarkFor(kind string, source Name) string {
	return Mark + kind + " of " + source.Bare()
}

// CommentQuery returns the query for the comment of the table that has a name. It has no row if there is no such table.
func CommentQuery(name Name) string {
	return "SELECT IFNULL(table_comment, '') FROM information_schema.tables WHERE table_schema = " +
		Literal(name.Schema) + " AND table_name = " + Literal(name.Table)
}

// HasComment reports whether there is a table of the name with exactly that comment, such as a mark. rows reads a query in a session.
func HasComment(
	ctx context.Context, rows func(ctx context.Context, query string, scan func(*sql.Rows) error) error, name Name, comment string,
) (has bool, err error) {
	err = rows(ctx, CommentQuery(name), func(r *sql.Rows) error {
		var is string
		err := r.Scan(&is)
		has = err == nil && is == comment
		return err
	})
	return has, err
}

// MarkedFor reports whether a table's comment is the mark of an artefact of a run on the source. A
// old table is none: it has the mark of MarkOld, or MarkDropped, and behind it any text.
func MarkedFor(comment string, source Name) bool {
	kind, _, _ := strings.Cut(strings.TrimPrefix(comment, Mark), " ")
	return !slices.Contains(asideKinds, kind) && comment == MarkFor(kind, source)
}

// The kinds of tables that were put aside. wasMark separates the mark from the former comment, namedMark the source from a name that
// the operator has chosen for the table, and valuesMark and nextMark these from the names of tables of values.
const (
	oldKind       = "old"       // by a change
	restKind      = "rest"      // by a change that has left rows out of the new table
	truncatedKind = "truncated" // by a TRUNCATE
	droppedKind   = "dropped"   // by a DROP
	wasMark       = "; it was: "
	namedMark     = "; named: "
	valuesMark    = "; values: "
	nextMark      = "; next values: "
	intoMark      = "; new: " // the new table, if it has another name
)

var asideKinds = []string{oldKind, restKind, truncatedKind, droppedKind}

// MaxComment is the server's limit for the comment of a table, in characters.
const MaxComment = 2048

// MarkOld returns the comment that an old table carries: the mark, and what its comment
// was, cut to what the server takes.
func MarkOld(source Name, was string) string { return MarkOldWith(source, "", ParkedValues{}, was) }

// ParkedValues are the names of the tables with the values that columns had in parked rows; "" for none.
type ParkedValues struct {
	// Now has those of columns of the old table: the undo by all rows takes them. Next has those of columns of the table that has its
	// place: the undo after that takes them.
	Now, Next string
}

// MarkOldWith is MarkOld for an old table with a name that the operator has chosen, "" for none, and with tables that have values of
// parked rows: the mark has these names.
func MarkOldWith(source Name, name string, values ParkedValues, was string) string {
	more := ""
	if name != "" {
		more = namedMark + name
	}
	if values.Now != "" {
		more += valuesMark + values.Now
	}
	if values.Next != "" {
		more += nextMark + values.Next
	}
	return markWith(oldKind, source, more, was)
}

// MarkInto adds the name of the new table to the mark of an old table.
func MarkInto(mark string, into Name) string {
	marked, was, _ := strings.Cut(mark, wasMark)
	text := []rune(marked + intoMark + into.Dotted() + wasMark + was)
	return string(text[:min(len(text), MaxComment)])
}

// IntoOfOld returns the name of the new table, by the comment of an old table; false if it is the source's.
func IntoOfOld(comment string) (into Name, is bool) {
	marked, _, _ := strings.Cut(comment, wasMark)
	_, dotted, is := strings.Cut(marked, intoMark)
	return NameOf(dotted), is && MarkedAside(comment)
}

// MarkRest is MarkOld for a table with rows that a change has left out: no other table has them.
func MarkRest(source Name, was string) string { return markWith(restKind, source, "", was) }

// MarkedRest reports whether a table's comment is that of MarkRest.
func MarkedRest(comment string, source Name) bool {
	return strings.HasPrefix(comment, MarkFor(restKind, source)+wasMark)
}

// MarkTruncated is MarkOld for a table that a TRUNCATE, or its undo, has put aside: no other table has its rows.
func MarkTruncated(source Name, was string) string { return markWith(truncatedKind, source, "", was) }

// MarkedTruncated reports whether a table's comment is that of MarkTruncated.
func MarkedTruncated(comment string, source Name) bool {
	return strings.HasPrefix(comment, MarkFor(truncatedKind, source)+wasMark)
}

// MarkDropped returns the comment of a table that was dropped, and still exists. It is like
// MarkOld, but nothing has taken the table's place.
func MarkDropped(source Name, was string) string { return markWith(droppedKind, source, "", was) }

func markWith(kind string, source Name, more, was string) string {
	text := []rune(MarkFor(kind, source) + more + wasMark + was)
	return string(text[:min(len(text), MaxComment)])
}

// IsMarkOld reports whether a comment is that of MarkOld, of MarkOldWith or of MarkRest, for a table with a former comment. A mark may
// have only the beginning of that.
func IsMarkOld(comment string, source Name, was string) bool {
	name, values, _, _ := cutMarkOld(comment, source)
	return comment == MarkOldWith(source, name, values, was) || comment == MarkRest(source, was)
}

// NamedOld returns the name that the operator has chosen for an old table, by its comment; "" for none.
func NamedOld(comment string, source Name) string {
	name, _, _, _ := cutMarkOld(comment, source)
	return name
}

// ValuesOfOld returns the names of the tables with values of parked rows, by the comment of the old table.
func ValuesOfOld(comment string, source Name) ParkedValues {
	_, values, _, _ := cutMarkOld(comment, source)
	return values
}

// cutMarkOld takes a comment of MarkOldWith apart.
func cutMarkOld(comment string, source Name) (name string, values ParkedValues, was string, is bool) {
	rest, marked := strings.CutPrefix(comment, MarkFor(oldKind, source))
	names, was, complete := strings.Cut(rest, wasMark)
	names, _, _ = strings.Cut(names, intoMark)
	names, values.Next, _ = strings.Cut(names, nextMark)
	names, values.Now, _ = strings.Cut(names, valuesMark)
	name, named := strings.CutPrefix(names, namedMark)
	if !marked || !complete || !named && names != "" {
		return "", ParkedValues{}, "", false
	}
	if !named {
		name = ""
	}
	return name, values, was, true
}

// MarkedDropped reports whether a table's comment is that of MarkDropped, and returns the former
// comment.
func MarkedDropped(comment string, source Name) (was string, marked bool) {
	return strings.CutPrefix(comment, MarkFor(droppedKind, source)+wasMark)
}

// MarkedAside reports whether a table's comment is that of MarkOld or MarkDropped, of any table.
func MarkedAside(comment string) bool {
	return slices.ContainsFunc(asideKinds, func(kind string) bool { return strings.HasPrefix(comment, Mark+kind+" of ") })
}

// SourceOfAside returns the table that a table was before it was put aside, by the comment of MarkOld or MarkDropped, and its former
// comment. Both are in one database.
func SourceOfAside(comment, database string) (source Name, was string, is bool) {
	for _, kind := range asideKinds {
		rest, marked := strings.CutPrefix(comment, MarkFor(kind, Name{Schema: database}))
		if name, was, whole := strings.Cut(rest, wasMark); marked && whole {
			name, _, _ = strings.Cut(name, intoMark)
			name, _, _ = strings.Cut(name, nextMark)
			name, _, _ = strings.Cut(name, valuesMark)
			name, _, _ = strings.Cut(name, namedMark)
			return Name{Schema: database, Table: name}, was, true
		}
	}
	return source, "", false
}

// WasAside returns the former comment of a table, by the comment of MarkOld or MarkDropped, in whatever database the table was then.
func WasAside(comment string) (was string, is bool) {
	if !MarkedAside(comment) {
		return "", false
	}
	_, was, is = strings.Cut(comment, wasMark)
	return was, is
}

// MarkedOld reports whether a table's comment is that of an old table, whatever has put it aside, and
// returns the former comment.
func MarkedOld(comment string, source Name) (was string, marked bool) {
	for _, kind := range []string{restKind, truncatedKind} {
		if was, marked = strings.CutPrefix(comment, MarkFor(kind, source)+wasMark); marked {
			return was, true
		}
	}
	_, _, was, marked = cutMarkOld(comment, source)
	return was, marked
}

// Literal returns a text as an SQL string literal, for a session without the sql_mode
// NO_BACKSLASH_ESCAPES.
func Literal(text string) string {
	return "'" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(text) + "'"
}

// autoIncrementOption is the table option in SHOW CREATE TABLE.
var autoIncrementOption = regexp.MustCompile(`(?m)^(\) ENGINE=\S+(?: .*?)?) AUTO_INCREMENT=(\d+)`)

// SplitAutoIncrement takes the counter out of a SHOW CREATE TABLE text: it changes with every
// insert, the definition does not. next is 0 if the text has no counter.
func SplitAutoIncrement(create string) (definition string, next uint64) {
	m := autoIncrementOption.FindStringSubmatchIndex(create)
	if m == nil {
		return create, 0
	}
	next, _ = strconv.ParseUint(create[m[4]:m[5]], 10, 64)
	return create[:m[3]] + create[m[5]:], next
}

// quoted finds texts and names in backticks, and bare the names that need none.
var (
	quoted = regexp.MustCompile(`(?s)'(?:[^'\\]|\\.|'')*'|` + "`(?:[^`]|``)*`")
	bare   = regexp.MustCompile("^`[A-Za-z0-9_$]+`$")
)

// SameDefinition reports whether two SHOW CREATE TABLE texts without their counters, or parts of them, are of one
// definition. MySQL 5.7 shows a name in an expression with backticks or without them. That depends
// on the session that opened the table (sql_quote_show_create).
func SameDefinition(a, b string) bool {
	plain := func(create string) string {
		return quoted.ReplaceAllStringFunc(create, func(text string) string {
			if bare.MatchString(text) {
				return strings.Trim(text, "`")
			}
			return text
		})
	}
	return a == b || plain(a) == plain(b)
}

// KeyAlias and ValueAlias begin the names of columns in our derived and temporary tables. A number follows.
const (
	KeyAlias   = "midstream_key_"
	ValueAlias = "midstream_value_"
)

// RowNumber is a column of our temporary tables on a server that refuses a table without a primary key.
const RowNumber = "midstream_row"

// Reserved reports whether our own queries use the name of a column.
func Reserved(column string) bool {
	name := strings.ToLower(column)
	return strings.HasPrefix(name, KeyAlias) || strings.HasPrefix(name, ValueAlias) || name == RowNumber
}
