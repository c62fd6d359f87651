package ddl

import (
	"errors"
	"slices"
	"testing"

	"midstream/internal/mysql/schema"
)

// TestMove: a query gets another table in each place that names the first one: FROM, columns, hints, subqueries. Other tables of that name,
// texts and aliases stay.
func TestMove(t *testing.T) {
	from, to := schema.Name{Schema: "shop", Table: "orders"}, schema.Name{Schema: "shop", Table: "orders_shadow"}
	for sql, want := range map[string]string{
		"SELECT a FROM orders WHERE orders.b = 'orders'":     "SELECT `a` FROM `shop`.`orders_shadow` WHERE `orders_shadow`.`b` = 'orders'",
		"SELECT o.* FROM shop.orders AS o":                   "SELECT `o`.* FROM `shop`.`orders_shadow` AS `o`",
		"SELECT orders.* FROM orders":                        "SELECT `orders_shadow`.* FROM `shop`.`orders_shadow`",
		"UPDATE orders SET b = 1 WHERE a = 2":                "UPDATE `shop`.`orders_shadow` SET `b`=1 WHERE `a` = 2",
		"DELETE FROM Orders WHERE a IN (1, 2)":               "DELETE FROM `shop`.`orders_shadow` WHERE `a` IN (1,2)",
		"INSERT INTO orders (a) VALUES (1)":                  "INSERT INTO `shop`.`orders_shadow` (`a`) VALUES (1)",
		"SELECT 1 FROM x WHERE a IN (SELECT id FROM orders)": "SELECT 1 FROM `x` WHERE `a` IN (SELECT `id` FROM `shop`.`orders_shadow`)",
		"SELECT a FROM old.orders":                           "",
		"SELECT 'orders' FROM x":                             "",
	} {
		moved, err := Move(sql, "", "shop", from, to)
		if err != nil || moved.There != want || (len(moved.Names) > 0) != (want != "") {
			t.Errorf("%s\n%s, %v\n%s", sql, moved.There, err, want)
		}
	}
	if moved, err := Move("SELECT o.a FROM orders o JOIN orders p ON o.a = p.b", "", "shop", from, to); err != nil ||
		!slices.Equal(slices.Compact(slices.Sorted(slices.Values(moved.Names))), []string{"o", "orders", "p"}) {
		t.Errorf("%+v, %v", moved, err)
	}
	for _, sql := range []string{"CREATE TABLE orders (a INT)", "SELECT 1; SELECT 2", "no", ""} {
		if _, err := Move(sql, "", "shop", from, to); !errors.Is(err, ErrNoQuery) {
			t.Errorf("%q: %v", sql, err)
		}
	}
	for sql, want := range map[string]bool{
		"SELECT a FROM orders WHERE b = 'cut...": true, "(SELECT a FROM shop.orders)": true, "SELECT a FROM orders2": false,
		"SELECT 'orders'": true, "CREATE TABLE orders (a INT)": false, "SELECT a FROM old.orders": false, "": false,
	} {
		if got := MayQuery(sql, "", "shop", from); got != want {
			t.Errorf("%s: %t", sql, got)
		}
	}
}
