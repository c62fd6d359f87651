package retention

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
)

// Server is a server whose old tables are dropped.
type Server struct {
	Name   string
	Config dbconn.Config
	Keep   time.Duration // how long old tables are kept
}

// Keeper drops old tables. Its fields are fixed once Run was called.
type Keeper struct {
	// Servers are those of the moment.
	Servers func() []Server
	// File keeps what the rounds have seen. Its folder exists.
	File string
	Note func(text string)
	// Every is the time between two rounds, and Between the least time between two checks of one table. Default to
	// 10 minutes each.
	Every, Between time.Duration
	// Stall is the longest that a drop may stall sessions. Defaults to plan.DefaultWork.
	Stall time.Duration

	seen  map[string]*sight
	noted map[string]string // by table or server
}

// sight is what the rounds have seen of a table.
type sight struct {
	First   time.Time
	Checked time.Time // the last check
	Quiet   int       // checks in a row that found no access
	// Accesses are as leftovers.Aside has them. Reads are the pages that the buffer pool had read when the table was
	// first seen.
	Accesses, Reads uint64
}

// The defaults of a Keeper. enoughChecks is the number of checks in a row that must find no access.
const (
	usualEvery   = 10 * time.Minute
	enoughChecks = 2
)

// Run makes rounds until ctx ends. What fails is noted, and tried again in the next round.
func (k *Keeper) Run(ctx context.Context) {
	if k.Every <= 0 {
		k.Every = usualEvery
	}
	if k.Between <= 0 {
		k.Between = usualEvery
	}
	if k.Stall <= 0 {
		k.Stall = plan.DefaultWork
	}
	k.seen, k.noted = map[string]*sight{}, map[string]string{}
	if err := k.load(); err != nil {
		k.once(k.File, fmt.Sprintf("cannot read since when old tables are kept, and their time begins again: %v", err))
	}
	for {
		for _, server := range k.Servers() {
			if err := k.round(ctx, server); err != nil && ctx.Err() == nil {
				k.once(server.Name, fmt.Sprintf("server %s: cannot look for old tables: %v", server.Name, err))
			}
		}
		if err := k.save(); err != nil {
			k.once(k.File, fmt.Sprintf("cannot write since when old tables are kept: %v", err))
		}
		if dbconn.Sleep(ctx, k.Every) != nil {
			return
		}
	}
}

// once notes a text about something, unless it was the last one.
func (k *Keeper) once(about, text string) {
	if k.noted[about] != text {
		k.noted[about] = text
		k.Note(text)
	}
}

// load reads the file, if there is one.
func (k *Keeper) load() error {
	text, err := os.ReadFile(k.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &k.seen)
	}
	if k.seen == nil || err != nil {
		k.seen = map[string]*sight{}
	}
	return err
}

func (k *Keeper) save() error {
	text, err := json.Marshal(k.seen)
	if err != nil {
		return err
	}
	fresh := k.File + ".new"
	if err := os.WriteFile(fresh, text, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, k.File)
}
