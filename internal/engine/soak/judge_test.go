package soak

import (
	"strings"
	"testing"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/mysql/schema"
)

// TestNames: a statement counts if it names the column as the table's, or may do so. It does not if the parser shows that the column is
// another table's, an alias, or a literal.
func TestNames(t *testing.T) {
	d := Drop{Table: schema.Name{Schema: "shop", Table: "orders"}, Columns: []string{"note"}}
	k := Drop{Table: d.Table, Indexes: []string{"k"}}
	for _, c := range []struct {
		drop     Drop
		database string
		text     string
		errors   int64
		want     bool
	}{
		{d, "shop", "SELECT `id` , `note` FROM `orders` WHERE `id` IN (...) LIMIT ?, ...", 0, true},
		{d, "", "SELECT `note` FROM `shop` . `orders`", 0, true},
		{d, "other", "SELECT `note` FROM `orders`", 0, false},
		{d, "other", "SELECT `NOTE` FROM `shop` . `orders` `o`", 0, true},
		{d, "shop", "EXECUTE SELECT `note` FROM `orders`", 0, true},
		{d, "shop", "PREPARE UPDATE `orders` SET `note` = ?", 0, true},
		{d, "shop", "DEALLOCATE SELECT `note` FROM `orders`", 0, false},
		{d, "shop", "ALTER TABLE `orders` MODIFY `note` INTEGER", 0, false},
		{d, "shop", "CREATE VIEW `v` AS SELECT `note` FROM `orders`", 0, true},
		{d, "shop", "SELECT `total` AS `note` FROM `orders`", 0, false},
		{d, "shop", "SELECT `i` . `note` FROM `orders` `o` JOIN `items` `i` ON `i` . `id` = `o` . `id`", 0, false},
		{d, "shop", "SELECT `o` . `note` FROM `orders` `o` JOIN `items` `i` ON `i` . `id` = `o` . `id`", 0, true},
		{d, "shop", "SELECT `note` FROM `orders` JOIN `items`", 0, true},
		{d, "shop", "SELECT `o` . `id` FROM `orders` `o` JOIN `items` USING ( `note` )", 0, true},
		{d, "shop", "INSERT INTO `orders` ( `id` , `note` ) VALUES (...) /* , ... */", 0, true},
		{d, "shop", "INSERT INTO `orders` ( `id` ) VALUES (...) ON DUPLICATE KEY UPDATE `note` = ?", 0, true},
		{d, "shop", "INSERT INTO `orders` VALUES (...)", 0, false},
		{d, "shop", "INSERT INTO `orders` VALUES (...)", 1, true},
		{d, "shop", "INSERT INTO `items` VALUES (...)", 1, false},
		{d, "shop", "INSERT INTO `items` SELECT `note` FROM `orders`", 0, true},
		{d, "shop", "SELECT * FROM `orders`", 0, false},
		{d, "shop", "SELECT `id` FROM `orders` WHERE NOTE IN (...)", 0, true}, // MariaDB
		{d, "shop", "SELECT WHAT `the` PARSER CANNOT READ `note` FROM `orders`", 0, true},
		{d, "shop", "SELECT " + strings.Repeat("`total` , ", 99) + "`note` ,", 0, true},
		{d, "shop", "SELECT " + strings.Repeat("`total` , ", 99) + "`total` ,", 0, false},
		{d, "shop", "SELECT `id` FROM `orders` WHERE " + strings.Repeat("`total` = ? OR ", 90), 0, true},
		{d, "shop", "SELECT `id` FROM `orders` WHERE " + strings.Repeat("`total` = ? OR ", 9) + "`total` = ?", 0, false},
		{d, "shop", "SELECT COUNT ( * ) FROM `orders` `o` JOIN `items` `i` USING ( `id` ) WHERE `i` . `note` = ?", 0, false},
		{d, "shop", "SELECT COUNT ( * ) FROM `orders` WHERE `note` = ?", 0, true},
		{d, "", "SELECT `midstream_key_0` FROM ( SELECT `note` AS `midstream_value_0` FROM `shop` . `items` WHERE " + strings.Repeat("`total` = ? OR ", 90), 0, false},
		{k, "shop", "SELECT `id` FROM `orders` FORCE INDEX ( `k` )", 0, true},
		{k, "shop", "SELECT `k` FROM `orders` FORCE INDEX ( `l` )", 0, false},
		{k, "shop", "SELECT /*+ INDEX ( `orders` `k` ) */ `id` FROM `orders`", 0, true},
		{k, "shop", "SELECT `id` FROM `orders` JOIN `items` FORCE INDEX ( `k` )", 0, false},
		{k, "shop", "INSERT INTO `orders` VALUES (...)", 1, false},
	} {
		how, _ := c.drop.names(statement{checkpoint.NamedBy{Database: c.database, Text: c.text}, c.errors}, 1024)
		if (how != "") != c.want {
			t.Errorf("%s (%s): %q", c.text, c.database, how)
		}
	}
}
