package fleetplan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"midstream/internal/ops/record"
)

// Asked is what was asked of a fleet.
type Asked struct {
	Statement  string `json:"statement"`
	Selector   string `json:"selector"`
	Checked    bool   `json:"checked"` // the rows, too
	AllowDrift bool   `json:"allow_drift"`
	// SkipApplied means that a server that has the change is done.
	SkipApplied bool `json:"skip_applied"`
	// Notes are about the inventory.
	Notes []string `json:"notes"`
}

// Report has the plans of a fleet.
type Report struct {
	record.Head
	Asked
	Servers  int         `json:"servers"`
	Groups   []Group     `json:"groups"`
	Common   *Definition `json:"common_definition"` // null if no server has shown one
	Drift    []Drift     `json:"drift"`
	Warnings []Warning   `json:"warnings"`
	Same     [][]string  `json:"same_table"` // servers of the inventory that are the same table of one server
	ExitCode int         `json:"exit_code"`
	TookMS   record.MS   `json:"took_ms"`
	Members  []Answer    `json:"members"`
}

// Count is how many servers have the same text.
type Count struct {
	Text string `json:"text"`
	N    int    `json:"servers"`
}

// Group are servers with the same outcome.
type Group struct {
	Outcome Outcome `json:"outcome"`
	Method  string  `json:"method"` // of Fits
	// Reason is why: of all servers in the group, if it is not one that fits.
	Reason      string    `json:"reason"`
	Servers     []string  `json:"servers"`
	Versions    []Count   `json:"versions"`
	Definitions []Count   `json:"definitions"`
	Reasons     []Count   `json:"reasons"` // of Fits: why no lighter method; of Unfit: the rows of each server
	LeastMS     record.MS `json:"least_ms"`
	MostMS      record.MS `json:"most_ms"`
	LockedMS    record.MS `json:"locked_ms"`
	Rows        int64     `json:"rows"`
	DiskBytes   int64     `json:"disk_bytes"`
	Next        string    `json:"next"` // of the first server
	key         string
}

// Definition is a definition of the table.
type Definition struct {
	Fingerprint string   `json:"definition"`
	Servers     int      `json:"servers"`
	Lines       []string `json:"lines"`
}

// Drift are servers whose definition is not the most common one.
type Drift struct {
	Fingerprint string   `json:"definition"`
	Servers     []string `json:"servers"`
	Lacks       []string `json:"lacks"` // lines of the most common definition
	Has         []string `json:"has"`   // lines in their place
}

// Warning is what an operator should know of some servers. What is that of the first.
type Warning struct {
	Code    string   `json:"code"`
	What    string   `json:"what"`
	Servers []string `json:"servers"`
}

// methods are in the order of a report, the lightest first.
var methods = []string{"none", "instant", "inplace", "copy", "shadow"}

// Of makes the report of the answers.
func Of(asked Asked, answers []Answer, took time.Duration) Report {
	r := Report{Head: record.HeadOf("fleet_plan", time.Now()), Asked: asked, Servers: len(answers), Members: answers, TookMS: record.MSOf(took),
		Groups: []Group{}, Drift: []Drift{}, Warnings: []Warning{}, Same: [][]string{}}
	if r.Notes == nil {
		r.Notes = []string{}
	}
	for i := range answers {
		a := &answers[i]
		a.Problems, a.Warnings, a.Findings = list(a.Problems), list(a.Warnings), list(a.Findings)
		r.group(a)
		for _, w := range a.Warnings {
			r.warn(a, w)
		}
	}
	slices.SortStableFunc(r.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(slices.Index(outcomes, a.Outcome), slices.Index(outcomes, b.Outcome)),
			cmp.Compare(slices.Index(methods, a.Method), slices.Index(methods, b.Method)), cmp.Compare(len(b.Servers), len(a.Servers)))
	})
	for i := range r.Groups {
		g := &r.Groups[i]
		for _, counts := range [][]Count{g.Versions, g.Definitions, g.Reasons} {
			slices.SortStableFunc(counts, func(a, b Count) int { return cmp.Compare(b.N, a.N) })
		}
	}
	r.findDrift()
	r.findSame()
	r.ExitCode = r.exitCode()
	return r
}

// list is an empty list in JSON, not null.
func list[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// group adds a server to its group.
func (r *Report) group(a *Answer) {
	reason := a.reason()
	key := string(a.Outcome) + "\x00" + reason
	if a.Outcome == Fits {
		key = string(a.Outcome) + "\x00" + a.Method
	}
	i := slices.IndexFunc(r.Groups, func(g Group) bool { return g.key == key })
	if i < 0 {
		i = len(r.Groups)
		g := Group{Outcome: a.Outcome, key: key, LeastMS: a.LeastMS, Next: a.Next}
		g.Versions, g.Definitions, g.Reasons = []Count{}, []Count{}, []Count{}
		if a.Outcome == Fits {
			g.Method = a.Method
		} else {
			g.Reason = reason
		}
		r.Groups = append(r.Groups, g)
	}
	g := &r.Groups[i]
	g.Servers = append(g.Servers, a.Server)
	g.LeastMS, g.MostMS, g.LockedMS = min(g.LeastMS, a.LeastMS), max(g.MostMS, a.MostMS), max(g.LockedMS, a.LockedMS)
	g.Rows, g.DiskBytes = g.Rows+a.Rows, g.DiskBytes+a.DiskBytes
	count(&g.Versions, a.Version)
	count(&g.Definitions, a.Fingerprint)
	switch a.Outcome {
	case Fits:
		count(&g.Reasons, reason)
	case Unfit:
		count(&g.Reasons, a.unfitRows())
	}
}

// count counts a text, if it is not empty.
func count(counts *[]Count, text string) {
	if text == "" {
		return
	}
	i := slices.IndexFunc(*counts, func(c Count) bool { return c.Text == text })
	if i < 0 {
		i = len(*counts)
		*counts = append(*counts, Count{Text: text})
	}
	(*counts)[i].N++
}

// warn adds a server to a warning.
func (r *Report) warn(a *Answer, w record.Risk) {
	i := slices.IndexFunc(r.Warnings, func(known Warning) bool { return known.Code == w.Code })
	if i < 0 {
		i = len(r.Warnings)
		r.Warnings = append(r.Warnings, Warning{Code: w.Code, What: a.unnamed(w.What)})
	}
	if servers := &r.Warnings[i].Servers; !slices.Contains(*servers, a.Server) {
		*servers = append(*servers, a.Server)
	}
}

// MostCommon is the definition that most servers have; of several, the one that comes first. "" if there is none.
func MostCommon(definitions []string) (common string) {
	counts := map[string]int{}
	for _, d := range definitions {
		counts[d]++
	}
	for _, d := range definitions {
		if counts[d] > counts[common] {
			common = d
		}
	}
	return common
}

// findDrift finds the most common definition, and those that differ from it.
func (r *Report) findDrift() {
	var counts []Count
	lines, servers := map[string][]string{}, map[string][]string{}
	for _, a := range r.Members {
		if a.Fingerprint != "" {
			count(&counts, a.Fingerprint)
			lines[a.Fingerprint], servers[a.Fingerprint] = a.Definition, append(servers[a.Fingerprint], a.Server)
		}
	}
	if len(counts) == 0 {
		return
	}
	slices.SortStableFunc(counts, func(a, b Count) int { return cmp.Compare(b.N, a.N) })
	common := counts[0]
	r.Common = &Definition{common.Text, common.N, lines[common.Text]}
	for _, c := range counts[1:] {
		r.Drift = append(r.Drift, driftOf(c.Text, servers[c.Text], r.Common.Lines, lines[c.Text]))
	}
}

func driftOf(fingerprint string, servers, common, own []string) Drift {
	without := func(lines, others []string) []string {
		return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(others, line) })
	}
	d := Drift{fingerprint, servers, list(without(common, own)), list(without(own, common))}
	if len(d.Lacks)+len(d.Has) == 0 {
		d.Has = append(d.Has, "columns in another order: "+strings.Join(columnsOf(own), ", "))
	}
	return d
}

// columnsOf are the names of the columns in lines of a definition.
func columnsOf(lines []string) (names []string) {
	for _, line := range lines {
		if !strings.HasPrefix(line, "`") {
			break
		}
		name, _, _ := strings.Cut(line[1:], "` ")
		names = append(names, name)
	}
	return names
}

// findSame finds the servers that are the same table of one server.
func (r *Report) findSame() {
	at := map[string]int{}
	for _, a := range r.Members {
		key := a.UUID + "/" + a.Table
		if a.UUID == "" || a.Table == "" {
			continue
		}
		if i, known := at[key]; known {
			r.Same[i] = append(r.Same[i], a.Server)
			continue
		}
		at[key] = len(r.Same)
		r.Same = append(r.Same, []string{a.Server})
	}
	r.Same = slices.DeleteFunc(r.Same, func(servers []string) bool { return len(servers) < 2 })
}

// Count is the number of servers with an outcome.
func (r *Report) Count(of Outcome) (n int) {
	for _, g := range r.Groups {
		if g.Outcome == of {
			n += len(g.Servers)
		}
	}
	return n
}

// Drifts reports whether the definitions differ, and that matters.
func (r *Report) Drifts() bool { return len(r.Drift) > 0 && !r.AllowDrift }

// exitCode is the code of the gravest outcome: what a person must remove comes before what passes.
func (r *Report) exitCode() int {
	busy := r.Count(Refused) > 0
	for _, a := range r.Members {
		busy = busy && (a.Outcome != Refused || a.ExitCode == record.CodeBusy)
	}
	switch {
	case r.Count(Refused) > 0 && !busy, r.Drifts():
		return record.CodeRefused
	case r.Count(Unfit) > 0:
		return record.CodeUnfit
	case r.Count(Wrong) > 0:
		return record.CodeWrongUsage
	case r.Count(Failed) > 0:
		return record.CodeFailed
	case busy:
		return record.CodeBusy
	}
	return record.CodeDone
}
