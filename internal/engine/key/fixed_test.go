package key

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

// records are UUIDs in MariaDB's order, with the bytes of their row events (10.11.19 and 11.8.9).
var records = []struct{ text, record string }{
	{"00000000-0000-0000-0000-000000000000", ""},
	{"01901640-0000-7000-8000-000000000000", "01901640000070008"},
	{"1ec9414c-232a-6b00-b3c8-9e6bdeced846", "1ec9414c232a6b00b3c89e6bdeced846"},
	{"123e4567-e89b-12d3-a456-426655440000", "426655440000a45612d3e89b123e4567"},
	{"00000000-9dad-11d1-80b4-c0c04fd43000", "c0c04fd4300080b411d19dad"},
	{"ffffffff-ffff-ffff-ffff-ffffffffffff", "ffffffffffffffffffffffffffffffff"},
}

// A UUID has one key, from a row event and from a query, which compares as the server compares it.
func TestL11_UUIDsHaveOneKey(t *testing.T) {
	c := codec(t, Part{Column: columnOf("uuid")}, Part{Column: columnOf("int")})
	var keys []Key
	for _, r := range records {
		record, err := hex.DecodeString(r.record + strings.Repeat("0", len(r.record)%2))
		if err != nil {
			t.Fatal(err)
		}
		k := encode(t, c, value{binlog: string(record), text: strings.ReplaceAll(r.text, "-", "")}, value{binlog: int32(1), text: "1"})
		if got := strings.Join(c.Literals(k), " "); got != "'"+r.text+"' 1" {
			t.Errorf("%s has the literal %s", r.text, got)
		}
		if err := c.Check(k); err != nil {
			t.Error(err)
		}
		keys = append(keys, k)
	}
	if !slices.IsSorted(keys) || !c.Ordered() {
		t.Errorf("the keys are not in the server's order: %q", keys)
	}
}

// A row event with a UUID that old tables store in another way than new ones is refused, because
// another row could be taken for its row.
func TestL11_UUIDsOfUnknownOrderAreRefused(t *testing.T) {
	c := codec(t, Part{Column: columnOf("uuid")})
	for _, record := range []string{"0123456789abcdef0123456789abcdef", "01234567890081ef8123456789abcdef"} {
		bytes, err := hex.DecodeString(record)
		if err != nil {
			t.Fatal(err)
		}
		if k, err := c.FromBinlog([]any{string(bytes)}); err == nil || !strings.Contains(err.Error(), "versions 1 to 7") {
			t.Errorf("%s is the key %q, %v", record, k, err)
		}
	}
}

// Addresses compare by their bytes, and are named by their texts.
func TestL11_AddressesHaveOneKey(t *testing.T) {
	c := codec(t, Part{Column: columnOf("inet4")}, Part{Column: columnOf("inet6"), Descending: true})
	for _, a := range []struct{ text, record, literals string }{
		{"00000000 00000000000000000000000000000000", " ", "'0.0.0.0' '::'"},
		{"0A000001 00000000000000000000FFFF01020304", "0A000001 00000000000000000000FFFF01020304", "'10.0.0.1' '::ffff:1.2.3.4'"},
		{"FF000000 20010DB8000000000000000000000000", "FF 20010DB8", "'255.0.0.0' '2001:db8::'"},
	} {
		var values []value
		for i, text := range strings.Split(a.text, " ") {
			record, err := hex.DecodeString(strings.Split(a.record, " ")[i])
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value{binlog: string(record), text: text})
		}
		if got := strings.Join(c.Literals(encode(t, c, values...)), " "); got != a.literals {
			t.Errorf("%s has the literals %s, want %s", a.text, got, a.literals)
		}
	}
}
