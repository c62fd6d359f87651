package selector

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Selector is a set of conditions on labels. The zero value selects nothing.
type Selector struct {
	every      bool
	conditions []condition
}

// condition holds for a value in values, or, negated, for a value that is not there and for a
// missing label. Without values it asks only whether the label exists.
type condition struct {
	key     string
	values  []string // sorted, each once
	negated bool
}

var (
	keys   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$`)
	values = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$`)
	sets   = regexp.MustCompile(`^(\S+)\s+(in|notin)\s*\(([^()]*)\)$`)
)

// longest is the most bytes of a key or a value, as in Kubernetes.
const longest = 63

// errEmpty is the error for a text without a condition: a forgotten selector must not select all servers.
var errEmpty = errors.New("the selector is empty; write conditions such as app=shop,env=prod, or * for every server")

// Parse reads conditions, which commas separate.
func Parse(text string) (Selector, error) {
	text = strings.TrimSpace(text)
	switch text {
	case "":
		return Selector{}, errEmpty
	case "*":
		return Selector{every: true}, nil
	}
	var s Selector
	for _, part := range split(text) {
		c, err := parseCondition(strings.TrimSpace(part))
		if err != nil {
			return Selector{}, err
		}
		s.conditions = append(s.conditions, c)
	}
	slices.SortFunc(s.conditions, func(a, b condition) int { return strings.Compare(a.String(), b.String()) })
	s.conditions = slices.CompactFunc(s.conditions, func(a, b condition) bool { return a.String() == b.String() })
	return s, nil
}

// split separates conditions at the commas outside of parentheses.
func split(text string) (parts []string) {
	depth, from := 0, 0
	for i, r := range text {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				parts, from = append(parts, text[from:i]), i+1
			}
		}
	}
	return append(parts, text[from:])
}

func parseCondition(text string) (c condition, err error) {
	switch {
	case text == "":
		return c, errors.New("the selector has an empty condition: remove a comma")
	case text == "*":
		return c, errors.New("the selector has * next to conditions; write * alone for every server")
	}
	if m := sets.FindStringSubmatch(text); m != nil {
		c = condition{key: m[1], negated: m[2] == "notin"}
		for value := range strings.SplitSeq(m[3], ",") {
			c.values = append(c.values, strings.TrimSpace(value))
		}
	} else if key, value, is := strings.Cut(text, "!="); is {
		c = condition{strings.TrimSpace(key), []string{strings.TrimSpace(value)}, true}
	} else if key, value, is := strings.Cut(text, "="); is {
		c = condition{strings.TrimSpace(key), []string{strings.TrimSpace(strings.TrimPrefix(value, "="))}, false}
	} else {
		c.key, c.negated = strings.CutPrefix(text, "!")
		c.key = strings.TrimSpace(c.key)
	}
	if err = checkKey(c.key); err != nil {
		return c, fmt.Errorf("condition %q: %w", text, err)
	}
	for _, value := range c.values {
		if err = checkValue(value); err != nil {
			return c, fmt.Errorf("condition %q: %w", text, err)
		}
	}
	slices.Sort(c.values)
	c.values = slices.Compact(c.values)
	return c, nil
}

func checkKey(key string) error {
	if !keys.MatchString(key) || len(key) > longest {
		return fmt.Errorf("the label %q must be 1 to %d letters, digits and . _ - /, and begin and end with a letter or a digit", key, longest)
	}
	return nil
}

func checkValue(value string) error {
	if !values.MatchString(value) || len(value) > longest {
		return fmt.Errorf("the value %q must be up to %d letters, digits and . _ -, and begin and end with a letter or a digit", value, longest)
	}
	return nil
}

// Matches reports whether all conditions hold for the labels.
func (s Selector) Matches(labels map[string]string) bool {
	if s.IsZero() {
		return false
	}
	return !slices.ContainsFunc(s.conditions, func(c condition) bool { return !c.holds(labels) })
}

func (c condition) holds(labels map[string]string) bool {
	value, has := labels[c.key]
	if len(c.values) == 0 {
		return has != c.negated
	}
	return (has && slices.Contains(c.values, value)) != c.negated
}

// IsZero reports whether s was never parsed.
func (s Selector) IsZero() bool { return !s.every && len(s.conditions) == 0 }

// String returns the normal form: the same text for selectors with the same conditions.
func (s Selector) String() string {
	if s.every {
		return "*"
	}
	var parts []string
	for _, c := range s.conditions {
		parts = append(parts, c.String())
	}
	return strings.Join(parts, ",")
}

func (c condition) String() string {
	no := func(text string) string {
		if c.negated {
			return text
		}
		return ""
	}
	switch len(c.values) {
	case 0:
		return no("!") + c.key
	case 1:
		return c.key + no("!") + "=" + c.values[0]
	}
	return c.key + " " + no("not") + "in (" + strings.Join(c.values, ",") + ")"
}

// MarshalText returns the normal form.
func (s Selector) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText returns: also the empty text of a selector that was never parsed.
func (s *Selector) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*s = Selector{}
		return nil
	}
	*s, err = Parse(string(text))
	return err
}

// ParseLabels reads the labels of one server, such as env=prod,app=shop,shard=017.
func ParseLabels(text string) (map[string]string, error) {
	labels := map[string]string{}
	if strings.TrimSpace(text) == "" {
		return labels, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		key, value, is := strings.Cut(part, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !is {
			return nil, fmt.Errorf("%q is no label: write NAME=VALUE, with a comma between two", strings.TrimSpace(part))
		}
		if err := errors.Join(checkKey(key), checkValue(value)); err != nil {
			return nil, err
		}
		if former, twice := labels[key]; twice {
			return nil, fmt.Errorf("the label %s is given twice, as %q and %q: remove one", key, former, value)
		}
		labels[key] = value
	}
	return labels, nil
}

// FormatLabels writes labels as ParseLabels reads them, sorted by name.
func FormatLabels(labels map[string]string) string {
	var parts []string
	for key, value := range labels {
		parts = append(parts, key+"="+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}
