package summary

import (
	"strings"
	"testing"

	"midstream/internal/ops/record"
)

// TestTheCompleteCommandIsOneLine: it can be copied, and has the flags that reach the server.
func TestTheCompleteCommandIsOneLine(t *testing.T) {
	needed := &record.Needed{
		Bytes: 38_200_000_000, Command: "midstream run  --together 'ALTER TABLE customers MODIFY i INT; ALTER TABLE orders MODIFY `int` bigint COMMENT '\\''a   b'\\'''",
		Tables: []record.NeededTable{
			{Table: "shop.customers", Given: true, Bytes: 2_100_000_000},
			{Table: "shop.orders", Bytes: 36_100_000_000, Columns: []record.NeededColumn{{
				Column: "int", From: "int", To: "bigint", Constraint: "of\nthem", Child: "shop.orders", Parent: "shop.customers",
				OtherColumn: "id", OtherTable: "shop.customers",
			}}},
		},
	}
	const want = `Foreign keys: 1 table needed as well. The group has 2 tables, 38.2 GB

  given      shop.customers, 2.1 GB
  needed     shop.orders, 36.1 GB
             int: int to bigint, by foreign key of\nthem of shop.orders (the other column: id of
             shop.customers)

  The complete command:
  midstream run --host=db1 --together 'ALTER TABLE customers MODIFY i INT; ALTER TABLE orders MODIFY §int§ bigint COMMENT '\''a   b'\'''

`
	if got := OfNeeded(needed, Style{Reach: "--host=db1"}); got != strings.ReplaceAll(want, "§", "`") {
		t.Errorf("%s", got)
	}
	needed.Tables, needed.Command = needed.Tables[1:], ""
	needed.Tables[0].Given = true
	if got := OfNeeded(needed, Style{}); !strings.Contains(got, "Foreign keys: another type needed for 1 more column. The group has 1 table, 38.2 GB") || strings.Contains(got, "command") {
		t.Errorf("%s", got)
	}
	if got := OfNeeded(nil, Style{}); got != "" {
		t.Error(got)
	}
}
