package binlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// cursor reads fields off an event. Once a field is beyond the end, that field and all later ones
// read as zero or nil, and short is set.
type cursor struct {
	data  []byte
	short bool
}

func (c *cursor) bytes(n uint64) []byte {
	if n > uint64(len(c.data)) {
		c.data, c.short = nil, true
		return nil
	}
	b := c.data[:n:n]
	c.data = c.data[n:]
	return b
}

// uint reads a little-endian integer of up to eight bytes.
func (c *cursor) uint(n uint64) uint64 {
	var v uint64
	for i, b := range c.bytes(n) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// packed reads a length-encoded integer.
func (c *cursor) packed() uint64 {
	switch first := c.uint(1); first {
	case 0xfc:
		return c.uint(2)
	case 0xfd:
		return c.uint(3)
	case 0xfe:
		return c.uint(8)
	default:
		return first
	}
}

const (
	headerSize   = 19
	checksumSize = 4

	flagArtificial = 0x20 // from the dump thread, not the file
	flagIgnorable  = 0x80
)

// header is the head that all events share.
type header struct {
	at     uint32
	kind   byte
	server uint32 // that wrote it first
	size   uint32 // with header and checksum
	// end is the place of the event's end in its file, modulo 4 GiB; 0 if it is in no file.
	end   uint32
	flags uint16
}

func readHeader(data []byte) (header, error) {
	if len(data) < headerSize {
		return header{}, fmt.Errorf("%w: event of %d bytes", errGarbled, len(data))
	}
	h := header{
		at:     binary.LittleEndian.Uint32(data[0:]),
		kind:   data[4],
		server: binary.LittleEndian.Uint32(data[5:]),
		size:   binary.LittleEndian.Uint32(data[9:]),
		end:    binary.LittleEndian.Uint32(data[13:]),
		flags:  binary.LittleEndian.Uint16(data[17:]),
	}
	if uint64(h.size) != uint64(len(data)) {
		return h, fmt.Errorf("%w: event of %d bytes came with %d", errGarbled, h.size, len(data))
	}
	return h, nil
}

// cutChecksum verifies the CRC32 at an event's end and cuts it off.
func cutChecksum(data []byte) ([]byte, error) {
	n := len(data) - checksumSize
	if n < headerSize {
		return nil, fmt.Errorf("%w: no room for a checksum", errGarbled)
	}
	if crc32.ChecksumIEEE(data[:n]) != binary.LittleEndian.Uint32(data[n:]) {
		return nil, fmt.Errorf("%w: checksum mismatch", errGarbled)
	}
	return data[:n], nil
}

// Event types, by the numbers of the protocol.
const (
	eventQuery           = 2
	eventStop            = 3
	eventRotate          = 4
	eventIntvar          = 5
	eventAppendBlock     = 9
	eventDeleteFile      = 11
	eventRand            = 13
	eventUserVar         = 14
	eventFormat          = 15
	eventXID             = 16
	eventBeginLoadQuery  = 17
	eventExecLoadQuery   = 18
	eventTableMap        = 19
	eventWriteRows1      = 23
	eventUpdateRows1     = 24
	eventDeleteRows1     = 25
	eventIncident        = 26
	eventHeartbeat       = 27
	eventIgnorable       = 28
	eventRowsQuery       = 29
	eventWriteRows2      = 30
	eventUpdateRows2     = 31
	eventDeleteRows2     = 32
	eventGTID            = 33
	eventAnonymousGTID   = 34
	eventPreviousGTIDs   = 35
	eventTxContext       = 36
	eventViewChange      = 37
	eventXAPrepare       = 38
	eventPartialUpdate   = 39
	eventPayload         = 40
	eventHeartbeat2      = 41
	eventTaggedGTID      = 42
	eventMariaAnnotate   = 160
	eventMariaCheckpoint = 161
	eventMariaGTID       = 162
	eventMariaGTIDList   = 163
	eventMariaEncryption = 164
	eventMariaQuery      = 165 // compressed, as are the three below
	eventMariaWrite      = 166
	eventMariaUpdate     = 167
	eventMariaDelete     = 168
)
