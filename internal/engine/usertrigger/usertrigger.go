package usertrigger

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// Set are the triggers that go over to the shadow in a swap.
type Set struct {
	Source, Shadow, Old schema.Name
	Triggers            []schema.Trigger // of the source
}

// Statement is one statement about a trigger.
type Statement struct {
	What string // it does, for messages
	// Before are the settings with which Text means what it shall.
	Before []string
	Text   string // in the charset that they name
}

// Restored are the settings of a session after statements about triggers.
var Restored = []string{"SET SESSION character_set_client = utf8mb4, sql_mode = ''"}

// Equal says that both are the same triggers, unchanged, in the same order.
func Equal(a, b []schema.Trigger) bool { return slices.EqualFunc(a, b, schema.Trigger.Equal) }

// StandIn is the name of a trigger's stand-in, unique in the database.
func (s Set) StandIn(t schema.Trigger) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s", s.Source.Bare(), t.Name)
	return fmt.Sprintf("midstream_%016x", h.Sum64())
}

var standIn = regexp.MustCompile(`^midstream_[0-9a-f]{16}$`)

// IsStandIn says that a name is one of a stand-in.
func IsStandIn(name string) bool { return standIn.MatchString(name) }

// Declare has the shadow fire stand-ins from the RENAME on. REQUIRES: CanCarry has said nothing against it.
func (s Set) Declare() []Statement {
	var statements []Statement
	for _, t := range s.Triggers {
		statements = append(statements, s.create(t, s.standInText(t), "create the stand-in of trigger "+t.Name))
	}
	return statements
}

// Settle leaves each trigger once, on the table that has taken the source's place. REQUIRES: the
// session has locked both tables, and these are their triggers.
func (s Set) Settle(onSource, onOld []schema.Trigger) []Statement {
	var statements []Statement
	for _, t := range s.Triggers {
		former, there, stands := has(onOld, t.Name), has(onSource, t.Name), has(onSource, s.StandIn(t))
		if former {
			statements = append(statements, s.drop(t.Name))
		}
		if !there && (former || stands) {
			statements = append(statements, s.create(t, s.finalText(t, stands), "create trigger "+t.Name))
		}
		if stands {
			statements = append(statements, s.drop(s.StandIn(t)))
		}
	}
	return statements
}

// Withdraw takes back what Declare has done, as far as it has. REQUIRES: these are the shadow's triggers.
func (s Set) Withdraw(onShadow []schema.Trigger) []Statement {
	var statements []Statement
	for _, t := range s.Triggers {
		if has(onShadow, s.StandIn(t)) {
			statements = append(statements, s.drop(s.StandIn(t)))
		}
	}
	return statements
}

func has(all []schema.Trigger, name string) bool {
	return slices.ContainsFunc(all, func(t schema.Trigger) bool { return t.Name == name })
}

// create is a statement in the session of then.
func (s Set) create(t schema.Trigger, text, what string) Statement {
	return Statement{What: what, Text: text, Before: append(slices.Clone(Restored), "USE "+schema.Quote(s.Source.Schema),
		fmt.Sprintf("SET SESSION sql_mode = '%s', character_set_client = %s, collation_connection = %s", t.Mode, t.Client, t.Connection))}
}

func (s Set) drop(name string) Statement {
	return Statement{What: "drop trigger " + name, Before: Restored, Text: "DROP TRIGGER " + s.Source.Sibling(name).Quoted()}
}

// finalText is the trigger's own statement. Its place is that of its stand-in, if there is one.
func (s Set) finalText(t schema.Trigger, stands bool) string {
	text := string(t.Create)
	if h, ok := headOf(t); stands && ok {
		return text[:h.end] + " PRECEDES " + schema.Quote(s.StandIn(t)) + text[h.end:]
	}
	return text
}

// standInText is the trigger's statement under another name, for the shadow, with its body as it
// is. MySQL keeps the semicolon of a statement that was sent together with others, and IF takes
// only one.
func (s Set) standInText(t schema.Trigger) string {
	h, _ := headOf(t)
	text := string(t.Create)
	literal := func(name string) string { return literal(name, t.Mode) }
	return text[:h.name.from] + schema.Quote(
		s.StandIn(t),
	) + text[h.name.to:h.table.from] + schema.Quote(
		s.Shadow.Table,
	) + text[h.table.to:h.end] +
		fmt.Sprintf(
			"\nIF NOT EXISTS (SELECT 1 FROM information_schema.triggers WHERE trigger_schema = %s AND trigger_name = %s"+
				" AND event_object_schema = %[1]s AND event_object_table = %[3]s AND NOT (UNIX_TIMESTAMP(created) <=> %[4]s)) THEN\n",
			literal(s.Source.Schema),
			literal(t.Name),
			literal(s.Source.Table),
			cmp.Or(t.Created, "NULL"),
		) +
		strings.TrimRight(
			strings.TrimLeft(text[h.end:], " "), "; \t\r\n",
		) + "\n; END IF"
}

// literal is a string literal in a session of that sql_mode.
func literal(text, mode string) string {
	if !strings.Contains(mode, "NO_BACKSLASH_ESCAPES") {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}
