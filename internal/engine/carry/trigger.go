package carry

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// utf8Session are the settings of a session after statements about triggers.
const utf8Session = "SET SESSION character_set_client = utf8mb4, sql_mode = ''"

// SameTriggers reports whether both are the same triggers, unchanged, in the same order.
func SameTriggers(a, b []schema.Trigger) bool { return slices.EqualFunc(a, b, schema.Trigger.Equal) }

// standIn returns the name of a trigger's stand-in, unique in the database.
func (s Set) standIn(t schema.Trigger) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s", s.Source.Bare(), t.Name)
	return fmt.Sprintf("midstream_%016x", h.Sum64())
}

var standInName = regexp.MustCompile(`^midstream_[0-9a-f]{16}$`)

// IsStandIn reports whether a name is a stand-in's.
func IsStandIn(name string) bool { return standInName.MatchString(name) }

// declareTriggers makes the shadow fire stand-ins from the RENAME on.
func (s Set) declareTriggers() []Statement {
	var statements []Statement
	for _, t := range s.Triggers {
		statements = append(statements, s.create(t, s.standInText(t), "create the stand-in of trigger "+t.Name))
	}
	return statements
}

// SettleTriggers leaves each trigger once. It is a FindWork.
func (s Set) SettleTriggers(ctx context.Context, q schema.Querier) (w Work, err error) {
	if !s.HasTriggers() {
		return w, nil
	}
	onSource, err := schema.Triggers(ctx, q, s.Source)
	if err != nil {
		return w, err
	}
	onOld, err := schema.Triggers(ctx, q, s.Old)
	if err != nil {
		return w, err
	}
	w = Work{Statements: s.settleTriggers(onSource, onOld), Locks: []schema.Name{s.Source}}
	if len(onOld) > 0 {
		w.Locks = append(w.Locks, s.Old)
	}
	return w, nil
}

// settleTriggers returns the statements that are left.
func (s Set) settleTriggers(onSource, onOld []schema.Trigger) []Statement {
	var statements []Statement
	for _, t := range s.Triggers {
		former, there, stands := has(onOld, t.Name), has(onSource, t.Name), has(onSource, s.standIn(t))
		if former {
			statements = append(statements, s.drop(t.Name))
		}
		if !there && (former || stands) {
			statements = append(statements, s.create(t, s.finalText(t, stands), "create trigger "+t.Name))
		}
		if stands {
			statements = append(statements, s.drop(s.standIn(t)))
		}
	}
	return statements
}

// UndeclareTriggers drops the stand-ins. It is a FindWork.
func (s Set) UndeclareTriggers(ctx context.Context, q schema.Querier) (w Work, err error) {
	if !s.HasTriggers() {
		return w, nil
	}
	onShadow, err := schema.Triggers(ctx, q, s.Shadow)
	if err != nil {
		return w, err
	}
	return Work{Statements: s.withdrawTriggers(onShadow), Locks: []schema.Name{s.Shadow}}, nil
}

// withdrawTriggers returns the statements that are left.
func (s Set) withdrawTriggers(onShadow []schema.Trigger) []Statement {
	var statements []Statement
	for _, t := range s.Triggers {
		if has(onShadow, s.standIn(t)) {
			statements = append(statements, s.drop(s.standIn(t)))
		}
	}
	return statements
}

func has(all []schema.Trigger, name string) bool {
	return slices.ContainsFunc(all, func(t schema.Trigger) bool { return t.Name == name })
}

// create is a CREATE TRIGGER in the settings of the session that first created the trigger.
func (s Set) create(t schema.Trigger, text, what string) Statement {
	return Statement{
		What: what, Text: text, After: []string{utf8Session},
		Before: []string{
			utf8Session, "USE " + schema.Quote(s.Source.Schema),
			fmt.Sprintf("SET SESSION sql_mode = '%s', character_set_client = %s, collation_connection = %s", t.Mode, t.Client, t.Connection),
		},
	}
}

func (s Set) drop(name string) Statement {
	return Statement{
		What: "drop trigger " + name, Text: "DROP TRIGGER " + s.Source.Sibling(name).Quoted(),
		Before: []string{utf8Session}, After: []string{utf8Session},
	}
}

// finalText returns the trigger's own statement. The trigger's place is that of its stand-in, if
// there is one.
func (s Set) finalText(t schema.Trigger, stands bool) string {
	text := string(t.Create)
	if h, ok := headOf(t); stands && ok {
		return text[:h.end] + " PRECEDES " + schema.Quote(s.standIn(t)) + text[h.end:]
	}
	return text
}

// standInText returns the trigger's statement under another name, for the shadow, with its body
// unchanged. MySQL keeps the semicolon of a statement that was sent together with others, and IF
// takes only one.
func (s Set) standInText(t schema.Trigger) string {
	h, _ := headOf(t)
	text := string(t.Create)
	literal := func(name string) string { return literal(name, t.Mode) }
	unlessCarried := fmt.Sprintf(
		"\nIF NOT EXISTS (SELECT 1 FROM information_schema.triggers WHERE trigger_schema = %s AND trigger_name = %s"+
			" AND event_object_schema = %[1]s AND event_object_table = %[3]s AND NOT (UNIX_TIMESTAMP(created) <=> %[4]s)) THEN\n",
		literal(s.Source.Schema), literal(t.Name), literal(s.Source.Table), cmp.Or(t.Created, "NULL"),
	)
	body := strings.TrimRight(strings.TrimLeft(text[h.end:], " "), "; \t\r\n")
	return text[:h.name.from] + schema.Quote(s.standIn(t)) + text[h.name.to:h.table.from] + schema.Quote(s.Shadow.Table) +
		text[h.table.to:h.end] + unlessCarried + body + "\n; END IF"
}

// literal is a string literal in a session of that sql_mode.
func literal(text, mode string) string {
	if !strings.Contains(mode, "NO_BACKSLASH_ESCAPES") {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}
