package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"midstream/internal/engine/units"
	"midstream/internal/ops/audit"
	"midstream/internal/ops/socket"
)

// Freeze holds the changes of a server: none begins, and none swaps. Copies go on.
type Freeze struct {
	Server string     `json:"server" doc:"name of the server; all: every server"`
	Reason string     `json:"reason" doc:"why, for people"`
	By     string     `json:"by" doc:"who froze the server, and from which address"`
	Since  time.Time  `json:"since" doc:"since when"`
	Until  *time.Time `json:"until" doc:"when it ends by itself; null: a person ends it"`
}

// FreezeRequest asks for a freeze.
type FreezeRequest struct {
	Server string     `json:"server" doc:"name of the server; all: every server"`
	Reason string     `json:"reason" minLength:"1" maxLength:"500" doc:"why, for the others"`
	Until  *time.Time `json:"until,omitempty" doc:"when it ends by itself; without it, a person ends it"`
}

// Words names who holds a server, and why.
func (f Freeze) Words() string {
	text := "the server is frozen"
	if f.Server == EveryServer {
		text = "all servers are frozen"
	}
	if f.Until != nil {
		text += " until " + units.Minute(*f.Until)
	}
	return text + " by " + f.By + ": " + f.Reason
}

// lasts reports whether the freeze has not ended by itself.
func (f Freeze) lasts() bool { return f.Until == nil || time.Now().Before(*f.Until) }

// next is how a person ends it.
func (f Freeze) next() string { return "midstream unfreeze  --server=" + f.Server }

// keptFreeze is a freeze in a store. A store drops nothing, so that a freeze which has ended says that.
type keptFreeze struct {
	Freeze
	Ended bool `json:"ended,omitempty"`
}

// freezeMark begins the ids of freezes in a store. They are after those of the journal, and before those of changes.
const freezeMark = "#freeze/"

// freezeSpan has the freezes.
var freezeSpan = Span{Low: freezeMark, High: "#freeze0"}

// freezer knows which servers are frozen. Each run has the flag --cutover-when-gone with the file of its server: while the file is
// there, the run does not swap, whether or not the service is at work. It is safe for concurrent use.
type freezer struct {
	folder string // of the files
	mu     sync.Mutex
	kept   map[string]Freeze
	files  []string // servers whose files are there; nil: not known
	left   []string // servers that had a file when the service was started: it may no longer have them, but their runs go on
}

// NotTwice refuses cutover-when-gone in the option file of a server: its runs have the file of a freeze instead.
func NotTwice(file string) error {
	if file == "" {
		return nil
	}
	return errors.New("its option file has cutover-when-gone, which serve sets itself: midstream freeze holds the swaps of a server")
}

// file is that of a server.
func (f *freezer) file(server string) string { return filepath.Join(f.folder, server) }

// of is the freeze that holds a server; nil for none.
func (f *freezer) of(server string) *Freeze { return f.first(server, EveryServer) }

// own is the freeze of a server alone, or that of all servers; nil for none.
func (f *freezer) own(server string) *Freeze { return f.first(server) }

func (f *freezer) first(names ...string) *Freeze {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range names {
		if one, is := f.kept[name]; is && one.lasts() {
			return &one
		}
	}
	return nil
}

// all are the freezes of this moment, by their servers.
func (f *freezer) all() []Freeze {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := []Freeze{}
	for _, name := range slices.Sorted(maps.Keys(f.kept)) {
		if one := f.kept[name]; one.lasts() {
			list = append(list, one)
		}
	}
	return list
}

// set notes a freeze, or its end.
func (f *freezer) set(k keptFreeze) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept[k.Server] = k.Freeze; k.Ended {
		delete(f.kept, k.Server)
	}
}

// look finds the files that an earlier service has left.
func (f *freezer) look() error {
	entries, err := os.ReadDir(f.folder)
	for _, one := range entries {
		f.left = append(f.left, one.Name())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for servers that were frozen: %w", err)
	}
	return nil
}

// apply makes and removes the files of servers. It reports whether something has changed.
func (f *freezer) apply(servers []string) (changed bool, err error) {
	servers, frozen := slices.Compact(slices.Sorted(slices.Values(slices.Concat(servers, f.left)))), []string{}
	for _, server := range servers {
		if f.of(server) != nil {
			frozen = append(frozen, server)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.files != nil && slices.Equal(f.files, frozen) {
		return false, nil
	}
	if err = os.MkdirAll(f.folder, 0o700); err != nil {
		return false, fmt.Errorf("freeze a server: %w", err)
	}
	for _, server := range servers {
		if slices.Contains(frozen, server) {
			err = errors.Join(err, os.WriteFile(f.file(server), nil, 0o600))
		} else if gone := os.Remove(f.file(server)); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	if err != nil {
		return false, fmt.Errorf("freeze a server, or end that: %w", err) // it is tried again
	}
	f.files = frozen
	return true, nil
}

// openFreezes reads the freezes of the store.
func (s *Service) openFreezes(ctx context.Context) error {
	s.freezes.folder, s.freezes.kept = filepath.Join(s.cfg.Folder, "frozen"), map[string]Freeze{}
	err := s.store.Load(ctx, freezeSpan, func(text []byte) error {
		var k keptFreeze
		err := json.Unmarshal(text, &k)
		s.freezes.set(k)
		return err
	})
	if err != nil {
		return fmt.Errorf("read the freezes: %w", err)
	}
	return s.freezes.look()
}

// applyFreezes makes the files be as the freezes are, and has all changes checked if that has changed something.
func (s *Service) applyFreezes() error {
	changed, err := s.freezes.apply(s.servers.known())
	if changed {
		s.writing.Lock()
		s.pending.all = true
		s.writing.Unlock()
	}
	return err
}

// Freeze freezes a server, or all. A freeze that is there gets the new reason and end.
func (s *Service) Freeze(ctx context.Context, asked FreezeRequest, who Asker) (Freeze, error) {
	const title = "nothing was frozen"
	reason := strings.TrimSpace(asked.Reason)
	switch {
	case reason == "":
		return Freeze{}, bad(title, "the reason is missing", "add it: midstream freeze  --server "+asked.Server+" --reason '...'")
	case asked.Until != nil && !asked.Until.After(time.Now()):
		return Freeze{}, bad(title, "the end "+units.Minute(*asked.Until)+" is over", "name a later time, or none")
	}
	if err := s.mayFreeze(title, asked.Server); err != nil {
		return Freeze{}, err
	}
	freeze := Freeze{Server: asked.Server, Reason: reason, By: who.Words(""), Since: time.Now().UTC()}
	if asked.Until != nil {
		until := asked.Until.UTC()
		freeze.Until = &until
	}
	return freeze, s.keepFreeze(ctx, keptFreeze{Freeze: freeze}, who.Act("freeze", "", reason))
}

// Unfreeze ends the freeze of a server, or that of all.
func (s *Service) Unfreeze(ctx context.Context, server string, who Asker) (Freeze, error) {
	const title = "no freeze has ended"
	if err := s.mayFreeze(title, server); err != nil {
		return Freeze{}, err
	}
	own := s.freezes.own(server)
	if own == nil {
		problem := &socket.Problem{Status: http.StatusConflict, Title: title, Detail: server + " is not frozen", Next: "midstream freeze  lists the servers that are frozen"}
		if f := s.freezes.of(server); f != nil {
			problem.Detail, problem.Next = "not "+server+" alone: "+f.Words(), f.next()
		}
		return Freeze{}, problem
	}
	return *own, s.keepFreeze(ctx, keptFreeze{*own, true}, who.Act("unfreeze", "", own.Reason))
}

// mayFreeze fails with a *socket.Problem if the service has no such server.
func (s *Service) mayFreeze(title, server string) error {
	if slices.Contains(s.servers.known(), server) || server == EveryServer || s.freezes.own(server) != nil {
		return nil
	}
	return bad(title, fmt.Sprintf("unknown server %q", server), "the servers of this service: "+s.servers.some()+"; or all")
}

// keepFreeze keeps a freeze, or its end, in the store, and then has the runs obey it.
func (s *Service) keepFreeze(ctx context.Context, k keptFreeze, told audit.Entry) error {
	text, err := json.Marshal(k)
	if err == nil {
		told.Server = k.Server
		s.writing.Lock()
		if err = s.write(ctx, told, Row{ID: freezeMark + k.Server, Text: text}); err == nil {
			s.freezes.set(k)
		}
		s.writing.Unlock()
	}
	if err != nil {
		return fmt.Errorf("keep the freeze of %s: %w", k.Server, err)
	}
	word := k.Words()
	if k.Ended {
		word = "the freeze of " + k.Server + " has ended"
	}
	s.cfg.Note(word)
	err = s.applyFreezes()
	s.brake(ctx)
	s.hurry()
	return err
}

// frozenSwap fails with a *socket.Problem if a freeze forbids the swap of a change.
func (s *Service) frozenSwap(e *entry) error {
	f := s.freezes.of(e.Server)
	if f == nil {
		return nil
	}
	return &socket.Problem{Status: http.StatusConflict, Title: "the swap is not released", Detail: f.Words(), Next: f.next() + " ends that"}
}

// frozenRun adds to the text of a run that its swap waits for the end of a freeze.
func (s *Service) frozenRun(e *entry, why string) string {
	if f := s.freezes.of(e.Server); f != nil {
		does := "it does not swap: "
		if e.changesRows() != "" {
			does = "it changes no rows: "
		}
		return cmp.Or(why, "its run is at work") + "; " + does + f.Words()
	}
	return why
}

// unfreezing names the freeze that a request ends.
type unfreezing struct {
	Server string `path:"server" doc:"name of the server; all: the freeze of every server"`
}

// Freezes are those of this moment, by their servers.
func (s *Service) Freezes(context.Context) ([]Freeze, error) { return s.freezes.all(), nil }

// registerFreezes registers them.
func (s *Service) registerFreezes(api huma.API) {
	errors := []int{http.StatusConflict, http.StatusUnprocessableEntity, http.StatusInternalServerError}
	huma.Register(
		api,
		huma.Operation{OperationID: "freezes", Method: http.MethodGet, Path: "/v1/freezes", Summary: "Servers that are frozen"},
		func(ctx context.Context, _ *struct{}) (*body[[]Freeze], error) {
			list, err := s.Freezes(ctx)
			return &body[[]Freeze]{list}, err
		},
	)
	huma.Register(
		api,
		huma.Operation{OperationID: "freeze", Method: http.MethodPost, Path: "/v1/freezes", Summary: "Freeze a server: no change of it begins or swaps",
			Description: "Copies go on, and so does an ALTER that the server carries out itself. An undo waits too.", Errors: errors},
		func(ctx context.Context, in *body[FreezeRequest]) (*body[Freeze], error) {
			f, err := s.Freeze(ctx, in.Body, AskerOf(ctx))
			if err != nil {
				return nil, ProblemOf(err)
			}
			return &body[Freeze]{f}, nil
		},
	)
	huma.Register(
		api,
		huma.Operation{OperationID: "unfreeze", Method: http.MethodDelete, Path: "/v1/freezes/{server}", Summary: "End a freeze",
			Description: "409: there is none.", Errors: errors},
		func(ctx context.Context, in *unfreezing) (*body[Freeze], error) {
			f, err := s.Unfreeze(ctx, in.Server, AskerOf(ctx))
			if err != nil {
				return nil, ProblemOf(err)
			}
			return &body[Freeze]{f}, nil
		},
	)
}
