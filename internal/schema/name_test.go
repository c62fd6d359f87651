package schema

import "testing"

func TestNamesAsArguments(t *testing.T) {
	for want, n := range map[string]Name{
		"shop.orders": {"shop", "orders"}, "shop_1.or-ders": {"shop_1", "or-ders"}, "лавка.größe": {"лавка", "größe"},
		"'my shop.orders'": {"my shop", "orders"}, "'shop.a$b'": {"shop", "a$b"}, `'shop.it'\''s'`: {"shop", "it's"},
		"'`a.b`.c'": {"a.b", "c"}, "'a.`b``c`'": {"a", "b`c"}, "-- -a.b": {"-a", "b"},
	} {
		if got := n.Argument(); got != want {
			t.Errorf("%q: %s instead of %s", n, got, want)
		}
	}
}
