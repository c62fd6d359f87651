package report

import (
	_ "embed"
	"html/template"
	"io"
	"sync"

	"midstream/internal/plots"
)

//go:embed page.html
var pageText string

// page is read when there is a report to write, and not whenever the program starts.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(functions).Funcs(template.FuncMap{
		"script": func(name string) template.JS { return template.JS(plots.Text(name)) },
		"style":  func(name string) template.CSS { return template.CSS(plots.Text(name)) },
		// A comment of the page would not come through, one of a script does.
		"licence": func(name string) template.JS { return template.JS("/*\n" + plots.Text(name) + "*/\n") },
	}).Parse(pageText))
})

// HTML writes the report as a page that holds all that it needs.
func (r *Report) HTML(out io.Writer) error {
	return page().Execute(out, struct {
		*Report
		Records []any
	}{r, r.drawn})
}
