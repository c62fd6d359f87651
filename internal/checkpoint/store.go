package checkpoint

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"midstream/internal/schema"
)

// Rows and columns of the state table.
const (
	beatRow       = 1
	checkpointRow = 2

	// BeatColumn is the ordinal of the heartbeat's number in the state table.
	BeatColumn = 1
	// ColumnCount is the number of columns of the state table.
	ColumnCount = 3
)

// Execer runs a statement: *sql.DB, or a session.
type Execer interface {
	Exec(ctx context.Context, query string) (sql.Result, error)
}

// Store is the state table of one run. It is safe for concurrent use as far as its
// connections are.
type Store struct {
	name   schema.Name
	source schema.Name
}

// New returns the store of a run on the source; nothing is created yet.
func New(name, source schema.Name) *Store { return &Store{name: name, source: source} }

// Name is the state table's name.
func (s *Store) Name() schema.Name { return s.name }

// Create makes the table and its rows. It fails if a table of that name is there.
func (s *Store) Create(ctx context.Context, on Execer) error {
	statements := []string{
		fmt.Sprintf("CREATE TABLE %s (id TINYINT UNSIGNED NOT NULL PRIMARY KEY,"+
			" beat BIGINT UNSIGNED NOT NULL, state LONGTEXT CHARACTER SET utf8mb4) ENGINE=InnoDB COMMENT=%s",
			s.name.Quoted(), schema.Literal(schema.MarkFor("state", s.source))),
		fmt.Sprintf("INSERT INTO %s (id, beat) VALUES (%d, 0), (%d, 0)",
			s.name.Quoted(), beatRow, checkpointRow),
	}
	for _, statement := range statements {
		if _, err := on.Exec(ctx, statement); err != nil {
			return fmt.Errorf("create state table %s: %w", s.name, err)
		}
	}
	return nil
}

// Beat commits a heartbeat. Numbers must grow.
func (s *Store) Beat(ctx context.Context, on Execer, number uint64) error {
	_, err := on.Exec(ctx, fmt.Sprintf("UPDATE %s SET beat = %d WHERE id = %d", s.name.Quoted(), number, beatRow))
	if err != nil {
		return fmt.Errorf("write heartbeat to %s: %w", s.name, err)
	}
	return nil
}

// Save writes a checkpoint.
func (s *Store) Save(ctx context.Context, on Execer, c Checkpoint) error {
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode checkpoint: %w", err)
	}
	_, err = on.Exec(ctx, fmt.Sprintf("UPDATE %s SET state = %s WHERE id = %d",
		s.name.Quoted(), schema.Literal(string(text)), checkpointRow))
	if err != nil {
		return fmt.Errorf("write checkpoint to %s: %w", s.name, err)
	}
	return nil
}

// Drop removes the table.
func (s *Store) Drop(ctx context.Context, on Execer) error {
	if _, err := on.Exec(ctx, "DROP TABLE IF EXISTS "+s.name.Quoted()); err != nil {
		return fmt.Errorf("drop state table %s: %w", s.name, err)
	}
	return nil
}
