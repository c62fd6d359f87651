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

// Create makes the table. It fails if a table of that name is there.
func (s *Store) Create(ctx context.Context, on Execer) error {
	_, err := on.Exec(ctx, fmt.Sprintf("CREATE TABLE %s (id TINYINT UNSIGNED NOT NULL PRIMARY KEY,"+
		" beat BIGINT UNSIGNED NOT NULL, state LONGTEXT CHARACTER SET utf8mb4) ENGINE=InnoDB COMMENT=%s",
		s.name.Quoted(), schema.Literal(schema.MarkFor("state", s.source))))
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
	_, err = on.Exec(ctx, fmt.Sprintf("INSERT INTO %s (id, beat, state) VALUES (%d, 0, NULL), (%d, 0, %s)",
		s.name.Quoted(), beatRow, checkpointRow, state))
	if err != nil {
		return fmt.Errorf("fill state table %s: %w", s.name, err)
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
	state, err := literal(c)
	if err != nil {
		return err
	}
	_, err = on.Exec(ctx, fmt.Sprintf("UPDATE %s SET state = %s WHERE id = %d",
		s.name.Quoted(), state, checkpointRow))
	if err != nil {
		return fmt.Errorf("write checkpoint to %s: %w", s.name, err)
	}
	return nil
}

// literal is a checkpoint as the state table has it, in a statement.
func literal(c Checkpoint) (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode checkpoint: %w", err)
	}
	return schema.Literal(string(text)), nil
}
