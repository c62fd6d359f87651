package dbconn

import (
	"context"
	"errors"
	"fmt"
)

// lax are the statements that begin and end a part of a session whose settings accept everything that a table has. A strict
// session may refuse some of it: an ENUM with two equal members, or a date that does not exist.
func lax() (begin []string, end string) {
	modes := "@@SESSION.sql_mode"
	for _, not := range []string{"STRICT_ALL_TABLES", "STRICT_TRANS_TABLES", "NO_ZERO_IN_DATE", "NO_ZERO_DATE"} {
		modes = fmt.Sprintf("REPLACE(%s, '%s', '')", modes, not)
	}
	return []string{
		"SET @midstream_sql_mode = @@SESSION.sql_mode",
		"SET SESSION sql_mode = CONCAT(" + modes + ", ',ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO')",
	}, "SET SESSION sql_mode = @midstream_sql_mode"
}

// Lenient returns the statements of a session's setup with lax settings around them. A setup that fails ends its session: a session
// that lives takes Laxly.
func Lenient(statements ...string) []string {
	begin, end := lax()
	return append(append(begin, statements...), end)
}

// Laxly does work with lax settings, and sets the sql_mode again that the session had, also if the work fails or ctx ends.
func (s *Session) Laxly(ctx context.Context, work func() error) (err error) {
	begin, end := lax()
	if _, err := s.Exec(ctx, begin[0]); err != nil {
		return err
	}
	defer func() {
		if _, restore := s.Exec(context.WithoutCancel(ctx), end); restore != nil {
			err = errors.Join(err, restore)
		}
	}()
	if _, err := s.Exec(ctx, begin[1]); err != nil {
		return err
	}
	return work()
}
