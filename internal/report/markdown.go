package report

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"text/template"
	"time"

	"midstream/internal/record"
	"midstream/internal/words"
)

// functions are those of both templates.
var functions = map[string]any{
	"span":  span,
	"clock": func(at time.Time) string { return at.UTC().Format("01-02 15:04:05.000") },
	"day":   day,
	"count": words.Count[int64],
	"size":  words.Size,
	"join":  strings.Join,
	"state": (*Report).Words,
	"mood":  (*Report).Mood,
	"ended": func(state string) string { return StateWords(state, "") },
	// cell keeps a text within the cell of a table in Markdown.
	"cell": func(text string) string {
		return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
	},
}

func span(ms record.MS) string { return words.Span(ms.Duration()) }

func day(at string) string {
	t, err := time.Parse(record.RFC3339, at)
	if err != nil {
		return at
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// Words say how the run has ended.
func (r *Report) Words() string { return StateWords(r.State, r.Run.Rehearsal) }

// StateWords says what an outcome of a run is, or of a rehearsal.
func StateWords(outcome, rehearsal string) string {
	switch {
	case outcome == unfinished:
		return "has told no end: it is at work, or was killed"
	case outcome == "done" && rehearsal != "":
		return "rehearsed"
	}
	return strings.ReplaceAll(outcome, "_", " ")
}

// Mood is the colour of a state: good, warn or bad.
func (r *Report) Mood() string {
	switch r.State {
	case "done":
		return "good"
	case unfinished, "stopped", "aborted":
		return "warn"
	}
	return "bad"
}

// fence is a code block that no text within it can end.
func fence(text string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return fmt.Sprintf("%s\n%s\n%s", marks, strings.TrimRight(text, "\n"), marks)
}

// markdown is read when it is needed, too.
var markdown = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("markdown").Funcs(functions).Funcs(template.FuncMap{"fence": fence}).Parse(markdownText))
})

const markdownText = `# {{.Run.Table}}: {{state .}}

{{fence .Statement}}

Asked for by {{.Run.User}} on {{.Run.Host}} at {{day .Run.At}}, on server {{.Run.Server}}{{with .Plan}} ({{.ServerVersion}}){{end}}, by midstream {{.Run.Version}}.
{{with .Result}}{{if .Error}}
**Error{{with .Phase}} in phase {{.}}{{end}}:**

{{fence .Error}}
{{end}}{{end}}{{if .Earlier}}
## It went on with
{{range .Earlier}}
- {{.ID}}, begun at {{day .At}}: {{ended .State}}{{end}}
{{end}}{{with .Plan}}
## The plan

Method {{.Method}}{{with .Why}}: {{.}}{{end}}.{{with .Key}} Key {{.}}.{{end}}
{{range .Others}}
- not {{.Method}}: {{.Why}}{{end}}
{{range .Risks}}
- **{{.Code}}**: {{.What}} {{.Why}}{{with .Fix}} Fix: {{.}}{{end}}{{end}}
{{end}}{{if .Compared}}
## Predicted and happened

| what | predicted | happened |
|---|---|---|
{{range .Compared}}| {{cell .What}} | {{cell .Predicted}} | {{cell .Happened}} |
{{end}}{{end}}{{if .Phases}}
## Phases

| phase | began (UTC) | took |
|---|---|---|
{{range .Phases}}| {{.Name}} | {{clock .At}} | {{span .MS}} |
{{end}}{{end}}{{if .Happenings}}
## What happened

| at (UTC) | event | |
|---|---|---|
{{range .Happenings}}| {{clock .At}} | {{.Event}} | {{cell .Text}} |
{{end}}{{end}}{{if .Retries}}
## Tried again

| times | cause | first | last |
|---|---|---|---|
{{range .Retries}}| {{.Times}} | {{cell .Cause}} | {{clock .First}} | {{clock .Last}} |
{{end}}{{end}}{{with .Proven}}
Verified: {{count .Verified}} rows compared in {{span .VerifyMS}}{{if .Repaired}}, {{.Repaired}} of them synced anew{{end}}.
{{end}}
## What is left

{{with .Left}}{{.}}{{else}}Nothing.{{end}}
{{with .Remove}}
{{.}}
{{end}}`

// Markdown writes the report for a ticket. It has no plots.
func (r *Report) Markdown(out io.Writer) error { return markdown().Execute(out, r) }
