package intake

import (
	"context"
	"fmt"
	"time"

	"midstream/internal/engine/carry"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/key"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/trigger"
	"midstream/internal/mysql/schema"
)

// ByTriggers reports whether triggers capture changes.
func (l *Link) ByTriggers() bool { return l.Plan.Capture.By == plan.CaptureTrigger }

// triggers are the run's triggers.
func (l *Link) triggers(codec *key.Codec) trigger.Set {
	return trigger.Set{
		Source:  l.Plan.Source.Name,
		Log:     l.Plan.Names.Log,
		Key:     codec,
		Formats: l.Plan.Server.Formats,
		Dated:   l.Plan.Server.Version.DatesTriggers(),
	}
}

// startTriggers keeps law L1 with triggers: before the first row is read, the log and the triggers
// exist, and a heartbeat is committed. A change that was not committed when the last trigger was
// created is in the log.
func (l *Link) startTriggers(ctx context.Context, codec *key.Codec) (seen string, err error) {
	session, err := l.Pool.Session(ctx)
	if err != nil {
		return "", err
	}
	defer session.Close()
	set := l.triggers(codec)
	if err := set.CreateLog(ctx, session); err != nil {
		return "", err
	}
	if err := set.Create(ctx, l.Pool, l.asking(l.Plan.Server.MetadataLocks)); err != nil {
		return "", err
	}
	sight, err := trigger.Look(ctx, l.Pool.DB(), set.Source, set.Log)
	if err != nil {
		return "", err
	}
	if !sight.Whole(set) {
		return "", fmt.Errorf("%w: its triggers are not as the run created them", ErrSourceChanged)
	}
	return sight.String(), nil
}

// asking asks for the source's lock as the server's own statements do.
func (l *Link) asking(sees bool) trigger.Asking {
	asker := lock.Asker{
		Pool: l.Pool, Lookout: &lock.Watcher{DB: l.Pool.DB(), Tables: []schema.Name{l.Plan.Source.Name}}, Emit: l.Emit,
		Terms: func() lock.Terms {
			t := l.Control.Terms(l.Plan.Server)
			t.SeesNobody = !sees
			return t
		},
	}
	return func(ctx context.Context, request func(context.Context, time.Duration) (lock.Outcome, error)) error {
		_, _, err := asker.Run(ctx, request)
		return err
	}
}

// triggerCame ends the run if a trigger was added that the plan does not know. A trigger that the
// plan knows was added before this run resumed an earlier one.
func (l *Link) triggerCame(what string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	now, err := schema.Triggers(ctx, l.Pool.DB(), l.Plan.Source.Name)
	if err == nil && !carry.SameTriggers(now, l.Plan.Source.Triggers) {
		err = fmt.Errorf("%w; %s", cutover.ErrRelated, what)
	}
	return err
}
