package rowsync

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Column defines the source of the values of one column of the shadow.
type Column struct {
	Shadow string // name in the shadow
	Expr   string // over the source's columns, quoted
	// Apart is a condition over the source's columns: Expr fails for a value that does not meet it. Such a value
	// of a followed key may become equal to another one. Empty if all values stay apart.
	Apart string
	// Tried means that the server computes Expr in a condition, too: an INSERT .. SELECT of MariaDB's makes 0 of 'x' in an operator's
	// expression, without the error that an UPDATE gives.
	Tried bool
}

// Trying is the condition in which the server tries the columns that it must; "" if there are none. Each row meets it.
func Trying(columns []Column) string {
	var all []string
	for _, c := range columns {
		if c.Tried {
			all = append(all, "COALESCE(LENGTH("+c.Expr+"), 0) >= 0")
		}
	}
	return strings.Join(all, " AND ")
}

// UniqueKey is a unique key of the shadow, for telling a stale row from a duplicate.
type UniqueKey struct {
	Name  string
	Parts []UniquePart
	// Hidden means that queries may not name the key: it is invisible, or ignored on MariaDB.
	Hidden bool
	// Enforced means that the source has the same key: no two of its rows have the same value at
	// one time. So a row of the shadow that blocks a sync is stale.
	Enforced bool
}

// UniquePart is one part of a unique key.
type UniquePart struct {
	Shadow string // expression over the shadow's columns
	Source string // the value from the source's columns
	Text   string // the value for messages, from the source's columns
}

// Spec defines which columns are synced with which expressions. It is immutable.
type Spec struct {
	Source schema.Name
	Shadow schema.Name

	Key         *key.Codec // over the source's key columns
	ShadowKey   []string   // the key's columns in the shadow
	SourceIndex string     // the key's index in the source
	// Own is the number of the key's columns that SourceIndex has; 0 for all. They are unique, so the
	// other columns do not change the order.
	Own int
	// Whole means that SourceIndex has the rows in another order than comparisons: a range misses
	// rows, so that all rows are one range.
	Whole bool
	// ByValue means that SourceIndex is not unique: a key is a value of it, with all of its rows.
	ByValue bool
	// MostOfValue is the number of rows that one value may have before the run reports it; 0 is any.
	MostOfValue int
	// Loose means that no unique key of the shadow keeps two syncs from inserting the rows of one key. ByValue is so, too.
	Loose bool
	// AwaitsCopy means that a list may not be synced while a chunk may begin that has one of its keys. With KeyChanged a chunk deletes
	// nothing, and with Loose two syncs insert the same rows.
	AwaitsCopy  bool
	Partitioned bool // the source has partitions
	// ShadowIndex is an index of the shadow that begins with the key's columns, in their order unless
	// KeyChanged.
	ShadowIndex string
	// KeyChanged means that a key column has another type, charset, collation or member order in
	// the shadow, or that ShadowIndex has the columns in another order.
	KeyChanged bool

	// Upsert means that a list of keys may be synced by updating the existing rows (see
	// Syncer.once). The shadow's only unique key is then the key itself, and no column outside of
	// Columns changes when a row is updated.
	Upsert bool

	Columns []Column
	// Keep is a condition over the source's columns: only the rows that meet it are in the shadow. "" is all rows.
	Keep string
	// Rest is a condition over the shadow's columns. The shadow has rows of its own, which no sync touches: those that do not meet it,
	// unless a sync has written them, and Side has their keys. "" is none.
	Rest string
	// Counter is the one of Columns that is AUTO_INCREMENT in the shadow; "" if none is.
	Counter string
	// Unique lists the unique keys of the shadow that can be computed from the source.
	Unique []UniqueKey
	// Opaque means that the shadow has other unique keys as well: over generated or converted
	// columns, expressions, or columns that the source does not have.
	Opaque bool

	// Values are the settings with which sessions compute the values of rows.
	Values dbconn.Values
	// RequiresKeys means that the server refuses a table without a primary key.
	RequiresKeys bool
	// Silent means that an INSERT .. SELECT computes generated columns and defaults without the
	// errors that the server's ALTER gives (MariaDB). An UPDATE that computes them again gives them.
	Silent bool
	// Virtual means that the shadow has virtual columns: the server may compute them for a row that another one replaces.
	Virtual bool
	// Again is the SET clause of that UPDATE; "" if it is not needed.
	Again string

	// Locking makes the SELECT side take shared row locks. It is for servers that make commits
	// visible in another order than the binlog's (binlog_order_commits=OFF).
	Locking string // "", " FOR SHARE" or " LOCK IN SHARE MODE"
	// Kept are columns of the shadow that no sync gives and whose values stay (law U5). Side is the
	// table that holds their values while their rows are not in the shadow; OpenSide makes it.
	Kept []schema.Column
	Side schema.Name
	// Fills give some kept columns of a new row a value, once. Other kept columns get their defaults.
	Fills []Column

	// Unchecked has the server not look for the parents of the rows that are written: the shadow has foreign keys.
	Unchecked bool
	// Marks does the same for a shadow without foreign keys, so that capture knows which of its row events are those of the run
	// (capture.Deps.Marked).
	Marks bool
}

// Of returns a condition on the source's rows that leaves out the rows which are not kept.
func (s *Spec) Of(condition string) string {
	if s.Keep == "" {
		return condition
	}
	return "(" + condition + ") AND (" + s.Keep + ")"
}

// OfShadow returns a condition on the shadow's rows that leaves out those which no sync touches.
func (s *Spec) OfShadow(condition string) string {
	if s.Rest == "" {
		return condition
	}
	return "(" + condition + ") AND " + s.synced()
}

// Gives reports whether a sync gives a column of the shadow its value.
func (s *Spec) Gives(column string) bool {
	return slices.ContainsFunc(s.Columns, func(c Column) bool { return strings.EqualFold(c.Shadow, column) })
}

// Raise returns INSERTs that raise the shadow's counter above a number when they are rolled back: one
// of any row, and one of a row of defaults, for a table without rows. They need no strict mode.
func (s *Spec) Raise(number uint64) []string {
	if s.Counter == "" {
		return nil
	}
	raising := *s
	raising.Columns = slices.Clone(s.Columns)
	for i, c := range s.Columns {
		if strings.EqualFold(c.Shadow, s.Counter) {
			raising.Columns[i].Expr = strconv.FormatUint(number, 10)
		}
	}
	// An empty range is all rows.
	any := predicate{spec: &raising, chunk: &key.Range{}, first: 1}
	return []string{
		any.insertion(),
		fmt.Sprintf("INSERT INTO %s (%s) SELECT %d", s.Shadow.Quoted(), schema.Quote(s.Counter), number),
	}
}

// predicate is P: a range, or a list of keys. Stale rows outside of it may have to go.
type predicate struct {
	spec  *Spec
	chunk *key.Range
	fresh bool // nothing was written into the range
	keys  []key.Key
	// evict deletes stale rows that block the sync first, if the source enforces a key.
	evict bool
	// stale lists keys of rows that are known to be stale, and are deleted first.
	stale []key.Key
	// refit replaces rows in the way in which it does not matter what they replace.
	refit bool
	// first, if not 0, limits the number of rows that are read from the source.
	first int
}

// ofSource returns P in the source.
func (p predicate) ofSource() string { return p.spec.Of(p.on(p.spec.Key.Names())) }

func (p predicate) on(columns []string) string {
	var conditions []string
	if p.chunk != nil {
		conditions = append(conditions, InRange(p.spec.Key, columns, *p.chunk))
	}
	if len(p.keys) > 0 {
		conditions = append(conditions, InKeys(p.spec.Key, columns, p.keys))
	}
	return strings.Join(conditions, " OR ")
}

// and returns P with more keys.
func (p predicate) and(keys []key.Key) predicate {
	p.keys = slices.Concat(p.keys, keys)
	return p
}

// deletion returns P in the shadow, with stale rows, as Spec.remove takes it, or "" if nothing is to
// be deleted.
func (p predicate) deletion() string {
	if p.fresh {
		p.chunk = nil
	}
	if p = p.and(p.stale); p.chunk == nil && len(p.keys) == 0 {
		return ""
	}
	return p.rowsOf()
}

// again returns the statement that has the server compute the columns of P in the shadow again.
func (p predicate) again() string {
	set := p.spec.Again
	for _, c := range p.spec.Kept { // not ON UPDATE CURRENT_TIMESTAMP
		set += fmt.Sprintf(", %s = %[1]s", schema.Quote(c.Name))
	}
	return fmt.Sprintf("UPDATE %s FORCE INDEX (%s) SET %s WHERE %s",
		p.spec.Shadow.Quoted(), schema.Quote(p.spec.ShadowIndex), set, p.on(p.spec.ShadowKey))
}

// insertion returns the statement that fills P in the shadow.
func (p predicate) insertion() string {
	return p.inserting(p.spec.Columns, "", "")
}

// inserting returns the statement that inserts rows of the source in P, with joins and a further
// condition.
func (p predicate) inserting(given []Column, joins, condition string) string {
	columns := make([]string, len(given))
	exprs := make([]string, len(given))
	for i, c := range given {
		columns[i], exprs[i] = schema.Quote(c.Shadow), c.Expr
	}
	where := p.ofSource()
	if condition != "" {
		where = "(" + where + ")" + condition
	}
	if tried := Trying(given); tried != "" {
		where = "(" + where + ") AND " + tried
	}
	limit := ""
	if p.first > 0 {
		limit = fmt.Sprintf(" LIMIT %d", p.first)
	}
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s FORCE INDEX (%s)%s WHERE %s%s%s",
		p.spec.Shadow.Quoted(), strings.Join(columns, ", "), strings.Join(exprs, ", "),
		p.spec.Source.Quoted(), schema.Quote(p.spec.SourceIndex), joins, where, limit, p.spec.Locking)
}

// present returns a query for the number of the source's rows in P.
func (p predicate) present() string {
	return fmt.Sprintf("SELECT COUNT(*) FROM %s FORCE INDEX (%s) WHERE %s%s",
		p.spec.Source.Quoted(), schema.Quote(p.spec.SourceIndex), p.ofSource(), p.spec.Locking)
}

// upsert returns the statement that fills P in the shadow and overwrites the existing rows.
func (p predicate) upsert() string {
	return overwriting(p.insertion(), p.spec.Columns)
}

// holders returns a query for the keys of shadow rows outside of P. These rows hold a value of the
// unique key that a source row of P has now.
func (p predicate) holders(u UniqueKey, most int) string {
	return fmt.Sprintf("SELECT DISTINCT %s FROM %s WHERE NOT (%s) LIMIT %d",
		strings.Join(p.spec.shadowKeyExprs(), ", "), p.takersAndHolders(u), p.on(p.spec.ShadowKey), most)
}

// staleAmong returns a query for the stale keys among keys. The row of a stale key has another
// value of the unique key in the shadow than in the source now, or the source has no row.
func (p predicate) staleAmong(u UniqueKey, keys []key.Key) string {
	var now, found, same []string
	for i, name := range p.spec.Key.Names() {
		now = append(now, schema.Quote(name)+" AS "+KeyAlias(i))
		found = append(found, fmt.Sprintf("%s = now.%s", schema.Quote(p.spec.ShadowKey[i]), KeyAlias(i)))
	}
	for i, part := range u.Parts {
		now = append(now, part.Source+" AS "+ValueAlias(i))
		same = append(same, fmt.Sprintf("%s <=> now.%s", part.Shadow, ValueAlias(i)))
	}
	return fmt.Sprintf("SELECT %s FROM %s FORCE INDEX (%s) LEFT JOIN (SELECT %s FROM %s FORCE INDEX (%s) WHERE %s) AS now ON %s"+
		" WHERE %s AND (now.%s <=> NULL OR NOT (%s))",
		strings.Join(p.spec.shadowKeyExprs(), ", "), p.spec.Shadow.Quoted(), schema.Quote(p.spec.ShadowIndex),
		strings.Join(now, ", "), p.spec.Source.Quoted(), schema.Quote(p.spec.SourceIndex), p.spec.Of(InKeys(p.spec.Key, p.spec.Key.Names(), keys)),
		strings.Join(found, " AND "), InKeys(p.spec.Key, p.spec.ShadowKey, keys), KeyAlias(0), strings.Join(same, " AND "))
}

// RowNumbers are the definitions that a temporary table without a key needs: none, or a column.
// Statements name all other columns.
func (s *Spec) RowNumbers() []string {
	if !s.RequiresKeys {
		return nil
	}
	return []string{NumberedRows}
}

// NumberedRows defines a primary key for a temporary table. It is visible, because MySQL 8.0.13 to
// 8.0.22 may require primary keys and have no invisible columns.
const NumberedRows = schema.RowNumber + " BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY"

// KeyAlias and ValueAlias name a part of the key and a value in a derived table. No column of a
// user has such a name: the plan refuses them (schema.Reserved).
func KeyAlias(i int) string { return schema.KeyAlias + strconv.Itoa(i) }

// ValueAlias is the alias of the i-th value, from 0. See KeyAlias.
func ValueAlias(i int) string { return schema.ValueAlias + strconv.Itoa(i) }

// takersAndHolders joins the source's rows of P with the shadow's rows that hold their values of
// the unique key, by that key. It forces that key, because the statistics of the new shadow would
// make the optimizer read all of it. It uses the shadow's own name, because only that name is
// locked under LOCK TABLES. The source's rows have further columns, if they are named.
func (p predicate) takersAndHolders(u UniqueKey, more ...string) string {
	values, equal := slices.Clone(more), []string(nil)
	for i, part := range u.Parts {
		values = append(values, fmt.Sprintf("%s AS %s", part.Source, ValueAlias(i)))
		equal = append(equal, fmt.Sprintf("%s = taker.%s", part.Shadow, ValueAlias(i)))
	}
	return fmt.Sprintf("(SELECT %s FROM %s FORCE INDEX (%s) WHERE %s) AS taker STRAIGHT_JOIN %s%s ON %s",
		strings.Join(values, ", "), p.spec.Source.Quoted(), schema.Quote(p.spec.SourceIndex),
		p.ofSource(), p.spec.Shadow.Quoted(), u.forced(), strings.Join(equal, " AND "))
}

// forced is the hint that has the shadow read by the key. A hidden key cannot be named (error 1176).
func (u UniqueKey) forced() string {
	if u.Hidden {
		return ""
	}
	return " FORCE INDEX (" + schema.Quote(u.Name) + ")"
}

// shadowKeyExprs are the expressions that read the key from the shadow.
func (s *Spec) shadowKeyExprs() []string {
	return s.Key.SelectExprsOf(s.ShadowKey)
}

// ScanKey reads the current row of a query that selects the key's columns by
// key.Codec.SelectExprs, and whatever it selects behind them.
func (s *Spec) ScanKey(rows *sql.Rows, more ...any) (key.Key, error) {
	texts := make([][]byte, len(s.Key.Parts()))
	targets := make([]any, len(texts), len(texts)+len(more))
	for i := range texts {
		targets[i] = &texts[i]
	}
	targets = append(targets, more...)
	if err := rows.Scan(targets...); err != nil {
		return "", err
	}
	return s.Key.FromText(texts)
}

// readKeys runs a query that selects nothing but keys.
func (s *Spec) readKeys(ctx context.Context, session *dbconn.Session, query string) (keys []key.Key, err error) {
	return keysBut(ctx, session, s, query, nil)
}

// keysBut is readKeys without the keys that cannot be read because of one error.
func keysBut(ctx context.Context, session *dbconn.Session, s *Spec, query string, left error) (keys []key.Key, err error) {
	err = session.Rows(ctx, query, func(rows *sql.Rows) error {
		k, err := s.ScanKey(rows)
		if err != nil && errors.Is(err, left) {
			return nil
		}
		keys = append(keys, k)
		return err
	})
	return keys, err
}

// twins returns a query for two rows of the source within P that have the same value of the unique
// key. The query describes the value and the two rows' keys.
func (p predicate) twins(u UniqueKey) string {
	var values, texts, notNull []string
	for _, part := range u.Parts {
		values = append(values, part.Source)
		texts = append(texts, part.Text)
		notNull = append(notNull, part.Source+" IS NOT NULL")
	}
	row := p.row()
	return fmt.Sprintf("SELECT CONCAT_WS('-', %s), MIN(%s), MAX(%s) FROM %s FORCE INDEX (%s)"+
		" WHERE (%s) AND %s GROUP BY %s HAVING COUNT(*) > 1 LIMIT 1",
		strings.Join(anyValues(texts), ", "), row, row, p.spec.Source.Quoted(), schema.Quote(p.spec.SourceIndex),
		p.ofSource(), strings.Join(notNull, " AND "), strings.Join(values, ", "))
}

// anyValues satisfies ONLY_FULL_GROUP_BY if a value is an expression.
func anyValues(exprs []string) []string {
	out := make([]string, len(exprs))
	for i, e := range exprs {
		out[i] = "MIN(" + e + ")"
	}
	return out
}

// unsure reports whether a chunk that is tried again must delete first. With KeyChanged it can't.
func unsure(s *Spec) bool { return s.Loose && !s.KeyChanged }
