package queue

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"midstream/internal/mysql/dbconn"
)

// Server is a server that changes may be submitted for.
type Server struct {
	Name string
	// Reach are the flags by which a verb reaches it, such as --defaults-file. They have no password.
	Reach []string
	// Config is how the service itself connects to it.
	Config dbconn.Config
	// Labels are those of the inventory, without the name.
	Labels map[string]string
	// Problem is what is wrong with its entry of the inventory now; "" for nothing. The server stays as it was before.
	Problem string
}

func (s Server) flags() []string { return slices.Clone(s.Reach) }

// Inventory is what was found when the servers were last read.
type Inventory struct {
	Source   string          `json:"source" doc:"where servers come from besides --server: folder PATH, or inventory command; empty: from nowhere"`
	Error    string          `json:"error" doc:"why the inventory could not be read the last time, so that all servers stay as they were; empty: it was read"`
	Problems []ServerProblem `json:"problems" doc:"what is wrong with single servers of the inventory: a server that was known before stays as it was, and a new one takes no changes"`
	Notes    []string        `json:"notes" doc:"what is not a server, and looks like one"`
	Left     []string        `json:"left" doc:"servers that are no longer in the inventory, and have changes here: their runs go on, and they take no new changes"`
}

// ServerProblem is what is wrong with a server of the inventory.
type ServerProblem struct {
	Server string `json:"server" doc:"name of the server"`
	Error  string `json:"error" doc:"what is wrong, and what to do"`
}

// ServerInfo is a server that changes may be submitted for.
type ServerInfo struct {
	Name    string            `json:"name" doc:"name of the server in submissions"`
	Labels  map[string]string `json:"labels" doc:"labels of the inventory, without the label server, which is the name; empty if it has none"`
	Problem string            `json:"problem" doc:"what is wrong with the server's entry of the inventory: the server stays as it was; empty: nothing"`
	Limit   int               `json:"limit" doc:"how many changes may run on the server at the same time"`
	Running int               `json:"running" doc:"number of changes that run on the server"`
	Waiting int               `json:"waiting" doc:"number of changes that wait for the server"`
}

// servers are those of now, and those that have left while the service was at work. It is safe for concurrent use.
type servers struct {
	mu        sync.RWMutex
	all       map[string]Server
	left      map[string]Server
	inventory Inventory
}

// set has other servers from now on. Those that are no longer listed have left.
func (s *servers) set(list []Server, found Inventory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.all
	if s.left == nil {
		s.left = map[string]Server{}
	}
	s.all, s.inventory = map[string]Server{}, found
	for _, one := range list {
		s.all[one.Name] = one
		delete(s.left, one.Name)
	}
	for name, one := range was {
		if _, stays := s.all[name]; !stays {
			s.left[name] = one
		}
	}
}

// has reports whether changes of a server may begin.
func (s *servers) has(name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, is := s.all[name]
	return is
}

// of is a server, also one that has left; without its flags if the service never had it.
func (s *servers) of(name string) Server {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if one, is := s.all[name]; is {
		return one
	}
	return s.left[name]
}

// now are the servers that take changes, by their names.
func (s *servers) now() (list []Server) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(s.all)) {
		list = append(list, s.all[name])
	}
	return list
}

// known are the names of all servers, with those that have left: their runs go on.
func (s *servers) known() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Sorted(maps.Keys(joined(s.all, s.left)))
}

func joined(a, b map[string]Server) map[string]Server {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// mostNames bounds the servers that an error names.
const mostNames = 20

// some names the servers that take changes, for an error.
func (s *servers) some() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return SomeOf(slices.Sorted(maps.Keys(s.all)), mostNames)
}

// SomeOf is a list of at most so many names, with the number of the others.
func SomeOf(names []string, most int) string {
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// SetServers has other servers from now on. A server that is no longer listed keeps its changes, and what runs goes on; it takes no new
// changes until it comes back.
func (s *Service) SetServers(list []Server, found Inventory) {
	s.servers.set(list, found)
	if s.cfg.Undos != nil {
		s.cfg.Undos.Set(s.Configs())
	}
	s.writing.Lock()
	s.pending.all = true
	s.writing.Unlock()
	s.hurry()
}

// Configs are how the servers of now are connected to.
func (s *Service) Configs() map[string]dbconn.Config {
	return ConfigsOf(s.servers.now())
}

// ConfigsOf are how servers are connected to, by their names.
func ConfigsOf(list []Server) map[string]dbconn.Config {
	configs := map[string]dbconn.Config{}
	for _, one := range list {
		configs[one.Name] = one.Config
	}
	return configs
}

// gone is what is wrong with a server that has left.
const gone = " is no longer a server of this service: it takes no new changes"

// hasServer fails with a *socket.Problem if a server takes no changes.
func (s *Service) hasServer(title, name string) error {
	if s.servers.has(name) {
		return nil
	}
	if slices.Contains(s.left(), name) {
		return bad(title, name+gone, "put it back into the inventory (or --server), or name another server: "+s.servers.some())
	}
	return bad(title, fmt.Sprintf("unknown server %q", name), "name a server of the service: "+s.servers.some())
}

// left are the servers that have changes here, and take no new ones.
func (s *Service) left() []string {
	names := map[string]bool{}
	for _, e := range s.all() {
		names[e.Server] = true
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(names)), s.servers.has)
}

// Servers lists the servers, by their names.
func (s *Service) Servers() []ServerInfo {
	running, waiting := map[string]int{}, map[string]int{}
	for _, e := range s.all() {
		switch e.State {
		case StateRunning:
			running[e.Server]++
		case StateWaiting:
			waiting[e.Server]++
		}
	}
	list := []ServerInfo{}
	for _, one := range s.servers.now() {
		info := ServerInfo{Name: one.Name, Labels: maps.Clone(one.Labels), Problem: one.Problem, Limit: s.cfg.Limit,
			Running: running[one.Name], Waiting: waiting[one.Name]}
		if info.Labels == nil {
			info.Labels = map[string]string{}
		}
		list = append(list, info)
	}
	return list
}

// Inventory is what was found when the servers were last read.
func (s *Service) Inventory() Inventory {
	s.servers.mu.RLock()
	found := s.servers.inventory
	s.servers.mu.RUnlock()
	found.Problems, found.Notes = append([]ServerProblem{}, found.Problems...), append([]string{}, found.Notes...)
	found.Left = append([]string{}, s.left()...)
	return found
}

// registerServers registers what is asked about servers.
func (s *Service) registerServers(api huma.API) {
	huma.Register(
		api,
		huma.Operation{OperationID: "servers", Method: http.MethodGet, Path: "/v1/servers", Summary: "Servers of the service"},
		func(context.Context, *struct{}) (*body[[]ServerInfo], error) {
			return &body[[]ServerInfo]{s.Servers()}, nil
		},
	)
	huma.Register(
		api,
		huma.Operation{OperationID: "inventory", Method: http.MethodGet, Path: "/v1/inventory", Summary: "Errors of the inventory of the servers",
			Description: "The inventory is read again while the service is at work (docs/serve.md)."},
		func(context.Context, *struct{}) (*body[Inventory], error) {
			return &body[Inventory]{s.Inventory()}, nil
		},
	)
}
