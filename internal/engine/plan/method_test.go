package plan_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// TestChoose: Choose takes the lightest method whose cost is within the limits, and returns why not
// the others.
func TestChoose(t *testing.T) {
	const giga = 1 << 30
	large := schema.Table{Rows: 100_000_000, DataBytes: 30 * giga}
	small := schema.Table{Rows: 100, DataBytes: 16 << 10}
	middle := schema.Table{Rows: 1_000_000, DataBytes: giga / 4}
	alone, followed := &plan.Facts{OnlineLog: 128 << 20}, &plan.Facts{OnlineLog: 128 << 20, Replicas: []string{"r:3306"}}
	used := &plan.Facts{RowVersions: 64}
	inplace := func(e plan.Effect, lock string) plan.Answer {
		return plan.Answer{Method: plan.MethodInplace, Lock: lock, Effect: e}
	}
	instant := plan.Answer{Method: plan.MethodInstant, Effect: plan.Metadata}
	// Clauses on partitions, on a server that takes no ALGORITHM with them.
	plain := plan.Answer{Method: plan.MethodCopy, Effect: plan.Rebuild, Plain: true, Refused: []plan.Rejected{{Method: plan.MethodInstant, Why: "the server takes no"}}}
	maria := &plan.Facts{OnlineLog: 128 << 20, Version: plan.Version{MariaDB: true}}
	refused := errors.New("refused")
	for _, c := range []struct {
		name    string
		wish    plan.Method
		clauses string
		answer  plan.Answer
		table   schema.Table
		facts   *plan.Facts
		pace    plan.Pace
		shadow  error
		want    plan.Method
		against string // the last rejected method
	}{
		{"the same again", "", "MODIFY v INT", plan.Answer{Method: plan.MethodInstant}, large, alone, plan.Pace{}, nil, plan.MethodNone, ""},
		{"a counter", "", "AUTO_INCREMENT = 7", inplace(plan.Nothing, "NONE"), large, alone, plan.Pace{}, nil, plan.MethodInplace, "copy the entire"},
		{"instant", "", "ADD COLUMN v INT", instant, large, followed, plan.Pace{}, refused, plan.MethodInstant, ""},
		{"no versions left", "", "ADD COLUMN v INT", instant, large, used, plan.Pace{}, nil, plan.MethodShadow, "64 times"},
		{"no versions needed", "", "ALTER v SET DEFAULT 1", instant, large, used, plan.Pace{}, nil, plan.MethodInstant, "copy the entire"},
		{"dictionary", "", "RENAME INDEX a TO b", inplace(plan.Metadata, "NONE"), large, followed, plan.Pace{}, nil, plan.MethodInplace, "copy the entire"},
		{"index, alone", "", "ADD INDEX (v)", inplace(plan.Index, "NONE"), large, alone, plan.Pace{}, nil, plan.MethodInplace, "copy the entire"},
		{"index, replicas", "", "ADD INDEX (v)", inplace(plan.Index, "NONE"), large, followed, plan.Pace{}, nil, plan.MethodShadow, "replicas"},
		{"small index, replicas", "", "ADD INDEX (v)", inplace(plan.Index, "NONE"), small, followed, plan.Pace{}, nil, plan.MethodInplace, "copy the entire"},
		{"rebuild", "", "FORCE", inplace(plan.Rebuild, "NONE"), middle, alone, plan.Pace{}, nil, plan.MethodInplace, "copy the entire"},
		{"long rebuild", "", "FORCE", inplace(plan.Rebuild, "NONE"), large, alone, plan.Pace{}, nil, plan.MethodShadow, "the build is lost"},
		{"rebuild in a large pool", "", "FORCE", inplace(plan.Rebuild, "NONE"), schema.Table{Rows: 10_000_000, DataBytes: 2 * giga},
			&plan.Facts{OnlineLog: 128 << 20, BufferPool: 64 * giga}, plan.Pace{}, nil, plan.MethodShadow, "list of dirty pages"},
		{"busy rebuild", "", "FORCE", inplace(plan.Rebuild, "NONE"), middle, alone, plan.Pace{Writes: 100_000}, nil, plan.MethodShadow, "online log"},
		{"nobody may write", "", "ADD FULLTEXT (s)", inplace(plan.Rebuild, "SHARED"), middle, alone, plan.Pace{}, nil, plan.MethodShadow, "block writes"},
		{"copy", "", "MODIFY v BIGINT", plan.Answer{Method: plan.MethodCopy, Effect: plan.Rebuild}, middle, alone, plan.Pace{}, nil, plan.MethodShadow, "block writes"},
		{"small copy", "", "MODIFY v BIGINT", plan.Answer{Method: plan.MethodCopy, Effect: plan.Rebuild}, small, alone, plan.Pace{}, refused, plan.MethodCopy, ""},
		{"partitions, MySQL", "", "COALESCE PARTITION 1", plain, small, alone, plan.Pace{}, nil, plan.MethodCopy, "server takes no"},
		{"partitions, MariaDB", "", "COALESCE PARTITION 1", plain, small, maria, plan.Pace{}, nil, plan.MethodShadow, "loses the rows"},
		{"partitions, MariaDB, copy asked for", plan.MethodCopy, "COALESCE PARTITION 1", plain, small, maria, plan.Pace{}, nil, "", "server takes no"},
		{"nothing goes", "", "MODIFY v BIGINT", plan.Answer{Method: plan.MethodCopy, Effect: plan.Rebuild}, large, alone, plan.Pace{}, refused, "", "block writes"},
		{"shadow, asked for", plan.MethodShadow, "ADD COLUMN v INT", instant, large, alone, plan.Pace{}, nil, plan.MethodShadow, "asked for"},
		{"inplace, asked for", plan.MethodInplace, "FORCE", inplace(plan.Rebuild, "NONE"), large, alone, plan.Pace{}, nil, plan.MethodInplace, "copy the entire"},
		{"copy, asked for", plan.MethodCopy, "FORCE", inplace(plan.Rebuild, "NONE"), large, alone, plan.Pace{}, nil, "", ""},
	} {
		alter, err := ddl.Parse("ALTER TABLE t " + c.clauses)
		if err != nil {
			t.Fatal(err)
		}
		facts := *c.facts
		facts.Native = &c.answer
		pace := plan.AssumedPace(&facts, &c.table)
		pace.Writes = c.pace.Writes
		choice, err := plan.Choose(&facts, &c.table, alter, plan.Options{Method: c.wish, Pace: &pace}, c.shadow)
		if choice.Method != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %s (%s), %v; want %s", c.name, choice.Method, choice.Why, err, c.want)
		}
		last := ""
		if n := len(choice.Others); n > 0 {
			last = choice.Others[n-1].Why
		}
		if !strings.Contains(last, c.against) || (last == "") != (c.against == "") {
			t.Errorf("%s: the reason against the last rejected method is %q, want %q", c.name, last, c.against)
		}
		if c.want != "" && choice.Why == "" {
			t.Errorf("%s: no reason is given", c.name)
		}
	}
}

// TestLimits have defaults.
func TestLimits(t *testing.T) {
	if l := (plan.Limits{Stall: time.Minute}).WithDefaults(); l.Stall != time.Minute || l.Locked == 0 || l.Longest == 0 {
		t.Errorf("limits are %+v", l)
	}
}

// TestWindowsApart: the server copies or builds in one statement with its change of the table. If no
// hours allow both, a shadow does it, and a change of the dictionary alone is still the server's.
func TestWindowsApart(t *testing.T) {
	table := schema.Table{Rows: 100, DataBytes: 16 << 10}
	for want, answers := range map[plan.Method][]plan.Answer{
		plan.MethodShadow: {
			{Method: plan.MethodInplace, Lock: "NONE", Effect: plan.Index}, {Method: plan.MethodCopy, Effect: plan.Rebuild},
		},
		plan.MethodInstant: {{Method: plan.MethodInstant, Effect: plan.Metadata}},
	} {
		for _, answer := range answers {
			alter, err := ddl.Parse("ALTER TABLE t ADD INDEX (v)")
			if err != nil {
				t.Fatal(err)
			}
			facts := &plan.Facts{OnlineLog: 128 << 20, Native: &answer}
			pace := plan.AssumedPace(facts, &table)
			choice, err := plan.Choose(facts, &table, alter, plan.Options{Pace: &pace, Limits: plan.Limits{Apart: true}}, nil)
			if err != nil || choice.Method != want {
				t.Errorf("%s: %s (%s), %v; want %s", answer.Method, choice.Method, choice.Why, err, want)
			}
			if want == plan.MethodShadow && !strings.Contains(choice.Others[len(choice.Others)-1].Why, "no time in common") {
				t.Errorf("%s: %+v", answer.Method, choice.Others)
			}
		}
	}
}
