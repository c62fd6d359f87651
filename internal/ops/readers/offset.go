package readers

import (
	"encoding/json"
	"errors"
	"strconv"

	"midstream/internal/mysql/binlog"
)

// The names of a position's two parts in answers: Debezium's, Maxwell's, and those of SHOW BINARY LOG STATUS.
var (
	fileNames   = []string{"file", "binlog_file", "filename", "File"}
	offsetNames = []string{"pos", "binlog_position", "position", "Position"}
)

// errNone means that an answer has no position.
var errNone = errors.New(`its URL answers without a position of the binlog ("file" and "pos")`)

// positionIn finds the position in an answer: an object with a file and an offset, at any depth. Kafka Connect keeps the offsets of
// former names of a connector next to the present one, so the furthest position counts.
func positionIn(text []byte) (binlog.Position, error) {
	var answer any
	if err := json.Unmarshal(text, &answer); err != nil {
		return binlog.Position{}, errors.New("its URL answers with no JSON")
	}
	best := furthest(answer)
	if best.IsZero() {
		return best, errNone
	}
	return best, nil
}

// furthest is the furthest position in a value of JSON; zero if it has none.
func furthest(value any) (best binlog.Position) {
	take := func(p binlog.Position) {
		if !p.IsZero() && (best.IsZero() || p.Compare(best) > 0) {
			best = p
		}
	}
	switch v := value.(type) {
	case []any:
		for _, each := range v {
			take(furthest(each))
		}
	case map[string]any:
		take(positionOf(v))
		for _, each := range v {
			take(furthest(each))
		}
	}
	return best
}

// positionOf is the position that an object has; zero if it has none.
func positionOf(object map[string]any) binlog.Position {
	var p binlog.Position
	for _, name := range fileNames {
		if file, is := object[name].(string); is {
			p.File = file
			break
		}
	}
	for _, name := range offsetNames {
		offset, ok := offsetOf(object[name])
		if ok && p.File != "" {
			p.Offset = offset
			return p
		}
	}
	return binlog.Position{}
}

// offsetOf reads a number, or a text with one.
func offsetOf(value any) (uint64, bool) {
	switch v := value.(type) {
	case float64: // exact up to 2^53 bytes
		return uint64(v), v >= 0
	case string:
		n, err := strconv.ParseUint(v, 10, 64)
		return n, err == nil
	}
	return 0, false
}
