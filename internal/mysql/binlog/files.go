package binlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
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

// suspect takes an error of a stream. The data may be garbled because the file is another one: the server has reset its binlogs in
// the second in which it had created the file before, and a reading began in the middle of an event. Such a file is good if it is
// read from its beginning, and a damaged one is not.
func (r *Reader) suspect(ctx context.Context, s *stream, garbled error) error {
	if s.stopped || !errors.Is(garbled, errGarbled) && !errors.Is(garbled, ErrUnsupported) {
		return garbled
	}
	at := r.Position()
	err := r.pass(ctx, at)
	switch {
	case err == nil:
		return fmt.Errorf("%w: %s is another file than before, so the binlogs were reset (%w)", ErrPurged, at.File, garbled)
	case errors.Is(err, ErrPurged), errors.Is(err, ErrConnection):
		return err
	}
	return garbled
}

// pass reads a file from its beginning until it has passed an offset, or the server has nothing more to send.
func (r *Reader) pass(ctx context.Context, at Position) error {
	from := Position{File: at.File, Offset: firstEvent}
	s, err := newStream(r.watches, r.passed, from, func(Event) error { return nil })
	if err != nil {
		return err
	}
	defer s.payload.close()
	s.weight = &atomic.Int64{}
	c, err := dial(ctx, r.server, r.silence, from)
	if err != nil {
		return err
	}
	defer c.close()
	for s.at.File == at.File && s.at.Offset <= at.Offset && !s.idle {
		event, err := c.next()
		if err != nil {
			return dumpError(err, s.began)
		}
		if err := s.event(event); err != nil {
			return err
		}
	}
	return nil
}
