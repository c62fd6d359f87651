package capture

import (
	"context"
	"errors"

	"midstream/internal/mysql/binlog"
)

// Found is a statement in the binlog.
type Found struct {
	End  binlog.Position // behind the statement
	GTID string          // of the statement; "" without GTIDs
}

var (
	errFound   = errors.New("the statement is found")
	errNoMore  = errors.New("the server has no more events")
	errNotSent = errors.New("the statement is not in the binlog")
)

// Find reads a server's binlog from a position on, and returns the first statement that is wanted. It does not wait for
// events: the statement was committed before the call.
func Find(ctx context.Context, server binlog.Server, from binlog.Position, wanted func(binlog.Statement) bool) (Found, error) {
	var found Found
	reader := binlog.NewReader(server, nil, binlog.GTIDs{})
	reader.OnIdle(func(context.Context) error { return errNoMore })
	err := reader.Run(ctx, from, func(e binlog.Event) error {
		switch e := e.(type) {
		case binlog.Begun:
			var one binlog.GTIDs
			one.Add(e.GTID, e.GTID.Number)
			found.GTID = one.String()
		case binlog.Statement:
			if wanted(e) {
				found.End = e.End
				return errFound
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, errFound):
		return found, nil
	case errors.Is(err, errNoMore):
		return Found{}, errNotSent
	}
	return Found{}, err
}
