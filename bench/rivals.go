package main

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// names of the tools that only rivals measures.
const (
	toolNoVerify  = "midstream-no-verify"
	toolFullSpeed = "midstream-full-speed"
	toolGhost     = "gh-ost"
	toolSpirit    = "spirit"
)

// names of the loads that only rivals has.
const (
	loadTwenty      = "20%"
	loadThirtyFour  = "34%"
	loadFullEight   = "full-8"
	loadFullSixteen = "full-16"
)

// rivalLoad is a load of rivals.
type rivalLoad struct {
	name    string
	share   float64 // of the peak of so many connections; 0 for full speed
	threads int     // connections; 0 for no load
}

func rivalLoads() []rivalLoad {
	return []rivalLoad{
		{loadIdle, 0, 0}, {loadTwenty, 0.20, 8}, {loadThirtyFour, 0.34, 16}, {loadFullEight, 0, 8}, {loadFullSixteen, 0, 16},
	}
}

// rivalNames are the tools of rivals in their usual order.
func rivalNames() []string {
	return []string{toolInplace, toolMidstream, toolNoVerify, toolFullSpeed, toolPT, toolGhost, toolSpirit}
}

// wantsRival reports whether rivals measures a tool.
func (b *bench) wantsRival(name string) bool {
	if name == toolGhost && slices.Contains(b.what, measureUndo) && slices.Contains(b.undoWays, undoGhost) {
		return true
	}
	return slices.Contains(b.what, measureRivals) && (!slices.Contains(b.asked, "tools") || slices.Contains(b.toolNames, name))
}

// rivalTools are the tools of a load: the tools of --tools, or the usual ones.
func (b *bench) rivalTools(load rivalLoad) []string {
	if slices.Contains(b.asked, "tools") {
		return b.toolNames
	}
	names := rivalNames()
	if load.name != loadIdle { // only for an idle server we have a demand
		names = slices.DeleteFunc(names, func(name string) bool { return name == toolInplace || name == toolNoVerify })
	}
	return names
}

// askedLoads are the loads of --loads; all, if none of them was asked for.
func (b *bench) askedLoads() []rivalLoad {
	asked := slices.DeleteFunc(rivalLoads(), func(l rivalLoad) bool { return !slices.Contains(b.loads, l.name) })
	if !slices.Contains(b.asked, "loads") || len(asked) == 0 {
		return rivalLoads()
	}
	return asked
}

// rivalTool returns the tool of a name; nil if this machine does not have it.
func (b *bench) rivalTool(name string) (tool, error) {
	base, path, other := strings.Cut(name, "@")
	if !other {
		path = b.midstream
	}
	switch base {
	case toolMidstream:
		return midstreamTool(path, b.midstreamArgs, nil), nil
	case toolNoVerify:
		return midstreamTool(path, append(slices.Clone(b.midstreamArgs), "--no-verify"), nil), nil
	case toolFullSpeed:
		return midstreamTool(path, append(slices.Clone(b.midstreamArgs), "--full-speed"), nil), nil
	}
	if other {
		return nil, fmt.Errorf("cannot measure %s: only midstream takes a path", name)
	}
	if p := b.programs.built[name]; p != nil && name == toolGhost {
		return ghostTool(p), nil
	} else if p != nil {
		return spiritTool(p), nil
	}
	return b.tools()[name], nil
}

// ghostTool runs gh-ost with its defaults on the server itself, and lets it drop the old table as the other tools do.
func ghostTool(p *program) tool {
	return func(ctx context.Context, s *server) usage {
		return observe(p.command(ctx, "--host=127.0.0.1", "--port="+s.port(), "--user="+s.db.User, "--database="+database,
			"--table="+tableName, "--alter="+change, "--allow-on-master", "--execute", "--ok-to-drop-table",
			"--serve-socket-file="+filepath.Join(s.dir, "gh-ost.sock"),
			"--throttle-additional-flag-file="+filepath.Join(s.dir, "gh-ost.throttle")), nil)
	}
}

// spiritTool runs Spirit with its defaults. ENGINE=InnoDB makes it copy: it tries INSTANT first.
func spiritTool(p *program) tool {
	return func(ctx context.Context, s *server) usage {
		return observe(p.command(ctx, "migrate", "--host=127.0.0.1:"+s.port(), "--username="+s.db.User, "--password=",
			"--database="+database, "--statement=ALTER TABLE "+tableName+" "+change+", ENGINE=InnoDB"), nil)
	}
}

// rivals measures the tools under the loads of our demands. Each run has its own figures from before the tool.
func (b *bench) rivals(ctx context.Context) error {
	short := *b
	short.limit = b.rivalsLimit
	if !slices.Contains(b.asked, "lead") {
		short.lead = 3 * time.Second
	}
	if !slices.Contains(b.asked, "after") {
		short.after = time.Second
	}
	f, err := b.newFile(ctx, b.base)
	if err != nil {
		return err
	}
	plan := short.rivalPlan()
	b.say("rivals: about %.0f minutes for %d rounds", plan.estimate(&short).Minutes(), b.rounds)
	if err := short.nameRivals(ctx, f, plan); err != nil {
		return err
	}
	if f.Peaks, err = short.rivalPeaks(ctx); err != nil {
		return err
	}
	start := time.Now()
	for round := range b.rounds {
		for _, cells := range plan {
			if err := short.rivalRound(ctx, f, cells, round); err != nil {
				return err
			}
		}
		if left := b.rounds - round - 1; left > 0 {
			b.say("rivals: about %.0f more minutes", time.Since(start).Minutes()/float64(round+1)*float64(left))
		}
	}
	return nil
}

// rivalCells are the runs of a round under one load.
type rivalCells struct {
	load  rivalLoad
	tools []string
}

type rivalPlan []rivalCells

// rivalPlan leaves out the tools that this machine does not have.
func (b *bench) rivalPlan() (plan rivalPlan) {
	for _, load := range b.askedLoads() {
		tools := slices.DeleteFunc(slices.Clone(b.rivalTools(load)), func(name string) bool {
			t, err := b.rivalTool(name)
			return err == nil && t == nil // an error is for nameRivals
		})
		plan = append(plan, rivalCells{load, tools})
	}
	return plan
}

// nameRivals writes down the versions of all programs.
func (b *bench) nameRivals(ctx context.Context, f *File, plan rivalPlan) error {
	for _, cells := range plan {
		for _, name := range cells.tools {
			if _, err := b.rivalTool(name); err != nil {
				return err
			}
			base, path, other := strings.Cut(name, "@")
			if p := b.programs.built[name]; p != nil {
				f.Programs[name] = p.version
			}
			if !strings.HasPrefix(base, toolMidstream) {
				continue
			}
			label := toolMidstream + "@" + path
			if !other {
				path, label = b.midstream, toolMidstream
			}
			if f.Programs[label] != "" {
				continue
			}
			said, err := exec.CommandContext(ctx, path, "version").Output()
			if err != nil {
				return fmt.Errorf("ask %s for its version: %w", path, err)
			}
			f.Programs[label] = strings.Join(strings.Fields(string(said)), " ")
		}
	}
	return nil
}

// rivalPeaks measures the peak of each number of connections that a load is a share of.
func (b *bench) rivalPeaks(ctx context.Context) (map[int]float64, error) {
	peaks := make(map[int]float64)
	for _, load := range b.askedLoads() {
		if load.share == 0 || peaks[load.threads] > 0 {
			continue
		}
		with := *b
		with.threads = load.threads
		peak, err := with.peak(ctx)
		if err != nil {
			return nil, err
		}
		peaks[load.threads] = peak
		b.say("peak: %.0f transactions/s over %d connections", peak, load.threads)
	}
	return peaks, nil
}

// rivalRound measures each tool once under a load, and then the load without a tool.
func (b *bench) rivalRound(ctx context.Context, f *File, cells rivalCells, round int) error {
	load := cells.load
	with := *b
	with.threads = load.threads
	names := rotate(cells.tools, round)
	window := b.minWindow
	if load.threads > 0 {
		names = append(names, toolNone)
	}
	for _, name := range names {
		change, err := b.rivalTool(name)
		if name == toolNone {
			change = idleTool(window)
		}
		if err != nil {
			return err
		}
		if gaveUp(f, name, load.name) {
			b.say("round %d  %s is left out under %s: it did not finish before", round+1, name, load.name)
			continue
		}
		at := scene{tool: name, load: load.name, rate: load.share * f.Peaks[load.threads], round: round}
		if load.threads > 0 {
			at.before = b.rivalsBefore
		}
		r, err := with.measure(ctx, b.base, at, change)
		if err != nil {
			return fmt.Errorf("rivals, %s under %s: %w", name, load.name, err)
		}
		if name == toolMidstream {
			window = min(max(window, time.Duration(r.ElapsedS*float64(time.Second))), b.minWindow+5*time.Second)
		}
		f.Runs = append(f.Runs, r)
		if err := b.results.save(measureRivals, f); err != nil {
			return err
		}
	}
	return nil
}

// gaveUp reports whether another project's tool has failed under a load. Then later rounds save the time.
func gaveUp(f *File, name, load string) bool {
	return !strings.HasPrefix(name, toolMidstream) &&
		slices.ContainsFunc(f.of(name, load), func(r Run) bool { return !r.Finished })
}

// usualSeconds returns how long a tool takes for a million rows on two cores: idle, at 20 %, at 34 %, at full speed.
func usualSeconds(tool string) [4]float64 {
	base, _, _ := strings.Cut(tool, "@")
	switch base {
	case toolInplace:
		return [4]float64{3, 6, 10, 90}
	case toolMidstream:
		return [4]float64{5, 40, 75, 150}
	case toolNoVerify:
		return [4]float64{4, 35, 70, 140}
	case toolFullSpeed:
		return [4]float64{4, 6, 7, 10}
	case toolPT:
		return [4]float64{6, 6, 7, 7}
	case toolGhost:
		return [4]float64{12, 25, 40, math.Inf(1)}
	case toolSpirit:
		return [4]float64{10, 17, 21, 26}
	}
	return [4]float64{0, 20, 20, 20}
}

// estimate returns the usual time of all rounds, and of the peaks: each run needs a server, its lead and its tool.
func (plan rivalPlan) estimate(b *bench) time.Duration {
	var all time.Duration
	for _, cells := range plan {
		if cells.load.share > 0 {
			all += b.serverTime() + b.lead + b.peakWindow + b.after
		}
	}
	for round := range b.rounds {
		all += plan.estimateRound(b, round)
	}
	return all
}

// serverTime is the usual time that a fresh server needs.
func (b *bench) serverTime() time.Duration {
	return 3*time.Second + time.Duration(b.rows)*6*time.Microsecond
}

func (plan rivalPlan) estimateRound(b *bench, round int) (all time.Duration) {
	million := float64(b.rows) / 1e6
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	for _, cells := range plan {
		column := slices.Index([]string{loadIdle, loadTwenty, loadThirtyFour}, cells.load.name)
		if column < 0 {
			column = 3
		}
		tools := cells.tools
		if cells.load.threads > 0 {
			tools = append(slices.Clone(tools), toolNone)
		}
		for _, name := range tools {
			usual := usualSeconds(name)[column] * million
			if name == toolNone {
				usual = usualSeconds(name)[column]
			}
			if round > 0 && math.IsInf(usual, 1) { // see gaveUp
				continue
			}
			all += b.serverTime() + b.lead + b.after
			if cells.load.threads > 0 {
				all += b.rivalsBefore
			}
			all += seconds(min(usual, b.limit.Seconds()))
		}
	}
	return all
}
