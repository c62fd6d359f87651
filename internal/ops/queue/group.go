package queue

import (
	"fmt"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
)

const (
	oneOrTogether = "submit one statement, or several with together; midstream submit has --together"
	afterBadGroup = "correct the statements or the options, and submit them again. If the server's option file has undo, the option undo=0s " +
		"submits a group without it"
)

// grouped spells the statements of a group as one text. Statements that are no group stay, and are refused.
func grouped(asked Submission) Submission {
	if !asked.Together || len(asked.Statements) == 0 {
		return asked
	}
	var all []string
	for _, text := range append([]string{asked.Statement}, asked.Statements...) {
		if text = strings.TrimRight(strings.TrimSpace(text), "; \n\t\r"); text == "" {
			continue
		}
		if last := text[strings.LastIndexByte(text, '\n')+1:]; strings.Contains(last, "--") || strings.Contains(last, "#") {
			text += "\n" // it may be a comment
		}
		all = append(all, text)
	}
	asked.Statement, asked.Statements = strings.Join(all, ";\n"), nil
	return asked
}

// reads are the arguments with which the statements of a change are read. The option file of its server may have what excludes a group,
// and of a member of a change set it may have the database.
func (s *Service) reads(server string, e *entry) []string {
	args := e.arguments()
	if e.Together || e.Member != nil {
		args = append(s.servers.of(server).flags(), args...)
	}
	return args
}

// arguments are the options of a change as flags.
func (e *entry) arguments() []string {
	args := arguments(e.Options, e.Together)
	if e.Together || e.Member != nil && len(e.Texts) > 0 { // all or none of a member's tables are changed
		args = append(args, "--together")
	}
	return args
}

// dotted names the tables that a change is about, as it was submitted.
func (e *entry) dotted() string {
	if !e.Together && len(e.Files) == 0 {
		return e.Table
	}
	return schema.List(e.Tables)
}

// members are the tables whose work a run of the change may leave.
func (e *entry) members() []schema.Name {
	if !e.Together && len(e.Files) == 0 {
		return []schema.Name{schema.NameOf(e.Table)}
	}
	return e.Tables
}

// cleanups are the commands that list and remove what a run of the change has left.
func (e *entry) cleanups() string {
	var all []string
	for _, table := range e.members() {
		all = append(all, "midstream cleanup  "+table.Argument())
	}
	return strings.Join(all, ", ")
}

// aborts is the command that stops the run of the change: of a group, any table will do. Files name their tables later.
func (e *entry) aborts() string {
	tables := e.members()
	if len(e.Files) > 0 || len(tables) == 0 {
		return "midstream abort"
	}
	return "midstream abort  " + tables[0].Argument()
}

// kept says which old tables a group has kept, and what drops them.
func (e *entry) keptOlds(result *record.Result) {
	var olds, drops []string
	for _, t := range result.Tables {
		if t.Old != "" {
			olds = append(olds, schema.NameOf(t.Old).String())
			drops = append(drops, "midstream cleanup  --old "+schema.NameOf(t.Table).Argument())
		}
	}
	if len(olds) > 0 {
		e.Why += "; the old tables are kept as " + strings.Join(olds, ", ")
		e.Next = strings.TrimSpace(e.Next + " These commands drop them: " + strings.Join(drops, ", "))
	}
}

// complete is how the complete statements are submitted, if foreign keys need more tables than a group has; "" if they do not.
func (e *entry) complete(needed *record.Needed) string {
	if needed == nil || needed.Command == "" {
		return ""
	}
	args := []string{"--server=" + schema.Shell(e.Server)}
	if len(needed.Tables) > 1 {
		args = append(args, "--together")
	}
	for _, flag := range arguments(e.Options, e.Together) {
		args = append(args, "--option="+schema.Shell(strings.TrimPrefix(flag, "--")))
	}
	for _, t := range needed.Tables {
		args = append(args, schema.Shell(t.Statement))
	}
	return "submit the complete statements: midstream submit  " + strings.Join(args, " ")
}

// unchanged is what holds of the tables of a change after a rehearsal.
func (e *entry) unchanged() string {
	if e.Together {
		return fmt.Sprintf("the %d tables are unchanged", len(e.Tables))
	}
	return "the table is unchanged"
}
