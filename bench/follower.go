package main

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// followerLoads are the loads of follower: a third of the peak, where a warm undo must cost at most 3 % of the throughput,
// and as fast as the application can be.
var followerLoads = []besideLoad{{"34%", 0.34}, {loadPeak, 0}}

// followers measures what a warm undo costs the application: the same load runs alone, and then next to the follower.
func (b *bench) followers(ctx context.Context) error {
	return b.inRounds(ctx, measureFollower, followerLoads, []string{toolMidstream}, b.followerRun)
}

// followerRun changes the table, runs the load alone for a window, and for another one while the undo is held.
func (b *bench) followerRun(ctx context.Context, at scene) (r Run, err error) {
	s, err := b.base.start(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.discard()) }()
	r = Run{Tool: at.tool, Load: at.load, RateTPS: at.rate, Round: at.round, Rows: b.base.rows, Finished: true}
	if err := b.undoChange(ctx, s, undoWarm); err != nil {
		return r, err
	}
	foreground, err := startLoad(ctx, b.programs.sysbench, s, b.options, at.rate)
	if err != nil {
		return r, err
	}
	stopped := false
	defer func() {
		if !stopped {
			_, _, stopErr := foreground.stop()
			err = errors.Join(err, stopErr)
		}
	}()
	if err := pause(ctx, b.lead+b.besideWindow); err != nil {
		return r, err
	}
	alone := time.Now()
	held, err := b.beginWarm(ctx, s)
	if err != nil {
		return r, err
	}
	defer func() { _ = held.Process.Signal(syscall.SIGTERM) }() // it may have ended
	r.At = time.Now().UTC()
	if err := pause(ctx, b.besideWindow); err != nil {
		return r, err
	}
	to := time.Now()
	r.ElapsedS, stopped = to.Sub(r.At).Seconds(), true
	with, trace, err := foreground.end(r.At, to)
	if err != nil {
		return r, err
	}
	before := summarise(trace, alone.Add(-b.besideWindow).UnixMicro(), alone.UnixMicro())
	r.Foreground, r.Before = &with, &before
	b.say("round %d  %-5s tps %.1f -> %.1f (%+.1f %%), p99 %.1f -> %.1f ms", r.Round+1, r.Load, before.TPS, with.TPS,
		100*(with.TPS/before.TPS-1), before.P99MS, with.P99MS)
	return r, nil
}
