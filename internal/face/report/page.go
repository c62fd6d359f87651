package report

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
	"regexp"
	"sync"

	"midstream/internal/face/assets"
	"midstream/internal/mysql/escape"
)

//go:embed page.html
var pageText string

// page is read when there is a report to write, and not whenever the program starts.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(functions).Funcs(template.FuncMap{
		"script": func(name string) template.JS { return template.JS(assets.Text(name)) },
		"style":  func(name string) template.CSS { return template.CSS(assets.Text(name)) },
		// A comment of the page would not come through, one of a script does.
		"licence": func(name string) template.JS { return template.JS("/*\n" + assets.Text(name) + "*/\n") },
	}).Parse(pageText))
})

// HTML writes the report as a page that holds all that it needs.
func (r *Report) HTML(out io.Writer) error {
	return page().Execute(escape.Writer(out), struct {
		*Report
		Records []any
	}{r, r.drawn})
}

// Parts writes parts of the page, for a page that has style.css: error, compared, plan, phases,
// verify, retries, undo, left.
func (r *Report) Parts(out io.Writer, names ...string) error {
	for _, name := range names {
		if err := page().ExecuteTemplate(escape.Writer(out), name, r); err != nil {
			return err
		}
	}
	return nil
}

// mark is what a script stands between.
var mark = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// Scripts are those of the page: they are the same in all. What allows them by their digests allows no other.
var Scripts = sync.OnceValue(func() (scripts []string) {
	var text bytes.Buffer
	if err := (&Report{}).HTML(&text); err != nil {
		panic(err) // the template is ours
	}
	for _, script := range mark.FindAllStringSubmatch(text.String(), -1) {
		scripts = append(scripts, script[1])
	}
	return scripts
})
