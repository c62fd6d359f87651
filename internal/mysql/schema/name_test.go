package schema

import (
	shell "os/exec"
	"strings"
	"testing"
)

func TestNamesAsArguments(t *testing.T) {
	for want, n := range map[string]Name{
		"shop.orders": {"shop", "orders"}, "shop_1.or-ders": {"shop_1", "or-ders"}, "лавка.größe": {"лавка", "größe"},
		"'my shop.orders'": {"my shop", "orders"}, "'shop.a$b'": {"shop", "a$b"}, `'shop.it'\''s'`: {"shop", "it's"},
		"'`a.b`.c'": {"a.b", "c"}, "'a.`b``c`'": {"a", "b`c"}, "-- -a.b": {"-a", "b"},
	} {
		if got := n.Argument(); got != want {
			t.Errorf("%q: %s instead of %s", n, got, want)
		}
		out, err := shell.Command("bash", "-c", "for a in "+n.Argument()+`; do printf '%s\0' "$a"; done`).Output()
		if err != nil {
			t.Fatal(err)
		}
		typed := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if read, err := ParseName("", typed[len(typed)-1]); err != nil || read != n {
			t.Errorf("%q is read as %q, %v", n, read, err)
		}
	}
}

func TestNamesAreRead(t *testing.T) {
	for text, want := range map[string]Name{
		"a.b": {"a", "b"}, "`a`.`b`": {"a", "b"}, "`a.b`.c": {"a.b", "c"}, "a.`b``.c`": {"a", "b`.c"}, "a.100%s": {"a", "100%s"}, "a. b ": {"a", " b "},
		// the first dot separates
		"a.b.c": {"a", "b.c"}, "a..b": {"a", ".b"}, "a.100%s .'e\"s`t": {"a", "100%s .'e\"s`t"}, "a.b.": {"a", "b."},
		"a.it's": {"a", "it's"}, "-a.b=c": {"-a", "b=c"},
	} {
		if got, err := ParseName("", text); err != nil || got != want || NameOf(got.Dotted()) != want {
			t.Errorf("%s is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a", ".", "a.", ".b", "`a`.b.c", "a.`b`.c", "`a`", "`a`b.c", "a.`b", "a.``"} {
		if got, err := ParseName("", text); err == nil {
			t.Errorf("%s is %q", text, got)
		}
	}
	if got, err := ParseName("a.b", "c"); err != nil || got != (Name{"a.b", "c"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := ParseName("a", "b.c.d"); err == nil {
		t.Errorf("with a database it is %q", got)
	}
	if got := (Name{"a", "b\x1b]0;\n"}).String(); got != `a.b\u001b]0;\n` {
		t.Errorf("it is shown as %s", got)
	}
	if got := (Name{"a.b", "c"}).Bare(); got != "a.b.c" { // older marks and digests use it
		t.Errorf("bare it is %s", got)
	}
}
