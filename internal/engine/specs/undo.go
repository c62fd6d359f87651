package specs

import (
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/trigger"
	"midstream/internal/mysql/schema"
)

// Undo is what a run of the plan keeps for an undo of its change, as wished; nil for nothing. pairs are as Set has them. made
// is the shadow.
func Undo(p *plan.Plan, made *schema.Table, wish checkpoint.Undo, pairs map[string]string) *checkpoint.Undo {
	if k, _, has := trigger.KeyOf(made, p.BackKey); has && p.Names.Since != (schema.Name{}) {
		wish.Log, wish.Key = p.Names.Since.Table, k
	}
	wish.Mode, wish.Pairs, wish.Set, wish.Keys = plan.UndoLazy, pairs, p.Set, p.Source.Keys
	if back := p.Back; back != nil {
		wish.For, wish.Mode, wish.Warm, wish.Back, wish.Foreign = back.For, back.Mode, false, !back.Redo, back.Foreign
		wish.Set, wish.DropOld, wish.Lacks = back.Set, back.DropOld, back.Lazy && back.Returns
		wish.Values = back.ValuesAfter // this undo uses up back.Values: each row has its values, is parked again, or is gone
	}
	if wish.For <= 0 || p.NoWayBack != "" {
		return nil
	}
	return &wish
}

// NativeUndo is Undo for a change that the server makes itself. soak is set if a drop follows it; nil if none does.
func NativeUndo(p *plan.Plan, open time.Duration, soak *checkpoint.Soak) *checkpoint.Undo {
	if !p.Keeps() {
		return nil
	}
	wish := Undo(p, &schema.Table{}, checkpoint.Undo{For: open}, p.Inverse.Pairs)
	if wish == nil {
		return nil
	}
	wish.Soak = soak
	wish.Mode, wish.Native = plan.UndoNative, &checkpoint.Native{
		Step: checkpoint.Doing, Alter: p.Alter.Clauses, Before: p.Source, After: p.Inverse.After,
	}
	if p.Back != nil {
		wish.Native.Step, wish.Native.Again = checkpoint.Undoing, p.Again
	}
	return wish
}
