package rowsync

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Move is a change of a row's key.
type Move struct{ From, To key.Key }

// Stand is the place of a transaction with moves in the binlog, and how many of its moves are
// carried.
type Stand struct {
	End  binlog.Position // of the transaction
	GTID string          // as binlog.GTIDs.String has it; "" for none
	Done int
}

func (s Stand) String() string { return fmt.Sprintf("%d %s %s", s.Done, s.GTID, s.End) }

func parseStand(text string) (s Stand, err error) {
	parts := strings.SplitN(text, " ", 3)
	if len(parts) < 3 {
		return s, fmt.Errorf("%q is not the place of a change of a key", text)
	}
	if s.Done, err = strconv.Atoi(parts[0]); err != nil {
		return s, err
	}
	s.GTID = parts[1]
	s.End, err = binlog.ParsePosition(parts[2])
	return s, err
}

// Moves carries kept values from key to key, in the order of the binlog, before a sync that comes
// after them. It is safe for concurrent use. A nil Moves carries nothing.
//
// The order is all that matters. A sync changes no value that belongs to a key, so moves may be
// carried before, during or after the syncs of other changes. But to carry a move twice does harm:
// three moves that exchange two keys would exchange them again. So each transaction that carries
// moves writes into the side table, with the values, where it stands. Who resumes from an older
// position reads the moves again, and Add leaves out those that are carried.
type Moves struct {
	spec *Spec

	mu     sync.Mutex
	queue  []queued
	groups uint64 // added
	last   Stand  // of the run before
	// passed means that all moves that come are later than last. Otherwise byGTID tells how Add finds
	// the transaction of last.
	passed, byGTID bool

	carrying sync.Mutex // held by the session that carries
	number   uint64     // of the last move that was carried
	waiting  atomic.Int64
	carried  atomic.Uint64 // groups

	renewed []key.Key
}

// Renewed are the keys of the rows that were new to the run before. They must be synced again: the values that it gave
// them may be others now.
func (m *Moves) Renewed() []key.Key {
	if m == nil {
		return nil
	}
	return m.renewed
}

// renew finds the keys of new rows. If the key changed, they cannot be known from the side table: then it deletes the
// rows, and the comparison finds them.
func (m *Moves) renew(ctx context.Context, session *dbconn.Session) (err error) {
	s, side := m.spec, m.spec.Side.Quoted()
	if s.KeyChanged {
		shadow := s.Shadow.Quoted()
		_, err := session.Exec(ctx, fmt.Sprintf("DELETE %s FROM %s STRAIGHT_JOIN %[1]s FORCE INDEX (%[3]s) ON %s WHERE %[2]s.%[5]s = 1", shadow,
			side, schema.Quote(s.ShadowIndex), equals(of(shadow, s.ShadowKey), of(side, s.sideKeys())), sideNew))
		return err
	}
	query := fmt.Sprintf("SELECT %s FROM %s WHERE %s = 1", strings.Join(s.Key.SelectExprsOf(s.sideKeys()), ", "), side, sideNew)
	m.renewed, err = keysBut(ctx, session, s, query, key.ErrOtherType) // the shadow had keys that the source's type does not take
	return err
}

// queued is a move that waits.
type queued struct {
	Move
	stand Stand  // after it
	group uint64 // with all of its moves carried, after it
}

// LoadMoves returns the moves of a spec, after those that an earlier run has carried.
func LoadMoves(ctx context.Context, session *dbconn.Session, spec *Spec) (*Moves, error) {
	m := &Moves{spec: spec, passed: true}
	var text string
	err := session.Rows(ctx, fmt.Sprintf("SELECT %s, %s FROM %s FORCE INDEX (%s) WHERE %[1]s IS NOT NULL ORDER BY %[1]s DESC LIMIT 1",
		sideMove, sideStand, spec.Side.Quoted(), sideMove), func(rows *sql.Rows) error { return rows.Scan(&m.number, &text) })
	if err == nil && text != "" {
		m.passed = false
		m.last, err = parseStand(text)
	}
	if err == nil {
		err = m.renew(ctx, session)
	}
	if err != nil {
		return nil, fmt.Errorf("read what was carried from %s: %w", spec.Side, err)
	}
	return m, nil
}

// Begin tells which transactions come before the first one that will be added. It is called before
// Add. An empty set means that they are not known, and that the server is the one of the run before.
func (m *Moves) Begin(before *binlog.GTIDs) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.passed || m.last.GTID == "" || before.String() == "" {
		return
	}
	if last, err := binlog.ParseGTIDs(m.last.GTID); err == nil {
		m.byGTID, m.passed = true, last.In(before)
	}
}

// Add queues the moves of a transaction, and returns its number; see Carried. REQUIRES: one caller
// at a time, transactions in the order of the binlog, and a sync of the keys only after the call.
func (m *Moves) Add(moves []Move, end binlog.Position, gtid string) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := m.first(end, gtid)
	if first >= len(moves) {
		return m.groups
	}
	m.groups++
	for i := first; i < len(moves); i++ {
		q := queued{Move: moves[i], stand: Stand{End: end, GTID: gtid, Done: i + 1}, group: m.groups - 1}
		if i == len(moves)-1 {
			q.group = m.groups
		}
		m.queue = append(m.queue, q)
	}
	m.waiting.Store(int64(len(m.queue)))
	return m.groups
}

// everything is more moves than a transaction can have.
const everything = math.MaxInt

// first returns the number of a transaction's moves that are carried. REQUIRES: mu is held.
func (m *Moves) first(end binlog.Position, gtid string) int {
	if m.passed {
		return 0
	}
	order := end.Compare(m.last.End)
	if m.byGTID {
		order = -1
		if gtid == m.last.GTID {
			order = 0
		}
	}
	m.passed = order >= 0
	switch {
	case order < 0:
		return everything
	case order == 0:
		return m.last.Done
	}
	return 0
}

// Carried returns the number of the last transaction of which all moves, and those of all before
// it, are carried and committed. A checkpoint's position must not pass a later one.
func (m *Moves) Carried() uint64 { return m.carried.Load() }

// Wait reports whether moves wait to be carried.
func (m *Moves) Wait() bool { return m != nil && m.waiting.Load() > 0 }

// mostBatches is how many batches one transaction carries. If a batch has one move only, a commit for each would be most of the work.
const mostBatches = 32

// Carry carries the moves that wait, in transactions of its own. Moves that are added meanwhile wait for the next call: their keys
// are not synced yet. The session was set up by the spec.
func (m *Moves) Carry(ctx context.Context, session *dbconn.Session) error {
	if m == nil || m.waiting.Load() == 0 {
		return nil
	}
	m.carrying.Lock()
	defer m.carrying.Unlock()
	for left := m.queued(); len(left) > 0; {
		carried := 0
		err := uncontended(ctx, func() error {
			return transact(ctx, session, func() (err error) {
				carried = 0
				for n := 0; err == nil && n < mostBatches && carried < min(len(left), mostMoves); n++ {
					batch := m.head(left[carried:])
					err = m.carry(ctx, session, batch, m.number+uint64(carried)+1)
					carried += len(batch)
				}
				return err
			})
		}, func(error) {})
		if err != nil {
			return fmt.Errorf("carry the values of dropped columns to the new keys of rows: %w", err)
		}
		m.done(left[:carried])
		left = left[carried:]
	}
	return nil
}

// queued are the moves that wait.
func (m *Moves) queued() []queued {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.queue
}

// head returns the first moves that one batch may carry: it reads all values first, and then empties
// their places. So no key is read or written that an earlier move writes, and none is read twice. If
// only the server knows which keys are equal, it is one move.
func (m *Moves) head(moves []queued) []queued {
	if !m.spec.Key.Ordered() || m.spec.KeyChanged {
		return moves[:1]
	}
	read, written := map[key.Key]bool{}, map[key.Key]bool{}
	for i, q := range moves {
		if i == mostMoves || read[q.From] || written[q.From] || written[q.To] {
			return moves[:i]
		}
		read[q.From], written[q.To] = true, true
	}
	return moves
}

func (m *Moves) done(moves []queued) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.number += uint64(len(moves))
	m.carried.Store(moves[len(moves)-1].group)
	m.queue = m.queue[len(moves):]
	if len(m.queue) == 0 {
		m.queue = nil
	}
	m.waiting.Store(int64(len(m.queue)))
}

// carry carries a batch, whose first move has a number. No statement names a table twice, because under LOCK TABLES none may.
func (m *Moves) carry(ctx context.Context, session *dbconn.Session, batch []queued, number uint64) error {
	s := m.spec
	from, to, values, side := s.temporary(movedFrom), s.temporary(movedTo), s.temporary(movedRows), s.Side.Quoted()
	var before, after []key.Key
	for _, q := range batch {
		before, after = append(before, q.From), append(after, q.To)
	}
	for table, keys := range map[string][]key.Key{from: before, to: after} {
		if err := s.number(ctx, session, table, keys); err != nil {
			return err
		}
	}
	if err := run(ctx, session,
		"DELETE FROM "+values,
		s.keeping(0, fmt.Sprintf("%s STRAIGHT_JOIN %s FORCE INDEX (%s) ON %s", from, s.Shadow.Quoted(), schema.Quote(s.ShadowIndex),
			equals(of(s.Shadow.Quoted(), s.ShadowKey), of(from, s.sideKeys())))),
	); err != nil {
		return err
	}
	found, err := affected(session.Exec(ctx, fmt.Sprintf(
		"INSERT INTO %s (%s, %s) SELECT %s, %s FROM %s STRAIGHT_JOIN %s FORCE INDEX (PRIMARY) ON %s WHERE %s = 0",
		values, schema.RowNumber, strings.Join(s.sideValues(), ", "), from+"."+schema.RowNumber, strings.Join(of(side, s.sideValues()), ", "),
		from, side, equals(of(side, s.sideKeys()), of(from, s.sideKeys())), side+"."+sideNew)))
	if err != nil || found == 0 {
		return err
	}
	moved := fmt.Sprintf("%s STRAIGHT_JOIN %s ON %s.%s = %s.%[4]s", values, to, to, schema.RowNumber, values)
	left := fmt.Sprintf("%s STRAIGHT_JOIN %s ON %[2]s.%s = %s.%[3]s", moved, from, schema.RowNumber, values)
	stand := batch[len(batch)-1].stand.String()
	// A row that comes to a place that was left is new. Its key is to be synced: it is in the transaction of the move.
	return run(ctx, session,
		fmt.Sprintf("DELETE %s FROM %s STRAIGHT_JOIN %[1]s FORCE INDEX (PRIMARY) ON %[3]s", side, left,
			equals(of(side, s.sideKeys()), of(from, s.sideKeys()))),
		fmt.Sprintf("DELETE %s FROM %s STRAIGHT_JOIN %[1]s FORCE INDEX (%[3]s) ON %[4]s", s.Shadow.Quoted(), left, schema.Quote(s.ShadowIndex),
			equals(of(s.Shadow.Quoted(), s.ShadowKey), of(from, s.sideKeys()))),
		fmt.Sprintf("DELETE %s FROM %s STRAIGHT_JOIN %[1]s FORCE INDEX (PRIMARY) ON %[3]s", side, moved,
			equals(of(side, s.sideKeys()), of(to, s.sideKeys()))),
		fmt.Sprintf("INSERT INTO %s (%s, %s, %s, %s) SELECT %s, 0, %d + %s, %s FROM %s", side,
			strings.Join(slices.Concat(s.sideKeys(), s.sideValues()), ", "), sideNew, sideMove, sideStand,
			strings.Join(slices.Concat(of(to, s.sideKeys()), of(values, s.sideValues())), ", "),
			number, values+"."+schema.RowNumber, schema.Literal(stand), moved))
}

func run(ctx context.Context, session *dbconn.Session, statements ...string) error {
	for _, statement := range statements {
		if _, err := session.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// number puts keys into a temporary table, with their numbers from 0. A key that the shadow cannot
// have is left out: its row is in no table of ours.
func (s *Spec) number(ctx context.Context, session *dbconn.Session, table string, keys []key.Key) error {
	into, columns := table, s.sideKeys()
	if s.KeyChanged {
		into, columns = s.temporary(movedKeys), s.Key.Names()
	}
	rows := make([]string, len(keys))
	for i, k := range keys {
		rows[i] = fmt.Sprintf("(%d, %s)", i, strings.Join(s.Key.Literals(k), ", "))
	}
	if err := run(ctx, session, "DELETE FROM "+table, "DELETE FROM "+into); err != nil {
		return err
	}
	if _, _, err := leniently(ctx, session, fmt.Sprintf("INSERT INTO %s (%s, %s) VALUES %s", into, schema.RowNumber, schema.QuoteAll(columns),
		strings.Join(rows, ", "))); err != nil || !s.KeyChanged {
		return err
	}
	_, err := session.Exec(ctx, fmt.Sprintf("INSERT INTO %s (%s, %s) SELECT %[2]s, %[4]s FROM %s", table, schema.RowNumber,
		strings.Join(s.sideKeys(), ", "), s.keyExprs(), into))
	if dbconn.Unconvertible(err) { // KeyChanged: it is one key
		return nil
	}
	return err
}
