package sets

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"midstream/internal/fleet/fleetplan"
	"midstream/internal/fleet/members"
	"midstream/internal/fleet/rollout"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/record"
)

// mostFileBytes bounds the files of a set together: each of its members has them, and the store writes them with each state.
const mostFileBytes = 256 << 10

// checkFiles returns what is wrong with the files of a set, but for their statements. It fails with a *socket.Problem.
func checkFiles(rules rollout.Set, files []queue.File) error {
	const correct = "correct the set, and submit it again"
	bytes := 0
	for _, f := range files {
		bytes += len(f.Text)
	}
	switch err := queue.CheckFiles(files); {
	case len(rules.Files) == 0 && len(files) > 0:
		return bad("it has the texts of files, and its rules name none", correct)
	case len(rules.Files) == 0:
		return nil
	case len(files) == 0:
		return bad("its rules name files, and their texts are missing", "submit it with midstream fleet submit, which reads the files")
	case err != nil:
		return bad(err.Error(), correct)
	case bytes > mostFileBytes:
		return bad(fmt.Sprintf("its files have %d bytes; a set may have %d (256 KiB)", bytes, mostFileBytes), "submit fewer tables at once")
	case rules.Undo > 0:
		return bad("a set with files keeps no undo", "remove undo; to take the change back, submit a set with the old files")
	case rules.Swap.When == rollout.WhenBarrier:
		return bad("a set with files has no barrier: its members may have several tables to swap, or none", "let its members swap when wave_ready")
	}
	return nil
}

// sorted are files by their names.
func sorted(files []queue.File) []queue.File {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b queue.File) int { return cmp.Compare(a.Name, b.Name) })
	return files
}

// digest is the SHA-256 of the rules in their normal form, and of the files.
func (k *kept) digest() string {
	sum := sha256.New()
	fmt.Fprint(sum, k.Text)
	for _, f := range k.Files {
		fmt.Fprintf(sum, "\x00%s\x00%s", f.Name, f.Text)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// fileNames are the names of the files of a set.
func (k *kept) fileNames() []string {
	names := []string{}
	for _, f := range k.Files {
		names = append(names, f.Name)
	}
	return names
}

// planFiles plans what leads the tables of a member to the definitions in the files. Members may differ in what they lack.
func (t *set) planFiles(ctx context.Context, server queue.Server) fleetplan.Answer {
	ctx, end := context.WithTimeout(ctx, planTime)
	defer end()
	a := fleetplan.Answer{Server: server.Name, Outcome: fleetplan.Failed}
	made, err := t.service.cfg.Queue.PlanMember(ctx, server.Name, t.now().Files, members.Options(t.rules))
	if err != nil {
		a.Error = err.Error()
		return a
	}
	a.ExitCode, a.Error, a.Problems = made.Result.ExitCode, made.Result.Error, made.Result.Problems
	a.Outcome = fleetplan.OutcomeOf(a.ExitCode)
	if a.Outcome == fleetplan.Fits && !slices.ContainsFunc(made.Tables, func(p record.Plan) bool { return p.Method != "none" }) {
		a.Outcome = fleetplan.Done
	}
	return a
}

// planner is what plans the members.
func (t *set) planner() (plan func(context.Context, queue.Server) fleetplan.Answer, limits fleetplan.Limits) {
	if len(t.rules.Files) > 0 {
		return t.planFiles, fleetplan.Limits{Parallel: queue.MostPlans, PerHost: planPerHost}
	}
	return func(ctx context.Context, server queue.Server) fleetplan.Answer {
		return t.service.cfg.Plan(ctx, t.rules, server)
	}, fleetplan.Limits{Parallel: planParallel, PerHost: planPerHost}
}
