package report

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"midstream/internal/ops/history"
)

// Form is a form of a report.
type Form struct {
	Name  string // the end of its file's name
	Write func(*Report, io.Writer) error
}

// Forms are the forms of a report. The first one is the page.
func Forms() []Form {
	return []Form{
		{"html", (*Report).HTML},
		{"json", (*Report).JSON},
		{"md", (*Report).Markdown},
	}
}

// FormOf is the form of a name; the page if there is none.
func FormOf(name string) Form {
	forms := Forms()
	return forms[max(0, slices.IndexFunc(forms, func(f Form) bool { return f.Name == name }))]
}

// ErrTerminal means that a terminal would show the text of the page.
var ErrTerminal = errors.New("the report is a page of HTML, and standard output is a terminal: write it to a file with --out=report.html " +
	"or > report.html, or print a text with --format=md")

// Fits fails with ErrTerminal if the form is the page, and is to be printed on a terminal.
func (f Form) Fits(terminal bool) error {
	if terminal && f.Name == Forms()[0].Name {
		return ErrTerminal
	}
	return nil
}

// WriteAll writes the report of a history beside it, in all forms, and returns the path of the page.
func WriteAll(path string) (page string, err error) {
	story, err := history.Whole(path)
	if err != nil {
		return "", err
	}
	r := Of(story)
	stem := strings.TrimSuffix(path, filepath.Ext(path)) + "."
	for _, form := range Forms() {
		err = errors.Join(err, WriteFile(stem+form.Name, func(out io.Writer) error { return form.Write(r, out) }))
	}
	return stem + Forms()[0].Name, err
}

// WriteFile writes over a file that only its owner reads.
func WriteFile(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
