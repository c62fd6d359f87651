package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"midstream/internal/face/humanize"
)

// firstVerbs are those that a new user needs, with what the help of the program says of them.
var firstVerbs = []struct{ verb, arguments, what string }{
	{"plan", `"ALTER TABLE shop.orders ADD n INT"`, "show what would happen"},
	{"run", `"ALTER TABLE shop.orders ADD n INT"`, "do it, under traffic"},
	{"status", "", "how far it is, why it waits"},
}

// verbGroups are the others.
var verbGroups = readGroups(verbGroupsText)

// manyFlags is from how many on a verb's flags begin with those that matter most.
const manyFlags = 30

// leadingFlags are those of verbs that change a table.
var leadingFlags = []string{"host", "user", "password", "database", "to", "rehearse", "hold", "drop-old", "max-slowdown", "json"}

// serverFlags is the title of the flags that all verbs have that connect.
const serverFlags = "Reaching the server"

// flagGroups are all flags of verbs that change a table, and those by which any verb connects.
var flagGroups = readGroups(flagGroupsText)

// group is flags under a title.
type group struct {
	title string
	flags *pflag.FlagSet
}

// inCommon marks the flags that a verb has in common with others.
func inCommon(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{"in common": nil} })
}

// isCommon reports whether inCommon has marked a flag.
func isCommon(f *pflag.Flag) bool { _, is := f.Annotations["in common"]; return is }

// groupsOf are a verb's flags as its help shows them: the verb's own first, then what verbs have in common.
func groupsOf(cmd *cobra.Command) []group {
	count := 0
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { count++ })
	var groups []group
	titles := []string{"Flags", strings.ToUpper(cmd.Name()[:1]) + cmd.Name()[1:], "Most used"} // such as Undo
	for _, g := range flagGroups {
		if !slices.Contains(titles, g.title) {
			titles = append(titles, g.title)
		}
	}
	titles = append(titles, "Others")
	for _, title := range titles {
		of := group{title, pflag.NewFlagSet(title, pflag.ContinueOnError)}
		of.flags.SortFlags = false
		if title == "Most used" && count >= manyFlags { // in that order
			for _, name := range leadingFlags {
				if f := cmd.LocalFlags().Lookup(name); f != nil && !f.Hidden {
					of.flags.AddFlag(f)
				}
			}
		}
		for _, common := range []bool{false, true} {
			cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
				shown := isCommon(f) == common && !f.Hidden && f.Name != "help" && titleOf(f.Name, count >= manyFlags) == title
				if shown && of.flags.Lookup(f.Name) == nil {
					of.flags.AddFlag(f)
				}
			})
		}
		if of.flags.HasFlags() {
			groups = append(groups, of)
		}
	}
	return groups
}

// titleOf is the title under which a flag stands, of a verb that has many or not.
func titleOf(flag string, many bool) string {
	if many && slices.Contains(leadingFlags, flag) {
		return "Most used"
	}
	for _, g := range flagGroups {
		if (many || g.title == serverFlags) && slices.Contains(g.names, flag) {
			return g.title
		}
	}
	if many {
		return "Others"
	}
	return "Flags"
}

// helpWidth is how wide the help may be where it is printed.
func (a *app) helpWidth() int {
	if a.Env.Stdout == nil {
		return 80
	}
	if width, _, err := term.GetSize(int(a.Env.Stdout.Fd())); err == nil && width > 0 {
		return max(40, min(width, 110))
	}
	return 80
}

// help prints the help of a verb, a topic, or the program.
func (a *app) help(cmd *cobra.Command, _ []string) {
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
		a.unhelped = cmd.ValidateArgs(words)
		return
	}
	text := helpOf(cmd, a.helpWidth())
	if !cmd.HasParent() {
		text = helpOfAll(cmd)
	}
	fmt.Fprint(cmd.OutOrStdout(), text)
}

// helpOfAll fits a screen of 24 lines and 80 columns.
func helpOfAll(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(root.Short + ".\n\n")
	for _, first := range firstVerbs {
		fmt.Fprintf(&b, "  midstream %-41s%s\n", first.verb+" "+first.arguments, first.what)
	}
	b.WriteString("\nOther verbs:\n")
	for _, g := range verbGroups {
		fmt.Fprintf(&b, "  %-26s%s\n", g.title, humanize.Wrapped(strings.Join(g.names, ", "), 52, strings.Repeat(" ", 28)))
	}
	b.WriteString("\nmidstream VERB --help explains a verb, midstream help verbs lists them all, and\n" +
		humanize.Wrapped("midstream help TOPIC a topic: "+strings.Join(topicsOf(root), ", ")+".", 79, "") + "\n" +
		"New here? midstream demo shows a change under traffic, on a throwaway server.\n")
	return b.String()
}

// topicsOf are the names of the help topics.
func topicsOf(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAdditionalHelpTopicCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// helpOf is the help of a verb or a topic: what it does, examples, and its flags.
func helpOf(cmd *cobra.Command, width int) string {
	var b strings.Builder
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	b.WriteString(humanize.Reflowed(about, width) + "\n")
	if cmd.IsAdditionalHelpTopicCommand() {
		return b.String()
	}
	b.WriteString("\nUsage:\n")
	if cmd.Runnable() && !cmd.HasAvailableSubCommands() {
		b.WriteString("  " + cmd.UseLine() + "\n")
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(&b, "  %s %-12s %s\n", cmd.CommandPath(), sub.Name(), sub.Short)
		}
	}
	if cmd.Example != "" {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	for _, g := range groupsOf(cmd) {
		b.WriteString("\n" + g.title + ":\n")
		g.flags.VisitAll(func(f *pflag.Flag) { b.WriteString(flagHelp(f, width)) })
	}
	return b.String()
}

// flagColumn is where the explanation of a flag begins.
const flagColumn = 32

// flagHelp is a flag's lines.
func flagHelp(f *pflag.Flag, width int) string {
	name, use := flagWords(f)
	indent := strings.Repeat(" ", flagColumn)
	short := "    "
	if f.Shorthand != "" {
		short = "-" + f.Shorthand + ", "
	}
	name = "  " + short + name
	if len(name) > flagColumn-2 {
		name += "\n" + indent
	} else {
		name += indent[len(name):]
	}
	return name + humanize.Wrapped(use, width-flagColumn, indent) + "\n"
}

// flagWords are a flag with the kind of its value, and what it is for, with its default.
func flagWords(f *pflag.Flag) (name, use string) {
	kind, use := pflag.UnquoteUsage(f)
	name = "--" + f.Name
	if kind != "" && kind != "bool" {
		name += " " + kind
	}
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" {
		use += " (default " + f.DefValue + ")"
	}
	return name, use
}

// topics are what help has to say besides the verbs.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "connecting", Short: "How the server is found, and what option files may contain", Long: helpText("connecting")},
		{Use: "swap", Short: "What a run waits for at its end, and how long others wait for it", Long: helpText("swap")},
		{
			Use:   "desired-state",
			Short: "Changing tables to the definitions in files (--to)",
			Long:  helpText("desired-state"),
		},
		{Use: "rehearsal", Short: "A run without the swap (--rehearse)", Long: helpText("rehearsal")},
		exitCodesTopic(),
		{Use: "environment", Short: "Environment variables", Long: helpText("environment")},
	}
}

// verbsTopic lists all verbs of root with what they do.
func verbsTopic(root *cobra.Command) *cobra.Command {
	topic := &cobra.Command{Use: "verbs", Short: "All verbs, with what each does"}
	list := func(b *strings.Builder, names []string) {
		for _, name := range names {
			if c, _, err := root.Find([]string{name}); err == nil && c != root {
				fmt.Fprintf(b, "  %-*s %s\n", len(ptoscName), c.Name(), c.Short)
			}
		}
	}
	var b strings.Builder
	var first []string
	for _, f := range firstVerbs {
		first = append(first, f.verb)
	}
	b.WriteString("first of all\n")
	list(&b, first)
	for _, g := range verbGroups {
		b.WriteString("\n" + g.title + "\n")
		list(&b, g.names)
	}
	topic.Long = strings.TrimSuffix(b.String(), "\n")
	return topic
}
