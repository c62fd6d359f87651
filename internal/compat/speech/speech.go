package speech

import (
	"regexp"
	"strings"

	"midstream/internal/ops/reach"
)

// Speech says in another program's flags what Midstream says in those of midstream run. It is
// applied where a text is shown, and nowhere before. A nil one changes nothing.
type Speech struct {
	// Says is what a flag is there, by its name, or by name=value; the letter of one by -p.
	Says map[string]string
	// Own are the names of that program's flags, which mean the same here.
	Own map[string]bool
	// Ours says that midstream run has a flag of the name; nil: it is not known yet. Where that
	// program has none for it, the option file can say it.
	Ours func(name string) bool
	File string
	// Connect are the flags by which a command of Midstream reaches the server of the run, and
	// Statement is its argument.
	Connect   reach.Flags
	Statement string
}

// mention is a command of Midstream with its flags, or a flag by itself.
var mention = regexp.MustCompile(
	`\bmidstream ([a-z]+)( ?(?: --[a-z][a-z-]*(?:=\S+)?)*)|(^|[ (])(?:--([a-z][a-z-]*[a-z])(=[\w:%/.-]*[\w%])?( of midstream run)?|(-p)\b)`,
)

// placeholder is the argument of commands that take any statement. anyStatement is one of them that is for the run's own.
const placeholder = `"ALTER TABLE ..."`

var anyStatement = regexp.MustCompile(`\bmidstream (?:check|plan)  ` + regexp.QuoteMeta(placeholder))

// Of says a text so.
func (s *Speech) Of(text string) string {
	if s == nil {
		return text
	}
	var b strings.Builder
	end := 0
	for _, m := range mention.FindAllStringSubmatchIndex(text, -1) {
		group := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return text[m[2*n]:m[2*n+1]]
		}
		b.WriteString(text[end:m[0]])
		end = m[1]
		if group(1) != "" {
			b.WriteString(text[m[0]:m[1]])
		} else {
			b.WriteString(group(3) + s.flag(group(4), group(5), group(7)))
		}
	}
	return s.Connect.In(anyStatement.ReplaceAllStringFunc(b.String()+text[end:], func(command string) string {
		return strings.TrimSuffix(command, placeholder) + s.Statement
	}))
}

// flag is one of midstream run's there.
func (s *Speech) flag(name, value, letter string) string {
	for _, key := range []string{name + value, name, letter} {
		if says, is := s.Says[key]; is && key != "" {
			return says
		}
	}
	switch {
	case name == "":
		return letter
	case !s.Own[name] && s.Ours != nil && s.Ours(name):
		return name + value + " in [midstream] of " + s.File
	}
	return "--" + name + value
}
