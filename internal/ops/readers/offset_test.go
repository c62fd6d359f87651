package readers

import (
	"strings"
	"testing"
)

// TestPositions: the furthest position of an answer counts, whatever its form. An answer without one is an error.
func TestPositions(t *testing.T) {
	for text, want := range map[string]string{
		`{"offsets":[{"offset":{"file":"b.000009","pos":7}},{"offset":{"file":"b.000010","pos":5,"row":1}}]}`: "b.000010:5",
		`[{"client_id":"maxwell","binlog_file":"b.000002","binlog_position":"812"}]`:                          "b.000002:812",
		`{"File":"b.000003","Position":4}`: "b.000003:4",
		`{"pos":5}`:                        "",
		`{"file":"b.000001"}`:              "",
		`{"file":"b.000001","pos":-1}`:     "",
		`no`:                               "",
		`{"offsets":[]}`:                   "",
		`{"file":7,"pos":"x"}`:             "",
		`{"a":{"b":[{"filename":"b.000001","position":18446744073}]}}`: "b.000001:18446744073",
	} {
		got, err := positionIn([]byte(text))
		if got.String() != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

// TestParseHidesTheURL: a text that names no reader is refused, and the error has no part of it: a URL may have a secret.
func TestParseHidesTheURL(t *testing.T) {
	for _, text := range []string{"http://a/secret", "a=ftp://b/secret", "=http://b/secret", "a", "a=http://", "a=http://\x01secret"} {
		if _, err := Parse(text); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if r, err := Parse("shop=http://b:8083/x?y=z"); err != nil || r.Name != "shop" {
		t.Errorf("%v, %v", r, err)
	}
}
