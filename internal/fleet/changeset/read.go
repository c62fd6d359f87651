package changeset

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"midstream/internal/engine/window"
	"midstream/internal/fleet/selector"
)

// reader collects what is wrong.
type reader struct {
	problems []Problem // the first of them
	found    int       // how many there are
}

const (
	// mostProblems are reported of a file: nobody reads more, and a hostile file has one in each three bytes.
	mostProblems = 100
	// longestWhat bounds what a problem quotes of the file, in bytes.
	longestWhat = 400
	// mostEntries bounds a list: a set of 2,000 members has a few waves.
	mostEntries = 1000
	// longestName is that of a wave or a person, in characters. A request names it.
	longestName = 200
)

func (r *reader) wrong(n *yaml.Node, what, why, next string) {
	if r.found++; r.found > mostProblems {
		return
	}
	if len(what) > longestWhat {
		what = strings.ToValidUTF8(what[:longestWhat], "") + "..."
	}
	r.problems = append(r.problems, Problem{n.Line, what, why, next})
}

// entry is a key of a mapping: its path for people, and how its value is read.
type entry struct {
	key  string
	read func(path string, value *yaml.Node)
}

// twofold are plain words that YAML 1.1 takes for true or false, and YAML 1.2 for text.
var twofold = []string{"y", "n", "yes", "no", "on", "off"}

func isTwofold(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 &&
		slices.Contains(twofold, strings.ToLower(n.Value))
}

// mapping reads the entries of a mapping, and reports keys that are not among them, or twice.
func (r *reader) mapping(path string, n *yaml.Node, entries ...entry) {
	if n.Kind != yaml.MappingNode {
		r.wrong(n, at(path, "is no mapping"), "it has keys", "write "+keysOf(entries)+", each with its value")
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := key.Value
		if line, twice := seen[name]; twice {
			r.wrong(key, at(path, fmt.Sprintf("has the key %s twice", name)), fmt.Sprintf("line %d has it, too, and one of the two would not count", line), "remove one")
			continue
		}
		seen[name] = key.Line
		j := slices.IndexFunc(entries, func(e entry) bool { return e.key == name })
		switch {
		case j >= 0 && key.Kind == yaml.ScalarNode:
			entries[j].read(join(path, name), value)
		case isTwofold(key):
			r.wrong(key, at(path, "has the key "+name), "programs that read YAML 1.1 take "+name+" for true or false, and it is no key of a change set", r.meant("", entries))
		default:
			r.wrong(key, at(path, fmt.Sprintf("has an unknown key %q", name)), "a rule that is not read does not hold", r.meant(name, entries))
		}
	}
}

func (r *reader) meant(name string, entries []entry) string {
	var keys []string
	for _, e := range entries {
		keys = append(keys, e.key)
	}
	if near := nearest(name, keys); near != "" && name != "" {
		return "did you mean " + near + "?"
	}
	return "use " + keysOf(entries)
}

func keysOf(entries []entry) string {
	var keys []string
	for _, e := range entries {
		keys = append(keys, e.key)
	}
	if n := len(keys); n > 1 {
		return strings.Join(keys[:n-1], ", ") + " or " + keys[n-1]
	}
	return strings.Join(keys, "")
}

func at(path, text string) string {
	if path == "" {
		return "the change set " + text
	}
	return path + " " + text
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// list reads each entry of a sequence.
func (r *reader) list(path string, n *yaml.Node, each func(path string, n *yaml.Node)) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		r.wrong(n, path+" is no list", "it has one entry or more", "begin each entry with a dash")
		return
	}
	if len(n.Content) > mostEntries {
		r.wrong(n, fmt.Sprintf("%s has %d entries", path, len(n.Content)), fmt.Sprintf("a list may have %d", mostEntries), "remove entries, or split the set")
		return
	}
	for i, one := range n.Content {
		each(fmt.Sprintf("%s[%d]", path, i), one)
	}
}

// text reads a text that every version of YAML takes for one.
func (r *reader) text(path string, n *yaml.Node) (text string, ok bool) {
	switch {
	case n.Kind != yaml.ScalarNode:
		r.wrong(n, path+" is no text", "it has a list or keys", "write one text")
	case isTwofold(n) || n.ShortTag() != "!!str":
		r.wrong(n, fmt.Sprintf("%s is %s without quotes", path, n.Value), "YAML takes it for "+kindOf(n)+", not for a text", `write "`+n.Value+`"`)
	case strings.TrimSpace(n.Value) == "":
		r.wrong(n, path+" is empty", "it must have a value", "write one, or remove the key")
	default:
		return strings.TrimSpace(n.Value), true
	}
	return "", false
}

// name reads what a request of a person names: one line, which everybody can see and type.
func (r *reader) name(path string, n *yaml.Node) (text string, ok bool) {
	if text, ok = r.text(path, n); !ok {
		return "", false
	}
	if strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) || utf8.RuneCountInString(text) > longestName {
		r.wrong(n, fmt.Sprintf("%s is %q", path, text), "requests, pages and logs have this name",
			fmt.Sprintf("use at most %d characters that can be seen, on one line", longestName))
		return "", false
	}
	return text, true
}

func kindOf(n *yaml.Node) string {
	switch n.ShortTag() {
	case "!!int", "!!float":
		return "a number"
	case "!!null":
		return "nothing"
	case "!!timestamp":
		return "a time"
	}
	return "true or false"
}

// number reads a whole number from 1 on.
func (r *reader) number(path string, n *yaml.Node, into *int) {
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || v < 1 || strconv.Itoa(v) != n.Value {
		r.wrong(n, fmt.Sprintf("%s is %q", path, n.Value), "it must be a whole number from 1 on", "write one, or remove the key for its default")
		return
	}
	*into = v
}

// flag reads true or false.
func (r *reader) flag(path string, n *yaml.Node, into *bool) {
	if n.Kind != yaml.ScalarNode || n.Value != "true" && n.Value != "false" || n.ShortTag() != "!!bool" {
		why := "it must be true or false"
		if isTwofold(n) {
			why = "YAML 1.1 takes " + n.Value + " for true or false, and YAML 1.2 for a text"
		}
		r.wrong(n, fmt.Sprintf("%s is %s", path, show(n)), why, "write true or false")
		return
	}
	*into = n.Value == "true"
}

func show(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return strconv.Quote(n.Value)
}

// duration reads 90s, 30m, 2h, 1h30m or 7d.
func (r *reader) duration(path string, n *yaml.Node, into *time.Duration) {
	text := n.Value
	days := time.Duration(0)
	if d, rest, is := strings.Cut(text, "d"); is {
		if v, err := strconv.ParseUint(d, 10, 16); err == nil {
			days, text = time.Duration(v)*24*time.Hour, rest
		}
	}
	d, err := time.Duration(0), error(nil)
	if text != "" || days == 0 {
		d, err = time.ParseDuration(text)
	}
	if n.Kind != yaml.ScalarNode || err != nil || d < 0 || d+days <= 0 {
		r.wrong(n, fmt.Sprintf("%s is %s", path, show(n)), "a time has a number and a unit", "write it as 90s, 30m, 2h, 1h30m or 7d")
		return
	}
	*into = d + days
}

// share reads a percentage into hundredths of a percent.
func (r *reader) share(path string, n *yaml.Node, into *int) {
	number, percent := strings.CutSuffix(n.Value, "%")
	v, err := strconv.ParseFloat(number, 64)
	hundredths := int(v*100 + 0.5)
	if n.Kind != yaml.ScalarNode || !percent || err != nil || hundredths < 1 || hundredths > 10000 || !shares.MatchString(number) {
		r.wrong(n, fmt.Sprintf("%s is %s", path, show(n)), "a share is a part of all members, above 0% and up to 100%", "write it as 10% or 2.5%")
		return
	}
	*into = hundredths
}

var shares = regexp.MustCompile(`^[0-9]{1,3}(\.[0-9]{1,2})?$`)

func (r *reader) selector(path string, n *yaml.Node, into *selector.Selector) {
	text, ok := r.text(path, n)
	if !ok {
		return
	}
	s, err := selector.Parse(text)
	if err != nil {
		r.wrong(n, fmt.Sprintf("%s is %q", path, text), err.Error(), "write conditions on labels, such as app=shop,env=prod")
		return
	}
	*into = s
}

func (r *reader) window(path string, n *yaml.Node, into *window.Window) {
	text, ok := r.text(path, n)
	if !ok {
		return
	}
	w, err := window.Parse(text)
	if err != nil {
		r.wrong(n, fmt.Sprintf("%s is %q", path, text), err.Error(), `write it as "Tue-Thu 09:00-16:00 Europe/Berlin"`)
		return
	}
	if _, err = window.Parse(text + " UTC"); err == nil {
		r.wrong(n, fmt.Sprintf("%s is %q, without a time zone", path, text), "machines of the fleet may have different zones",
			`add it at the end: "`+text+` Europe/Berlin", or UTC`)
		return
	}
	*into = w
}
