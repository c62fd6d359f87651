package facts

import (
	"context"
	"errors"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Unseen returns the privilege that the account lacks to see a table, or all tables of the server if that is nil; "" if it sees
// them: the server does not list tables on which an account has no privilege.
func Unseen(ctx context.Context, q schema.Querier, table *schema.Name) (lacks string, err error) {
	f := gatherer{&plan.Facts{}}
	if err := f.readVariables(ctx, q); err != nil {
		return "", err
	}
	if err := f.readAccount(ctx, q); err != nil {
		return "", err
	}
	switch {
	case table == nil && !f.Grants.Global("SELECT"):
		return "SELECT ON *.*", nil
	case table != nil && !f.Grants.On("SELECT", table.Schema, table.Table):
		return "SELECT ON " + table.Quoted(), nil
	}
	return "", nil
}

// Denied is the refusal with the privileges that the account lacks, which lacked finds, if err means that the server has refused a
// statement for that reason; otherwise it is err.
func Denied(err error, lacked func() (*plan.Refused, error)) error {
	if !dbconn.Denied(err) || errors.Is(err, plan.ErrRefused) {
		return err
	}
	if refused, failed := lacked(); failed == nil && refused != nil {
		return refused
	}
	return err
}

// LackedByUndo refuses what the account may not do about the undo of a table; nil if it has the privileges.
func LackedByUndo(ctx context.Context, q schema.Querier, table schema.Name, privileges ...string) (*plan.Refused, error) {
	f := gatherer{&plan.Facts{}}
	if err := f.readVariables(ctx, q); err != nil {
		return nil, err
	}
	if err := f.readAccount(ctx, q); err != nil {
		return nil, err
	}
	return plan.LackedByUndo(f.Facts, table, privileges...), nil
}

// LogsCascades reports whether the server's binlog has the rows that foreign keys change.
func LogsCascades(ctx context.Context, q schema.Querier) (bool, error) {
	f := gatherer{&plan.Facts{}}
	err := f.readVariables(ctx, q)
	return f.LogsCascades(), err
}

// LackedByCleanup returns the privileges, each with its GRANT, that the account lacks to drop the
// tables. With old it adds those for checking whether a session uses an old table.
func LackedByCleanup(ctx context.Context, q schema.Querier, drop []schema.Name, old bool) ([]plan.Risk, error) {
	f := gatherer{&plan.Facts{}}
	if err := f.readVariables(ctx, q); err != nil {
		return nil, err
	}
	if err := f.readAccount(ctx, q); err != nil {
		return nil, err
	}
	return plan.LackedByCleanup(f.Facts, drop, old), nil
}
