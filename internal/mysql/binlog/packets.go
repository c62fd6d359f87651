package binlog

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"time"
)

// packets reads the packets of the server's answer to a dump request.
type packets struct {
	in       *bufio.Reader
	sequence byte
	consumed int    // bytes of in that the last packet took
	long     []byte // a packet that doesn't fit into in
}

const (
	readBuffer    = 256 << 10
	maxFrame      = 1<<24 - 1 // a packet with a frame of this length goes on in the next
	keepLongUpTo  = 64 << 20
	frameHeadSize = 4
)

func newPackets(conn net.Conn, timeout time.Duration) *packets {
	return &packets{in: bufio.NewReaderSize(&impatient{conn, timeout}, readBuffer), sequence: 1}
}

// next returns the next packet, valid until the next call.
func (p *packets) next() ([]byte, error) {
	if _, err := p.in.Discard(p.consumed); err != nil {
		return nil, err
	}
	p.consumed = 0
	length, err := p.frameHead()
	if err != nil {
		return nil, err
	}
	if length <= p.in.Size() { // a frame of maxFrame isn't
		packet, err := p.in.Peek(length)
		p.consumed = len(packet)
		return packet, err
	}

	if cap(p.long) > keepLongUpTo {
		p.long = nil
	}
	p.long = p.long[:0]
	for {
		have := len(p.long)
		p.long = append(p.long, make([]byte, length)...)
		if _, err := io.ReadFull(p.in, p.long[have:]); err != nil {
			return nil, err
		}
		if length < maxFrame {
			return p.long, nil
		}
		if length, err = p.frameHead(); err != nil {
			return nil, err
		}
	}
}

// frameHead reads the head of a frame and returns the frame's length.
func (p *packets) frameHead() (int, error) {
	head, err := p.in.Peek(frameHeadSize)
	if err != nil {
		return 0, err
	}
	length, sequence := int(head[0])|int(head[1])<<8|int(head[2])<<16, head[3]
	if sequence != p.sequence {
		return 0, fmt.Errorf("%w: %d, %d expected", errFrame, sequence, p.sequence)
	}
	p.sequence++
	_, err = p.in.Discard(frameHeadSize)
	return length, err
}

// impatient fails a read that brings nothing in time.
type impatient struct {
	net.Conn
	timeout time.Duration
}

func (c *impatient) Read(b []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}
