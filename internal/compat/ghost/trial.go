package ghost

import (
	"context"
	"database/sql"
	"fmt"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// Trial is a run of --test-on-replica: a rehearsal on a replica, whose new table stays, equal to
// the table, as replication is stopped just before the end. All sessions of db have sql_log_bin=0.
type Trial struct {
	asked   *Asked
	speaker *Speaker
	hooks   *Hooks
	db      *sql.DB
	names   plan.Names
	stopped bool
}

// Tries says that the table is to be changed on a replica, and not there for good.
func (a *Asked) Tries() bool { return a.said.on("test-on-replica") }

// OnReplica says that the table is changed on a replica, whether for good or not.
func (a *Asked) OnReplica() bool { return a.Tries() || a.said.on("migrate-on-replica") }

// NewTrial returns one, after it has seen that nothing is in its way; what a former trial has left
// it drops where the command line says so.
func NewTrial(ctx context.Context, s *Speaker, h *Hooks, db *sql.DB) (*Trial, error) {
	t := &Trial{asked: s.asked, speaker: s, hooks: h, db: db, names: plan.RehearsingOnReplica.NamesOf(s.asked.Table)}
	var used sql.NullInt64
	if err := db.QueryRowContext(ctx, "SELECT IS_USED_LOCK("+schema.Literal(plan.LockName(t.asked.Table))+")").Scan(&used); err != nil {
		return nil, fmt.Errorf("check whether a run is at work: %w", err)
	}
	if used.Valid {
		return nil, unfit("another run is active on %s", t.asked.Table)
	}
	ghost := t.asked.Table.Sibling(t.asked.shadow)
	for _, name := range []schema.Name{ghost, t.names.Shadow, t.names.State} {
		comment, there, err := t.comment(ctx, name)
		switch left := schema.MarkedFor(comment, t.asked.Table); {
		case err != nil:
			return nil, fmt.Errorf("look for %s: %w", name, err)
		case !there, name != ghost && !(left && t.asked.Restarts()): // what is not dropped the rehearsal goes on with, or refuses
			continue
		case name == ghost && comment != schema.MarkFor(schema.TrialKind, t.asked.Table):
			return nil, unfit(
				"%s exists, and not from a test on a replica: the primary may have it too. Drop it if no application needs it",
				name,
			)
		case name == ghost && !t.asked.Restarts():
			return nil, unfit("%s exists from an earlier test: --initially-drop-ghost-table drops it", name)
		}
		if _, err := db.ExecContext(ctx, "DROP TABLE "+name.Quoted()); err != nil {
			return nil, fmt.Errorf("drop %s: %w", name, err)
		}
		s.Note("dropped " + name.String() + ", which an earlier test has left")
	}
	return t, nil
}

// comment is that of a table, if it is there.
func (t *Trial) comment(ctx context.Context, name schema.Name) (comment string, there bool, err error) {
	err = t.db.QueryRowContext(
		ctx,
		"SELECT COALESCE(MAX(table_comment), ''), COUNT(*) > 0 FROM information_schema.tables WHERE table_schema = "+
			schema.Literal(name.Schema)+" AND table_name = "+schema.Literal(name.Table),
	).Scan(
		&comment, &there,
	)
	return comment, there, err
}

// BeforeLock is called when the rehearsal is about to take the lock: programs are called, and
// replication stops, so that what is applied under the lock is the last.
func (t *Trial) BeforeLock(ctx context.Context) {
	err := t.hooks.BeforeLock(ctx)
	if err == nil && !t.stopped {
		err = t.stop(ctx)
	}
	if err != nil {
		t.hooks.fail(ctx, err)
	}
}

func (t *Trial) stop(ctx context.Context) error {
	if t.asked.said.on("test-on-replica-skip-replica-stop") {
		t.speaker.Note("--test-on-replica-skip-replica-stop: replication continues, and the table keeps changing")
		return nil
	}
	t.stopped = true
	return t.replication(ctx, "STOP")
}

// replication stops or starts it.
func (t *Trial) replication(ctx context.Context, verb string) error {
	version, err := facts.ReadVersion(ctx, t.db)
	if err != nil {
		return fmt.Errorf("%s replication: %w", verb, err)
	}
	statement := verb + " SLAVE"
	if !version.MariaDB && version.AtLeast(8, 0, 22) {
		statement = verb + " REPLICA"
	}
	if _, err := t.db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	t.speaker.log.info("%s: done", statement)
	return nil
}

// End leaves the new table under the name that was asked for, and replication stopped. Where the
// rehearsal has failed replication goes on.
func (t *Trial) End(failed error) error {
	ctx := context.Background() // that of the run may be over
	if failed != nil {
		if t.stopped {
			if err := t.hooks.once(ctx, hookStartReplica); err != nil {
				t.speaker.Note(err.Error())
			}
			if err := t.replication(ctx, "START"); err != nil {
				t.speaker.Note("replication is stopped: " + err.Error())
			}
		}
		return failed
	}
	ghost := t.asked.Table.Sibling(t.asked.shadow)
	for _, statement := range []string{
		"ALTER TABLE " + t.names.Shadow.Quoted() + " COMMENT = " + schema.Literal(schema.MarkFor(schema.TrialKind, t.asked.Table)) + ", RENAME TO " + ghost.Quoted(),
		"DROP TABLE " + t.names.State.Quoted(),
	} {
		if _, err := t.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("leave %s as %s: %w", t.names.Shadow, ghost, err)
		}
	}
	t.speaker.Note(
		fmt.Sprintf(
			"%s and %s are kept, so that you can compare them. Drop the second table with sql_log_bin=0, or by: midstream cleanup  %s",
			t.asked.Table, ghost, t.asked.Table.Argument(),
		),
	)
	if t.stopped {
		t.speaker.Note("replication is stopped: START REPLICA starts it again")
	}
	return nil
}
