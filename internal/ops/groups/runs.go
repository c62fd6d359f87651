package groups

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// Runs are those of one process, by the names of their tables.
type Runs []*socket.Client

// Find returns the runs of a process that answer in a folder. It fails with socket.ErrFolder.
func Find(ctx context.Context, folder string, process int) (Runs, error) {
	return socket.FindProcess(ctx, folder, process)
}

// Complete reports whether all runs of the process are among them, and are those of that process still.
func (r Runs) Complete(ctx context.Context, process int) bool {
	for _, run := range r {
		var now socket.Status
		if err := run.Call(ctx, http.MethodGet, "status", nil, &now); err != nil || now.Process != process || len(now.Together) != len(r)-1 {
			return false
		}
	}
	return len(r) > 0
}

// sharing are the commands that one run of a group obeys for all of them.
var sharing = []string{"hold", "cutover", "abort"}

// Call hands a request to the runs, and their answer back. The answer to status is a *ChangeStatus, and the one to blockers is a
// *ChangeBlockers. It fails with a *socket.Problem if the runs refuse.
func (r Runs) Call(ctx context.Context, method, operation string, request, answer any) error {
	switch {
	case operation == "status":
		return r.status(ctx, answer)
	case operation == "blockers":
		return r.blockers(ctx, answer)
	case len(r) == 1 || method == http.MethodGet:
		return r[0].Call(ctx, method, operation, request, answer)
	case slices.Contains(sharing, operation):
		return r.one(ctx, method, operation, request, answer)
	}
	return r.each(ctx, method, operation, request, answer)
}

// one has the first run that answers obey for all.
func (r Runs) one(ctx context.Context, method, operation string, request, answer any) (err error) {
	var refused *socket.Problem
	for _, run := range r {
		if err = run.Call(ctx, method, operation, request, answer); err == nil || errors.As(err, &refused) {
			return err
		}
	}
	return err
}

// each has every run obey. What one of them refuses is in the text of the answer, unless all do.
func (r Runs) each(ctx context.Context, method, operation string, request, answer any) error {
	var texts, said []string
	var first error
	for _, run := range r {
		var one socket.Answer
		err := run.Call(ctx, method, operation, request, &one)
		text := one.Text
		switch {
		case err != nil && first == nil:
			first, text = err, err.Error()
		case err != nil:
			text = err.Error()
		default:
			said = append(said, text)
		}
		texts = append(texts, schema.NameOf(run.Found.Table).String()+": "+text)
	}
	if len(said) == 0 {
		return first
	}
	text := strings.Join(texts, "; ")
	if first == nil && len(slices.Compact(said)) == 1 {
		text = said[0]
	}
	var now ChangeStatus
	if err := r.status(ctx, &now); err != nil {
		return err
	}
	*answer.(*socket.Answer) = socket.Answer{Text: text, Status: now.Status}
	return nil
}

// ChangeBlockers are the sessions at the locks of all tables.
type ChangeBlockers struct {
	socket.Blockers
	Tables []string `json:"tables" doc:"all tables that the change alters: database.table"`
}

func (r Runs) blockers(ctx context.Context, answer any) error {
	all := answer.(*ChangeBlockers)
	holding, waiting := []record.Blocker{}, []record.Blocker{}
	for _, run := range r {
		var one struct {
			Table            string
			Holding, Waiting []record.Blocker
		}
		if err := run.Call(ctx, http.MethodGet, "blockers", nil, &one); err != nil {
			return err
		}
		all.Tables = append(all.Tables, one.Table)
		holding, waiting = distinct(holding, one.Holding), distinct(waiting, one.Waiting)
	}
	all.Table, all.Holding, all.Waiting = all.Tables[0], holding, waiting
	return nil
}

// distinct adds the sessions that are not among them.
func distinct(all, more []record.Blocker) []record.Blocker {
	for _, b := range more {
		if !slices.ContainsFunc(all, func(other record.Blocker) bool { return other.ConnectionID == b.ConnectionID }) {
			all = append(all, b)
		}
	}
	return all
}

// Metrics returns the metrics of each run.
func (r Runs) Metrics(ctx context.Context) (all []io.ReadCloser, err error) {
	for _, run := range r {
		one, err := run.Metrics(ctx)
		if err != nil {
			for _, opened := range all {
				opened.Close()
			}
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}
