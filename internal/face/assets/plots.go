// Package assets holds the files that draw a run in a browser: uPlot
// (https://github.com/leeoniya/uPlot, MIT, with its licence), the plots, and the style of all pages.
// Nothing is built, and nothing is fetched.
package assets

import (
	"embed"
	"io/fs"
)

//go:embed assets
var assets embed.FS

// Files are those for a browser: uplot.js, uplot.css, uplot.LICENSE, plots.js, style.css.
func Files() fs.FS {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the name is ours
	}
	return files
}

// Text is one of the files, to stand within a page. It panics on another name.
func Text(name string) string {
	text, err := fs.ReadFile(Files(), name)
	if err != nil {
		panic(err)
	}
	return string(text)
}
