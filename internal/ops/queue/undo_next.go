package queue

import (
	"os"
	"strings"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/history"
	"midstream/internal/ops/reach"
	"midstream/internal/ops/socket"
)

// undoAgain is the command that takes a change back once more, of a change that was to do that.
func (e *entry) undoAgain() string { return "midstream submit  --undo=" + e.Undoes }

// unfilled is what the undo that a change makes lacks for rows that are new since the swap, as the server has last said.
func (s *Service) unfilled(e *entry) plan.Filling {
	if e.Undoes == "" || s.cfg.Undos == nil {
		return plan.Filling{}
	}
	return s.cfg.Undos.Of(e.Server, schema.NameOf(e.Table)).Unfilled.With(strings.Split(e.Options[undoFill], "\n"))
}

// valuesBy is how a command that puts an undo into the queue gives the values that it lacks; "" if it lacks none.
func valuesBy(submit string, f plan.Filling) string {
	lacks := f.Lacks()
	if lacks == "" {
		return ""
	}
	return ". Rows that are new since the swap need " + lacks + ": " + submit + f.Flags("--option "+undoFill+"=")
}

// next is what to do about a change that is done and has an undo: its commands are ones that the state of the undo permits.
func (s *Service) next(e *entry, u *Undo) string {
	table := schema.NameOf(e.Kept.Table).Argument()
	submit, word, does := "midstream submit  --undo="+e.ID, plan.UndoWord(u.Redo), " takes the change back"
	if u.Redo {
		does = " makes the change again"
	}
	switch {
	case u.State == undoUnknown:
		return "midstream queue  " + e.ID + " shows the state once the server has answered"
	case u.State == string(leftovers.UndoRunning) && u.By != "":
		return "midstream queue  " + u.By + " shows how far it is"
	case u.State == string(leftovers.UndoRunning):
		return "wait until it has ended; midstream status  " + table + " shows it on the machine where it works"
	case u.State == string(leftovers.UndoStopped) && (followed{s}).warm(e):
		return "nothing: the service starts its process again, which follows the table; " + submit + does
	case u.State == string(leftovers.UndoStopped):
		return submit + " resumes it; midstream cleanup  " + table + " gives this attempt up"
	case u.By != "": // its own state is what counts
		by := s.find(u.By)
		if its := s.undoOf(by); its != nil {
			return s.next(by, its)
		}
		return ""
	case u.State == undoUndone && u.left:
		return "midstream undo  " + table + " is the redo"
	case u.State == undoUnfit:
		return "change these rows; or " + submit + " --option=park copies them to a table of their own, and" + does + valuesBy(submit, u.unfilled)
	case u.State == string(leftovers.UndoEnded) && !u.late && u.left:
		return "midstream undo  --end " + table + " removes what is left"
	case u.gone() && strings.Contains(e.Why, keptAs):
		return "midstream cleanup  --old " + table + " drops the old table, if it is left"
	case u.gone():
		return ""
	case u.late:
		return submit + " still" + does + "; midstream undo  --end " + table + " removes what is left"
	case u.Mode == undoWarm:
		return submit + does + "; to give the " + word + " up: midstream abort  " + table + ", then midstream undo  --end " + table
	case u.State == string(leftovers.UndoRevoked):
		does += ", by all rows"
	}
	return submit + does + "; midstream undo  --end " + table + " gives the " + word + " up"
}

// takesBack introduces the change that takes another one back of which nothing was kept.
const takesBack = "to take the change back: "

// wayBack is what takes back a change that the server has made itself, and of which nothing was kept; "" if nothing does. The plan
// in the history has it.
func (e *entry) wayBack(path string) string {
	if e.State != StateDone || e.Undoes != "" || path == "" {
		return ""
	}
	story, err := history.Read(path)
	if err != nil || story.Run.Rehearsal != "" || story.Plan == nil || story.Plan.Undo == nil || story.Plan.Undo.By == "" {
		return ""
	}
	text := takesBack + "midstream submit  --server=" + schema.Shell(e.Server) + " " +
		schema.Shell("ALTER TABLE "+schema.NameOf(e.Table).Quoted()+" "+story.Plan.Undo.By) // flags first, so that no line breaks within it
	if lost := story.Plan.Undo.Lost; len(lost) > 0 {
		text += " (it gives up the values of " + strings.Join(lost, ", ") + ")"
	}
	return text
}

// Reach returns the flags that reach the runs of the service on this machine.
func (s *Service) Reach() reach.Flags { return reach.Flags("").Sockets(s.ownFolder()) }

// reach are the flags with which commands about a change reach its server, and the sockets of its run.
func (s *Service) reach(e *entry) reach.Flags {
	return reach.To(s.address(e.Server)).Sockets(s.ownFolder())
}

// ownFolder is where the sockets of runs are, if commands do not look there by themselves.
func (s *Service) ownFolder() string {
	if s.cfg.ControlFolder == socket.Folder(os.Getenv) {
		return ""
	}
	return s.cfg.ControlFolder
}
