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

	"midstream/internal/ops/audit"
)

// Version is that of a store's form. A daemon refuses a store of a later version, and goes on with
// one of an earlier version, which becomes one of its own by that: the earlier daemon refuses it
// from then on. It is raised with every field that a change gets, so that no daemon writes a change
// back without what it doesn't know.
const Version = 6

// The errors of stores.
var (
	// ErrStoreTaken says that another service uses the store.
	ErrStoreTaken = errors.New("another service uses the store")
	// ErrStoreNewer says that a later version has written the store. Nothing was written to it.
	ErrStoreNewer = errors.New("a later version of midstream wrote the store")
	// ErrNotStore says that what is there is something else, or can't be read. Nothing was written to it.
	ErrNotStore = errors.New("not the store of a service")
)

// Row is what a store keeps under an id: a change, or an entry of the journal.
type Row struct {
	ID   string
	Text []byte
	// History is of a change that is over. A row with one is there already.
	History []byte
}

// Span is a part of the rows: ids from Low, which it includes, to High, which it does not; "" for no bound.
type Span struct {
	Low, High string
	Newest    bool // from the end
	Most      int  // 0 for all
}

// changesSpan has the changes: their ids begin with a letter or a digit, and all others come before.
var changesSpan = Span{Low: "0"}

// Store keeps changes, for one daemon at a time. What a method has written is durable when it
// returns. It is safe for concurrent use.
type Store interface {
	// Load hands over the texts of a part of the rows, as Put got them, in the order of their ids.
	Load(ctx context.Context, span Span, take func(text []byte) error) error
	// Put keeps all rows or none. A history, nil for none, may be missing after a failure.
	Put(ctx context.Context, rows ...Row) error
	// Drop drops rows, with their histories: all or none.
	Drop(ctx context.Context, ids ...string) error
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

// put writes a change to the store, with its history, if there is one, and with what a person did.
func (s *Service) put(ctx context.Context, e *entry, history []byte, acts ...audit.Entry) error {
	row, err := e.row(history)
	if err == nil {
		err = s.write(ctx, s.toldOf(e, acts), row)
	}
	if err != nil {
		return fmt.Errorf("keep change %s: %w: %w", e.ID, errUnkept, err)
	}
	return nil
}

// row is what a store keeps of a change. That of a member of a change set has a new version.
func (e *entry) row(history []byte) (Row, error) {
	if e.Member != nil {
		m := *e.Member
		m.Version++
		e.Member = &m
	}
	text, err := json.Marshal(e)
	return Row{e.ID, text, history}, err
}

// load reads all changes of the store.
func (s *Service) load(ctx context.Context) (all []*entry, err error) {
	err = s.store.Load(ctx, changesSpan, func(text []byte) error {
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
