package fleet

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"midstream/internal/cli/flags"
	"midstream/internal/face/humanize"
	"midstream/internal/fleet/inventory"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/queue"
)

// Roster are the servers of midstream serve: those of --server, and those of an inventory, which is read again and again.
type Roster struct {
	// Connect reads the option file of a server as a run would. Its error says why the service cannot have the server.
	Connect func(reach []string) (dbconn.Config, error)
	Note    func(text string)

	files    inventory.Files // of --server
	source   sourceFlags
	watched  *inventory.Watched // nil without an inventory
	now      map[string]member
	problems []queue.ServerProblem
}

// member is a server as it was last right, or why it never was.
type member struct {
	queue.Server
	print [sha256.Size]byte // of all that was read last
	right bool              // it may have changes
}

// How often an inventory is read again. A folder whose files are the same costs next to nothing.
const (
	folderEvery  = 5 * time.Second
	commandEvery = time.Minute
)

// Register adds the flags.
func (r *Roster) Register(f *flags.Set) {
	r.files, r.now = inventory.Files{}, map[string]member{}
	f.Add("", "server", "name=file", "", "name of a server that may have changes, and its option file; may be repeated", r.files.Take)
	r.source.register(f)
}

// Read reads all servers for the first time, and returns all that is wrong with the flags and with the files of --server. What is wrong
// with servers of the inventory is noted, unless none is left.
func (r *Roster) Read(ctx context.Context) (problems []error) {
	if r.source.given() {
		if err := r.source.check(); err != nil {
			return []error{err}
		}
		watched, err := inventory.Watch(ctx, r.source.source())
		if err != nil {
			return []error{err}
		}
		r.watched = watched
	}
	if len(r.files) == 0 && r.watched == nil {
		return []error{errors.New("name a server: --server main=/etc/midstream/main.cnf; or a folder of option files: --inventory /etc/midstream/servers")}
	}
	r.again()
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		if wrong := r.now[name].Problem; wrong != "" {
			problems = append(problems, fmt.Errorf("--server %s: %s", name, wrong))
		}
	}
	if len(problems) == 0 && len(r.Servers()) == 0 {
		for _, p := range r.problems {
			problems = append(problems, fmt.Errorf("server %s: %s", p.Server, p.Error))
		}
	}
	return problems
}

// Servers are the servers that may have changes, by their names.
func (r *Roster) Servers() (list []queue.Server) {
	for _, name := range slices.Sorted(maps.Keys(r.now)) {
		if m := r.now[name]; m.right {
			list = append(list, m.Server)
		}
	}
	return list
}

// Has reports whether a server may have changes.
func (r *Roster) Has(name string) bool { return r.now[name].right }

// Names names the servers, for people.
func (r *Roster) Names() string {
	var names []string
	for _, s := range r.Servers() {
		names = append(names, s.Name)
	}
	return queue.SomeOf(names, mostNames)
}

// Configs are how they are connected to.
func (r *Roster) Configs() map[string]dbconn.Config {
	return queue.ConfigsOf(r.Servers())
}

// Lacks returns an error for each value of --approve, --keep-old and --store that names no server. Of an inventory a server may come
// later, and that is noted; the store is needed now.
func (r *Roster) Lacks(approve, keepOld []string, store string) (problems []error) {
	for _, name := range approve {
		if name != queue.EveryServer {
			problems = append(problems, r.mayLack("approve", name))
		}
	}
	for _, name := range keepOld {
		problems = append(problems, r.mayLack("keep-old", name))
	}
	if name, _, _ := strings.Cut(store, "/"); store != "" && !r.Has(name) {
		problems = append(problems, fmt.Errorf("--store %s: no --server has the name %s", store, name))
	}
	return problems
}

// mayLack fails if there is no server with the name of a flag's value, unless it may come later.
func (r *Roster) mayLack(flag, name string) error {
	if r.Has(name) {
		return nil
	}
	if r.watched == nil {
		return fmt.Errorf("--%s %s: no --server has the name %s", flag, name, name)
	}
	r.Note(fmt.Sprintf("--%s %s: no server has the name %s now; it counts once the inventory has one", flag, name, name))
	return nil
}

// Found is what was found when the servers were last read.
func (r *Roster) Found() queue.Inventory {
	if r.watched == nil {
		return queue.Inventory{Problems: r.problems}
	}
	return queue.Inventory{
		Source: r.source.source().String(), Error: r.watched.Failed(), Problems: r.problems, Notes: r.watched.Now().Notes,
	}
}

// Keep reads the servers again and again until ctx ends, and hands over what has changed.
func (r *Roster) Keep(ctx context.Context, set func([]queue.Server, queue.Inventory)) {
	every := folderEvery
	if r.source.command != "" {
		every = commandEvery
	}
	failed := ""
	for dbconn.Sleep(ctx, every) == nil {
		if r.watched != nil {
			if c := r.watched.Again(ctx); c.Err != nil {
				r.Note(fmt.Sprintf("cannot read the inventory, and all servers stay as they were: %v", c.Err))
			}
		}
		changed := r.again()
		if r.watched != nil && r.watched.Failed() != failed {
			failed, changed = r.watched.Failed(), true
		}
		if changed && ctx.Err() == nil {
			set(r.Servers(), r.Found())
		}
	}
}

// again looks at all servers, notes what has changed, and reports whether something has. A server that has become wrong stays as it was.
func (r *Roster) again() bool {
	wanted, wrong, listed := r.wanted()
	var joined, left, altered []string
	next, digests := map[string]member{}, map[string][sha256.Size]byte{}
	for _, s := range wanted {
		was, known := r.now[s.Name]
		m := member{print: printOf(s, wrong[s.Name], digests)}
		m.Server = queue.Server{Name: s.Name, Reach: s.Flags(), Labels: s.Labels, Problem: wrong[s.Name]}
		if known && was.print == m.print {
			next[s.Name] = was
			continue
		}
		var err error
		if m.Config, err = r.Connect(m.Reach); s.Name == queue.EveryServer {
			err = errors.Join(errors.New("this name stands for every server: choose another one"), err)
		}
		if err != nil {
			m.Problem = oneLine(err)
		}
		switch m.right = err == nil; {
		case m.right && !was.right:
			joined = append(joined, s.Name)
		case m.right:
			altered = append(altered, s.Name)
		case was.right:
			was.print, was.Problem = m.print, m.Problem
			m = was
		}
		next[s.Name] = m
	}
	for name, m := range r.now {
		if _, stays := next[name]; m.right && !stays {
			left = append(left, name)
		}
	}
	var problems []queue.ServerProblem
	for name, m := range next {
		if m.Problem != "" {
			problems = append(problems, queue.ServerProblem{Server: name, Error: m.Problem})
		}
	}
	for _, p := range listed {
		problems = append(problems, queue.ServerProblem{Server: p.Name, Error: oneLine(p.Err)})
	}
	slices.SortFunc(problems, func(a, b queue.ServerProblem) int { return strings.Compare(a.Server, b.Server) })
	changed := len(joined)+len(left)+len(altered) > 0 || !slices.Equal(problems, r.problems)
	if r.watched != nil {
		if len(r.now) == 0 { // the service names them when its queue is open
			joined = nil
		}
		r.tell(joined, left, altered, problems)
	}
	r.now, r.problems = next, problems
	return changed
}

// wanted are the servers that are named, with what is wrong with those that stay as they were, and those that are wrong alone.
func (r *Roster) wanted() (all []inventory.Server, wrong map[string]string, alone []inventory.Problem) {
	wrong = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		s, err := inventory.ReadFile(name, r.files[name])
		if err != nil {
			wrong[name] = oneLine(err)
		}
		all = append(all, s)
	}
	if r.watched == nil {
		return all, wrong, nil
	}
	found := r.watched.Now()
	for _, s := range found.Servers {
		if _, fixed := r.files[s.Name]; fixed {
			alone = append(alone, inventory.Problem{Name: s.Name, Err: errors.New("--server has this name too, and counts: rename one of them")})
			continue
		}
		all = append(all, s)
	}
	for _, p := range found.Problems {
		if slices.ContainsFunc(all, func(s inventory.Server) bool { return s.Name == p.Name }) {
			wrong[p.Name] = oneLine(p.Err)
		} else {
			alone = append(alone, p)
		}
	}
	return all, wrong, alone
}

// printOf is the digest of all that was read of a server. digests are those of files, by their paths.
func printOf(s inventory.Server, wrong string, digests map[string][sha256.Size]byte) [sha256.Size]byte {
	digest, known := digests[s.File]
	if !known {
		text, err := os.ReadFile(s.File)
		digest = sha256.Sum256(fmt.Appendf(text, "\x00%v", err))
		digests[s.File] = digest
	}
	return sha256.Sum256(fmt.Appendf(digest[:], "%q %q %q", s.Flags(), s.Labels, wrong))
}

// tell notes what has changed.
func (r *Roster) tell(joined, left, altered []string, problems []queue.ServerProblem) {
	for _, one := range []struct {
		names []string
		what  string
	}{
		{joined, "may have changes now"}, {altered, "changed in the inventory"},
		{left, "left the inventory: changes that run go on, and no new ones are taken"},
	} {
		if slices.Sort(one.names); len(one.names) > 0 {
			r.Note(fmt.Sprintf("%s %s: %s", humanize.Plural(len(one.names), "server"), one.what, queue.SomeOf(one.names, mostNames)))
		}
	}
	for _, p := range problems {
		if !slices.Contains(r.problems, p) {
			r.Note(fmt.Sprintf("server %s of the inventory is wrong, so it stays as it was, or takes no changes: %s", p.Server, p.Error))
		}
	}
}

// oneLine is an error, whose parts are lines, as one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// mostNames bounds the servers that a note names.
const mostNames = 6
