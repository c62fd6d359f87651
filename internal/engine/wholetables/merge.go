package wholetables

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/compare"
	"midstream/internal/engine/event"
	"midstream/internal/engine/key"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// merger takes the rows that were written since a TRUNCATE over into the table that was put aside.
//
// The table of merged keys has the key of each row that it has taken over, and the digest of that row. So a pass finds
// by two queries what has changed since the last pass, and deletes no row that was in the table before the TRUNCATE:
//
//	a key is in the table of merged keys before its row is taken over, and as long as the row is there
//	a key that the table had before the TRUNCATE is never in it: such a row is refused
//
// Passes run while the application writes, and the last one under the lock of the swap. After a kill the next undo
// goes on with the table, or gives the rows back.
type merger struct {
	pool                  *dbconn.Pool
	source, aside, merged schema.Name
	spec                  *compare.Spec
	columns               []string // that have values of their own
	// parks means that rows may stay behind which the old table does not take. taken are the keys of those that it had itself.
	parks bool
	taken map[key.Key]bool
}

// mergedKey is the name of a key's column in the table of merged keys.
func mergedKey(i int) string { return fmt.Sprintf("k%d", i) }

// longMerge means that the last pass of a merge would hold the lock for too long.
type longMerge struct{ takes, work time.Duration }

func (l *longMerge) Error() string {
	return fmt.Sprintf("comparing the rows that were written since the TRUNCATE takes too long to be done under the lock: a pass takes %s, and --lock-work allows %s",
		l.takes.Round(time.Millisecond), l.work)
}

func (c *Change) merger(ctx context.Context) (*merger, error) {
	b := c.plan.Back
	aside, err := schema.Load(ctx, c.pool.DB(), b.Aside)
	if err != nil {
		return nil, err
	}
	m := &merger{pool: c.pool, source: b.Source, aside: b.Aside, merged: plan.MergedOf(b.Source), parks: b.Park, taken: map[key.Key]bool{}}
	if m.spec, err = compare.SpecOf(c.plan.Table, aside); err != nil {
		return nil, err
	}
	for _, column := range aside.Columns {
		if column.Generated == schema.NotGenerated {
			m.columns = append(m.columns, column.Name)
		}
	}
	return m, nil
}

// open makes the table of merged keys, if it is not there yet.
func (m *merger) open(ctx context.Context) error {
	there, err := m.there(ctx)
	if err != nil || there {
		return err
	}
	var columns, keys []string
	for i, part := range m.spec.Key().Parts() {
		column := schema.Quote(mergedKey(i)) + " " + part.Column.Type
		if part.Column.Charset != "" && part.Column.Charset != "binary" {
			column += " CHARACTER SET " + part.Column.Charset + " COLLATE " + part.Column.Collation
		}
		columns, keys = append(columns, column+" NOT NULL"), append(keys, mergedKey(i))
	}
	return m.pool.Exec(ctx, fmt.Sprintf("CREATE TABLE %s (%s, digest VARBINARY(64) NOT NULL, PRIMARY KEY (%s)) ENGINE=InnoDB COMMENT=%s",
		m.merged.Quoted(), strings.Join(columns, ", "), schema.QuoteAll(keys), schema.Literal(schema.MarkFor(checkpoint.MergedKind, m.source))))
}

func (m *merger) there(ctx context.Context) (bool, error) {
	id, comment, err := at(ctx, m.pool.DB(), m.merged)
	if err == nil && id != nil && comment != schema.MarkFor(checkpoint.MergedKind, m.source) {
		err = fmt.Errorf("%s exists and is not Midstream's: rename or drop it", m.merged)
	}
	return id != nil, err
}

// dropMerged drops the table of merged keys after the swap, if it is there.
func (s swapBack) dropMerged(ctx context.Context) error {
	merged := plan.MergedOf(s.plan.Back.Source)
	_, comment, err := at(ctx, s.pool.DB(), merged)
	if err != nil || comment != schema.MarkFor(checkpoint.MergedKind, s.plan.Back.Source) {
		return err
	}
	return leftovers.Old{Pool: s.pool, Source: s.plan.Back.Source, Name: merged}.Drop(ctx)
}

// giveBack removes all rows that were taken over, and the table of merged keys.
func (m *merger) giveBack(ctx context.Context) error {
	there, err := m.there(ctx)
	if err != nil || !there {
		return err
	}
	for {
		session, err := m.pool.Session(ctx)
		if err != nil {
			return err
		}
		keys, err := m.keys(ctx, session, fmt.Sprintf("SELECT %s FROM %s LIMIT %d", m.mergedExprs(), m.merged.Quoted(), mergeBatch))
		if err == nil && len(keys) > 0 {
			err = m.remove(ctx, session, keys)
		}
		session.Close()
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			return m.pool.Exec(ctx, "DROP TABLE IF EXISTS "+m.merged.Quoted())
		}
	}
}

// removeFrom deletes the rows with merged keys from another table, if there are merged keys.
func (m *merger) removeFrom(ctx context.Context, session *dbconn.Session, table schema.Name) error {
	there, err := m.there(ctx)
	if err != nil || !there {
		return err
	}
	for {
		done, err := session.Exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE %s LIMIT %d", table.Quoted(), m.isMerged(table, ""), mergeBatch))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return err
		}
	}
}

// mergeBatch is the number of keys in one statement.
const mergeBatch = 500

func (m *merger) names() (names []string) {
	for i := range m.spec.Key().Parts() {
		names = append(names, mergedKey(i))
	}
	return names
}

func (m *merger) mergedExprs() string {
	return strings.Join(m.spec.Key().SelectExprsOf(m.names()), ", ")
}

func (m *merger) keys(ctx context.Context, session *dbconn.Session, query string) (keys []key.Key, err error) {
	spec := &rowsync.Spec{Key: m.spec.Key()}
	err = session.Rows(ctx, query, func(rows *sql.Rows) error {
		k, err := spec.ScanKey(rows)
		keys = append(keys, k)
		return err
	})
	return keys, err
}

// isMerged is the condition, over the columns of another table, that a row's key is in the table of merged keys.
func (m *merger) isMerged(table schema.Name, and string) string {
	var equal []string
	for i, name := range m.spec.Key().Names() {
		equal = append(equal, fmt.Sprintf("%s = %s.%s", schema.Quote(mergedKey(i)), table.Quoted(), schema.Quote(name)))
	}
	return fmt.Sprintf("EXISTS (SELECT 1 FROM %s WHERE %s%s)", m.merged.Quoted(), strings.Join(equal, " AND "), and)
}

// pass takes over what has changed. refused are keys that the table had before the TRUNCATE, or whose rows have a unique value that
// it had; changed counts the keys that were removed or taken over. Each table is named once in a statement: the
// session may have them locked.
func (m *merger) pass(ctx context.Context, session *dbconn.Session) (changed int, refused []key.Key, err error) {
	fresh, err := m.keys(ctx, session, fmt.Sprintf("SELECT %s FROM %s WHERE NOT %s", strings.Join(m.spec.Key().SelectExprs(), ", "),
		m.source.Quoted(), m.isMerged(m.source, " AND digest = "+m.spec.Digest())))
	if err != nil {
		return 0, nil, err
	}
	fresh = slices.DeleteFunc(fresh, func(k key.Key) bool {
		if m.taken[k] {
			refused = append(refused, k)
		}
		return m.taken[k]
	})
	known := len(refused)
	gone, err := m.keys(ctx, session, fmt.Sprintf("SELECT %s FROM %s WHERE NOT EXISTS (SELECT 1 FROM %s WHERE %s)",
		m.mergedExprs(), m.merged.Quoted(), m.source.Quoted(), m.asideOfMerged()))
	if err != nil {
		return 0, nil, err
	}
	for _, batch := range [][]key.Key{fresh, gone} {
		for keys := range inBatches(batch) {
			if err := m.remove(ctx, session, keys); err != nil {
				return 0, nil, err
			}
		}
	}
	for keys := range inBatches(fresh) {
		former, err := m.take(ctx, session, keys)
		if err != nil {
			return 0, nil, err
		}
		refused = append(refused, former...)
	}
	return len(fresh) + known - len(refused) + len(gone), refused, nil
}

func inBatches(keys []key.Key) func(yield func([]key.Key) bool) {
	return func(yield func([]key.Key) bool) {
		for len(keys) > 0 {
			n := min(mergeBatch, len(keys))
			if !yield(keys[:n]) {
				return
			}
			keys = keys[n:]
		}
	}
}

// remove gives rows back: the rows first, then their keys.
func (m *merger) remove(ctx context.Context, session *dbconn.Session, keys []key.Key) error {
	codec := m.spec.Key()
	for _, statement := range []string{
		fmt.Sprintf("DELETE FROM %s WHERE %s AND %s", m.aside.Quoted(), rowsync.InKeys(codec, codec.Names(), keys), m.isMerged(m.aside, "")),
		fmt.Sprintf("DELETE FROM %s WHERE %s", m.merged.Quoted(), rowsync.InKeys(codec, m.names(), keys)),
	} {
		if _, err := session.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// take takes rows over: their keys first, then the rows. It returns the keys that the table had before. REQUIRES: none
// of the keys is merged.
func (m *merger) take(ctx context.Context, session *dbconn.Session, keys []key.Key) (refused []key.Key, err error) {
	codec := m.spec.Key()
	refused, err = m.keys(ctx, session, fmt.Sprintf("SELECT %s FROM %s WHERE %s", strings.Join(codec.SelectExprs(), ", "),
		m.aside.Quoted(), rowsync.InKeys(codec, codec.Names(), keys)))
	if err != nil {
		return nil, err
	}
	if len(refused) > 0 && !m.parks {
		return refused, nil // the undo is refused
	}
	for _, k := range refused {
		m.taken[k] = true
	}
	keys = slices.DeleteFunc(slices.Clone(keys), func(k key.Key) bool { return m.taken[k] })
	if len(keys) == 0 {
		return refused, nil
	}
	err = m.insert(ctx, session, keys)
	if !dbconn.Duplicate(err) || !m.parks {
		return refused, err
	}
	if err := m.remove(ctx, session, keys); err != nil {
		return nil, err
	}
	for _, k := range keys { // one of them has a unique value of another row
		one := []key.Key{k}
		if err = m.insert(ctx, session, one); dbconn.Duplicate(err) {
			refused, err = append(refused, k), m.remove(ctx, session, one)
		}
		if err != nil {
			return nil, err
		}
	}
	return refused, nil
}

// insert takes over the rows of keys that are free.
func (m *merger) insert(ctx context.Context, session *dbconn.Session, keys []key.Key) error {
	codec := m.spec.Key()
	in := rowsync.InKeys(codec, codec.Names(), keys)
	for _, statement := range []string{
		fmt.Sprintf("INSERT INTO %s (%s, digest) SELECT %s, '' FROM %s WHERE %s",
			m.merged.Quoted(), schema.QuoteAll(m.names()), schema.QuoteAll(codec.Names()), m.source.Quoted(), in),
		fmt.Sprintf("INSERT INTO %s (%s) SELECT %[2]s FROM %s WHERE %s AND %s",
			m.aside.Quoted(), schema.QuoteAll(m.columns), m.source.Quoted(), in, m.isMerged(m.source, "")),
		fmt.Sprintf("UPDATE %s SET digest = IFNULL((SELECT %s FROM %s WHERE %s), '') WHERE %s",
			m.merged.Quoted(), m.spec.Digest(), m.aside.Quoted(), m.asideOfMerged(), rowsync.InKeys(codec, m.names(), keys)),
	} {
		if _, err := session.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// asideOfMerged is the condition, over the columns of a table with the same key, that a row has a merged key.
func (m *merger) asideOfMerged() string {
	var equal []string
	for i, name := range m.spec.Key().Names() {
		equal = append(equal, fmt.Sprintf("%s = %s.%s", schema.Quote(name), m.merged.Quoted(), schema.Quote(mergedKey(i))))
	}
	return strings.Join(equal, " AND ")
}

// Passes stop when the last one found hardly a change, and after mostPasses at the latest.
const (
	fewChanges = 200
	mostPasses = 20
)

// mergeAhead takes over what it can while the application writes. It returns the server's time after the first pass:
// transactions with an older view would see only a part of the rows (law L10).
func (s swapBack) mergeAhead(ctx context.Context, m *merger) (seen string, err error) {
	if err := m.open(ctx); err != nil {
		return "", err
	}
	work := s.control.Settings().WithDefaults().Lock.Work
	for n := 1; ; n++ {
		began := time.Now()
		var changed int
		var refused []key.Key
		err := leftovers.RetryBriefly(ctx, func() error {
			session, err := s.pool.Session(ctx)
			if err != nil {
				return err
			}
			defer session.Close()
			changed, refused, err = m.pass(ctx, session)
			return err
		})
		switch {
		case err == nil && len(refused) > 0 && !m.parks:
			return "", s.refuse(m, refused)
		case dbconn.Duplicate(err) && n < mostPasses: // another row may have had the value a moment ago
			if err := dbconn.Sleep(ctx, 100*time.Millisecond); err != nil {
				return "", err
			}
			continue
		case dbconn.Duplicate(err):
			return "", &unfit{what: fmt.Sprintf("a row that was written since the TRUNCATE has a unique value of a row before it: %v", err), next: s.afterMerge()}
		case err != nil:
			return "", fmt.Errorf("take over the rows of %s: %w", m.source, err)
		}
		if seen == "" {
			if err := s.pool.DB().QueryRowContext(ctx, "SELECT CAST(UTC_TIMESTAMP(6) AS CHAR)").Scan(&seen); err != nil {
				return "", err
			}
		}
		if changed > fewChanges && n < mostPasses {
			continue
		}
		switch took := time.Since(began); {
		case took > work && changed > 0 && n < mostPasses: // a pass without changes shows how long a comparison takes
			continue
		case took > work:
			return "", &longMerge{took, work}
		}
		return seen, nil
	}
}

// mostListed is the number of keys in a message.
const mostListed = 20

// refuse emits the rows whose keys are taken. They are in both tables by then, so a join lists them all.
func (s swapBack) refuse(m *merger, refused []key.Key) error {
	var equal []string
	for _, name := range m.spec.Key().Names() {
		equal = append(equal, fmt.Sprintf("old.%[1]s = new.%[1]s", schema.Quote(name)))
	}
	f := event.Finding{
		Kind: "duplicate", Name: "PRIMARY", What: fmt.Sprintf("with a key that another row of %s had before the TRUNCATE", m.source),
		Rows: int64(len(refused)), Refused: true, At: time.Now(),
		Query: fmt.Sprintf("SELECT new.* FROM %s AS new JOIN %s AS old ON %s", m.source.Quoted(), m.aside.Quoted(), strings.Join(equal, " AND ")),
	}
	for _, k := range refused[:min(mostListed, len(refused))] {
		f.Keys = append(f.Keys, m.spec.Key().Format(k))
	}
	s.emit(f)
	listed := strings.Join(f.Keys, ", ")
	if more := len(refused) - len(f.Keys); more > 0 {
		listed += fmt.Sprintf(" and %d more", more)
	}
	return &unfit{what: fmt.Sprintf("%s %s: %s", rowsText(f.Rows), f.What, listed), next: s.afterMerge()}
}

// afterMerge is what to do about rows that the old table does not take.
func (s swapBack) afterMerge() string {
	b := s.plan.Back
	return fmt.Sprintf("Take the other rows over, and keep these in %s: midstream undo  --merge --park %s. Or give these rows other keys; "+
		"then run the same command again.", plan.ParkedNames(b.Source)[0], b.Source.Argument())
}
