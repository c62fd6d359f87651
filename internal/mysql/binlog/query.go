package binlog

import (
	"fmt"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// meaning is what a statement in the binlog does to its group.
type meaning int

const (
	isStatement  meaning = iota // anything not below
	isBegin                     // BEGIN
	isXAStart                   // XA START
	isWithin                    // savepoints, XA END
	isEnd                       // COMMIT, ROLLBACK
	isXACommit                  // of a prepared transaction
	isXARollback                // of a prepared transaction
)

// marks are the statements that the server itself writes around transactions, always with this
// spelling. A mark that ends in a blank is a prefix.
var marks = []struct {
	text string
	meaning
}{
	{"BEGIN", isBegin},
	{"COMMIT", isEnd},
	{"ROLLBACK", isEnd},
	{"SAVEPOINT ", isWithin},
	{"ROLLBACK TO ", isWithin},
	{"RELEASE SAVEPOINT ", isWithin},
	{"XA START ", isXAStart},
	{"XA END ", isWithin},
	{"XA PREPARE ", isWithin},
	{"XA COMMIT ", isXACommit},
	{"XA ROLLBACK ", isXARollback},
}

// meaningOf returns the effect of a statement on its group; rest is the text after the mark.
func meaningOf(sql string) (m meaning, rest string) {
	for _, mark := range marks {
		head, after := sql, ""
		if n := len(mark.text); n < len(sql) && strings.HasSuffix(mark.text, " ") {
			head, after = sql[:n], sql[n:]
		}
		if strings.EqualFold(head, mark.text) {
			return mark.meaning, after
		}
	}
	return isStatement, ""
}

// readQuery reads the body of a Query event, but for its End. extra is the size of the
// fields that other events of the kind have between the header and the status variables.
func readQuery(body []byte, extra uint64, compressed bool) (q Statement, err error) {
	c := cursor{data: body}
	q.Thread = uint32(c.uint(4))
	c.bytes(4) // seconds it took
	schemaLength := c.uint(1)
	c.bytes(2) // error number
	statusLength := c.uint(2)
	c.bytes(extra)
	c.bytes(statusLength)
	name := c.bytes(schemaLength)
	c.bytes(1)
	if c.short {
		return q, fmt.Errorf("%w: query", errGarbled)
	}
	text := c.data
	if compressed {
		if text, err = decompressMaria(text); err != nil {
			return q, err
		}
	}
	q.Schema, q.SQL = string(name), string(text)
	return q, nil
}

// decompressMaria undoes the compression of MariaDB's compressed events.
func decompressMaria(data []byte) ([]byte, error) {
	if len(data) == 0 || len(data) < 1+int(data[0]&7) {
		return nil, fmt.Errorf("%w: compressed event", errGarbled)
	}
	plain, err := mysql.DecompressMariadbData(data)
	if err != nil {
		return nil, fmt.Errorf("%w: compressed event: %w", errGarbled, err)
	}
	return plain, nil
}

// query handles a statement.
func (s *stream) query(q Statement) error {
	m, rest := meaningOf(q.SQL)
	switch m {
	case isBegin, isXAStart:
		s.open, s.xa = true, m == isXAStart
	case isWithin:
	case isEnd:
		return s.endGroup(Commit{End: s.at})
	case isXACommit, isXARollback:
		return s.endGroup(XAResolved{XID: canonicalXID(rest), Committed: m == isXACommit, End: s.at})
	default:
		if strings.HasPrefix(q.SQL, "# Dum") {
			return nil // MariaDB's filler for a skipped event
		}
		q.End = s.at
		if !s.pass {
			if err := s.emit(q); err != nil {
				return err
			}
		}
		if !s.open {
			return s.endGroup(Commit{End: s.at})
		}
	}
	return nil
}

// canonicalXID spells the XID of a statement as xaPrepare does.
func canonicalXID(text string) string {
	text = strings.ToLower(strings.ReplaceAll(text, " ", ""))
	return strings.ReplaceAll(strings.TrimSuffix(text, "onephase"), "x'", "X'")
}

// xaPrepare handles the end of an XA transaction's group.
func (s *stream) xaPrepare(body []byte) error {
	c := cursor{data: body}
	onePhase := c.uint(1) != 0
	format := c.uint(4)
	gtridLength, bqualLength := c.uint(4), c.uint(4)
	gtrid, bqual := c.bytes(gtridLength), c.bytes(bqualLength)
	if c.short {
		return fmt.Errorf("%w: XA prepare", errGarbled)
	}
	if onePhase {
		return s.endGroup(Commit{End: s.at})
	}
	xid := fmt.Sprintf("X'%x',X'%x',%d", gtrid, bqual, format)
	return s.endGroup(XAPrepared{XID: xid, End: s.at})
}
