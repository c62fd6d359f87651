package planning

import (
	"fmt"

	"midstream/internal/mysql/schema"
)

// Step is a part of planning that may fail.
type Step int

// The steps.
const (
	ReadTable    Step = iota // the definition of the table
	ReadFacts                // of the server and the account
	ReadReplica              // the replica that changes come from
	ReachScratch             // the scratch server
	AskServer                // the server's handling of the statement
	MeasureSwap              // the swap's time under its lock
)

// Error reports that no plan could be made. Nothing was written, unless it wraps native.ErrLeft.
type Error struct {
	Step  Step
	Table schema.Name // as the server spells it, once known
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// failed wraps an error; it returns nil for nil.
func failed(step Step, table schema.Name, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Step: step, Table: table, Err: err}
}

// readingFrom adds the server to an error of reading its facts.
func (s Server) readingFrom(err error) error { return fmt.Errorf("read from %s: %w", s.Address, err) }
