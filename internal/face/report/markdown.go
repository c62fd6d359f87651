package report

import (
	"io"
	"strings"
	"sync"
	"text/template"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
)

// functions are those of both templates.
var functions = map[string]any{
	"span":   span,
	"clock":  func(at time.Time) string { return at.UTC().Format("01-02 15:04:05.000") },
	"day":    day,
	"count":  humanize.Count[int64],
	"size":   humanize.Size,
	"join":   strings.Join,
	"name":   func(table string) string { return schema.NameOf(table).String() },
	"state":  (*Report).Words,
	"mood":   (*Report).Mood,
	"ended":  func(state string) string { return StateWords(state, "") },
	"step":   func(name string) string { return humanize.Step(event.Phase(name)) },
	"method": humanize.Method,
	"was":    humanize.Was[int],
	// say is a text of others as words: in Markdown, within a line or a cell. Our own lines in it become one.
	"say": func(text string) string { return escape.Markdown(strings.Join(strings.Fields(text), " ")) },
}

// span leaves out a time that is zero.
func span(ms record.MS) string {
	if text := humanize.Span(ms.Duration()); text != "0.0 ms" {
		return text
	}
	return ""
}

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
		return "unfinished: at work, or killed"
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

// markdown is read when it is needed, too.
var markdown = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("markdown").Funcs(functions).Funcs(template.FuncMap{"fence": escape.Block}).Parse(markdownText))
})

const markdownText = `# {{say .Title}}: {{say (state .)}}
{{if .Together}}
{{with .Lock}}{{say .}}

{{end}}| table | state | rows copied | in | rows compared | in | keys applied under the lock | old table |
|---|---|---|---|---|---|---|---|
{{range .Members}}| {{say (name .Run.Table)}} | {{say (state .)}} | {{with .Figures}}{{count .RowsCopied}} | {{span .CopyMS}} | {{count .Verified}} | {{span .VerifyMS}} | {{.DrainedKeys}} | {{say .Old}} |{{end}}
{{end}}{{range .Members}}
# {{say (name .Run.Table)}}: {{say (state .)}}
{{template "run" .}}{{end}}{{else}}{{template "run" .}}{{end}}{{define "run"}}
{{fence .Statement}}

Started by {{say .Run.User}} on {{say .Run.Host}} at {{say (day .Run.At)}}, on server {{say .Run.Server}}{{with .Plan}} ({{say .ServerVersion}}){{end}}{{with .Run.Version}}, with midstream {{say .}}{{end}}.
{{with .Result}}{{if .Error}}
**Error{{with .Phase}} in step {{say (step .)}}{{end}}:**

{{fence .Error}}
{{range $.Unfit}}
{{fence .}}
{{end}}{{end}}{{end}}{{if .Earlier}}
## Earlier runs

This run resumed the work of these runs:
{{range .Earlier}}
- {{say .ID}}, started at {{say (day .At)}}: {{say (ended .State)}}{{end}}
{{end}}{{with .Plan}}
## Plan

Method: {{say (method .Method)}}{{with .Why}} ({{say .}}){{end}}.{{with .Key}} Key: {{say .}}.{{end}}
{{range $.Chosen}}
- {{say .}}{{end}}
{{range .Others}}
- not {{say (method .Method)}}: {{say .Why}}{{end}}
{{range .Risks}}
- **{{say .Code}}**: {{say .What}}{{with .Why}}: {{say .}}{{end}}{{with .Fix}}. Fix: {{say .}}{{end}}{{end}}
{{end}}{{if .Offers}}
## Pace

| limit | time | cost for the application |
|---|---|---|
{{range .Offers}}| {{say .Limit}} | {{say .Time}} | {{say .Cost}} |
{{end}}{{end}}{{if .Compared}}
## Predicted and actual

| | predicted | actual |
|---|---|---|
{{range .Compared}}| {{say .What}} | {{say .Predicted}} | {{say .Happened}} |
{{end}}{{end}}{{if .Phases}}
## Phases

| phase | started (UTC) | duration |
|---|---|---|
{{range .Phases}}| {{say .Text}} | {{clock .At}} | {{span .MS}} |
{{end}}{{end}}{{if .Happenings}}
## Events

| at (UTC) | event | |
|---|---|---|
{{range .Happenings}}| {{clock .At}} | {{say .Event}} | {{say .Text}} |
{{end}}{{end}}{{if .Retries}}
## Retries

| times | cause | first | last |
|---|---|---|---|
{{range .Retries}}| {{.Times}} | {{say .Cause}} | {{clock .First}} | {{clock .Last}} |
{{end}}{{end}}{{with .Proven}}
Verified: {{count .Verified}} rows compared in {{span .VerifyMS}}{{if .Repaired}}; {{.Repaired}} differed and {{was .Repaired}} repaired{{else}}, all equal{{end}}.
{{end}}{{if .Undo}}
## Undo
{{range .Undo}}
- {{say .}}{{end}}
{{end}}
## Left on the server

{{with .Left}}{{say .}}{{else}}Nothing.{{end}}
{{with .Remove}}
{{say .}}
{{end}}{{end}}`

// Markdown writes the report for a ticket. It has no plots.
func (r *Report) Markdown(out io.Writer) error { return markdown().Execute(out, r) }
