package checkpoint

import (
	"context"
	"fmt"
	"time"
)

// Soak is a drop in two acts. The undo record of the first act has it: that act hides the columns and indexes, and the second one drops
// them once the time of the undo is over, if no statement has named them by then.
type Soak struct {
	// Clauses are those of the second act. Columns and Indexes are what it drops.
	Clauses          string
	Columns, Indexes []string
	// Failed are, by their digests, the errors that INSERTs without a list of columns had before the first act.
	Failed map[string]int64 `json:",omitempty"`
}

// Soaks reports whether the change is the first act of a drop, and was not taken back.
func (u *Undo) Soaks() bool { return u != nil && u.Soak != nil && u.Native != nil && !u.Back }

// Watched is what was seen of the application's statements since the first act.
type Watched struct {
	// Since is the time of the first act (Undo.Swapped). What was seen since another time does not count.
	Since time.Time
	// Checked is the time of the last check, by the server's clock.
	Checked time.Time
	// Server and Started identify the server's statistics: its server_uuid, and when it was started. Statements is how many statements they
	// had at the last check.
	Server     string
	Started    int64
	Statements int64
	// Named are the statements that name what is dropped; More is how many others there are.
	Named []NamedBy
	More  int
	// Unseen is the time in which statements may have run that no check has seen, because the server lost its statistics.
	Unseen time.Duration
	// Lost means that the server has no room for the digests of more statements. Cut are statements whose texts it has cut.
	Lost bool
	Cut  int
	// Released names the operator who has released the drop; "" for none.
	Released string
}

// NamedBy is a statement that names what is dropped.
type NamedBy struct {
	Digest, Database, Text string
	// How is what it does, for people.
	How         string
	Runs        int64
	First, Last time.Time
	User        string // with the host; "" if no session of it was seen
}

// Watch writes what was seen into the undo table of a change that soaks. It writes nothing on a server that is read-only.
func (s *Store) Watch(ctx context.Context, on Execer, seen Watched) error {
	state, err := literal(seen)
	if err != nil {
		return err
	}
	_, err = on.Exec(ctx, fmt.Sprintf("INSERT INTO %[1]s (id, beat, run, state) SELECT %[2]d, 0, u.run, %[3]s FROM %[1]s AS u WHERE u.id = %[4]d"+
		" AND CONCAT(@@GLOBAL.read_only) IN ('0', 'OFF') ON DUPLICATE KEY UPDATE state = %[3]s", s.name.Quoted(), soakRow, state, undoRow))
	if err != nil {
		return fmt.Errorf("write what was seen to %s: %w", s.name, err)
	}
	return nil
}
