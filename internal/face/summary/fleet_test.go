package summary

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"midstream/internal/fleet/fleetplan"
	"midstream/internal/ops/record"
)

// TestFleetPlanFits: a plan of 256 servers fits 80 columns and a page, names few servers of each group unless all are wanted, and what
// servers say cannot write to the terminal or break the Markdown.
func TestFleetPlanFits(t *testing.T) {
	var answers []fleetplan.Answer
	for n := range 256 {
		a := fleetplan.Answer{Server: fmt.Sprintf("%03d", n), Version: "MySQL 8.0.36", Table: "shop.orders", Outcome: fleetplan.Fits, Method: "instant", MostMS: 250}
		a.Define([]string{"`id` int NOT NULL"})
		switch {
		case n == 31:
			a.Outcome, a.ExitCode, a.Problems = fleetplan.Refused, record.CodeRefused, []record.Risk{{What: "the ALTER adds column note\x1b[31m", Why: "the | table has it"}}
			a.Define([]string{"`id` int NOT NULL", "`note` varchar(20) COMMENT '\x1b[31m" + strings.Repeat("long ", 30) + "```'"})
		case n%64 == 4:
			a.Method, a.Why, a.LeastMS, a.MostMS, a.Rows, a.DiskBytes = "shadow", "not INSTANT: the row versions are used up", 660_000, 3_000_000, 1e6, 30e9
		case n > 250:
			a.Outcome, a.ExitCode, a.Error, a.Fingerprint = fleetplan.Failed, record.CodeFailed, "it took longer than 1m0s (connecting)", ""
			a.Warnings = []record.Risk{{Code: "x", What: "a warning \x1b[31m"}}
		}
		answers = append(answers, a)
	}
	r := fleetplan.Of(fleetplan.Asked{Statement: "ALTER TABLE shop.orders ADD note VARCHAR(40)", Selector: "app=shop", Notes: []string{"ignored file x.conf"}}, answers, 4*time.Second)
	text := OfFleetPlan(r, Style{Width: 78})
	for line := range strings.Lines(text) {
		if len([]rune(line)) > 81 {
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
	for _, want := range []string{"app=shop: 256 servers, planned in 4.0 s\n", "Not yet: of 256 servers, 1 cannot be changed, 5 without a plan, 1 with\n",
		"    246  INSTANT, less than 1 s\n         000, 001, 002, 003, 005, 006 and 240 more\n", "      4  a new table, 11 min to 50 min; 120 GB of disk in all\n",
		"not INSTANT: the row versions are used up", "004, 068, 132, 196", "      1  refused: the ALTER adds column note", "  - 1 server: 031\n", "      has    `note` varchar(20)",
		"no plan: it took longer than 1m0s", "5 servers: a warning", "ignored file x.conf"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\n"); n > 35 {
		t.Errorf("%d lines", n)
	}
	page := OfFleetPlan(r, Style{Markdown: true})
	if strings.Contains(text+page, "\x1b") || !strings.Contains(page, `the \| table`) || !strings.Contains(page, "````diff\n") {
		t.Errorf("not escaped:\n%s\n%s", text, page)
	}
	if all := OfFleetPlan(r, Style{Width: 78, Verbose: true}); !strings.Contains(all, "249, 250") || strings.Contains(all, " more") {
		t.Errorf("not all servers:\n%s", all)
	}
}

// TestFleetNext: there is something to do after each outcome.
func TestFleetNext(t *testing.T) {
	ok := fleetplan.Answer{Server: "a", Outcome: fleetplan.Fits, Method: "instant"}
	for want, c := range map[string]fleetplan.Report{
		"with --check reads every row": fleetplan.Of(fleetplan.Asked{}, []fleetplan.Answer{ok}, 0),
		"midstream fleet submit":       fleetplan.Of(fleetplan.Asked{Checked: true}, []fleetplan.Answer{ok}, 0),
		"nothing":                      fleetplan.Of(fleetplan.Asked{}, []fleetplan.Answer{{Outcome: fleetplan.Done}}, 0),
		"add --skip-applied":           fleetplan.Of(fleetplan.Asked{}, []fleetplan.Answer{ok, {Outcome: fleetplan.Refused}}, 0),
		"the keys and a SELECT":        fleetplan.Of(fleetplan.Asked{}, []fleetplan.Answer{ok, {Outcome: fleetplan.Unfit}}, 0),
		"undo  --end a.b (server c)":   fleetplan.Of(fleetplan.Asked{}, []fleetplan.Answer{ok, {Server: "c", Outcome: fleetplan.Refused, Problems: []record.Risk{{Code: "undo", Fix: "midstream undo  --end a.b"}}}}, 0),
		"look (server b)":              fleetplan.Of(fleetplan.Asked{}, []fleetplan.Answer{ok, {Server: "b", Outcome: fleetplan.Failed, Next: "look"}}, 0),
	} {
		if next := FleetNext(c); !strings.Contains(next, want) {
			t.Errorf("%q, want %q", next, want)
		}
	}
}
