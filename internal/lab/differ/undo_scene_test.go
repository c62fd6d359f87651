package differ

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/oracle"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// scene is what is known of a table and its old table at a swap, and what becomes of the table's rows until the next one.
type scene struct {
	create  string              // the table's definition
	pairs   map[string]string   // column of the old table: the table's
	former  []string            // columns of the old table that have values of their own
	columns []schema.Column     // such columns of the table
	key     []string            // of the old table, and
	present []string            // of the table
	needed  map[string]string   // columns of the old table without a default, and an expression for each
	kinds   map[string]kind     // of the table's columns, if known
	then    map[string]int      // the rows at the swap
	seen    []string            // tables of parked rows
	old     []string            // the old table's rows, as read reads them
	texts   map[string][]string // the same by the values of the columns in former
	dated   bool                // a NULL becomes the time of the INSERT, and is no value that could be compared
	bytes   map[string]bool     // columns of JSON in the old table that the change has made columns of bytes
	longer  map[string]int      // columns of BINARY in both tables, and their length in the old one
	last    []string            // the table's rows after the last write
	// owners has, for each key of the table, the rows of before_it whose kept values it may have: 0 is the default.
	owners  map[string][]int
	gone    map[string][]int // the same of keys whose rows were removed
	emptied map[string]bool  // keys whose rows have taken their kept values to other keys
	passed  map[string][]int // rows of before_it whose keys a row had since the swap, by its key
	texty   bool             // the key is of texts: two texts may be one key
	kept    []string         // columns of the old table that the table lacks
	parked  []string         // tables with the values that such columns had in rows which are not in the old table
	again   map[string]bool  // keys whose rows may have been removed and written again
	filled  bool             // the change has read a BINARY key with its zero bytes: a key of another length does not fit
	moved   bool
	vague   bool // it is not known which row has which values
	lazy    bool
	follows bool              // the undo reads how keys have changed since the swap
	redo    bool              // the next undo is the redo
	says    map[string]string // --map
	swapped time.Time         // by the record
	native  bool              // the server has made the change itself
	back    string            // the ALTER that leads back
}

// content is a table's definition, and its rows in an order of their texts.
type content struct {
	create string
	rows   []string
}

// collated is a charset that the collation after it has anyway: 8.0 shows it if it was given.
var collated = regexp.MustCompile(`(?i)character set \w+ (collate)`)

func (u *undoCase) read(ctx context.Context, table schema.Name) (content, error) {
	var c content
	definition, err := schema.Load(ctx, u.pool.DB(), table)
	if err != nil {
		return c, err
	}
	create, _ := schema.SplitAutoIncrement(definition.Create)
	c.create = collated.ReplaceAllString(oracle.Plainer(create), "$1")
	var columns []string
	for _, column := range definition.Columns {
		columns = append(columns, column.Name)
	}
	c.rows, err = u.column(ctx, "SELECT "+textOf(columns)+" FROM "+table.Quoted())
	slices.Sort(c.rows)
	return c, err
}

// textOf is an expression for the values of columns.
func textOf(columns []string) string {
	exprs := make([]string, len(columns))
	for i, c := range columns {
		exprs[i] = "IFNULL(HEX(CAST(" + schema.Quote(c) + " AS BINARY)), 'NULL')"
	}
	return "CAST(CONCAT_WS(' ', " + strings.Join(exprs, ", ") + ") AS CHAR CHARACTER SET ascii)"
}

func plainColumns(t *schema.Table) (names []string, columns []schema.Column) {
	for _, c := range t.Columns {
		if c.Generated == schema.NotGenerated {
			names, columns = append(names, c.Name), append(columns, c)
		}
	}
	return names, columns
}

func quoted(names []string, of string) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = of + schema.Quote(n)
	}
	return strings.Join(list, ", ")
}

// laxSession is a session in the twin's database that takes all values as they are.
func (u *undoCase) laxSession(ctx context.Context) (*session, error) {
	lax, err := u.session(ctx, u.tables[1].Schema, "SET SESSION sql_mode = 'ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO', autocommit = 1,"+
		" completion_type = 0, sql_safe_updates = 0, sql_select_limit = 18446744073709551615, sql_big_selects = 1,"+
		" max_join_size = 18446744073709551615, lock_wait_timeout = 20")
	for _, keyless := range []string{"sql_require_primary_key", "sql_generate_invisible_primary_key"} {
		if err == nil {
			_ = lax.exec(ctx, "SET SESSION "+keyless+" = OFF") // where the server knows it
		}
	}
	return lax, err
}

// emptyTwin makes the twin's database again, without tables, and opens a lax session in it.
func (u *undoCase) emptyTwin(ctx context.Context) (*session, error) {
	database := quote(u.tables[1].Schema)
	for _, text := range []string{"DROP DATABASE IF EXISTS " + database, "CREATE DATABASE " + database + " " + u.c.Database} {
		if _, err := u.admin.ExecContext(ctx, text); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
	}
	return u.laxSession(ctx)
}

// numbered makes a table with the values of columns of another one, and a number for each row.
func (s *session) numbered(ctx context.Context, name string, columns []string, from schema.Name) error {
	text := "CREATE TABLE " + name + " (midstream_rn INT AUTO_INCREMENT PRIMARY KEY) SELECT " + quoted(columns, "") + " FROM " + from.Quoted() + " LIMIT 0"
	if err := s.exec(ctx, text); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return s.fill(ctx, name, columns, from, "ALTER TABLE "+name+" AUTO_INCREMENT = 1") // numbers without a gap
}

// fill copies values of columns to an empty table. An INSERT takes no empty vector, not even from a column that has one: it leaves the
// column out, as the session did that has written it. Each INSERT has other statements behind it.
func (s *session) fill(ctx context.Context, into string, columns []string, from schema.Name, behind ...string) error {
	var vectors []string
	rows, err := s.conn.QueryContext(ctx, "SELECT column_name FROM information_schema.columns WHERE table_schema = ? AND table_name = ?"+
		" AND data_type = 'vector'", from.Schema, from.Table)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		if slices.Contains(columns, name) {
			vectors = append(vectors, name)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for empty := range 1 << len(vectors) {
		conditions, given := []string{"TRUE"}, slices.Clone(columns)
		for i, v := range vectors {
			if empty&(1<<i) == 0 {
				conditions = append(conditions, "IFNULL(LENGTH("+schema.Quote(v)+"), 1) > 0")
				continue
			}
			conditions = append(conditions, "LENGTH("+schema.Quote(v)+") = 0")
			given = slices.DeleteFunc(given, func(name string) bool { return name == v })
		}
		insert := fmt.Sprintf("INSERT INTO %s (%s) SELECT %[2]s FROM %s WHERE %s", into, quoted(given, ""), from.Quoted(), strings.Join(conditions, " AND "))
		for _, text := range append([]string{insert}, behind...) {
			if err := s.exec(ctx, text); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
	}
	return nil
}

// scene reads what there is after a swap.
func (u *undoCase) scene(ctx context.Context) (*scene, error) {
	table := u.tables[0]
	saved, err := leftovers.New(u.pool, table, plan.Undoing).UndoOfAlter(ctx)
	if err != nil {
		return nil, err
	}
	live, err := u.read(ctx, table)
	if err != nil {
		return nil, err
	}
	definition, err := schema.Load(ctx, u.pool.DB(), table)
	if err != nil {
		return nil, err
	}
	s := &scene{
		swapped: saved.Undo.Swapped,
		create:  live.create, last: live.rows, lazy: true, follows: true, emptied: map[string]bool{}, passed: map[string][]int{},
		pairs: map[string]string{}, says: map[string]string{},
		needed: map[string]string{}, kinds: map[string]kind{}, then: map[string]int{}, owners: map[string][]int{},
		gone: map[string][]int{}, again: map[string]bool{},
	}
	var names []string
	names, s.columns = plainColumns(definition)
	for _, c := range definition.Columns {
		s.says[c.Name] = ""
	}
	for fresh, former := range saved.Undo.Pairs {
		s.pairs[former], s.says[fresh] = fresh, former
	}
	s.redo = saved.Undo.Back
	if s.native = saved.Undo.Native != nil; s.native {
		for _, c := range u.c.Columns {
			s.kinds[c.Name] = c.Kind
		}
		if len(definition.Keys) > 0 {
			for _, p := range definition.Keys[0].Parts {
				s.present = append(s.present, p.Column)
			}
		}
		return s, nil
	}
	old, err := schema.Load(ctx, u.pool.DB(), table.Sibling(saved.Undo.Old))
	if err != nil {
		return nil, err
	}
	was, err := u.read(ctx, old.Name)
	if err != nil {
		return nil, err
	}
	s.old = was.rows
	var olds []schema.Column
	s.former, olds = plainColumns(old)
	for _, name := range s.former {
		if _, paired := s.pairs[name]; !paired {
			s.kept = append(s.kept, name)
		}
	}
	s.parked = u.values[s.redo]
	s.know(u.c, saved.Undo.Back, olds)
	if err := u.readTexts(ctx, s, old); err != nil {
		return nil, err
	}
	s.bytes, s.longer = map[string]bool{}, map[string]int{}
	for _, c := range olds {
		s.dated = s.dated || c.DataType == "timestamp" && !c.Nullable
		present, is := definition.Column(s.pairs[c.Name])
		s.bytes[c.Name] = is && !s.redo && c.DataType == "json" && present.Charset == "binary"
		if is && !s.redo && c.DataType == "binary" && present.DataType == "binary" {
			s.longer[c.Name] = int(c.Length)
		}
	}
	s.keyed(old, saved.Start.Key)
	rows, err := u.column(ctx, "SELECT "+textOf(names)+" FROM "+table.Quoted())
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		s.then[r]++
	}
	tables, err := u.names(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range tables {
		if strings.HasPrefix(n, "t_parked") {
			s.seen = append(s.seen, n)
		}
	}
	return s, u.remember(ctx, s, old.Name)
}

// readTexts reads the old table's rows, with all of their values.
func (u *undoCase) readTexts(ctx context.Context, s *scene, old *schema.Table) error {
	var all []string
	for _, c := range old.Columns {
		all = append(all, c.Name)
	}
	s.texts = map[string][]string{}
	rows, err := u.admin.QueryContext(ctx, "SELECT "+textOf(s.former)+", "+textOf(all)+" FROM "+old.Name.Quoted())
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var given, text string
		if err := rows.Scan(&given, &text); err != nil {
			return err
		}
		s.texts[given] = append(s.texts[given], text)
	}
	return rows.Err()
}

// know gathers what is known of the columns' types and of values that an undo needs.
func (s *scene) know(c *Case, redo bool, olds []schema.Column) {
	for _, column := range c.Columns {
		if redo {
			s.kinds[column.Name] = column.Kind
		} else if fresh, paired := s.pairs[column.Name]; paired {
			s.kinds[fresh] = column.Kind
		}
	}
	for _, column := range olds {
		if _, paired := s.pairs[column.Name]; paired || redo || column.Nullable || column.Default != "" {
			continue
		}
		for _, known := range c.Columns {
			if known.Name == column.Name && !strings.Contains(known.Attrs, "DEFAULT") && !strings.Contains(known.Attrs, "AUTO_INCREMENT") {
				s.needed[column.Name] = known.Kind.values[0]
			}
		}
	}
}

func (s *scene) keyed(old *schema.Table, name string) {
	for _, k := range old.Keys {
		if k.Name != name {
			continue
		}
		for _, p := range k.Parts {
			if fresh, paired := s.pairs[p.Column]; paired {
				s.key, s.present = append(s.key, p.Column), append(s.present, fresh)
				former, _ := old.Column(p.Column)
				s.texty = s.texty || former.Charset != ""
				i := slices.IndexFunc(s.columns, func(c schema.Column) bool { return c.Name == fresh })
				s.filled = s.filled || former.DataType == "binary" && i >= 0 && s.columns[i].DataType != "binary"
			} else {
				s.vague = true
			}
		}
	}
	if len(s.key) == 0 {
		s.vague = true
	}
}

// remember copies the old table's rows, and finds out which row of the table is which of them.
func (u *undoCase) remember(ctx context.Context, s *scene, old schema.Name) error {
	lax, err := u.emptyTwin(ctx)
	if err != nil {
		return err
	}
	defer lax.close()
	if err := lax.numbered(ctx, "before_it", s.former, old); err != nil {
		return err
	}
	for _, values := range slices.Backward(s.parked) {
		if err := u.rememberParked(ctx, lax, s, u.tables[0].Sibling(values)); err != nil {
			return err
		}
	}
	if s.vague {
		return nil
	}
	found, err := u.joined(ctx, s, u.tables[0].Quoted(), textOfAs(s.present, "n."))
	if err != nil {
		s.vague = true
		return nil //nolint:nilerr // the server cannot compare the keys
	}
	for _, f := range found {
		s.owners[f.text] = append(s.owners[f.text], f.row)
	}
	keys, err := u.keys(ctx, s)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if len(s.owners[k]) > 1 {
			s.vague = true
		}
		if len(s.owners[k]) == 0 {
			s.owners[k] = []int{0}
		}
	}
	return nil
}

// rememberParked adds rows to before_it of which it has only the key and the kept values: those that earlier undos have parked.
func (u *undoCase) rememberParked(ctx context.Context, lax *session, s *scene, values schema.Name) error {
	definition, err := schema.Load(ctx, u.pool.DB(), values)
	if err != nil {
		return err
	}
	var given, same []string
	for _, c := range definition.Columns {
		given = append(given, "v."+schema.Quote(c.Name))
	}
	columns := slices.Concat(s.key, s.kept)
	if len(given) != len(columns) || len(s.key) == 0 { // the undo has followed another key
		s.vague = true
		columns, given, same = s.kept, given[len(given)-len(s.kept):], []string{"FALSE"}
	} else {
		for i, k := range s.key {
			same = append(same, "v."+schema.Quote(s.present[i])+" <=> s."+schema.Quote(k))
		}
	}
	text := fmt.Sprintf("INSERT INTO before_it (%s) SELECT %s FROM %s v WHERE NOT EXISTS (SELECT 1 FROM before_it s WHERE %s)",
		quoted(columns, ""), strings.Join(given, ", "), values.Quoted(), strings.Join(same, " AND "))
	err = lax.exec(ctx, text)
	if dbconn.NoDefault(err) { // of another column, such as a POINT
		if err = u.nullable(ctx, lax); err == nil {
			err = lax.exec(ctx, text)
		}
	}
	if dbconn.Number(err) == mixOfCollations {
		s.vague = true
		return nil
	}
	if err == nil {
		err = lax.exec(ctx, "ALTER TABLE before_it AUTO_INCREMENT = 1")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return nil
}

// mixOfCollations is the server's error for two keys that it cannot compare.
const mixOfCollations = 1267

// nullable gives each column of before_it that has no default value of its type the default NULL.
func (u *undoCase) nullable(ctx context.Context, lax *session) error {
	table, err := schema.Load(ctx, u.pool.DB(), u.tables[1].Sibling("before_it"))
	if err != nil {
		return err
	}
	for _, c := range table.Columns {
		if c.Charset != "" || c.Nullable || c.Number() || c.Temporal() {
			continue
		}
		if err := lax.exec(ctx, "ALTER TABLE before_it MODIFY "+schema.Quote(c.Name)+" "+c.Type+" NULL"); err != nil {
			return err
		}
	}
	return nil
}

func textOfAs(columns []string, as string) string {
	text := textOf(columns)
	return strings.ReplaceAll(text, "CAST(`", "CAST("+as+"`")
}

// match is a row of before_it and a text of the row of another table that has its key.
type match struct {
	row  int
	text string
}

// joined finds rows of before_it by the keys of another table's rows.
func (u *undoCase) joined(ctx context.Context, s *scene, table, text string) (list []match, err error) {
	var on []string
	for i, k := range s.key {
		on = append(on, fmt.Sprintf("n.%s <=> s.%s", schema.Quote(s.present[i]), schema.Quote(k)))
	}
	rows, err := u.admin.QueryContext(ctx, fmt.Sprintf("SELECT s.midstream_rn, %s FROM %s n JOIN %s s ON %s",
		text, table, schema.Name{Schema: u.tables[1].Schema, Table: "before_it"}.Quoted(), strings.Join(on, " AND ")))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m match
		if err := rows.Scan(&m.row, &m.text); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, rows.Err()
}

func (u *undoCase) keys(ctx context.Context, s *scene) ([]string, error) {
	if len(s.present) == 0 {
		return nil, nil
	}
	return u.column(ctx, "SELECT "+textOf(s.present)+" FROM "+u.tables[0].Quoted())
}
