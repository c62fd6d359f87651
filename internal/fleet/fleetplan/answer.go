package fleetplan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"strings"

	"midstream/internal/ops/record"
)

// Outcome is what the plan of one server comes to.
type Outcome string

// The outcomes.
const (
	Fits    Outcome = "fits"    // a run may begin
	Done    Outcome = "done"    // the server has the change already
	Unfit   Outcome = "unfit"   // rows do not fit
	Refused Outcome = "refused" // by the plan
	Wrong   Outcome = "wrong"   // its option file, or an option
	Failed  Outcome = "failed"  // it was not reached, or the plan was not made in time
)

// outcomes are in the order of a report.
var outcomes = []Outcome{Fits, Done, Unfit, Refused, Wrong, Failed}

// OutcomeOf is the outcome of a plan or a check that has ended with an exit code.
func OutcomeOf(code int) Outcome {
	switch code {
	case record.CodeDone:
		return Fits
	case record.CodeUnfit:
		return Unfit
	case record.CodeRefused, record.CodeBusy:
		return Refused
	case record.CodeWrongUsage:
		return Wrong
	}
	return Failed
}

// Answer is the plan of one server.
type Answer struct {
	Server   string            `json:"server"`
	Labels   map[string]string `json:"labels"`
	Address  string            `json:"server_address"`
	Version  string            `json:"server_version"`
	Table    string            `json:"table"`
	Outcome  Outcome           `json:"outcome"`
	ExitCode int               `json:"exit_code"`

	Method string `json:"method"`
	// Why is why no lighter method is taken.
	Why       string    `json:"why"`
	ElapsedMS record.MS `json:"elapsed_ms"`
	LeastMS   record.MS `json:"least_ms"`
	MostMS    record.MS `json:"most_ms"`
	LockedMS  record.MS `json:"locked_ms"`
	Rows      int64     `json:"rows"`
	DiskBytes int64     `json:"disk_bytes"`

	Problems []record.Risk    `json:"problems"`
	Warnings []record.Risk    `json:"warnings"`
	Findings []record.Finding `json:"findings"`
	Checked  bool             `json:"checked"`
	Error    string           `json:"error"`
	Next     string           `json:"next"`

	Fingerprint string    `json:"definition"`
	TookMS      record.MS `json:"took_ms"`

	// UUID is the server's own name of itself; "" if it has none.
	UUID string `json:"-"`
	// Definition are the lines of the table (desired.Lines) without the change; nil if they are not known.
	Definition []string `json:"-"`
}

// Define sets the definition with its fingerprint.
func (a *Answer) Define(lines []string) {
	a.Definition, a.Fingerprint = lines, ""
	if len(lines) > 0 {
		sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
		a.Fingerprint = hex.EncodeToString(sum[:6])
	}
}

// reason is why a server is in its group: the same text for servers with the same reason.
func (a *Answer) reason() string {
	var parts []string
	switch a.Outcome {
	case Fits:
		return a.Why
	case Done:
		return ""
	case Unfit:
		for _, f := range a.Findings {
			if f.Refused {
				parts = append(parts, named(f.Name, f.What))
			}
		}
	case Refused:
		for _, p := range a.Problems {
			parts = append(parts, strings.TrimSuffix(p.What+": "+p.Why, ": "))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, a.Error)
	}
	return a.unnamed(strings.Join(parts, "; "))
}

// named is a text with a name in it.
func named(name, text string) string {
	if strings.Contains(text, name) {
		return text
	}
	return name + ": " + text
}

// unfitRows are the rows of a server that do not fit, in short.
func (a *Answer) unfitRows() string {
	var rows int64
	least, key := "", ""
	for _, f := range a.Findings {
		if !f.Refused {
			continue
		}
		rows += f.Rows
		if f.AtLeast {
			least = "at least "
		}
		if key == "" && len(f.Keys) > 0 {
			key = ", such as " + f.Keys[0]
		}
	}
	plural := "s"
	if rows == 1 {
		plural = ""
	}
	return fmt.Sprintf("%s: %s%d row%s%s", a.Server, least, rows, plural, key)
}

// unnamed is a text without the names of the server and its table.
func (a *Answer) unnamed(text string) string {
	for _, name := range []string{a.Address, host(a.Address)} {
		if name != "" {
			text = strings.ReplaceAll(text, name, "the server")
		}
	}
	if a.Table != "" {
		text = strings.ReplaceAll(text, a.Table, "the table")
	}
	return text
}

func host(address string) string {
	name, _, err := net.SplitHostPort(address)
	if err != nil || len(name) < 4 {
		return ""
	}
	return name
}
