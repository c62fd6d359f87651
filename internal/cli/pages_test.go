package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"midstream/internal/cli/help"
	"midstream/internal/face/humanize"
)

// pageWidth is that of blocks of text in docs/cli.md.
const pageWidth = 110

// documented are the verbs and the topics, in the order of the help.
func documented() (root *cobra.Command, verbs, topics []*cobra.Command) {
	root = newApp(Env{Version: "VERSION"}).root()
	var names []string
	for _, f := range help.FirstVerbs {
		names = append(names, f.Verb)
	}
	for _, g := range help.VerbGroups {
		names = append(names, g.Names...)
	}
	for _, name := range names {
		if c, _, err := root.Find([]string{name}); err == nil {
			verbs = append(verbs, c)
		}
	}
	for _, c := range root.Commands() {
		if c.IsAdditionalHelpTopicCommand() && c.Name() != "verbs" {
			topics = append(topics, c)
		}
	}
	return root, verbs, topics
}

// subVerbs are the verbs of a verb that has its own, and not cobra's.
func subVerbs(c *cobra.Command) []*cobra.Command {
	if c.Name() == "completion" {
		return nil
	}
	return c.Commands()
}

// cliPage is one page of all verbs.
func cliPage() string {
	root, verbs, topics := documented()
	var b strings.Builder
	b.WriteString(generated + "# The command line\n\n" + humanize.Reflowed(root.Long, pageWidth) + "\n\n```\n" + help.OfAll(root) + "```\n")
	for _, c := range verbs {
		fmt.Fprintf(&b, "\n## midstream %s\n\n%s.\n\n", c.Name(), c.Short)
		if c.Name() != "completion" && c.Name() != "help" { // theirs are cobra's
			b.WriteString("```\n" + help.Of(c, pageWidth) + "```\n")
		}
		for _, sub := range subVerbs(c) {
			fmt.Fprintf(&b, "\n### %s\n\n%s.\n\n```\n%s```\n", sub.CommandPath(), sub.Short, help.Of(sub, pageWidth))
		}
	}
	for _, c := range topics {
		fmt.Fprintf(&b, "\n## midstream help %s\n\n%s.\n\n```\n%s```\n", c.Name(), c.Short, help.Of(c, pageWidth))
	}
	return b.String()
}

// manPage is midstream.1.
func manPage() string {
	root, verbs, topics := documented()
	var b strings.Builder
	b.WriteString(".\\\" Made by: go test ./internal/cli -run TestDocs -update\n.TH MIDSTREAM 1 \"\" midstream \"User Commands\"\n" +
		".SH NAME\nmidstream \\- change the schema of a MySQL table while it is in use\n.SH SYNOPSIS\n")
	for _, f := range help.FirstVerbs {
		fmt.Fprintf(&b, ".B midstream %s\n.br\n", argument(f.Verb+" "+f.Arguments))
	}
	b.WriteString(".B midstream\n.I VERB\n[\n.I flags\n]\n.SH DESCRIPTION\n" + roff(root.Long) + "\n.SH VERBS\n")
	for i := 0; i < len(verbs); i++ {
		verbs = slices.Insert(verbs, i+1, subVerbs(verbs[i])...)
	}
	for _, c := range verbs {
		path := strings.TrimSuffix(c.CommandPath(), c.Name())
		fmt.Fprintf(&b, ".SS %s\n.B %s\n.PP\n", roff(c.CommandPath()), argument(path+c.Use))
		about := c.Long
		if about == "" || c.Name() == "completion" || c.Name() == "help" {
			about = c.Short + "."
		}
		b.WriteString(roff(about) + "\n")
		if c.Example != "" {
			b.WriteString(".PP\nExamples:\n.PP\n.nf\n" + roff(c.Example) + "\n.fi\n")
		}
		for _, g := range help.GroupsOf(c) {
			fmt.Fprintf(&b, ".PP\n.I %s\n", roff(g.Title))
			g.Flags.VisitAll(func(f *pflag.Flag) {
				name, use := help.FlagWords(f)
				if f.Shorthand != "" {
					name = "-" + f.Shorthand + ", " + name
				}
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(name), roff(use))
			})
		}
	}
	for _, c := range topics {
		title := strings.ToUpper(c.Name())
		if c.Name() == "exit-codes" {
			title = "EXIT STATUS"
		}
		fmt.Fprintf(&b, ".SH %s\n%s\n", roff(title), roff(c.Long))
	}
	b.WriteString(".SH SEE ALSO\n" + roff("The pages of docs/, by question in its README.md; mysql(1), pt-online-schema-change(1)") + "\n")
	return b.String()
}

// argument is a text as the argument of a macro.
func argument(text string) string {
	return strings.ReplaceAll(roff(strings.TrimSpace(text)), `"`, `\(dq`)
}

// roff is a text as man takes it: paragraphs, of which those that are indented stay as they are.
func roff(text string) string {
	escape := strings.NewReplacer(`\`, `\e`, "-", `\-`)
	var paragraphs []string
	for _, p := range strings.Split(text, "\n\n") {
		indented := strings.Contains("\n"+p, "\n ")
		lines := strings.Split(escape.Replace(p), "\n")
		for i, line := range lines {
			if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
				lines[i] = `\&` + line
			}
		}
		p = strings.Join(lines, "\n")
		if indented && strings.Contains(p, "\n") {
			p = ".nf\n" + p + "\n.fi"
		}
		paragraphs = append(paragraphs, p)
	}
	return strings.Join(paragraphs, "\n.PP\n")
}
