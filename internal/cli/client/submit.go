package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/process"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/session"
)

// submitting is the verb submit.
type submitting struct {
	*asking
	asked queue.Submission
	given queue.Given // options
	undo  string      // id of the change to take back; "" to submit a statement
	files string      // in the place of a statement; "" for none
	again bool        // run a change again that has ended
	wait  bool
}

func submitCommand(a *process.Process) *cobra.Command {
	q, cmd := newAsking(a, `submit "ALTER TABLE database.table ..."`, "Put a change into the queue of midstream serve")
	cmd.Example = "  midstream submit \"ALTER TABLE shop.orders ADD COLUMN note VARCHAR(40)\" --server main --option drop-old\n" +
		"  midstream submit \"DROP TABLE shop.orders_2019\" --server main --id drop-2019 --after add-note --wait\n" +
		"  midstream submit --together \"ALTER TABLE shop.orders ...\" \"ALTER TABLE shop.items ...\" --server main\n" +
		"  midstream submit --files schema/ --database shop --server main\n" +
		"  midstream submit --again --id drop-2019"
	s := &submitting{asking: q}
	f := &q.checks
	f.Flags.StringVar(&s.asked.Server, "server", "", "server that has the table, by its name in the service")
	f.Flags.StringVar(&s.asked.ID, "id", "", "id of the change (the service makes one)")
	f.Add("", "after", "id", "", "id of a change that must be done first; may be repeated", func(text string) error {
		s.asked.After = append(s.asked.After, text)
		return nil
	})
	f.Add("", "not-before", "time", "", "begin at this time at the earliest, such as 2026-12-01T20:00:00+01:00", moment(&s.asked.NotBefore))
	f.Integer(&s.asked.Priority, "", "priority", 0, -100, 100, "of the changes that may begin on the server, one with a higher number begins first")
	f.Flags.StringVar(&s.asked.Window, "window", "", "begin only within these hours, such as \"Tue-Thu 09:00-16:00 Europe/Berlin\"; the run may go on after them\n(--option cutover-window bounds the swap)")
	f.Add("", "option", "name=value", "", "flag of midstream run for this change; may be repeated", func(text string) error {
		value, err := s.given.Take(text)
		return cmp.Or(err, session.Repeatable(value))
	})
	f.Flags.StringVar(&s.files, "files", "", "instead of a statement: file of CREATE TABLE statements, or folder of such *.sql files; the service keeps\ntheir text, and brings the tables to them as run --to does")
	f.Add("", "database", "name", "", "with --files: database of tables whose statements name none (the same as --option database=name)", func(text string) error {
		s.given = append(s.given, [2]string{"database", text})
		return nil
	})
	f.Flags.StringVar(&s.undo, "undo", "", "take back the change with this id, which is done; --option then has flags of midstream undo")
	f.Bool(&s.asked.Together, "", "together", "swap several tables in one step: the arguments are several ALTER TABLE, each one of another table")
	f.Bool(&s.again, "", "again", "if the change of --id has ended and is not done, run it again; without a statement, only that")
	f.Bool(&s.wait, "", "wait", "wait until the change has ended, and exit with its code")
	cmd.RunE = a.Verb(s.run)
	return cmd
}

func (s *submitting) run(ctx context.Context, args []string) error {
	var problems []error
	if s.undo != "" && (len(args) > 0 || s.asked.Server != "" || s.asked.ID != "" || s.asked.Together || len(s.asked.After) > 0) {
		problems = append(problems, errors.New("--undo takes no statement, --server, --id, --after or --together: the service knows them; a new change that can be taken back has --option undo=24h"))
	}
	only := s.again && len(args) == 0 && s.files == "" && s.undo == "" // no statement
	if s.again && (s.asked.ID == "" || s.undo != "") {
		problems = append(problems, errors.New("--again needs the --id of the change, and excludes --undo"))
	}
	if only && (s.asked.Server != "" || s.asked.Together || len(s.asked.After) > 0 || len(s.given) > 0) {
		problems = append(problems, errors.New("--again without a statement takes only --id: the service knows the change; with its statement, give the same flags as before"))
	}
	if s.files != "" {
		var err error
		if s.asked.Files, err = queue.ReadFiles(s.files); err != nil {
			problems = append(problems, fmt.Errorf("--files: %w", err))
		}
		if len(args) > 0 || s.undo != "" || s.asked.Together {
			problems = append(problems, errors.New("--files takes no statement, --undo or --together"))
		}
	} else if s.undo == "" && !only && len(args) != 1 && (!s.asked.Together || len(args) == 0) {
		problems = append(problems, fmt.Errorf("expected one statement, got %d arguments; put the statement in quotes, or add --together for several", len(args)))
	}
	if s.undo == "" && !only && s.asked.Server == "" {
		problems = append(problems, errors.New("name a server of the service, such as --server main (the form of its page lists them)"))
	}
	if err := s.check(problems...); err != nil {
		return err
	}
	c, err := s.send(ctx, args)
	if err != nil {
		return exit.Unanswered(ctx, err, s.service.At)
	}
	s.tell(c)
	s.shows(c.ID)
	if !s.wait {
		return nil
	}
	return s.follow(ctx, c)
}

// send puts the change, or the undo, into the queue.
func (s *submitting) send(ctx context.Context, args []string) (queue.Change, error) {
	if s.undo != "" {
		return s.client.Undo(ctx, s.undo, queue.UndoRequest{Options: s.given.Options(false), By: queue.ThisUser()})
	}
	if s.again && len(args) == 0 && s.files == "" {
		return s.client.Again(ctx, s.asked.ID, queue.AgainRequest{By: queue.ThisUser()})
	}
	s.asked.Options, s.asked.By = s.given.Options(s.asked.Together), queue.ThisUser()
	if s.asked.Together {
		s.asked.Statements = args
	} else if s.files == "" {
		s.asked.Statement = args[0]
	}
	return s.client.Submit(ctx, s.asked, s.again)
}
