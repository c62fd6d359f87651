package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/ddl"
)

// rehearsal are the flags that have a run rehearsed.
type rehearsal struct {
	wanted    bool
	lock      bool
	keep      bool
	onReplica bool
}

func (r *rehearsal) register(f *checks) {
	f.boolean(&r.wanted, "", "rehearse", "do everything but the swap, tell what the run would have been, and drop the new table")
	f.boolean(
		&r.lock, "", "rehearse-lock",
		"rehearse the lock of the cut-over too: take it within its bounds, apply what is left, and give it back",
	)
	f.boolean(
		&r.keep, "", "keep-shadow",
		"leave the new table of a rehearsal; it no longer follows the old one. midstream cleanup removes it",
	)
	f.boolean(&r.onReplica, "", "on-replica", "rehearse on a replica, to which the connection leads: nothing is written to its binlog")
}

// purpose is what the flags ask for.
func (r *rehearsal) purpose() plan.Purpose {
	switch {
	case r.onReplica:
		return plan.RehearsingOnReplica
	case r.wanted, r.lock:
		return plan.Rehearsing
	}
	return plan.Altering
}

// check says what is wrong with the flags.
func (r *rehearsal) check() error {
	if r.keep && !r.purpose().Rehearses() {
		return errors.New("--keep-shadow is for a rehearsal: say --rehearse too")
	}
	return nil
}

// rehearse makes the plan and rehearses it.
func (c *change) rehearse(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
	how := migration.Rehearsal{Lock: c.rehearsal.lock, Keep: c.rehearsal.keep}
	p, result, err := c.carryOut(ctx, alter, s, func(m *migration.Migration, ctx context.Context) (migration.Result, error) {
		return m.Rehearse(ctx, how)
	})
	if err != nil {
		return result, err
	}
	c.output.done(
		p.Source.Name, result,
		fmt.Sprintf("%s is as it was: rehearsed in %s%s.", p.Source.Name, humanize.Span(result.Elapsed), keptText(result)),
		rehearsalSummary(p, result, processUsage(), c.rehearsal.lock),
	)
	return result, nil
}

// stopBefore is what to do about the run whose work is in the way of a rehearsal.
func stopBefore(p *plan.Plan) string {
	return fmt.Sprintf(
		"let that run come to its end (give its command again), or give it up with: midstream cleanup %s",
		p.Source.Name.Argument(),
	)
}

// rehearsalPlan tells what a rehearsal will do, and not do.
func rehearsalPlan(p *plan.Plan, keep bool) string {
	if p.Choice.Method != plan.MethodShadow {
		return "nothing is done: " + p.Choice.Rehearsal()
	}
	text := "everything but the swap: the table stays as it is"
	if p.Purpose == plan.RehearsingOnReplica {
		text += ", and nothing comes into the binlog of this replica; its replication may wait for rows that are being copied. (A run takes longer, " +
			"by about a third: it writes to the binlog)"
	}
	ending := "dropped at the end"
	if keep {
		ending = "kept"
	}
	return fmt.Sprintf("%s. %s and %s are created, and %s", text, p.Names.Shadow, p.Names.State, ending)
}

// rehearsalSummary tells what a run would have been.
func rehearsalSummary(p *plan.Plan, r migration.Result, used usageOfProcess, locked bool) string {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s %s\n", label, humanize.Wrapped(fmt.Sprintf(format, args...), 100, "            "))
	}
	fmt.Fprintf(&b, "Rehearsed: %s is as it was, after %s.\n", p.Source.Name, humanize.Span(r.Elapsed))
	if p.Choice.Method != plan.MethodShadow {
		line("method", "%s: nothing was done. %s", p.Choice.Method, capital(p.Choice.Rehearsal()))
		return b.String()
	}
	workLines(r, line)
	seen := r.Rehearsed
	line("delay", "capture was behind by at most %s", humanize.Span(seen.CaptureDelay))
	if locked {
		line(
			"lock", "%s; granted after %s and held for %s, %s applied under it; %s",
			humanize.Plural(r.Attempts, "attempt"), humanize.Span(seen.LockWaited), humanize.Span(r.LockHeld),
			humanize.Plural(r.Drained, "key"), inWayText(seen),
		)
	} else {
		line("lock", "not asked for: --rehearse-lock takes it as a run does, and gives it back")
	}
	if p.Purpose == plan.RehearsingOnReplica {
		line("replica", "%s", replicaText(seen.Replication))
	}
	line("new table", "about %s%s", humanize.Size(seen.ShadowBytes), shadowText(p, r))
	if used.peakRSS > 0 {
		line("client", "%s of memory at most, %s of CPU", humanize.Size(used.peakRSS), humanize.Span(used.cpu))
	}
	return b.String()
}

func inWayText(seen migration.Rehearsed) string {
	if seen.Blockers == 0 {
		return "nobody was in its way"
	}
	return fmt.Sprintf(
		"%s %s in its way, for about %s", humanize.Plural(seen.Blockers, "session"), humanize.Was(seen.Blockers),
		humanize.Span(seen.Blocked),
	)
}

func replicaText(r migration.Replication) string {
	text := fmt.Sprintf(
		"behind by at most %s, by the two servers' clocks (%s at first); no transaction took longer than about %s to be applied",
		humanize.Span(r.Lag), humanize.Span(r.Before), humanize.Span(r.Stall),
	)
	if r.Stopped {
		text += "; somebody stopped it for a while"
	}
	return text
}

func keptText(r migration.Result) string {
	if r.Rehearsed.Shadow == "" {
		return ""
	}
	return "; the new table stays as " + r.Rehearsed.Shadow
}

func shadowText(p *plan.Plan, r migration.Result) string {
	if r.Rehearsed.Shadow == "" {
		return "; it was dropped"
	}
	text := fmt.Sprintf(
		"; it stays as %s, which no longer follows the table. Compare: midstream verify %s %s. Remove: midstream cleanup %s",
		r.Rehearsed.Shadow, p.Source.Name.Argument(), p.Names.Shadow.Argument(), p.Source.Name.Argument(),
	)
	if p.Purpose == plan.Rehearsing {
		text += ". A run of the same ALTER goes on with it"
	}
	return text
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
