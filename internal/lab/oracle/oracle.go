package oracle

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// Most is the number of differing rows that are reported for one query.
const Most = 5

// Differences returns how two tables of one server differ, one line for each difference, and
// nothing if they are equal. It ignores the tables' names and the names of CHECK constraints, which
// are unique in a database. What the server finds wrong with the first table and its indexes counts
// as a difference, unless it finds the same wrong with the second one. So does a row in another partition.
func Differences(ctx context.Context, db *sql.DB, a, b schema.Name) ([]string, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	r := reader{conn}
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	found, err := r.differences(ctx, a, b)
	if err != nil {
		return nil, err
	}
	// The last: no query uses an index which that finds corrupt.
	wrong, err := r.damage(ctx, a, b)
	if wrong != "" {
		found = append(found, "check: "+wrong)
	}
	return found, err
}

// differences are those that statements show.
func (r reader) differences(ctx context.Context, a, b schema.Name) ([]string, error) {
	// Servers decide the types of expressions when a session opens a table, and keep it open for other sessions.
	if _, err := r.conn.ExecContext(ctx, "FLUSH TABLES "+a.Quoted()+", "+b.Quoted()); err != nil {
		return nil, fmt.Errorf("close tables: %w", err)
	}
	var found []string
	definitions, err := both(a, b, func(t schema.Name) (string, error) { return r.definition(ctx, t) })
	if err != nil {
		return nil, err
	}
	same := Plainer(definitions[0]) == Plainer(definitions[1])
	if what := fmt.Sprintf("\n%s\n-- and\n%s", definitions[0], definitions[1]); !same {
		found = append(found, "definitions differ:"+what)
	} else if definitions[0] != definitions[1] {
		found = append(found, Respelled+what)
	}
	stored, err := both(a, b, func(t schema.Name) (string, error) { return r.facts(ctx, t) })
	if err != nil {
		return nil, err
	}
	if stored[0] != stored[1] {
		found = append(found, fmt.Sprintf("facts differ: %s and %s", stored[0], stored[1]))
	}
	columns, err := both(a, b, func(t schema.Name) ([]column, error) { return r.columns(ctx, t) })
	if err != nil {
		return nil, err
	}
	if !slices.Equal(columns[0], columns[1]) {
		return append(found, fmt.Sprintf("columns differ: %v and %v", columns[0], columns[1])), nil
	}
	rows, err := r.compare(ctx, a, b, columns[0], "")
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		found = append(found, "rows: "+row)
	}
	if !same {
		return found, nil
	}
	more, err := r.accesses(ctx, a, b, columns[0])
	return append(found, more...), err
}

// accesses compares what each partition holds, and each index.
func (r reader) accesses(ctx context.Context, a, b schema.Name, columns []column) (found []string, err error) {
	parts, err := r.partitions(ctx, a)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		rows, err := r.compare(ctx, a, b, columns, " PARTITION ("+schema.Quote(p)+")")
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			found = append(found, "partition "+p+": "+row)
		}
	}
	indexes, err := r.indexes(ctx, a, columns)
	if err != nil {
		return nil, err
	}
	for _, i := range indexes {
		rows, err := r.compare(ctx, a, b, i.columns, " FORCE INDEX ("+schema.Quote(i.name)+")")
		if is(err, unusableKey) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			found = append(found, "index "+i.name+": "+row)
		}
	}
	return found, nil
}

// both asks the same of two tables.
func both[T any](a, b schema.Name, ask func(schema.Name) (T, error)) (answers [2]T, err error) {
	for i, t := range []schema.Name{a, b} {
		if answers[i], err = ask(t); err != nil {
			return answers, fmt.Errorf("read %s: %w", t, err)
		}
	}
	return answers, nil
}

// reader reads tables by one session of fixed settings.
type reader struct{ conn *sql.Conn }

func (r reader) settle(ctx context.Context) error {
	for _, s := range []string{
		"SET SESSION sql_mode = '', time_zone = '+00:00', sql_quote_show_create = 1, group_concat_max_len = 1048576",
		"SET SESSION sql_safe_updates = 0, sql_select_limit = 18446744073709551615, sql_big_selects = 1",
		"SET SESSION div_precision_increment = @@GLOBAL.div_precision_increment, default_week_format = @@GLOBAL.default_week_format",
		"SET NAMES utf8mb4",
		"SET SESSION /*!50708 max_execution_time *//*M! max_statement_time */ = 0",
		"/*!80000 SET SESSION optimizer_switch = 'use_invisible_indexes=on' */",
		"/*!80011 SET SESSION show_create_table_verbosity = OFF */", // it shows what the server forgets to keep of partitioned tables
		"/*!80030 SET SESSION show_gipk_in_create_table_and_information_schema = ON */",
	} {
		if _, err := r.conn.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// Respelled begins the difference of definitions that mean the same. The server writes constants of
// expressions in another way when it stores a definition that it has stored before: _utf8mb4'a'
// becomes _latin1'a' or _utf16'\0a', and -(1) becomes -1.
const Respelled = "definitions are spelled otherwise:"

var (
	introduced = regexp.MustCompile(`_[a-z0-9]+('[ -&(-~]*')`)
	negative   = regexp.MustCompile(`-\((\d+)\)`)
	quoted     = regexp.MustCompile("`([a-z0-9_]+)`") // 5.7 stores expressions as sql_quote_show_create says
)

// Plainer is a definition without what the server may write in another way. Letters beyond ASCII stay as they are.
func Plainer(definition string) string {
	lines := strings.Split(definition, "\n")
	for i, line := range lines {
		// which has a column's name in its letters of before until it is stored again
		if isCheck(line) || strings.Contains(line, "GENERATED ALWAYS AS") || strings.Contains(line, " ((") {
			lines[i] = strings.ToLower(line)
		}
	}
	definition = strings.Join(lines, "\n")
	definition = quoted.ReplaceAllString(definition, "$1")
	return negative.ReplaceAllString(introduced.ReplaceAllString(strings.ReplaceAll(definition, `\0`, ""), "$1"), "-$1")
}

var (
	checkNamed = regexp.MustCompile("CONSTRAINT `(?:[^`]|``)*` CHECK")
	named      = regexp.MustCompile("^CREATE TABLE `(?:[^`]|``)*`")
)

// definition is what SHOW CREATE TABLE shows, without what is ignored.
func (r reader) definition(ctx context.Context, t schema.Name) (string, error) {
	var name, text string
	if err := r.conn.QueryRowContext(ctx, "SHOW CREATE TABLE "+t.Quoted()).Scan(&name, &text); err != nil {
		return "", err
	}
	text = named.ReplaceAllString(text, "CREATE TABLE")
	return sorted(checkNamed.ReplaceAllString(text, "CHECK")), nil
}

// sorted is a definition whose CHECK constraints stand in the order of their texts, however these
// are spelled: the server has them in that of their names.
func sorted(definition string) string {
	lines := strings.Split(definition, "\n")
	first := slices.IndexFunc(lines, isCheck)
	if first < 0 {
		return definition
	}
	last := first
	for last < len(lines) && isCheck(lines[last]) {
		lines[last] = strings.TrimSuffix(lines[last], ",")
		last++
	}
	slices.SortFunc(lines[first:last], func(a, b string) int {
		return cmp.Or(strings.Compare(Plainer(a), Plainer(b)), strings.Compare(a, b))
	})
	return strings.Join(lines, "\n")
}

func isCheck(line string) bool { return strings.HasPrefix(line, "  CHECK ") }

// column is a column, and the expression that tells each of its values from every other.
type column struct{ name, kind, charset string }

func (r reader) columns(ctx context.Context, t schema.Name) (list []column, err error) {
	rows, err := r.conn.QueryContext(ctx, "SELECT column_name, data_type, IFNULL(character_set_name, '') FROM information_schema.columns"+
		" WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position", t.Schema, t.Table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var c column
		if err := rows.Scan(&c.name, &c.kind, &c.charset); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, rows.Err()
}

// exact is an expression that has another value for each value of the column.
func (c column) exact() string {
	name := schema.Quote(c.name)
	switch strings.ToLower(c.kind) {
	case "enum", "set":
		return name + " + 0"
	case "float", "double":
		return "CONCAT(" + name + " * 1e0)"
	case "timestamp":
		return "CONCAT(UNIX_TIMESTAMP(" + name + "), '/', " + name + ")"
	case "json":
		return "CAST(" + name + " AS CHAR)"
	case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "date", "datetime", "time", "year", "uuid", "inet4", "inet6":
		return "CAST(" + name + " AS CHAR)"
	}
	return "HEX(" + name + ")"
}

// index is an index whose columns alone can be read from it.
type index struct {
	name    string
	columns []column
}

// indexes returns the indexes that hold whole columns only.
func (r reader) indexes(ctx context.Context, t schema.Name, columns []column) (list []index, err error) {
	rows, err := r.conn.QueryContext(ctx, "SELECT index_name, GROUP_CONCAT(IFNULL(column_name, '') ORDER BY seq_in_index SEPARATOR '\\0')"+
		" FROM information_schema.statistics WHERE table_schema = ? AND table_name = ? AND index_type = 'BTREE'"+
		" GROUP BY index_name HAVING SUM(sub_part IS NOT NULL OR column_name IS NULL) = 0", t.Schema, t.Table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var i index
		var names string
		if err := rows.Scan(&i.name, &names); err != nil {
			return nil, err
		}
		for _, n := range strings.Split(names, "\x00") {
			at := slices.IndexFunc(columns, func(c column) bool { return strings.EqualFold(c.name, n) })
			if at < 0 {
				return nil, fmt.Errorf("index %s has the unknown column %q", i.name, n)
			}
			i.columns = append(i.columns, columns[at])
		}
		list = append(list, i)
	}
	return list, rows.Err()
}

// compare returns the rows that only one of the tables has, as lines.
func (r reader) compare(ctx context.Context, a, b schema.Name, columns []column, from string) (lines []string, err error) {
	rows, err := both(a, b, func(t schema.Name) (map[string]int, error) { return r.rows(ctx, t, columns, from) })
	if err != nil {
		return nil, err
	}
	for i, t := range []schema.Name{a, b} {
		for row, n := range rows[i] {
			if more := n - rows[1-i][row]; more > 0 {
				lines = append(lines, fmt.Sprintf("only %s has %d of %s", t, more, row))
			}
		}
	}
	slices.Sort(lines)
	if more := len(lines) - 2*Most; more > 0 {
		lines = append(lines[:2*Most], fmt.Sprintf("and %d more", more))
	}
	return lines, nil
}

// rows counts each row that a table has. from follows the table's name.
func (r reader) rows(ctx context.Context, t schema.Name, columns []column, from string) (map[string]int, error) {
	exprs := make([]string, len(columns))
	for i, c := range columns {
		exprs[i] = c.exact()
	}
	found, err := r.conn.QueryContext(ctx, "SELECT "+strings.Join(exprs, ", ")+" FROM "+t.Quoted()+from)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	counts := map[string]int{}
	values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for found.Next() {
		if err := found.Scan(into...); err != nil {
			return nil, err
		}
		var row strings.Builder
		for i, v := range values {
			text := "NULL"
			if v.Valid {
				text = fmt.Sprintf("%.200q", v.String)
			}
			fmt.Fprintf(&row, "%s=%s ", columns[i].name, text)
		}
		counts[row.String()]++
	}
	return counts, found.Err()
}
