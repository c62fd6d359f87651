package operator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/throttle"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// CheckSettings fails with *BadSetting if the server does not take the settings. values are the
// settings that an operator has given.
func CheckSettings(ctx context.Context, pool *dbconn.Pool, table schema.Name, was, now Settings, values map[string]string) error {
	bad := func(name string, err error, next string) error { return &BadSetting{name, values[name], err, next} }
	t := now.Throttle
	for name, limits := range map[string][]throttle.Limit{"max-load": t.MaxLoad, "critical-load": t.CriticalLoad} {
		if _, says := values[name]; says {
			if err := throttle.CheckLimits(ctx, pool.DB(), limits...); err != nil {
				return bad(name, err, "SHOW GLOBAL STATUS lists all variables")
			}
		}
	}
	if _, says := values["throttle-query"]; says {
		if err := throttle.CheckQuery(ctx, pool, table.Schema, t.Query); err != nil {
			return bad("throttle-query", err, "the query runs by itself once a second and must not write")
		}
	}
	if _, says := values["workers"]; says {
		if err := roomForWorkers(ctx, pool.DB(), now.RowCopy.First()-was.RowCopy.First()); err != nil {
			return bad("workers", err, "name fewer workers")
		}
	}
	if _, says := values["max-replica-lag"]; says && t.ReplicaLag > 0 && len(t.Replicas) == 0 {
		return bad(
			"max-replica-lag", errors.New("the run watches no replica: it found none, or it started with --max-replica-lag=0"),
			"name replicas by --replica when the run starts",
		)
	}
	return CheckKills(ctx, pool.DB(), table, was, now, values)
}

// CheckKills fails with *BadSetting if the run can't kill sessions that block the lock, and an
// operator has just allowed that.
func CheckKills(ctx context.Context, db *sql.DB, table schema.Name, was, now Settings, values map[string]string) error {
	const name = "kill-blockers-after"
	if now.Kills.After == 0 || was.Kills.After > 0 {
		return nil
	}
	known, err := facts.Gather(ctx, db, table)
	if err != nil {
		return &BadSetting{name, values[name], fmt.Errorf("check whether the run may kill sessions: %w", err), ""}
	}
	if risk := plan.HindersKills(known); risk != nil {
		return &BadSetting{name, values[name], errors.New(risk.What), risk.Fix}
	}
	return nil
}
