package queue

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/escape"
)

// Place is where a queue is kept: in its folder, or in a table of a server.
type Place struct {
	// Table is name or name/database of a server; "" for the folder.
	Table   string
	Configs map[string]dbconn.Config // of the servers
}

// open opens the store, and says where it is.
func (p Place) open(ctx context.Context, folder string) (store Store, where string, err error) {
	if p.Table == "" {
		where = filepath.Join(folder, "queue.db")
		store, err = OpenFile(where)
		return store, where, err
	}
	name, database, _ := strings.Cut(p.Table, "/")
	if database == "" {
		database = "midstream"
	}
	store, err = OpenTable(ctx, p.Configs[name], database)
	return store, fmt.Sprintf("%s.%s on %s", database, StoreTable, name), err
}

// openEvery is the time between two tries to open the store, and openMost bounds all of them.
const (
	openEvery = 2 * time.Second
	openMost  = 5 * time.Minute
)

// OpenPatiently opens the store and the queue, and says where the store is. If the cause of a failure passes by itself,
// such as a full disk or a full server, it tries again.
func OpenPatiently(ctx context.Context, place Place, cfg Config) (store Store, where string, service *Service, err error) {
	told := ""
	for began := time.Now(); ; {
		store, where, err = place.open(ctx, cfg.Folder)
		if err == nil {
			service, err = Open(ctx, cfg, store)
			if err == nil {
				return store, where, service, nil
			}
			err = errors.Join(err, store.Close())
		}
		if !dbconn.Passes(err) || time.Since(began) > openMost {
			return nil, "", nil, err
		}
		if text := escape.Sentence(err); text != told {
			cfg.Note(fmt.Sprintf("cannot open the queue yet: %s. Trying again for up to %s", text, openMost))
			told = text
		}
		if dbconn.Sleep(ctx, openEvery) != nil {
			return nil, "", nil, err
		}
	}
}
