package rowsync

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Kept columns are columns of the shadow that the source lacks and whose values must stay (law U5).
// Spec.Kept names them. The value that belongs to a key is in one of two places:
//
//	the side table     if it has a row with the key
//	the shadow         otherwise, if it has a row with the key
//
// No sync changes which value that is. A row that leaves the shadow goes to the side table first. A
// row that comes takes its values from the side table. A row that is in neither place is new: it
// gets Spec.Fills and defaults, and a row of the side table, which is marked as new. Each sync of it
// computes these values again: the row may have changed, and an undo before may have had other
// Fills.
//
// A change of a key from a to b moves the values of a to b (Moves), and empties both places of a: a row
// that comes to a later is new. The values of a new row do not move: another row may have had that key
// before, and its values are the only ones.

// The columns of the side table, with the key's columns as KeyAlias(i) and the kept columns as
// ValueAlias(i). No column of a user has such a name, so statements can name columns of the source
// without the table.
const (
	sideNew   = schema.ValueAlias + "new"   // 1: the row is new
	sideMove  = schema.ValueAlias + "move"  // the number of the move that brought the row, or NULL
	sideStand = schema.ValueAlias + "stand" // the Stand of that move
)

// Temporary tables of a session that syncs kept columns.
const (
	heldRows   = "midstream_held"        // rows of the shadow that are overwritten
	movedFrom  = "midstream_moved_from"  // keys before their change
	movedTo    = "midstream_moved_to"    // keys after it
	movedRows  = "midstream_moved"       // the values that go from key to key
	keptKeys   = "midstream_kept_keys"   // the source's keys, and what the shadow makes of them
	sourceKey  = schema.KeyAlias + "of_" // a part of the source's key there
	movedKeys  = "midstream_moved_keys"  // keys of a change, in the source's types
	mostMoves  = 500                     // changes of keys at once
	stringSize = 512                     // of a Stand
)

// ErrNoValue means that a new row has no value for a kept column: the column is NOT NULL, and has
// neither a fill nor a default.
var ErrNoValue = errors.New("a new row has no value for a column that only the shadow has")

// ErrSideTaken means that the name of the side table belongs to another table.
var ErrSideTaken = errors.New("the name of the side table is taken")

// OpenSide creates the side table of the spec, with the mark as its comment, and returns the moves of the spec as LoadMoves does. It
// leaves the table as it is if it is there and carries the mark, and has the columns and the shadow of the spec. Otherwise it replaces
// the table, unless an undo has put rows into it. shadow is the shadow's definition. The values of parked rows are taken as well, unless an
// undo has begun to use the side table.
func OpenSide(
	ctx context.Context, session *dbconn.Session, spec *Spec, shadow *schema.Table, mark string, parked Parked, begun bool,
) (*Moves, error) {
	created, err := spec.createSide(ctx, session, shadow, mark)
	if err == nil && !created {
		created, err = ownSide(ctx, session, spec, shadow, mark, begun)
	}
	if err == nil && (created || !begun) && parked.Table.Table != "" {
		err = spec.takeValues(ctx, session, parked)
	}
	if err != nil || len(spec.Kept) == 0 {
		return nil, err
	}
	return LoadMoves(ctx, session, spec)
}

func (s *Spec) createSide(ctx context.Context, session *dbconn.Session, shadow *schema.Table, mark string) (created bool, err error) {
	err = run(ctx, session, "CREATE TABLE "+s.Side.Quoted()+s.sideDefinition(shadow)+" ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT="+schema.Literal(mark))
	if err == nil {
		return true, nil
	}
	if dbconn.TableExists(err) {
		if ours, failed := schema.HasComment(ctx, session.Rows, s.Side, mark); failed == nil && ours {
			return false, nil
		}
		err = fmt.Errorf("%w: %w", ErrSideTaken, err)
	}
	return false, fmt.Errorf("create side table %s: %w", s.Side, err)
}

// ownSide proves that a side table that was there is that of this shadow and of these columns. It makes another one, or fails with
// ErrSideTaken if an undo has put rows into it.
func ownSide(
	ctx context.Context, session *dbconn.Session, s *Spec, shadow *schema.Table, mark string, begun bool,
) (created bool, err error) {
	comments, err := columnsOf(ctx, session, s.Side, "column_comment")
	if err != nil {
		return false, fmt.Errorf("read side table %s: %w", s.Side, err)
	}
	want := slices.Concat(make([]string, len(s.ShadowKey)), namesOf(s.Kept), []string{s.Shadow.Table, "", ""})
	if slices.Equal(comments, want) {
		return false, nil
	}
	if begun && len(comments) == len(want) && strings.Join(comments, "") == "" { // an earlier version has made it
		return false, nil
	}
	used := false
	if begun {
		err = session.Rows(ctx, "SELECT 1 FROM "+s.Side.Quoted()+" LIMIT 1", func(*sql.Rows) error { used = true; return nil })
	}
	if err != nil {
		return false, fmt.Errorf("read side table %s: %w", s.Side, err)
	}
	if used {
		return false, fmt.Errorf("%w: %s has values of other columns, because a column of the table was added, dropped or renamed during the undo; "+
			"rename %[2]s, which has these values, and give the same command again", ErrSideTaken, s.Side)
	}
	if err := run(ctx, session, "DROP TABLE "+s.Side.Quoted()); err != nil {
		return false, fmt.Errorf("drop side table %s, which has other columns: %w", s.Side, err)
	}
	return s.createSide(ctx, session, shadow, mark)
}

// SettleSide prepares a side table for an undo that does not know the one before: it forgets how far that has carried moves. has means
// that it has values.
func SettleSide(ctx context.Context, session *dbconn.Session, side schema.Name) (has bool, err error) {
	err = session.Rows(ctx, fmt.Sprintf("SELECT 1 FROM %s WHERE %s = 0 LIMIT 1", side.Quoted(), sideNew), func(*sql.Rows) error { has = true; return nil })
	if err == nil && has {
		err = run(ctx, session, fmt.Sprintf("UPDATE %s SET %s = NULL, %s = NULL WHERE %[2]s IS NOT NULL", side.Quoted(), sideMove, sideStand), "COMMIT")
	}
	return has, err
}

// sideDefinition are the columns and keys of the side table. Its key has types that the keys of changes and those of the shadow's
// rows fit. If the shadow compares keys in another way, it has the types of the shadow.
func (s *Spec) sideDefinition(shadow *schema.Table) string {
	var columns []string
	for i, name := range s.ShadowKey {
		column, _ := shadow.Column(name)
		if !s.KeyChanged {
			column = wider(s.Key.Parts()[i].Column, column)
		}
		column.Nullable = false
		columns = append(columns, KeyAlias(i)+" "+plain(column))
	}
	for i, column := range s.Kept {
		columns = append(columns, ValueAlias(i)+" "+plain(column)+" COMMENT "+schema.Literal(column.Name))
	}
	return fmt.Sprintf(" (%s, %s TINYINT NOT NULL COMMENT %s, %s BIGINT UNSIGNED NULL, %s VARCHAR(%d) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,"+
		" PRIMARY KEY (%s), KEY %[4]s (%[4]s))", strings.Join(columns, ", "), sideNew, schema.Literal(s.Shadow.Table), sideMove, sideStand, stringSize,
		strings.Join(s.sideKeys(), ", "))
}

// wider is a column for the keys of the source and of the shadow, which are the same where both have them. But the shadow of a redo
// may have rows that the source's type does not take: the undo has parked them.
func wider(source, shadow schema.Column) schema.Column {
	size := func(c schema.Column) int64 { return max(c.Length, int64(len(c.Members)), int64(c.Precision)) }
	switch whole := source.Family() == "integer" && shadow.Family() == "integer"; {
	case whole && source.Type != shadow.Type:
		return schema.Column{DataType: "decimal", Type: "decimal(20,0)", Precision: 20} // either may be unsigned
	case source.Family() != shadow.Family() && source.Family() == "integer", source.Family() == "date", size(shadow) > size(source):
		return shadow
	}
	return source
}

// plain is the definition of a column of the same values, without what the server might add to it. A
// SET is stored as its number: the server copies its text, which loses an empty member (5.7 to 9.7,
// MariaDB).
func plain(column schema.Column) string {
	switch {
	case column.DataType == "set" && column.Nullable:
		return "BIGINT UNSIGNED NULL"
	case column.DataType == "set":
		return "BIGINT UNSIGNED NOT NULL"
	}
	return shown(column)
}

// shown is plain, with a SET as its members. Its values are written and read as numbers.
func shown(column schema.Column) string {
	switch {
	case column.Nullable:
		return column.Bare() + " NULL"
	case column.DataType == "timestamp":
		return column.Bare() + fmt.Sprintf(" DEFAULT CURRENT_TIMESTAMP(%d)", column.Fraction) // not ON UPDATE
	}
	return column.Bare()
}

// number is the value of a kept column as the side table stores it.
func number(column schema.Column, expr string) string {
	if column.DataType == "set" {
		return "CAST(" + expr + " AS UNSIGNED)"
	}
	return expr
}

func (s *Spec) sideKeys() []string {
	names := make([]string, len(s.ShadowKey))
	for i := range names {
		names[i] = KeyAlias(i)
	}
	return names
}

func (s *Spec) sideValues() []string {
	names := make([]string, len(s.Kept))
	for i := range names {
		names[i] = ValueAlias(i)
	}
	return names
}

func (s *Spec) temporary(name string) string {
	return s.Shadow.Temporary(name).Quoted()
}

// of returns columns with their table.
func of(table string, columns []string) []string {
	named := make([]string, len(columns))
	for i, c := range columns {
		named[i] = table + "." + schema.Quote(c)
	}
	return named
}

// keptSetup returns the statements that make the temporary tables of a session.
func (s *Spec) keptSetup() []string {
	if len(s.Kept) == 0 {
		return nil
	}
	keys, values := strings.Join(s.sideKeys(), ", "), strings.Join(s.sideValues(), ", ")
	row := schema.RowNumber + " INT UNSIGNED NOT NULL PRIMARY KEY"
	create := func(name, definition, columns string, from schema.Name) string {
		return fmt.Sprintf("CREATE TEMPORARY TABLE %s (%s) SELECT %s FROM %s LIMIT 0", s.temporary(name), definition, columns, from.Quoted())
	}
	all := []string{
		create(heldRows, "PRIMARY KEY ("+keys+")", keys+", "+values, s.Side),
		create(movedFrom, row, keys, s.Side),
		create(movedTo, row, keys, s.Side),
		create(movedRows, row, values, s.Side),
	}
	if s.KeyChanged {
		all = append(all, create(movedKeys, row, schema.QuoteAll(s.Key.Names()), s.Source))
		var own, aliases []string
		for i, name := range s.Key.Names() {
			own = append(own, fmt.Sprintf("%s%d", sourceKey, i))
			aliases = append(aliases, fmt.Sprintf("k.%s AS %s", schema.Quote(name), own[i]))
		}
		all = append(all, fmt.Sprintf("CREATE TEMPORARY TABLE %s (PRIMARY KEY (%s)) SELECT %s, %s FROM %s k, %s LIMIT 0",
			s.temporary(keptKeys), strings.Join(own, ", "), strings.Join(aliases, ", "), keys, s.Source.Quoted(), s.Side.Quoted()))
	}
	return dbconn.Lenient(all...)
}

// remove deletes rows of the shadow. All deletions of the package go through it. from is what
// follows FROM: the shadow, joins and conditions. Kept values of the rows go to the side table
// first, if it has no row with the key.
//
// After that statement the deletion is run until it finds no row. On 5.7.22 a DELETE that scans the table, after an
// INSERT..SELECT from it in the same transaction, ends after its first row now and then: in 3 to 9 of 100 repetitions
// of one transaction, in none of 500 on 8.0.12 (TestL6_RowsThatTheServerLeavesAreDeletedAgain).
func (s *Syncer) remove(ctx context.Context, session *dbconn.Session, from string) (removed int64, err error) {
	keeps := len(s.spec.Kept) > 0
	if s.spec.Rest != "" {
		from += " AND " + s.spec.synced()
	}
	if keeps {
		if _, err := session.Exec(ctx, s.spec.keeping(0, from)); err != nil {
			return 0, fmt.Errorf("keep values of dropped columns: %w", err)
		}
	}
	for {
		n, laxly, err := leniently(ctx, session, "DELETE "+s.spec.Shadow.Quoted()+" FROM "+from)
		if laxly {
			s.fitter.lax.Store(true)
		}
		removed += n
		if err != nil || n == 0 || !keeps {
			return removed, err
		}
	}
}

// keeping returns the statement that copies rows of the shadow into the side table, as new rows or
// as old ones. Rows that are there stay as they are.
func (s *Spec) keeping(isNew int, from string) string {
	side := s.Side.Quoted()
	return fmt.Sprintf("INSERT INTO %s (%s, %s) SELECT %s, %d FROM %s ON DUPLICATE KEY UPDATE %s = %[7]s",
		side, strings.Join(slices.Concat(s.sideKeys(), s.sideValues()), ", "), sideNew,
		strings.Join(s.inShadow(), ", "), isNew, from, side+"."+sideNew)
}

// inShadow are the key and the kept columns of the shadow, as the side table stores them.
func (s *Spec) inShadow() []string {
	exprs := of(s.Shadow.Quoted(), s.ShadowKey)
	for _, c := range s.Kept {
		exprs = append(exprs, number(c, s.Shadow.Quoted()+"."+schema.Quote(c.Name)))
	}
	return exprs
}

// rowsOf is the shadow's part of P, as remove takes it.
func (p predicate) rowsOf() string {
	return fmt.Sprintf("%s FORCE INDEX (%s) WHERE (%s)", p.spec.Shadow.Quoted(), schema.Quote(p.spec.ShadowIndex), p.on(p.spec.ShadowKey))
}

// joined joins the source's rows with a table whose key is that of the side table.
func (p predicate) with(kind, table string) string {
	names := of(p.spec.Source.Quoted(), p.spec.Key.Names())
	join := ""
	if p.spec.KeyChanged {
		keys, own := p.spec.temporary(keptKeys), make([]string, len(names))
		for i := range names {
			own[i] = fmt.Sprintf("%s%d", sourceKey, i)
		}
		join = fmt.Sprintf(" %s %s ON %s", kind, keys, equals(of(keys, own), names))
		names = of(keys, p.spec.sideKeys())
	}
	return fmt.Sprintf("%s %s %s FORCE INDEX (PRIMARY) ON %s", join, kind, table, equals(of(table, p.spec.sideKeys()), names))
}

// equals is the condition that columns have equal values.
func equals(a, b []string) string {
	conditions := make([]string, len(a))
	for i := range a {
		conditions[i] = a[i] + " = " + b[i]
	}
	return strings.Join(conditions, " AND ")
}

// keptFrom are the kept columns with the values that a table has for them.
func (s *Spec) keptFrom(table string) []Column {
	columns := make([]Column, len(s.Kept))
	for i, c := range s.Kept {
		columns[i] = Column{Shadow: c.Name, Expr: table + "." + ValueAlias(i)}
	}
	return columns
}

// returning inserts the source's rows of P whose values the table has. New rows are not among them.
func (p predicate) returning(table string) string {
	condition := ""
	if table == p.spec.Side.Quoted() {
		condition = " AND " + table + "." + sideNew + " = 0"
	}
	return p.inserting(slices.Concat(p.spec.Columns, p.spec.keptFrom(table)), p.with("STRAIGHT_JOIN", table), condition)
}

// renewing deletes the shadow's rows of P that are new: arrive inserts them again.
func (p predicate) renewing() string {
	side, shadow := p.spec.Side.Quoted(), p.spec.Shadow.Quoted()
	return fmt.Sprintf("DELETE %s FROM %[1]s FORCE INDEX (%s) STRAIGHT_JOIN %s FORCE INDEX (PRIMARY) ON %s WHERE (%s) AND %[3]s.%[6]s = 1", shadow,
		schema.Quote(p.spec.ShadowIndex), side, equals(of(side, p.spec.sideKeys()), of(shadow, p.spec.ShadowKey)),
		p.on(p.spec.ShadowKey), sideNew)
}

// arriving inserts the source's rows of P that are new.
func (p predicate) arriving(held bool) string {
	joins, condition := p.unknown(held)
	return p.inserting(slices.Concat(p.spec.Columns, p.spec.Fills), joins, condition)
}

// unknown are the joins and the condition that leave the new rows of the source.
func (p predicate) unknown(held bool) (joins, condition string) {
	side := p.spec.Side.Quoted()
	joins, condition = p.with("LEFT JOIN", side), " AND IFNULL("+side+"."+sideNew+", 1) = 1"
	if held {
		table := p.spec.temporary(heldRows)
		joins, condition = joins+p.with("LEFT JOIN", table), condition+" AND "+table+"."+KeyAlias(0)+" IS NULL"
	}
	return joins, condition
}

// arrive inserts the source's rows of P that are new, and returns their number.
func (s *Syncer) arrive(ctx context.Context, session *dbconn.Session, p predicate, held bool) (int64, error) {
	arrived, err := affected(session.Exec(ctx, p.arriving(held)))
	if !dbconn.NoDefault(err) {
		return arrived, err
	}
	joins, condition := p.unknown(held)
	lacks := &noValue{err: err}
	read := session.Rows(ctx, fmt.Sprintf("SELECT %s FROM %s FORCE INDEX (%s)%s WHERE (%s)%s LIMIT %d",
		strings.Join(append(s.spec.Key.SelectExprs(), p.row()), ", "), s.spec.Source.Quoted(), schema.Quote(s.spec.SourceIndex), joins,
		p.on(s.spec.Key.Names()), condition, aloneKeys),
		func(rows *sql.Rows) error {
			var row string
			k, err := s.spec.ScanKey(rows, &row)
			if lacks.keys = append(lacks.keys, k); len(lacks.keys) == 1 {
				lacks.row = row
			}
			return err
		})
	if read != nil || len(lacks.keys) == 0 {
		return 0, read
	}
	return 0, lacks
}

// noValue is an ErrNoValue: rows are new, and the shadow has a column for which they have no value.
type noValue struct {
	keys []key.Key // some of the rows, or all
	row  string    // the first, for people; its text may be empty
	err  error     // the server's
}

func (l *noValue) Error() string {
	return fmt.Sprintf("row with key (%s): %v: %v", l.row, ErrNoValue, l.err)
}

// Unwrap returns ErrNoValue and the server's error.
func (l *noValue) Unwrap() []error { return []error{ErrNoValue, l.err} }

// overwriting is returning, and overwrites the rows that are there.
func (p predicate) overwriting(table string) string {
	text := overwriting(p.returning(table), p.spec.Columns)
	for _, c := range p.spec.keptFrom(table) {
		text += ", " + schema.Quote(c.Shadow) + " = " + c.Expr
	}
	return text
}

// overwriting makes an insertion overwrite the row that has the key.
func overwriting(insertion string, columns []Column) string {
	assignments := make([]string, len(columns))
	for i, c := range columns {
		column := schema.Quote(c.Shadow)
		assignments[i] = fmt.Sprintf("%s = VALUES(%s)", column, column)
	}
	return insertion + " ON DUPLICATE KEY UPDATE " + strings.Join(assignments, ", ")
}

// insert inserts the source's rows of P, after the shadow's rows of P were removed.
func (s *Syncer) insert(ctx context.Context, session *dbconn.Session, p predicate) (inserted int64, err error) {
	if len(s.spec.Kept) == 0 {
		return affected(session.Exec(ctx, p.insertion()))
	}
	if err := s.spec.convertSource(ctx, session, p); err != nil {
		return 0, err
	}
	returned, err := affected(session.Exec(ctx, p.returning(s.spec.Side.Quoted())))
	if err != nil {
		return 0, err
	}
	arrived, err := s.arrive(ctx, session, p, false)
	if err != nil || arrived == 0 {
		return returned, err
	}
	// All other rows of P are in the side table by now.
	from := p.rowsOf()
	if s.spec.KeyChanged {
		from = s.spec.converted()
	}
	if _, err = session.Exec(ctx, s.spec.keeping(1, from)); err == nil && s.spec.KeyChanged {
		_, err = session.Exec(ctx, regaining(s.spec))
	}
	return returned + arrived, err
}

// regaining gives rows that convertSource has found the values that the side table has got since it was read. Only the shadow holds the
// key of such a row equal to that of another one, so the syncs of both ran side by side: the insertion has waited for the lock of a row
// that the other one removed, and has read the side table before.
func regaining(s *Spec) string {
	side, shadow := s.Side.Quoted(), s.Shadow.Quoted()
	assignments := make([]string, len(s.Kept))
	for i, c := range s.keptFrom(side) {
		assignments[i] = shadow + "." + schema.Quote(c.Shadow) + " = " + c.Expr
	}
	return fmt.Sprintf("UPDATE %s STRAIGHT_JOIN %s FORCE INDEX (PRIMARY) ON %s SET %s WHERE %[2]s.%[5]s = 0", s.converted(), side,
		equals(of(side, s.sideKeys()), of(s.temporary(keptKeys), s.sideKeys())), strings.Join(assignments, ", "), sideNew)
}

// convertSource fills the temporary table that has, for the source's rows of P, their keys in the
// shadow.
func (s *Spec) convertSource(ctx context.Context, session *dbconn.Session, p predicate) error {
	if !s.KeyChanged {
		return nil
	}
	keys := s.temporary(keptKeys)
	if _, err := session.Exec(ctx, "DELETE FROM "+keys); err != nil {
		return err
	}
	var columns []string
	for i := range s.ShadowKey {
		columns = append(columns, fmt.Sprintf("%s%d", sourceKey, i))
	}
	_, err := session.Exec(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s, %s FROM %s FORCE INDEX (%s) WHERE %s%s", keys,
		strings.Join(slices.Concat(columns, s.sideKeys()), ", "), schema.QuoteAll(s.Key.Names()), s.keyExprs(),
		s.Source.Quoted(), schema.Quote(s.SourceIndex), p.on(s.Key.Names()), s.Locking))
	return err
}

// converted joins the rows that convertSource has found with the shadow.
func (s *Spec) converted() string {
	keys := s.temporary(keptKeys)
	return fmt.Sprintf("%s STRAIGHT_JOIN %s FORCE INDEX (%s) ON %s", keys, s.Shadow.Quoted(), schema.Quote(s.ShadowIndex),
		equals(of(s.Shadow.Quoted(), s.ShadowKey), of(keys, s.sideKeys())))
}

// overwrite syncs P without deleting the rows that stay. REQUIRES: Upsert.
func (s *Syncer) overwrite(ctx context.Context, session *dbconn.Session, p predicate) (result Result, err error) {
	complete, err := s.complete(ctx, session, p)
	var absent []key.Key
	if err == nil && !complete {
		absent, err = s.spec.readKeys(ctx, session, fmt.Sprintf("SELECT %s FROM %s", strings.Join(s.spec.shadowKeyExprs(), ", "), p.absent()))
		if errors.Is(err, key.ErrOtherType) { // of rows that an undo has parked
			absent = nil
			result.Deleted, err = s.remove(ctx, session, p.absent())
		}
	}
	if err != nil {
		return result, err
	}
	for part := range slices.Chunk(absent, aloneKeys) {
		deleted, err := s.remove(ctx, session, predicate{spec: s.spec, keys: part}.rowsOf())
		if err != nil {
			return result, err
		}
		result.Deleted += deleted
	}
	result.Inserted = int64(len(p.keys) - len(absent))
	if p.chunk == nil {
		return result, s.overwriteList(ctx, session, p)
	}
	if err := s.overwriteChunk(ctx, session, p); err != nil {
		return result, err
	}
	err = session.Rows(ctx, p.present(), func(rows *sql.Rows) error { return rows.Scan(&result.Inserted) })
	return result, err
}

// overwriteList copies the kept values of P to the side table and takes them from there. A list is of
// changed rows, which are written anyway.
func (s *Syncer) overwriteList(ctx context.Context, session *dbconn.Session, p predicate) error {
	if err := run(ctx, session, p.renewing(), s.spec.keeping(0, p.rowsOf()), p.overwriting(s.spec.Side.Quoted())); err != nil {
		return err
	}
	arrived, err := s.arrive(ctx, session, p, false)
	if err == nil && arrived > 0 {
		_, err = session.Exec(ctx, s.spec.keeping(1, p.rowsOf()))
	}
	return err
}

// overwriteChunk takes the kept values of P from a temporary table, except for those that the side
// table has. So it writes nothing for the rows that are equal, which are most of them.
func (s *Syncer) overwriteChunk(ctx context.Context, session *dbconn.Session, p predicate) error {
	spec, held, side := s.spec, s.spec.temporary(heldRows), s.spec.Side.Quoted()
	err := run(ctx, session,
		p.renewing(),
		"DELETE FROM "+held,
		fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s", held, strings.Join(slices.Concat(spec.sideKeys(), spec.sideValues()), ", "),
			strings.Join(spec.inShadow(), ", "), p.rowsOf()),
		fmt.Sprintf("DELETE %s FROM %[1]s STRAIGHT_JOIN %s FORCE INDEX (PRIMARY) ON %s", held, side,
			equals(of(held, spec.sideKeys()), of(side, spec.sideKeys()))),
		p.overwriting(held), p.overwriting(side))
	if err != nil {
		return err
	}
	arrived, err := s.arrive(ctx, session, p, true)
	if err == nil && arrived > 0 {
		same := equals(of(held, spec.sideKeys()), of(spec.Shadow.Quoted(), spec.ShadowKey))
		_, err = session.Exec(ctx, spec.keeping(1, fmt.Sprintf(
			"%s FORCE INDEX (%s) LEFT JOIN %s FORCE INDEX (PRIMARY) ON %s WHERE (%s) AND %s.%s IS NULL",
			spec.Shadow.Quoted(), schema.Quote(spec.ShadowIndex), held, same, p.on(spec.ShadowKey), held, KeyAlias(0))))
	}
	return err
}

// absent are the shadow's rows of P that the source has not, as remove takes them.
func (p predicate) absent() string {
	spec := p.spec
	var now []string
	for i, name := range spec.Key.Names() {
		now = append(now, schema.Quote(name)+" AS "+KeyAlias(i))
	}
	return fmt.Sprintf("%s FORCE INDEX (%s) LEFT JOIN (SELECT %s FROM %s FORCE INDEX (%s) WHERE %s%s) AS now ON %s WHERE (%s) AND now.%s IS NULL",
		spec.Shadow.Quoted(), schema.Quote(spec.ShadowIndex), strings.Join(now, ", "), spec.Source.Quoted(), schema.Quote(spec.SourceIndex),
		p.on(spec.Key.Names()), spec.Locking, equals(of(spec.Shadow.Quoted(), spec.ShadowKey), of("now", spec.sideKeys())),
		p.on(spec.ShadowKey), KeyAlias(0))
}

func affected(done sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}
