package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"midstream/internal/cli/flags"
)

// writtenPages are the pages that people read.
func writtenPages(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	return append(pages, "../../README.md", "../../bench/README.md")
}

var (
	linked  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	titled  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	inCode  = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`")
	spelled = regexp.MustCompile("[^a-z0-9 _-]")
)

// anchorOf is how a title is linked to.
func anchorOf(title string) string {
	return strings.ReplaceAll(spelled.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

// TestDocsLinks: every link of the pages leads to a file that there is, and to a title of it.
func TestDocsLinks(t *testing.T) {
	count := 0
	for _, page := range writtenPages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range linked.FindAllStringSubmatch(inCode.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			count++
			file, anchor, _ := strings.Cut(link[1], "#")
			path := filepath.Join(filepath.Dir(page), file)
			if file == "" {
				path = page
			}
			there, err := os.Stat(path)
			if err != nil {
				t.Errorf("%s: nothing is at %s", page, link[1])
				continue
			}
			if anchor == "" || there.IsDir() {
				continue
			}
			target, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(
				titled.FindAllStringSubmatch(string(target), -1),
				func(m []string) bool { return anchorOf(m[1]) == anchor },
			) {
				t.Errorf("%s: %s has no title %s", page, path, anchor)
			}
		}
	}
	if count < 70 {
		t.Errorf("only %d links were looked at", count)
	}
	index, err := os.ReadFile("../../docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range writtenPages(t) {
		if name := filepath.Base(page); name != "README.md" && !strings.Contains(string(index), "("+name+")") {
			t.Errorf("docs/README.md does not lead to %s", name)
		}
	}
}

var (
	commandLine = regexp.MustCompile(`^(?:\$ )?(?:sudo -u \S+ (?:\S+=\S+ )?)?midstream ([a-z-].*)`)
	quoted      = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	flagged     = regexp.MustCompile(`^--([a-z][a-z-]*)(?:=(.*))?$`)
)

// TestDocsCommands: every command line of midstream's in the pages has a verb that there is, and
// flags of that verb, with values that it takes.
func TestDocsCommands(t *testing.T) {
	count := 0
	for _, page := range writtenPages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if name := filepath.Base(page); name == "cli.md" || name == "errors.md" {
			continue // made of the code
		}
		for _, code := range inCode.FindAllString(string(text), -1) {
			for _, line := range strings.Split(strings.Trim(code, "`"), "\n") {
				if line == "midstream service" {
					continue // the comment of a table
				}
				for _, m := range commandLine.FindAllStringSubmatch(line, -1) {
					count++
					checkCommand(t, page, m[1])
				}
			}
		}
	}
	if count < 60 {
		t.Errorf("only %d commands were looked at", count)
	}
}

// checkCommand looks at what follows the program's name.
func checkCommand(t *testing.T, page, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " # ")
	line, _, _ = strings.Cut(line, " | ")
	words := strings.Fields(quoted.ReplaceAllString(line, "X"))
	root := newApp(Env{}).root()
	verb, rest, err := root.Find(words[:1])
	if err != nil || verb == root && !strings.HasPrefix(words[0], "-") || len(rest) > 0 && verb != root {
		t.Errorf("%s: there is no verb %q in midstream %s", page, words[0], line)
		return
	}
	if verb.HasSubCommands() && len(words) > 1 {
		if sub, _, err := root.Find(words[:2]); err == nil {
			verb = sub
		}
	}
	if verb.DisableFlagParsing {
		return // another program's
	}
	for _, word := range words[1:] {
		flag := flagged.FindStringSubmatch(strings.TrimRight(word, ".,;:)]"))
		if flag == nil {
			continue
		}
		if f := lookup(verb, flag[1]); f == nil {
			t.Errorf("%s: %s has no flag --%s: midstream %s", page, verb.CommandPath(), flag[1], line)
		} else if value, is := f.Value.(*flags.Value); is && flag[2] != "" && !strings.ContainsAny(flag[2], "X$") {
			if err := value.Take(flag[2]); err != nil {
				t.Errorf("%s: %s: --%s=%s: %v", page, verb.CommandPath(), flag[1], flag[2], err)
			}
		}
	}
}

func lookup(cmd *cobra.Command, name string) *pflag.Flag {
	if f := cmd.Flags().Lookup(name); f != nil {
		return f
	}
	return cmd.Root().PersistentFlags().Lookup(name)
}
