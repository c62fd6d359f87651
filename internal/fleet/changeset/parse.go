package changeset

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"midstream/internal/fleet/rollout"
)

// most bounds a file: a set of 2,000 members has a few waves.
const most = 1 << 20

// Parse reads a file. It fails with an *Error that has everything that is wrong.
func Parse(file string, text []byte) (rollout.Set, error) {
	r := &reader{}
	root := r.document(text)
	var set rollout.Set
	if root != nil {
		r.set(root, &set)
	}
	if len(r.problems) > 0 {
		slices.SortStableFunc(r.problems, func(a, b Problem) int { return a.Line - b.Line })
		if more := r.found - len(r.problems); more > 0 {
			last := r.problems[len(r.problems)-1].Line
			r.problems = append(r.problems, Problem{last, fmt.Sprintf("%d more problems", more), "only the first are listed", "correct these first"})
		}
		return rollout.Set{}, &Error{file, r.problems}
	}
	return set.Defaults(), nil
}

// document reads the one document of the file.
func (r *reader) document(text []byte) *yaml.Node {
	top := &yaml.Node{Line: 1}
	if len(text) > most {
		r.wrong(top, "the file is too large", fmt.Sprintf("it may have %d bytes", most), "remove what is no change set")
		return nil
	}
	var doc, second yaml.Node
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	err := d.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF) || err == nil && (len(doc.Content) == 0 || doc.Content[0].Kind == yaml.ScalarNode && doc.Content[0].Value == ""):
		r.wrong(top, "the file is empty", "a change set has an id, a statement, a selector and waves", "see docs/change-sets.md for an example")
		return nil
	case err != nil:
		r.syntax(err)
		return nil
	}
	if err := d.Decode(&second); err == nil {
		r.wrong(&second, "the file has a second document", "a file is one change set", "write a file for each, and remove ---")
		return nil
	} else if !errors.Is(err, io.EOF) {
		r.syntax(err)
		return nil
	}
	r.aliases(&doc)
	return doc.Content[0]
}

var lineOf = regexp.MustCompile(`line (\d+)`)

// syntax reports what the library found, at its line.
func (r *reader) syntax(err error) {
	n := &yaml.Node{Line: 1}
	if m := lineOf.FindStringSubmatch(err.Error()); m != nil {
		n.Line, _ = strconv.Atoi(m[1])
	}
	r.wrong(n, "the file is not YAML", strings.TrimPrefix(err.Error(), "yaml: "), "compare the blanks at the beginning of the lines, colons and quotes")
}

// aliases refuses what makes one line mean what another one has.
func (r *reader) aliases(n *yaml.Node) {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		r.wrong(n, "the file has an anchor or an alias", "each rule is at one place", "write the value out")
		return
	}
	for _, c := range n.Content {
		r.aliases(c)
	}
}

var ids = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// set reads the top of the file.
func (r *reader) set(root *yaml.Node, set *rollout.Set) {
	waves, wavesFit := root, false
	r.mapping("", root,
		entry{"id", func(path string, n *yaml.Node) {
			if text, ok := r.text(path, n); ok {
				if set.ID = text; !ids.MatchString(text) {
					r.wrong(n, fmt.Sprintf("id is %q", text), "each member's change is named after it", "use at most 64 letters, digits and . _ -, and begin with a letter or a digit")
				}
			}
		}},
		entry{"statement", func(path string, n *yaml.Node) { set.Statement, _ = r.text(path, n) }},
		entry{"files", func(path string, n *yaml.Node) {
			r.list(path, n, func(path string, n *yaml.Node) {
				if text, ok := r.text(path, n); ok {
					set.Files = append(set.Files, text)
				}
			})
		}},
		entry{"selector", func(path string, n *yaml.Node) { r.selector(path, n, &set.Selector) }},
		entry{"waves", func(path string, n *yaml.Node) {
			waves = n
			before := r.found
			r.list(path, n, func(path string, n *yaml.Node) { set.Waves = append(set.Waves, r.wave(path, n)) })
			wavesFit = r.found == before
		}},
		entry{"limits", func(path string, n *yaml.Node) {
			r.mapping(path, n,
				entry{"all", func(path string, n *yaml.Node) { r.number(path, n, &set.Limits.All) }},
				entry{"per_host", func(path string, n *yaml.Node) { r.number(path, n, &set.Limits.PerHost) }},
				entry{"per_cell", func(path string, n *yaml.Node) { r.number(path, n, &set.Limits.PerCell) }})
		}},
		entry{"stop_after", func(path string, n *yaml.Node) {
			r.mapping(path, n, entry{"failed", func(path string, n *yaml.Node) { r.number(path, n, &set.StopAfter) }})
		}},
		entry{"start", func(path string, n *yaml.Node) {
			r.mapping(path, n, entry{"window", func(path string, n *yaml.Node) { r.window(path, n, &set.Start) }})
		}},
		entry{"swap", func(path string, n *yaml.Node) { r.swap(path, n, &set.Swap) }},
		entry{"retry", func(path string, n *yaml.Node) {
			r.mapping(path, n,
				entry{"attempts", func(path string, n *yaml.Node) { r.number(path, n, &set.Retry.Attempts) }},
				entry{"wait", func(path string, n *yaml.Node) { r.duration(path, n, &set.Retry.Wait) }})
		}},
		entry{"undo", func(path string, n *yaml.Node) { r.duration(path, n, &set.Undo) }},
		entry{"skip_applied", func(path string, n *yaml.Node) { r.flag(path, n, &set.SkipApplied) }},
	)
	r.complete(root)
	if wavesFit {
		r.waves(waves, set.Waves)
	}
}

// complete looks for what is missing, and for what does not fit together.
func (r *reader) complete(root *yaml.Node) {
	has := func(key string) bool {
		for i := 0; i+1 < len(root.Content); i += 2 {
			if root.Content[i].Value == key {
				return true
			}
		}
		return false
	}
	if root.Kind != yaml.MappingNode {
		return
	}
	for key, why := range map[string]string{
		"id": "it names the set, and the changes of its members", "selector": "it chooses the servers", "waves": "they are the order",
	} {
		if !has(key) {
			r.wrong(root, "the change set has no "+key, why, "add "+key)
		}
	}
	switch statement, files := has("statement"), has("files"); {
	case statement && files:
		r.wrong(root, "the change set has a statement and files", "it is one change", "remove one of the two")
	case !statement && !files:
		r.wrong(root, "the change set has no statement and no files", "one of them is the change", "add statement, such as ALTER TABLE shop.orders ADD COLUMN note VARCHAR(40)")
	}
}

// waves looks at all waves together.
func (r *reader) waves(list *yaml.Node, waves []rollout.Wave) {
	names, sum, byShare, rest := map[string]int{}, 0, 0, -1
	for i, w := range waves {
		n := list.Content[i]
		if line, twice := names[strings.ToLower(w.Name)]; twice && w.Name != "" {
			r.wrong(n, "two waves have the name "+w.Name, fmt.Sprintf("line %d has it, too, and an approval names its wave", line), "give one of them another name")
		}
		names[strings.ToLower(w.Name)] = n.Line
		switch {
		case w.Share > 0:
			sum += w.Share
			byShare++
		case w.Selector.IsZero() && rest < 0:
			rest = i
		case w.Selector.IsZero():
			r.wrong(n, "two waves take the rest", fmt.Sprintf("line %d has no selector and no share, too", list.Content[rest].Line), "give one of them a share")
		}
	}
	last := list.Content[len(waves)-1]
	switch {
	case rest >= 0 && rest < len(waves)-1:
		r.wrong(list.Content[rest], "wave "+waves[rest].Name+" takes the rest, and is not the last", "no member may be left for the waves after it", "move it to the end, or give it a share")
	case sum > 10000 || sum == 10000 && rest >= 0:
		r.wrong(last, "the shares are "+percent(sum)+" in all", "a share is of all members, so that not enough are left", "reduce them to less than 100%, and let the last wave take the rest")
	case byShare > 0 && rest < 0 && sum < 10000:
		r.wrong(last, "the shares are "+percent(sum)+" in all, and no wave takes the rest", "some members would be in no wave", "add a last wave without selector and share")
	}
}

func percent(hundredths int) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%d.%02d", hundredths/100, hundredths%100), "0"), ".") + "%"
}

// wave reads one wave.
func (r *reader) wave(path string, n *yaml.Node) (w rollout.Wave) {
	r.mapping(path, n,
		entry{"name", func(path string, n *yaml.Node) { w.Name, _ = r.name(path, n) }},
		entry{"selector", func(path string, n *yaml.Node) { r.selector(path, n, &w.Selector) }},
		entry{"share", func(path string, n *yaml.Node) { r.share(path, n, &w.Share) }},
		entry{"soak", func(path string, n *yaml.Node) { r.duration(path, n, &w.Soak) }},
		entry{"approve", func(path string, n *yaml.Node) {
			if n.Kind != yaml.SequenceNode {
				r.flag(path, n, &w.Approve)
				return
			}
			w.Approve = true
			r.list(path, n, func(path string, n *yaml.Node) {
				if text, ok := r.name(path, n); ok {
					w.Approvers = append(w.Approvers, text)
				}
			})
		}},
	)
	if w.Share > 0 && !w.Selector.IsZero() {
		r.wrong(n, path+" has a selector and a share", "a wave has its members by one of the two", "remove one")
	}
	if w.Name == "" && n.Kind == yaml.MappingNode && !slices.ContainsFunc(r.problems, func(p Problem) bool { return strings.HasPrefix(p.What, path+".name") }) {
		r.wrong(n, path+" has no name", "an approval and a release name their wave", "add name")
	}
	return w
}

// swap reads the swap policy.
func (r *reader) swap(path string, n *yaml.Node, s *rollout.Swap) {
	whens := []string{string(rollout.WhenReady), string(rollout.WhenWaveReady), string(rollout.WhenReleased), string(rollout.WhenBarrier)}
	var holds *yaml.Node
	r.mapping(path, n,
		entry{"when", func(path string, n *yaml.Node) {
			text, ok := r.text(path, n)
			if ok && !slices.Contains(whens, text) {
				next := "use ready, wave_ready, released or barrier"
				if near := nearest(text, whens); near != "" {
					next = "did you mean " + near + "?"
				}
				r.wrong(n, fmt.Sprintf("%s is %q", path, text), "it names what a swap waits for", next)
			}
			s.When = rollout.When(text)
		}},
		entry{"window", func(path string, n *yaml.Node) { r.window(path, n, &s.Window) }},
		entry{"hold", func(path string, n *yaml.Node) { holds = n; r.duration(path, n, &s.Hold) }},
		entry{"margin", func(path string, n *yaml.Node) { holds = n; r.duration(path, n, &s.Margin) }},
	)
	if holds == nil {
		return
	}
	d := rollout.Set{Swap: *s}.Defaults().Swap
	switch {
	case s.When != rollout.WhenBarrier:
		r.wrong(holds, path+" has hold or margin", "they are for a barrier", "remove them, or use when: barrier")
	case d.Margin*2 > d.Hold:
		r.wrong(holds, fmt.Sprintf("swap.margin is %s, and swap.hold is %s", d.Margin, d.Hold), "no time is left for the members to lock", "make hold at least twice as long as margin")
	case d.Hold > 10*time.Second:
		r.wrong(holds, fmt.Sprintf("swap.hold is %s", d.Hold), "queries on all members wait for so long", "use at most 10s")
	}
}
