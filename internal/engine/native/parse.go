package native

import (
	"context"
	"fmt"
	"slices"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Parse lets the server read a statement without running it. It fails with ErrRefused if the server
// can't read the statement, and returns nil if the server does not answer that. The server writes
// nothing, and asks for no lock.
func Parse(ctx context.Context, pool *dbconn.Pool, statement string, zeroDates bool) error {
	session, err := pool.Session(ctx, pool.AsTheServer(zeroDates)...)
	if err != nil {
		return err
	}
	defer session.Close() // this ends the prepared statement
	_, err = session.Exec(ctx, "PREPARE midstream FROM "+schema.Literal(statement))
	switch {
	case err == nil, slices.Contains(unprepared, dbconn.Number(err)):
		return nil
	case unanswered(err):
		return fmt.Errorf("ask the server whether it can read the statement: %w", err)
	}
	return fmt.Errorf("%w: %s", ErrRefused, dbconn.Message(err))
}

// unprepared are the errors of a server that does not prepare the statement. It has no room for one
// (ER_MAX_PREPARED_STMT_COUNT_REACHED), does not prepare such statements (ER_UNSUPPORTED_PS), or
// wants a database for names that have none (ER_NO_DB_ERROR).
var unprepared = []uint16{1461, 1295, noDatabase}

// noDatabase is ER_NO_DB_ERROR: the session has no default database.
const noDatabase = 1046
