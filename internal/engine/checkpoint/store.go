package checkpoint

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Rows and columns of the state table.
const (
	beatRow       = 1
	checkpointRow = 2
	startRow      = 3
	undoRow       = 4
	soakRow       = 5 // of an undo table

	// BeatColumn is the ordinal of the heartbeat's number in the state table.
	BeatColumn = 1
	// ColumnCount is the number of columns of the state table.
	ColumnCount = 4
)

// Execer runs a statement: *sql.DB, or a session.
type Execer interface {
	Exec(ctx context.Context, query string) (sql.Result, error)
}

// Reader runs a query: a session.
type Reader interface {
	Rows(ctx context.Context, query string, scan func(*sql.Rows) error) error
}

// Session runs both.
type Session interface {
	Execer
	Reader
}

// The errors of a Store.
var (
	// ErrSuperseded means that another run has taken the table over: this run must end, and leave
	// everything unchanged.
	ErrSuperseded = errors.New("another run has taken over")
	// ErrReadOnly means that the server was made read-only. An account with CONNECTION_ADMIN or
	// SUPER would not notice it. Another server may be the primary now, or may be about to become
	// it.
	ErrReadOnly = errors.New("the server was made read-only")
	// ErrUnreadable means that this version of the program can't resume from the state: it is older
	// than Oldest, or it is no state at all.
	ErrUnreadable = errors.New("the state table can't be read")
	// ErrNewer means that a newer version of the program has written the state: it must stay
	// unchanged.
	ErrNewer = errors.New("it was written by a newer version of midstream")
)

// ErrEmpty is ErrUnreadable of a state table without rows: its run was killed right after it had made the table.
var ErrEmpty = fmt.Errorf("%w: it is empty", ErrUnreadable)

// Store is the state table of a source, for one run. Once another run has taken the table over,
// writes of the former run have no effect. It is safe for concurrent use as far as its connections
// are.
type Store struct {
	name   schema.Name
	source schema.Name
	run    string
	server string
	// onReadOnly writes to a server that is read-only, too.
	onReadOnly bool
}

// New returns the store of a run on the source; nothing is created yet. run names the run: letters
// and digits, at most 32. server is the server_uuid of the run's server. If a connection leads to
// another server, the store writes nothing, because its state would be claimed there.
func New(name, source schema.Name, run, server string) *Store {
	return &Store{name: name, source: source, run: run, server: server}
}

// OnReadOnly lets the store write on a read-only server as well: a replica that the account may
// write to.
func (s *Store) OnReadOnly() { s.onReadOnly = true }

// Name is the state table's name.
func (s *Store) Name() schema.Name { return s.name }

// createTable takes the name and the comment, both quoted.
const createTable = "CREATE TABLE %s (id TINYINT UNSIGNED NOT NULL PRIMARY KEY," +
	" beat BIGINT UNSIGNED NOT NULL, run VARCHAR(32) CHARACTER SET ascii NOT NULL, state LONGTEXT CHARACTER SET utf8mb4)" +
	" ENGINE=InnoDB COMMENT=%s"

// Create makes the table. It fails if a table of that name is there.
func (s *Store) Create(ctx context.Context, on Execer) error { return s.CreateAs(ctx, on, "state") }

// CreateAs is Create with another kind in the table's mark.
func (s *Store) CreateAs(ctx context.Context, on Execer, kind string) error {
	_, err := on.Exec(ctx, fmt.Sprintf(createTable, s.name.Quoted(), schema.Literal(schema.MarkFor(kind, s.source))))
	if err != nil {
		return fmt.Errorf("create state table %s: %w", s.name, err)
	}
	return nil
}

// Fill makes the rows of the new table.
func (s *Store) Fill(ctx context.Context, on Execer, first Checkpoint) error {
	state, err := literal(first)
	if err != nil {
		return err
	}
	_, err = on.Exec(
		ctx,
		fmt.Sprintf(
			"INSERT INTO %[1]s (id, beat, run, state) VALUES (%[3]d, 0, %[2]s, NULL), (%[4]d, 0, %[2]s, %[6]s), (%[5]d, 0, %[2]s, NULL)",
			s.name.Quoted(), schema.Literal(s.run), beatRow, checkpointRow, startRow, state,
		),
	)
	if err != nil {
		return fmt.Errorf("fill state table %s: %w", s.name, err)
	}
	return nil
}

// Begin writes what the run began with, and its first checkpoint: from here on another run
// may go on with it.
// It fails as StillOurs does.
func (s *Store) Begin(ctx context.Context, on Session, start Start, first Checkpoint) error {
	began, err := literal(start)
	if err != nil {
		return err
	}
	state, err := literal(first)
	if err != nil {
		return err
	}
	result, err := on.Exec(ctx, fmt.Sprintf("UPDATE %s SET state = CASE id WHEN %d THEN %s ELSE %s END WHERE id IN (%d, %d) AND %s",
		s.name.Quoted(), startRow, began, state, startRow, checkpointRow, s.ours()))
	if err == nil {
		err = s.changed(ctx, on, result)
	}
	if err != nil {
		return fmt.Errorf("write the beginning to %s: %w", s.name, err)
	}
	return nil
}

// ours is the condition of every write.
func (s *Store) ours() string {
	condition := "run = " + schema.Literal(s.run) + " AND " + schema.ThisServer + " = " + schema.Literal(s.server)
	if !s.onReadOnly {
		condition += " AND CONCAT(@@GLOBAL.read_only) IN ('0', 'OFF')" // some servers have words for it
	}
	return condition
}

// Beat commits a heartbeat. Numbers must grow. It fails as StillOurs does.
func (s *Store) Beat(ctx context.Context, on Session, number uint64) error {
	result, err := on.Exec(ctx, fmt.Sprintf("UPDATE %s SET beat = %d WHERE id = %d AND %s", s.name.Quoted(), number, beatRow, s.ours()))
	if err == nil {
		err = s.changed(ctx, on, result)
	}
	if err != nil {
		return fmt.Errorf("write heartbeat to %s: %w", s.name, err)
	}
	return nil
}

// BeatOn reads the number of the youngest heartbeat on another server that replicates the table; 0
// if the table has not come there yet.
func (s *Store) BeatOn(ctx context.Context, db *sql.DB) (number uint64, err error) {
	err = db.QueryRowContext(ctx, fmt.Sprintf("SELECT beat FROM %s WHERE id = %d", s.name.Quoted(), beatRow)).Scan(&number)
	if dbconn.NoSuchTable(err) || errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read heartbeat of %s: %w", s.name, err)
	}
	return number, nil
}

// changed fails as StillOurs does if a statement has changed no row. (The same may have been
// written before, and its answer lost.)
func (s *Store) changed(ctx context.Context, on Session, result sql.Result) error {
	rows, err := result.RowsAffected()
	if err != nil || rows > 0 {
		return err
	}
	return s.StillOurs(ctx, on)
}

// StillOurs fails with ErrSuperseded if another run has taken over. It fails with
// binlog.ErrOtherServer if the connection leads to another server, and with ErrReadOnly if the
// server takes no writes from the application any more.
func (s *Store) StillOurs(ctx context.Context, on Reader) error {
	var run, server string
	var readOnly bool
	err := on.Rows(
		ctx,
		fmt.Sprintf(
			"SELECT run, "+schema.ThisServer+", CONCAT(@@GLOBAL.read_only) NOT IN ('0', 'OFF') FROM %s WHERE id = %d",
			s.name.Quoted(), beatRow,
		),
		func(r *sql.Rows) error { return r.Scan(&run, &server, &readOnly) },
	)
	switch {
	case err != nil:
		return err
	case server != "" && server != s.server:
		return fmt.Errorf("%w: its server_uuid is %s, and was %s", binlog.ErrOtherServer, server, s.server)
	case run != s.run:
		return ErrSuperseded
	case readOnly && !s.onReadOnly:
		return ErrReadOnly
	}
	return nil
}

// TakeOver puts the table into the hands of this run.
func (s *Store) TakeOver(ctx context.Context, on Execer) error {
	if _, err := on.Exec(ctx, fmt.Sprintf("UPDATE %s SET run = %s WHERE "+schema.ThisServer+" = %s",
		s.name.Quoted(), schema.Literal(s.run), schema.Literal(s.server))); err != nil {
		return fmt.Errorf("take over %s: %w", s.name, err)
	}
	return nil
}

// Saved is the content of the table.
type Saved struct {
	Run        string
	Beaten     uint64 // the number of the last heartbeat
	Checkpoint Checkpoint
	Start      *Start   // nil before Begin
	Undo       *Undo    // nil before Amend
	Watched    *Watched // nil unless the change soaks
}

// Load reads the committed content of the table. It fails with ErrNewer or ErrUnreadable if another
// version has written it.
func (s *Store) Load(ctx context.Context, from Reader) (*Saved, error) {
	return s.load(ctx, from, " FOR UPDATE")
}

// Peek is Load for those who only look: it locks no row.
func (s *Store) Peek(ctx context.Context, from Reader) (*Saved, error) { return s.load(ctx, from, "") }

func (s *Store) load(ctx context.Context, from Reader, locking string) (*Saved, error) {
	saved := &Saved{}
	rows := 0
	err := from.Rows(ctx, "SELECT id, beat, run, state FROM "+s.name.Quoted()+locking, func(r *sql.Rows) error {
		var id int
		var beat uint64
		var state sql.NullString
		if err := r.Scan(&id, &beat, &saved.Run, &state); err != nil {
			return err
		}
		rows++
		switch {
		case id == beatRow:
			saved.Beaten = beat
		case id == checkpointRow && state.Valid:
			return saved.Checkpoint.read(state.String)
		case id == startRow && state.Valid:
			saved.Start = &Start{}
			return decode(state.String, saved.Start)
		case id == undoRow && state.Valid:
			saved.Undo = &Undo{}
			return decode(state.String, saved.Undo)
		case id == soakRow && state.Valid:
			saved.Watched = &Watched{}
			return decode(state.String, saved.Watched)
		}
		return nil
	})
	switch {
	case err == nil && rows == 0:
		err = ErrEmpty
	case dbconn.NoSuchColumn(err), err == nil && saved.Checkpoint.Version < Oldest,
		err == nil && saved.Start != nil && saved.Start.Shadow == nil:
		err = ErrUnreadable
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.name, err)
	}
	return saved, nil
}

// read reads a checkpoint as the table has it. Of a newer format nothing but the version is looked at.
func (c *Checkpoint) read(text string) error {
	var format struct{ Version int }
	if err := decode(text, &format); err != nil {
		return err
	}
	if format.Version > Version {
		return fmt.Errorf("%w (its format is %d, and this one goes up to %d)", ErrNewer, format.Version, Version)
	}
	return decode(text, c)
}

// Names are the names of the tables of the run that saved them; "" for tables with default names.
type Names struct {
	Shadow, Old, Kept string
	Adopted           bool   // the shadow is the old table of an earlier run
	Phase             string // of the last checkpoint
	Again             []string
}

// Names reads the names, and waits for no other session. If there is no table, or another
// version's, it returns no names.
func (s *Store) Names(ctx context.Context, db *sql.DB) (Names, error) {
	var names Names
	var first, began sql.NullString
	one := func(id int) string { return fmt.Sprintf("(SELECT state FROM %s WHERE id = %d)", s.name.Quoted(), id) }
	err := db.QueryRowContext(ctx, "SELECT "+one(checkpointRow)+", "+one(startRow)).Scan(&first, &began)
	if dbconn.NoSuchTable(err) || dbconn.NoSuchColumn(err) || dbconn.NoSuchDatabase(err) {
		return names, nil
	}
	if err != nil {
		return names, fmt.Errorf("read the names in %s: %w", s.name, err)
	}
	var saved Saved
	var start Start
	if first.Valid && decode(first.String, &saved.Checkpoint) == nil {
		last := saved.Checkpoint
		names.Shadow, names.Adopted, names.Phase, names.Again = last.Shadow, last.Adopted, last.Phase, last.Again
	}
	if began.Valid && decode(began.String, &start) == nil {
		names.Old, names.Kept = start.Old, start.Kept
	}
	return names, nil
}

// decode reads what literal wrote.
func decode(text string, into any) error {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return nil
}

// Save writes a checkpoint. It fails as StillOurs does.
func (s *Store) Save(ctx context.Context, on Session, c Checkpoint) error {
	state, err := literal(c)
	if err != nil {
		return err
	}
	result, err := on.Exec(ctx, fmt.Sprintf("UPDATE %s SET state = %s WHERE id = %d AND %s",
		s.name.Quoted(), state, checkpointRow, s.ours()))
	if err == nil {
		err = s.changed(ctx, on, result)
	}
	if err != nil {
		return fmt.Errorf("write checkpoint to %s: %w", s.name, err)
	}
	return nil
}

// literal is a value as the state table has it, in a statement.
func literal(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode state: %w", err)
	}
	return schema.Literal(string(text)), nil
}
