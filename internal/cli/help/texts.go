package help

import (
	_ "embed"
	"strings"
)

//go:embed help.txt
var helpTexts string

//go:embed help_verbs.txt
var verbGroupsText string

//go:embed help_flags.txt
var flagGroupsText string

// Text is what the help explains of a verb or a topic: the section of help.txt that has its name.
func Text(name string) string {
	_, text, _ := strings.Cut("\n"+helpTexts, "\n=== "+name+"\n")
	text, _, _ = strings.Cut(text, "\n=== ")
	return strings.TrimRight(text, "\n")
}

// Named are names of verbs or flags under a title.
type Named struct {
	Title string
	Names []string
}

// readGroups reads a paragraph for each group: its title, and the names in lines that are indented.
func readGroups(text string) (groups []Named) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		title, names, _ := strings.Cut(paragraph, "\n")
		groups = append(groups, Named{title, strings.Fields(names)})
	}
	return groups
}
