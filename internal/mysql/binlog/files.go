package binlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// files are the files of a server's binlog that a reader has met, over all of its connections. A server that resets its
// binlogs uses the names of their files again, and a connection that reads a former file may continue in a new one.
type files struct {
	mu sync.Mutex
	// births are the times at which the files were created, by the server's clock.
	births map[string]uint32
	// doubt is a file that did not announce the next one, and that one.
	doubt [2]string
	then  error // of each file that was opened
}

func (f *files) birth(file string) uint32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.births[file]
}

func (f *files) expect(file string, born uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.births == nil {
		f.births = map[string]uint32{}
	}
	f.births[file] = born
}

// opened fails if the file is not the one that was read before by this name. Its first event has the time of its creation.
func (f *files) opened(file string, born uint32) error {
	if was := f.birth(file); was != 0 && was != born {
		return fmt.Errorf("%w: the server has created another %s since, so its binlogs were reset", ErrPurged, file)
	}
	f.expect(file, born)
	return f.then
}

// jumped judges a file that was opened although the one before did not announce it. The server has crashed or was
// shut down in the file before, or it has reset its binlogs. A connection that is made now finds the file before
// in the first two cases only.
func (f *files) jumped(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.doubt == [2]string{from, to} {
		return nil
	}
	f.doubt = [2]string{from, to}
	return fmt.Errorf("%w: %s follows %s without an announcement", ErrConnection, to, from)
}

// errOpened ends a reading that wants only the birth of its file.
var errOpened = errors.New("the file was opened")

// Birth reads when a file of a server's binlog was created, in seconds of Unix time by the server's clock.
func Birth(ctx context.Context, server Server, file string) (uint32, error) {
	r := NewReader(server, nil, GTIDs{})
	r.files.then = errOpened
	err := r.Run(ctx, Position{File: file, Offset: firstEvent}, func(Event) error { return nil })
	if errors.Is(err, errOpened) {
		err = nil
	}
	return r.Birth(file), err
}
