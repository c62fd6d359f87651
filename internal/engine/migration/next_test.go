package migration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"midstream/internal/engine/cutover"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/shadow"
	"midstream/internal/mysql/binlog"
)

// TestNextFitsTheCause: the advice fits the error.
func TestNextFitsTheCause(t *testing.T) {
	enough := errors.New("enough")
	going := t.Context()
	aborted, abort := context.WithCancelCause(going)
	abort(enough)
	syntax := &mysql.MySQLError{Number: 1064, SQLState: [5]byte([]byte("42000"))}
	null := &mysql.MySQLError{Number: 1048, SQLState: [5]byte([]byte("23000"))}
	double := &mysql.MySQLError{Number: 1062, SQLState: [5]byte([]byte("23000"))}
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{aborted, enough, "to start again"},
		{aborted, intake.ErrSourceChanged, "no session alters"},
		{going, leftovers.ErrClaimed, "has ended"},
		{going, intake.ErrStatementFormat, "ROW"},
		{going, cutover.ErrSourceChanged, "no session alters"},
		{going, fmt.Errorf("%w: %w", shadow.ErrRefused, syntax), "Correct the statement"},
		{going, fmt.Errorf("%w: %w", shadow.ErrRefused, null), "Correct the statement"},
		{going, binlog.ErrPurged, "to start again"},
		{going, binlog.ErrOtherServer, "to start again"},
		{going, rowsync.ErrDuplicate, "Remove the duplicates"},
		{going, double, "Remove the duplicates"},
		{going, null, "Change the row"},
		{going, enough, "once the cause is removed"},
	} {
		if next := failure.NextAfter(c.ctx, fmt.Errorf("x: %w", c.err)); !strings.Contains(next, c.want) {
			t.Errorf("%v: %s", c.err, next)
		}
	}
}
