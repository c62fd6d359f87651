package summary

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/followers"
	"midstream/internal/ops/reach"
	standings "midstream/internal/ops/undos"
)

var update = flag.Bool("update", false, "write the golden files")

// planned returns the plan of an ALTER, of a table of an ordinary size.
func planned(t *testing.T, clauses string, change func(p *plan.Plan)) Planned {
	t.Helper()
	name := schema.Name{Schema: "shop", Table: "orders"}
	alter, err := ddl.Parse("ALTER TABLE shop.orders " + clauses)
	if err != nil {
		t.Fatal(err)
	}
	p := &plan.Plan{
		Source: &schema.Table{Name: name, Rows: 295_830, DataBytes: 52 << 20, IndexBytes: 14 << 20},
		Alter:  alter,
		Names:  plan.NamesOf(name),
		Choice: plan.Choice{Method: plan.MethodShadow, Why: "no lighter method is within the limits", Others: []plan.Rejected{
			{Method: plan.MethodInstant, Why: "ALGORITHM=INSTANT is not supported. Reason: Need to rebuild the table to change column type. Try ALGORITHM=COPY/INPLACE."},
			{Method: plan.MethodCopy, Why: "it would block writes for about 5 s; 250 ms is allowed"},
		}},
		Pace: plan.Pace{Shadow: plan.Cost{Rows: 50_000, Bytes: 220, Redo: 300, Binlog: 200}, Verify: 300_000, Indexes: 300_000},
	}
	p.Server.Version = plan.Version{Major: 9, Minor: 7, Patch: 4}
	if change != nil {
		change(p)
	}
	return Planned{Plan: p, Address: "db1:3306"}
}

// TestGolden: the texts are as in testdata, in 80 columns and in 120. go test -update writes them.
func TestGolden(t *testing.T) {
	risks := []plan.Risk{
		{Code: plan.CodeLossy, What: "the ALTER may change values of column note: they lose their trailing blanks", Why: "neither the server nor a run reports that as an error"},
		{Code: "replicas", What: "the server has 2 replicas", Fix: "Name them with --replica=HOST, so that the run waits for them"},
	}
	result := migration.Result{
		Method: plan.MethodShadow, Old: "shop.orders_old", Elapsed: 12 * time.Second, RowsCopied: 300_125, Applied: 887, Captured: 1002,
		Dropped: 100, Merged: 15, Copy: 8 * time.Second, Index: 200 * time.Millisecond, Verify: time.Second, Verified: 300_027, Attempts: 1,
		LockHeld: 7 * time.Millisecond, Drained: 3, Disk: 78 << 20, Redo: 90 << 20, Binlog: 62 << 20,
	}
	clean := planned(t, "MODIFY customer BIGINT NOT NULL", nil)
	lossy := planned(t, "DROP COLUMN b, MODIFY note CHAR(20)", func(p *plan.Plan) { p.Risks = risks })
	undoable, undo, undos := planned(t, "DROP COLUMN note, ADD COLUMN region INT", nil), planned(t, "ADD COLUMN note VARCHAR(40)", backTo), undosOf()
	undoable.Config.Undo = 24 * time.Hour
	kept := result
	kept.Undo = &undos[0]
	keptByUndo, redo := kept, undos[0]
	changed := int64(412) // some of them changed twice
	keptByUndo.Changed = &changed
	redo.Record.Back = true
	keptByUndo.Undo = &redo
	var listed []standings.Standing
	for _, u := range undos {
		listed = append(listed, standings.Standing{Kept: &u})
	}
	listed[0].Lost = []string{"region"}
	compared := time.Now().Add(-10 * time.Minute)
	for _, f := range []followers.Standing{{}, {Compared: &compared}, {Compared: &compared, Unfit: 3, Keys: []string{"7", "8"}}} {
		f.State, f.Behind = followers.Following, 2*time.Second
		listed = append(listed, standings.Standing{Kept: &undos[0], Follower: &f})
	}
	for name, of := range map[string]func(Style) string{
		"plan":         func(s Style) string { return OfPlan(clean, s, "the same command with run in place of plan") },
		"plan-verbose": func(s Style) string { s.Verbose = true; return OfPlan(clean, s, "") },
		"plan-risks":   func(s Style) string { return OfPlan(lossy, s, "") },
		"plan-instant": func(s Style) string {
			return OfPlan(planned(t, "ADD COLUMN c INT", func(p *plan.Plan) {
				p.Choice = plan.Choice{Method: plan.MethodInstant, Why: "the server changes only its dictionary", Others: []plan.Rejected{
					{Method: plan.MethodShadow, Why: "it would copy the entire table"},
				}}
				p.Inverse = &plan.Inverse{Clauses: "DROP COLUMN `c`", Lost: []string{"c"}}
			}), s, "")
		},
		"plan-instant-undoable": func(s Style) string {
			p := planned(t, "ADD COLUMN c INT", func(p *plan.Plan) {
				p.Choice = plan.Choice{Method: plan.MethodInstant, Why: "the server changes only its dictionary"}
				p.Inverse = &plan.Inverse{Clauses: "DROP COLUMN `c`", Lost: []string{"c"}}
			})
			p.Config.Undo = 24 * time.Hour
			return OfPlan(p, s, "") + BeforeRun(p, s)
		},
		"plan-instant-lost": func(s Style) string {
			return OfPlan(planned(t, "DROP COLUMN b", func(p *plan.Plan) {
				p.Choice = plan.Choice{Method: plan.MethodInstant, Why: "the server changes only its dictionary"}
				p.Inverse = &plan.Inverse{
					Clauses: "ADD COLUMN `b` INT", Why: "the values of column b are gone then", Instead: &plan.Prediction{Elapsed: 11 * time.Minute},
				}
			}), s, "")
		},
		"plan-none": func(s Style) string {
			p := planned(t, "COMMENT=''", func(p *plan.Plan) {
				p.Choice = plan.Choice{Method: plan.MethodNone, Why: "the table already has this definition"}
			})
			p.Config.Undo = 24 * time.Hour
			return OfPlan(p, s, "") + BeforeRun(p, s)
		},
		"run": func(s Style) string {
			return BeforeRun(clean, s) + OfRun(clean, result, Used{}, s)
		},
		"run-risks": func(s Style) string { return BeforeRun(lossy, s) },
		"run-verbose": func(s Style) string {
			s.Verbose = true
			return OfRun(clean, result, Used{PeakRSS: 12 << 20, CPU: time.Second}, s)
		},
		"plan-undoable": func(s Style) string { return OfPlan(undoable, s, "") },
		"plan-undo":     func(s Style) string { return OfPlan(undo, s, "") },
		"run-undoable":  func(s Style) string { return BeforeRun(undoable, s) + OfRun(undoable, kept, Used{}, s) },
		"run-undo":      func(s Style) string { return BeforeRun(undo, s) + OfRun(undo, keptByUndo, Used{}, s) },
		"undos":         func(s Style) string { return OfUndoables(listed, "db1:3306", s, false) },
		"undos-quiet":   func(s Style) string { return OfUndoables(listed, "db1:3306", s, true) },
		"undos-none":    func(s Style) string { return OfUndoables(nil, "db1:3306", s, false) },
		"rehearsal":     func(s Style) string { return OfRehearsal(clean.Plan, result, Used{}, true, s) },
		"refusal": func(s Style) string {
			return OfRefusal(&plan.Refused{Table: "shop.orders", Blocking: risks[1:], Others: risks[:1]}, s)
		},
	} {
		for _, width := range []int{80, 120} {
			golden(t, fmt.Sprintf("testdata/%s-%d.golden", name, width), reach.Flags("").In(of(Style{Width: width})), width)
		}
	}
}

// TestAShadowThatTookOverKeepsTheOldTable: the plan was the server's own statement, and the result has the old table.
func TestAShadowThatTookOverKeepsTheOldTable(t *testing.T) {
	p := planned(t, "ADD COLUMN n INT", func(p *plan.Plan) {
		p.Choice = plan.Choice{Method: plan.MethodCopy}
		p.Inverse = &plan.Inverse{Clauses: "DROP COLUMN `n`"}
	})
	if text := OfRun(p, migration.Result{Method: plan.MethodCopy}, Used{}, Style{Width: 120}); !strings.Contains(text, "No undo was kept") {
		t.Error(text)
	}
	text := OfRun(p, migration.Result{Method: plan.MethodShadow, Old: "shop.orders_old"}, Used{}, Style{Width: 120})
	if strings.Contains(text, "No undo was kept") || !strings.Contains(text, "Old table kept: shop.orders_old") {
		t.Error(text)
	}
}

// TestRedoIsCalledRedo: the undo of an undo is called redo in the plan and the result.
func TestRedoIsCalledRedo(t *testing.T) {
	p := planned(t, "DROP COLUMN note", func(p *plan.Plan) {
		backTo(p)
		p.Back.Redo = true
	})
	text := OfPlan(p, Style{Width: 120}, "") + OfRun(p, migration.Result{Method: plan.MethodShadow}, Used{}, Style{Width: 120})
	for _, want := range []string{"Redo after undo of", "Done: redone in"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

// backTo makes a plan the plan of a lazy undo.
func backTo(p *plan.Plan) {
	p.Purpose = plan.Undoing
	p.Names.Old = plan.UndoneOf(p.Source.Name)
	p.Back = &plan.Back{
		Lazy: true, For: 24 * time.Hour, Swapped: time.Date(2026, 11, 26, 9, 28, 0, 0, time.UTC),
		Alter: "DROP COLUMN note, ADD COLUMN region INT",
	}
}

// undosOf are changes in each state.
func undosOf() []leftovers.Undoable {
	name := schema.Name{Schema: "shop", Table: "orders"}
	at := time.Date(2026, 11, 26, 9, 28, 0, 0, time.UTC)
	u := leftovers.Undoable{
		Table: name, Old: name.Sibling("orders_old"), State: leftovers.UndoOpen, Alter: "DROP COLUMN note, ADD COLUMN region INT",
		Record: checkpoint.Undo{Swapped: at, Until: at.Add(24 * time.Hour), Mode: plan.UndoLazy},
	}
	revoked, running, stopped, followed, ended := u, u, u, u, u
	revoked.State, revoked.Why = leftovers.UndoRevoked, "the server no longer has its binlog from the time since the swap"
	running.State, running.Record.Back = leftovers.UndoRunning, true
	stopped.State, followed.State, followed.Followed = leftovers.UndoStopped, leftovers.UndoStopped, true
	ended.Late, ended.State, ended.Why = true, leftovers.UndoEnded, "its time is over"
	return []leftovers.Undoable{u, revoked, running, stopped, followed, ended}
}

func golden(t *testing.T, path, text string, width int) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if utf8.RuneCountInString(line) > width && strings.Contains(strings.TrimSpace(line), " ") &&
			!strings.HasPrefix(line, "Old table kept") && !strings.HasPrefix(line, "Kept for that") {
			t.Errorf("%s: wider than %d: %s", path, width, line)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s differs; go test ./internal/face/summary -update writes it anew:\n%s", path, text)
	}
}

// TestPlanIsShort: without warnings, the default text has at most 15 lines, and says the verdict and
// the method within the first five.
func TestPlanIsShort(t *testing.T) {
	text := OfPlan(planned(t, "MODIFY customer BIGINT NOT NULL", nil), Style{Width: 80}, "the same command with run in place of plan")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > 15 {
		t.Errorf("%d lines:\n%s", len(lines), text)
	}
	if first := strings.Join(lines[:5], "\n"); !strings.Contains(first, "OK to run") || !strings.Contains(first, "copy to a new table") {
		t.Errorf("the first lines don't say what will happen:\n%s", first)
	}
}

// TestAPlanOnAPageNamesNoCommand: a plan that midstream serve asked for is read next to a button, not after a command.
func TestAPlanOnAPageNamesNoCommand(t *testing.T) {
	p := planned(t, "MODIFY customer BIGINT NOT NULL", nil)
	p.Served = true
	if next := AfterPlan(p); next != "submit the change" {
		t.Error(next)
	}
}

// TestPlanOfAUniqueKeyIsShort: with the warnings of a build and of duplicates, the default text has at most 15 lines; --verbose has the
// reasons.
func TestPlanOfAUniqueKeyIsShort(t *testing.T) {
	const why = "if a session holds the table then for longer than a request may wait, the build is lost and starts again; no other session waits longer"
	p := planned(t, "ADD UNIQUE (email)", func(p *plan.Plan) {
		p.Choice = plan.Choice{
			Method: plan.MethodInplace, Lock: "NONE", Builds: true, Why: "the server builds it in about 550 ms, while the table is used",
			Others: []plan.Rejected{{Method: plan.MethodInstant, Why: "ALGORITHM=INSTANT is not supported for this operation"}},
		}
		p.Pace.Native, p.Inverse = plan.Cost{Rows: 300_000, Bytes: 40}, &plan.Inverse{Clauses: "DROP KEY email"}
		p.Risks = []plan.Risk{
			{Code: "unique", What: "the ALTER adds a unique key", Why: "a duplicate stops the run, with the table untouched", Fix: plan.FindFirst},
			{Code: plan.CodeBuild, What: "the server asks for the table's lock again at the end of its build", Why: why, Fix: "Choose a time without long transactions, or --method=shadow, which waits"},
		}
	})
	style := Style{Width: 100, Reach: "--host=127.0.0.1 --port=30794 --user=root"}
	text := OfPlan(p, style, AfterPlan(p))
	if lines := strings.Count(text, "\n"); lines > 15 || strings.Contains(text, "not INSTANT") {
		t.Errorf("%d lines:\n%s", lines, text)
	}
	style.Verbose = true
	if text := strings.Join(strings.Fields(OfPlan(p, style, "")), " "); !strings.Contains(text, why) || !strings.Contains(text, "not INSTANT: ") {
		t.Error(text)
	}
}
