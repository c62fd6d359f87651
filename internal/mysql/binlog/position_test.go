package binlog

import (
	"slices"
	"testing"
)

func TestPositionOrder(t *testing.T) {
	ordered := []Position{
		{"binlog.000001", 4}, {"binlog.000001", 157}, {"binlog.000002", 4}, {"binlog.000010", 1},
		{"binlog.999999", 1 << 40}, {"binlog.1000000", 4}, {"binlog.1000001", 4},
	}
	for i, p := range ordered {
		for j, q := range ordered {
			got, want := p.Compare(q), i-j
			if (got < 0) != (want < 0) || (got > 0) != (want > 0) {
				t.Errorf("%s compared with %s: %d", p, q, got)
			}
		}
	}
	if !slices.IsSortedFunc(ordered, Position.Compare) {
		t.Error("not sorted")
	}
}

func TestPositionText(t *testing.T) {
	for _, p := range []Position{{}, {"binlog.000012", 4711}, {"a:b.1", 1 << 60}} {
		got, err := ParsePosition(p.String())
		if err != nil || got != p {
			t.Errorf("%q: %v, %v", p.String(), got, err)
		}
	}
	for _, s := range []string{"binlog.000001", ":4", "binlog.000001:", "binlog.000001:-1", "b:99999999999999999999"} {
		if p, err := ParsePosition(s); err == nil {
			t.Errorf("%q is taken for %v", s, p)
		}
	}
	if !(Position{}).IsZero() || (Position{File: "b.1"}).IsZero() {
		t.Error("IsZero")
	}
}
