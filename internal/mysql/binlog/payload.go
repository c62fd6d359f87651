package binlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// payload reads a compressed transaction event by event. So it needs only the memory of the
// transaction's largest event.
type payload struct {
	zstd  *zstd.Decoder
	event []byte
}

// The fields of a TRANSACTION_PAYLOAD event.
const (
	payloadEndMark     = 0
	payloadCompression = 2

	compressionZstd = 0
	compressionNone = 255
)

// transaction handles a compressed transaction. Its events all have the transaction's end.
func (s *stream) transaction(body []byte) error {
	if s.inside {
		return fmt.Errorf("%w: compressed transaction in another one", errGarbled)
	}
	in, err := s.payload.open(body)
	if err != nil {
		return err
	}
	s.inside = true
	defer func() { s.inside = false }()
	for {
		event, err := s.payload.next(in)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		h, err := readHeader(event)
		if err != nil {
			return err
		}
		if err := s.dispatch(h, event[headerSize:], s.at); err != nil {
			return err
		}
	}
}

// open reads the payload's head and returns its events, one after the other.
func (p *payload) open(body []byte) (io.Reader, error) {
	c := cursor{data: body}
	compression := uint64(compressionNone)
	for {
		field := c.packed()
		if c.short {
			return nil, fmt.Errorf("%w: head of a compressed transaction", errGarbled)
		}
		if field == payloadEndMark {
			break
		}
		content := cursor{data: c.bytes(c.packed())}
		if field == payloadCompression {
			compression = content.packed()
		}
	}
	plain := bytes.NewReader(c.data)
	switch compression {
	case compressionNone:
		return plain, nil
	case compressionZstd:
		if p.zstd == nil {
			var err error
			// One decoder at a time works in the caller's goroutine.
			p.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
			if err != nil {
				return nil, err
			}
		}
		return p.zstd, p.zstd.Reset(plain)
	}
	return nil, fmt.Errorf("%w: transaction compressed with algorithm %d", ErrUnsupported, compression)
}

// next returns one event, valid until the next call, and io.EOF behind the last one.
func (p *payload) next(in io.Reader) ([]byte, error) {
	if cap(p.event) > keepLongUpTo {
		p.event = nil
	}
	p.event = append(p.event[:0], make([]byte, headerSize)...)
	if _, err := io.ReadFull(in, p.event); err == io.EOF {
		return nil, io.EOF
	} else if err != nil {
		return nil, garbledPayload(err)
	}
	size := int64(binary.LittleEndian.Uint32(p.event[9:])) - headerSize
	if size < 0 {
		return nil, garbledPayload(errors.New("event without a header"))
	}
	buffer := bytes.NewBuffer(p.event) // grows with the data, not the header
	if _, err := io.CopyN(buffer, in, size); err != nil {
		return nil, garbledPayload(err)
	}
	p.event = buffer.Bytes()
	return p.event, nil
}

func garbledPayload(err error) error {
	return fmt.Errorf("%w: compressed transaction: %w", errGarbled, err)
}

// close frees the decoder.
func (p *payload) close() {
	if p.zstd != nil {
		p.zstd.Close()
	}
}
