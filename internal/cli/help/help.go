package help

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"midstream/internal/face/humanize"
)

// FirstVerbs are those that a new user needs, with what the help of the program says of them.
var FirstVerbs = []struct{ Verb, Arguments, What string }{
	{"plan", `"ALTER TABLE shop.orders ADD n INT"`, "show what would happen"},
	{"run", `"ALTER TABLE shop.orders ADD n INT"`, "do it, under traffic"},
	{"status", "", "how far it is, why it waits"},
}

// VerbGroups are the others.
var VerbGroups = readGroups(verbGroupsText)

// manyFlags is from how many on a verb's flags begin with those that matter most.
const manyFlags = 30

// leadingFlags are those of verbs that change a table.
var leadingFlags = []string{"host", "user", "password", "database", "to", "rehearse", "hold", "drop-old", "max-slowdown", "json"}

// serverFlags is the title of the flags that all verbs have that connect.
const serverFlags = "Reaching the server"

// flagGroups are all flags of verbs that change a table, and those by which any verb connects.
var flagGroups = readGroups(flagGroupsText)

// Group is flags under a title.
type Group struct {
	Title string
	Flags *pflag.FlagSet
}

// InCommon marks the flags that a verb has in common with others.
func InCommon(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{"in common": nil} })
}

// isCommon reports whether InCommon has marked a flag.
func isCommon(f *pflag.Flag) bool { _, is := f.Annotations["in common"]; return is }

// GroupsOf are a verb's flags as its help shows them: the verb's own first, then what verbs have in common.
func GroupsOf(cmd *cobra.Command) []Group {
	count := 0
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { count++ })
	var groups []Group
	titles := []string{"Flags", strings.ToUpper(cmd.Name()[:1]) + cmd.Name()[1:], "Most used"} // such as Undo
	for _, g := range flagGroups {
		if !slices.Contains(titles, g.Title) {
			titles = append(titles, g.Title)
		}
	}
	titles = append(titles, "Others")
	for _, title := range titles {
		of := Group{title, pflag.NewFlagSet(title, pflag.ContinueOnError)}
		of.Flags.SortFlags = false
		if title == "Most used" && count >= manyFlags { // in that order
			for _, name := range leadingFlags {
				if f := cmd.LocalFlags().Lookup(name); f != nil && !f.Hidden {
					of.Flags.AddFlag(f)
				}
			}
		}
		for _, common := range []bool{false, true} {
			cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
				shown := isCommon(f) == common && !f.Hidden && f.Name != "help" && titleOf(f.Name, count >= manyFlags) == title
				if shown && of.Flags.Lookup(f.Name) == nil {
					of.Flags.AddFlag(f)
				}
			})
		}
		if of.Flags.HasFlags() {
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
		if (many || g.Title == serverFlags) && slices.Contains(g.Names, flag) {
			return g.Title
		}
	}
	if many {
		return "Others"
	}
	return "Flags"
}

// Width is how wide a help is on out: 40 to 110 columns of a terminal, and 80 elsewhere.
func Width(out *os.File) int {
	if out == nil {
		return 80
	}
	if width, _, err := term.GetSize(int(out.Fd())); err == nil && width > 0 {
		return max(40, min(width, 110))
	}
	return 80
}

// Print prints the help of a verb, a topic, or the program.
func Print(cmd *cobra.Command, width int) {
	text := Of(cmd, width)
	if !cmd.HasParent() {
		text = OfAll(cmd)
	}
	fmt.Fprint(cmd.OutOrStdout(), text)
}

// OfAll fits a screen of 24 lines and 80 columns.
func OfAll(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(root.Short + ".\n\n")
	for _, first := range FirstVerbs {
		fmt.Fprintf(&b, "  midstream %-41s%s\n", first.Verb+" "+first.Arguments, first.What)
	}
	b.WriteString("\nOther verbs:\n")
	for _, g := range VerbGroups {
		fmt.Fprintf(&b, "  %-26s%s\n", g.Title, humanize.Wrapped(strings.Join(g.Names, ", "), 52, strings.Repeat(" ", 28)))
	}
	b.WriteString("\nmidstream VERB --help explains a verb, midstream help verbs lists them all, and\n" +
		humanize.Wrapped("midstream help TOPIC a topic: "+strings.Join(topicsOf(root), ", ")+".", 79, "") + "\n" +
		"New here? midstream demo shows a change under traffic, on a throwaway server.\n")
	return b.String()
}

// topicsOf are the names of the help Topics.
func topicsOf(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAdditionalHelpTopicCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// Of is the help of a verb or a topic: what it does, examples, and its flags.
func Of(cmd *cobra.Command, width int) string {
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
	for _, g := range GroupsOf(cmd) {
		b.WriteString("\n" + g.Title + ":\n")
		g.Flags.VisitAll(func(f *pflag.Flag) { b.WriteString(flagHelp(f, width)) })
	}
	return b.String()
}

// flagColumn is where the explanation of a flag begins.
const flagColumn = 32

// flagHelp is a flag's lines.
func flagHelp(f *pflag.Flag, width int) string {
	name, use := FlagWords(f)
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

// FlagWords are a flag with the kind of its value, and what it is for, with its default.
func FlagWords(f *pflag.Flag) (name, use string) {
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

// Topics are what help explains besides the verbs. The topic of the exit codes is the caller's.
func Topics(exitCodes *cobra.Command) []*cobra.Command {
	return []*cobra.Command{
		{Use: "connecting", Short: "How the server is found, and what option files may contain", Long: Text("connecting")},
		{Use: "swap", Short: "What a run waits for at its end, and how long others wait for it", Long: Text("swap")},
		{
			Use:   "desired-state",
			Short: "Changing tables to the definitions in files (--to)",
			Long:  Text("desired-state"),
		},
		{Use: "rehearsal", Short: "A run without the swap (--rehearse)", Long: Text("rehearsal")},
		exitCodes,
		{Use: "environment", Short: "Environment variables", Long: Text("environment")},
	}
}

// VerbsTopic lists all verbs of root with what they do.
func VerbsTopic(root *cobra.Command) *cobra.Command {
	topic := &cobra.Command{Use: "verbs", Short: "All verbs, with what each does"}
	widest := 0
	for _, c := range root.Commands() {
		widest = max(widest, len(c.Name()))
	}
	list := func(b *strings.Builder, names []string) {
		for _, name := range names {
			if c, _, err := root.Find([]string{name}); err == nil && c != root {
				fmt.Fprintf(b, "  %-*s %s\n", widest, c.Name(), c.Short)
			}
		}
	}
	var b strings.Builder
	var first []string
	for _, f := range FirstVerbs {
		first = append(first, f.Verb)
	}
	b.WriteString("first of all\n")
	list(&b, first)
	for _, g := range VerbGroups {
		b.WriteString("\n" + g.Title + "\n")
		list(&b, g.Names)
	}
	topic.Long = strings.TrimSuffix(b.String(), "\n")
	return topic
}
