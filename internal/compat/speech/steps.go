package speech

import (
	"context"
	"slices"

	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/session"
)

// Steps are what Midstream does for a run that another program's command line asks for.
type Steps struct {
	// More reads flags of midstream run. It may be called until the plan is made.
	More func(flags []string) error
	// Reread reads the ALTER as a server does.
	Reread func(context.Context, *ddl.Alter, *session.Server) (*ddl.Alter, error)
	// Open connects to another server.
	Open func(context.Context, dbconn.Config) (*session.Server, error)
	// Look makes the plan, and shows it.
	Look func(context.Context, *ddl.Alter, *session.Server) error
	// Finish brings an earlier run to its end, and says whether that was all there is to do.
	Finish func(context.Context, *ddl.Alter, *session.Server) (result migration.Result, done bool, err error)
	// Migrate carries the ALTER out. begun is called with the session before the run is at work, and watch hears
	// of each event before the run goes on; both may be nil.
	Migrate func(
		ctx context.Context, alter *ddl.Alter, s *session.Server,
		begun func(*session.Session) (watch event.Listener, undo func(), err error),
	) (migration.Result, error)
	// Drop drops a table.
	Drop func(context.Context, schema.Name, *session.Server) error
	// End ends the run, and does not wait for that.
	End func(cause error)
	// MustResume says that the run must resume from an earlier one.
	MustResume *bool
	// Replicas are those that the run watches, and Names what its tables are to be called.
	Replicas *session.Replicas
	Names    *plan.Wish
}

// Unwritten is an error from before anything was written.
func Unwritten(err error, next string) error {
	return &session.Error{Outcome: session.Unread, Err: err, Next: next}
}

// Risks says risks so.
func (s *Speech) Risks(risks []plan.Risk) []plan.Risk {
	said := slices.Clone(risks)
	for i, r := range said {
		said[i].What, said[i].Why, said[i].Fix = s.Of(r.What), s.Of(r.Why), s.Of(r.Fix)
	}
	return said
}
