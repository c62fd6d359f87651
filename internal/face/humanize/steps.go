package humanize

import (
	"slices"
	"strings"

	"midstream/internal/engine/event"
)

// Stage is a step of a run on the way to its end.
type Stage struct {
	Name string `json:"name"`
	// State is done, now or next.
	State string `json:"state"`
}

// The states of a step.
const (
	StageDone = "done"
	StageNow  = "now"
	StageNext = "next"
)

// Stages lists the steps of a run from the start, the ones to come included. entered are its phases so far, in their order.
// native reports whether the server changes the table itself.
func Stages(entered []event.Phase, native bool) []Stage {
	names := slices.Clone(steps)
	if slices.Contains(entered, event.PhaseRows) || slices.Contains(entered, event.PhaseRecount) {
		names = []string{"rows", "recount"}
	} else if native && !slices.Contains(entered, event.PhaseShadow) {
		names = []string{"prepare", "server"}
	}
	if slices.Contains(entered, event.PhaseLock) {
		names[len(names)-1] = "lock"
	}
	now, copies := -1, slices.Contains(names, "copy")
	for _, p := range entered {
		if name := stageOf(p); name != "" && (!copies || p != event.PhaseNative) { // the server could not, and a copy has begun
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			now = slices.Index(names, name)
		}
	}
	over := len(entered) > 0 && entered[len(entered)-1] == event.PhaseDone
	list := make([]Stage, len(names))
	for i, name := range names {
		list[i] = Stage{name, StageNext}
		switch {
		case over || i < now:
			list[i].State = StageDone
		case i == now:
			list[i].State = StageNow
		}
	}
	return list
}

// stageOf returns the step of a phase; "" if it belongs to the step before.
func stageOf(p event.Phase) string {
	switch p {
	case event.PhaseCatchUp, event.PhaseCleanup, event.PhaseDone, "":
		return ""
	}
	step, _, _ := strings.Cut(Phase(p), ":")
	return step
}
