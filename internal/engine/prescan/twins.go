package prescan

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// lookForTwins finds the rows that share their value of a unique key of the shadow.
func (s *Scanner) lookForTwins(ctx context.Context, k schema.Key) error {
	if err := s.deps.Gate(ctx, 0, 0); err != nil {
		return err
	}
	s.looking.Add(1)
	defer s.looking.Add(-1)
	values, plain := s.deps.Spec.valuesOf(k)
	if !plain {
		return s.lookInStage(ctx, k)
	}
	s.tellLong(k.Name)
	session, err := s.deps.Pool.Session(ctx, append(s.setup(), s.deps.Spec.sorting(k)...)...)
	if err != nil {
		return err
	}
	defer session.Close()
	w := worker{Scanner: s, session: session}
	notNull := s.deps.Spec.Sync.Of(strings.Join(values, " IS NOT NULL AND ") + " IS NOT NULL")
	list := strings.Join(values, ", ")
	source, hint := s.deps.Spec.Source.Name.Quoted(), s.deps.Spec.groupHint(values)
	var rows int64
	count := fmt.Sprintf(
		"SELECT COALESCE(SUM(n), 0) FROM (SELECT %sCOUNT(*) AS n FROM %s WHERE %s GROUP BY %s HAVING COUNT(*) > 1) AS twins",
		hint, source, notNull, list,
	)
	if err := w.query(ctx, count, &rows); err != nil || rows == 0 {
		return err
	}
	f := s.deps.Spec.twinsOf(k)
	names := s.deps.Spec.Sync.Key.Names()
	tail := fmt.Sprintf(
		"FROM %[1]s WHERE %[6]s IN (SELECT %[5]s%[2]s FROM %[1]s WHERE %[3]s GROUP BY %[2]s HAVING COUNT(*) > 1) ORDER BY %[2]s, %[4]s",
		source, list, notNull, schema.QuoteAll(names), hint, s.deps.Spec.Sync.Of("("+list+")"),
	)
	f.query = "SELECT " + schema.QuoteAll(distinct(names, f.columns)) + " " + tail
	first, err := w.keys(
		ctx, 0,
		fmt.Sprintf("SELECT %s %s LIMIT %d", strings.Join(s.deps.Spec.Sync.Key.SelectExprs(), ", "), tail, s.cfg.Shown),
	)
	if err != nil {
		return err
	}
	s.findings.addRows(f, rows, inOrder(first), nil)
	return nil
}

// groupHint makes the server sort if no index of the source is in the order of the values. For
// 200,000 strings of 17 characters 9.7.4 takes 0.18 s that way, and 2.2 s by a hashed table of them
// (8.0.12: 0.24 and 0.29 s). If there is an index, the hint would only add a sort.
func (s *Spec) groupHint(values []string) string {
	for _, k := range s.Source.Keys {
		if !k.Visible || k.Type != "BTREE" || len(k.Parts) < len(values) {
			continue
		}
		ordered := true
		for i, value := range values {
			ordered = ordered && k.Parts[i].Prefix == 0 && value == schema.Quote(k.Parts[i].Column)
		}
		if ordered {
			return ""
		}
	}
	return "SQL_BIG_RESULT "
}

// inOrder numbers keys in their present order, so that they are shown in it: twins together.
func inOrder(keys []numbered) []numbered {
	for i := range keys {
		keys[i].place = i
	}
	return keys
}

// valuesOf returns the parts of a key of the shadow as the source's values in the shadow's
// collation. It returns false where values are converted or computed.
func (s *Spec) valuesOf(k schema.Key) (values []string, plain bool) {
	for _, part := range k.Parts {
		c, ok := s.column(part.Column)
		if !ok || c.Converted || c.To.Generated != schema.NotGenerated {
			return nil, false
		}
		values = append(values, part.Of(inCollation(c)))
	}
	return values, true
}

// inCollation has the source's value compare as the shadow's column does. A value that does so
// already stays a column, for the sake of its index.
func inCollation(c Column) string {
	name := schema.Quote(c.From.Name)
	switch {
	case c.To.HasMembers():
		return c.To.InKey(name)
	case c.To.Charset == "" || c.From.Charset == c.To.Charset && c.From.Collation == c.To.Collation:
		return name
	case c.From.Charset == c.To.Charset:
		return name + " COLLATE " + c.To.Collation
	}
	return fmt.Sprintf("CONVERT(%s USING %s) COLLATE %s", name, c.To.Charset, c.To.Collation)
}

// twinsOf begins the finding of a key, with what may be done about it.
func (s *Spec) twinsOf(k schema.Key) finding {
	f := finding{
		kind:    KindDuplicate,
		owner:   k.Name,
		columns: sourcesOf(s, k),
		what:    "sharing the value of unique key " + k.Name + " (" + strings.Join(partsOf(k), ", ") + ") with another row",
	}
	if _, known := s.Source.Key(k.Name); !known {
		if plain, ok := strings.CutPrefix(k.Definition, "UNIQUE "); ok {
			f.fix = "ADD " + plain
		}
		return f
	}
	for _, part := range k.Parts { // the key exists; its columns changed
		c, ok := s.column(part.Column)
		rest, whole := restOf(c.To)
		if ok && whole && !c.Kept && !c.Converted {
			f.fix = c.clause(c.To.Type + charsetOf(c.From) + rest)
			break
		}
	}
	return f
}

func partsOf(k schema.Key) []string {
	parts := make([]string, len(k.Parts))
	for i, p := range k.Parts {
		parts[i] = p.Column + p.Expression
	}
	return parts
}

// sourcesOf lists the columns of the source that a key's values come from.
func sourcesOf(s *Spec, k schema.Key) []string {
	var names []string
	for _, c := range s.Shadow.ComputedFrom(columnsOf(s, k)...) {
		if from, ok := s.column(c.Name); ok {
			names = append(names, from.reads()...)
		}
	}
	return names
}

// distinct joins two lists of names.
func distinct(a, b []string) []string {
	all := append([]string{}, a...)
	in := map[string]bool{}
	for _, name := range a {
		in[strings.ToLower(name)] = true
	}
	for _, name := range b {
		if !in[strings.ToLower(name)] {
			in[strings.ToLower(name)] = true
			all = append(all, name)
		}
	}
	return all
}

// lookInStage finds the twins of a key with converted or computed values: it puts them into a
// temporary table and builds the key.
func (s *Scanner) lookInStage(ctx context.Context, k schema.Key) error {
	spec := s.deps.Spec
	st := spec.stage("midstream_check_key", columnsOf(spec, k))
	st.stores, st.numbered = true, !k.Visible // a primary key must be visible
	session, err := s.deps.Pool.Session(ctx, append(s.setup(st), s.deps.Spec.sorting(k)...)...)
	if err != nil {
		return err
	}
	defer session.Close()
	w := worker{Scanner: s, session: session}
	ranges := rowsync.NewRanges(spec.Sync, s.cfg.Rows, s.deps.Chunk)
	for {
		r, more, err := ranges.Next(ctx, session)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		started := time.Now()
		rows, err := w.store(ctx, st, rowsync.InRange(spec.Sync.Key, spec.Sync.Key.Names(), r))
		if dbconn.ValueRefused(err) {
			return nil // that is found and reported separately
		}
		if err != nil {
			return err
		}
		took := time.Since(started)
		ranges.Took(rows, took)
		if err := s.deps.Gate(ctx, 0, took); err != nil {
			return err
		}
	}
	err = session.Laxly(ctx, func() error {
		_, err := session.Exec(ctx, "ALTER TABLE "+st.name+" ADD "+k.Definition)
		return err
	})
	if dbconn.Duplicate(err) {
		return w.listTwins(ctx, st, k)
	}
	return err
}

// store puts rows into a stage and leaves them there. It returns their number.
func (w *worker) store(ctx context.Context, st *stage, where string) (rows int64, err error) {
	err = w.session.Patiently(ctx, func() error {
		result, err := w.session.Exec(ctx, st.fill(where))
		if err != nil {
			return err
		}
		rows, _ = result.RowsAffected()
		_, err = w.session.Exec(ctx, "COMMIT")
		return err
	})
	return rows, err
}

// listTwins lists the rows of a stage that share their value. The ranges were read at different
// moments, and between them a value may have gone from row to row. So listTwins reads the rows
// again, at one moment.
func (w *worker) listTwins(ctx context.Context, st *stage, k schema.Key) error {
	spec := w.deps.Spec
	var parts, aliases []string
	for i := range spec.Sync.Key.Names() {
		aliases = append(aliases, rowsync.KeyAlias(i))
	}
	from := st.name
	for i, p := range k.Parts {
		value := schema.Quote(p.Column)
		if c, ok := spec.Shadow.Column(p.Column); ok {
			value = c.InKey(value)
		}
		if p.Expression != "" {
			value = "(" + p.Expression + ")"
		}
		if elements, is := elementsOf(value, rowsync.ValueAlias(i)); is {
			// A row has an element once, however often the array has it.
			from = fmt.Sprintf("(SELECT DISTINCT %s.*, %s FROM %[1]s, %[3]s) AS midstream_rows", st.name, rowsync.ValueAlias(i), elements)
			value = rowsync.ValueAlias(i)
		}
		parts = append(parts, p.Of(value))
	}
	list := strings.Join(parts, ", ")
	query := fmt.Sprintf("SELECT %[1]s FROM (SELECT %[2]s, COUNT(*) OVER (PARTITION BY %[3]s) AS midstream_twins, "+
		"ROW_NUMBER() OVER (ORDER BY %[3]s, %[2]s) AS midstream_place FROM %[4]s WHERE %[5]s IS NOT NULL) AS staged "+
		"WHERE midstream_twins > 1 GROUP BY %[2]s ORDER BY MIN(midstream_place) LIMIT %[6]d",
		strings.Join(spec.Sync.Key.SelectExprsOf(aliases), ", "), strings.Join(aliases, ", "), list, from,
		strings.Join(parts, " IS NOT NULL AND "), w.cfg.Listed+1)
	keys, err := w.keys(ctx, 0, query)
	if dbconn.SyntaxError(err) { // MySQL 5.7 has no window functions
		if query, err = w.gatherTwins(ctx, st, parts, aliases); err != nil {
			return err
		}
		keys, err = w.keys(ctx, 0, query)
	}
	if err != nil || len(keys) == 0 {
		return err
	}
	more := len(keys) > w.cfg.Listed
	if _, err := w.session.Exec(ctx, "DELETE FROM "+st.name); err != nil {
		return err
	}
	if _, err := w.store(ctx, st, w.isKey(listOf(keys)...)); err != nil && !dbconn.ValueRefused(err) {
		return err
	}
	if keys, err = w.keys(ctx, 0, query); err != nil {
		return err
	}
	for _, twin := range inOrder(keys) {
		w.findings.addListed(spec.twinsOf(k), twin, more)
	}
	return nil
}

// arrayCast is the expression of a multi-valued index: it has a value for each element of an array.
var arrayCast = regexp.MustCompile(`(?is)^\(+cast\((.+) as ([^()]+(?:\([^()]*\))?[^()]*) array\)\)+$`)

// elementsOf returns the table of the elements that a multi-valued index has of a row, in a column
// of that name. The server computes such an expression only in an index (error 1235).
func elementsOf(expression, name string) (table string, is bool) {
	match := arrayCast.FindStringSubmatch(expression)
	if match == nil {
		return "", false
	}
	array, kind := match[1], match[2]
	switch lower := strings.ToLower(kind); {
	case lower == "signed":
		kind = "bigint"
	case lower == "unsigned":
		kind = "bigint unsigned"
	case strings.HasPrefix(lower, "char"):
		kind += " COLLATE utf8mb4_0900_as_cs" // the index has no other one
	}
	return fmt.Sprintf("JSON_TABLE(IF(JSON_TYPE(%[1]s) = 'ARRAY', %[1]s, JSON_ARRAY(%[1]s)), '$[*]' COLUMNS (%[2]s %[3]s PATH '$')) AS midstream_elements",
		array, name, kind), true
}

// gatherTwins puts the values that several rows of a stage share into a table of their own, and
// returns the query for these rows. (A temporary table can't be named twice in one statement.)
func (w *worker) gatherTwins(ctx context.Context, st *stage, parts, aliases []string) (query string, err error) {
	twins := w.deps.Spec.Sync.Shadow.Sibling("midstream_check_twins").Quoted()
	var values, same []string
	for i, part := range parts {
		alias := rowsync.ValueAlias(i)
		values = append(values, part+" AS "+alias)
		same = append(same, "twins."+alias+" = "+part)
	}
	list := strings.Join(parts, ", ")
	// With GTIDs, 5.7 makes temporary tables outside of transactions only (error 1787).
	for _, statement := range []string{
		"SET SESSION autocommit = 1",
		fmt.Sprintf("CREATE TEMPORARY TABLE %s SELECT %s FROM %s WHERE %s IS NOT NULL GROUP BY %s HAVING COUNT(*) > 1 LIMIT %d",
			twins, strings.Join(values, ", "), st.name, strings.Join(parts, " IS NOT NULL AND "), list, w.cfg.Listed+1),
		"SET SESSION autocommit = 0",
	} {
		if _, err := w.session.Exec(ctx, statement); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf(
		"SELECT %s FROM %s JOIN %s AS twins ON %s ORDER BY %s, %s LIMIT %d",
		strings.Join(w.deps.Spec.Sync.Key.SelectExprsOf(aliases), ", "), st.name, twins, strings.Join(same, " AND "),
		list, strings.Join(aliases, ", "), w.cfg.Listed+1,
	), nil
}
