package queue

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Version is that of a store's form. A daemon refuses a store of a later version, and goes on with
// one of an earlier version, which becomes one of its own by that: the earlier daemon refuses it
// from then on. It is raised with every field that a change gets, so that no daemon writes a change
// back without what it doesn't know.
const Version = 5

// The errors of stores.
var (
	// ErrStoreTaken says that another service uses the store.
	ErrStoreTaken = errors.New("another service uses the store")
	// ErrStoreNewer says that a later version has written the store. Nothing was written to it.
	ErrStoreNewer = errors.New("a later version of midstream wrote the store")
	// ErrNotStore says that what is there is something else, or can't be read. Nothing was written to it.
	ErrNotStore = errors.New("not the store of a service")
)

// Store keeps changes, for one daemon at a time. What a method has written is durable when it
// returns. It is safe for concurrent use.
type Store interface {
	// Load hands over every change, as Put got it.
	Load(ctx context.Context, take func(text []byte) error) error
	// Put keeps a change under its id. With a history, nil for none, the change is there already.
	Put(ctx context.Context, id string, text, history []byte) error
	// History returns the history of a change, nil for none.
	History(ctx context.Context, id string) ([]byte, error)
	// Check fails where the store could not be written to; with ErrStoreTaken if it never can be
	// any more. It is called every storeBeat.
	Check(ctx context.Context) error
	Close() error
}

// checkVersion fails with ErrStoreNewer.
func checkVersion(version int) error {
	if version > Version {
		return fmt.Errorf("%w: the store has version %d, this midstream has %d", ErrStoreNewer, version, Version)
	}
	return nil
}

// errUnkept means that the store has not taken a change. The change then keeps its state.
var errUnkept = errors.New("the store did not keep the change")

// errTooLarge means that a history is larger than the store takes.
var errTooLarge = errors.New("the change is larger than the store allows")

// storeBeat is how often a store is looked at that nothing is written to.
const storeBeat = 10 * time.Second

// put writes a change to the store, with its history, if there is one.
func (s *Service) put(ctx context.Context, e *entry, history []byte) error {
	text, err := json.Marshal(e)
	if err == nil {
		err = s.store.Put(ctx, e.ID, text, history)
	}
	if err != nil {
		return fmt.Errorf("keep change %s: %w: %w", e.ID, errUnkept, err)
	}
	return nil
}

// load reads all changes of the store.
func (s *Service) load(ctx context.Context) (all []*entry, err error) {
	err = s.store.Load(ctx, func(text []byte) error {
		e := &entry{}
		if err := json.Unmarshal(text, e); err != nil {
			return fmt.Errorf("%w: %w", ErrNotStore, err)
		}
		all = append(all, e)
		return nil
	})
	return all, err
}

// pack makes a text smaller, nil of nil; unpack undoes it.
func pack(text []byte) ([]byte, error) {
	if text == nil {
		return nil, nil
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err := w.Close()
	return packed.Bytes(), err
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
