package carry

import (
	"slices"
	"strings"
	"testing"

	"midstream/internal/mysql/schema"
)

func trigger(name, create, mode string) schema.Trigger {
	return schema.Trigger{Name: name, Create: []byte(create), Mode: mode, Client: "latin1", Connection: "latin1_bin", Created: "12.34"}
}

const (
	standInX = "midstream_baa1fe421c454558"
	standInY = "midstream_baa1ff421c45470b"
)

// TestTriggerStatements: which statements are needed for the triggers that exist, at each step.
func TestTriggerStatements(t *testing.T) {
	x := trigger(
		"x",
		"CREATE DEFINER=`TRIGGER`@`ON` trigger s.x before insert on `s`.t FOR EACH ROW set new.a = 'for each row' -- end",
		"ANSI_QUOTES",
	)
	y := trigger(
		"y", `CREATE DEFINER="u"@"h" TRIGGER IF NOT EXISTS "y" AFTER DELETE ON "t" FOR/**/EACH ROW BEGIN END`,
		"NO_BACKSLASH_ESCAPES",
	)
	set := Set{Source: name("t"), Shadow: name("t_shadow"), Old: name("t_old"), Triggers: []schema.Trigger{x, y}}
	if set.standIn(x) != standInX || set.standIn(y) != standInY {
		t.Fatalf("the stand-ins are %s and %s", set.standIn(x), set.standIn(y))
	}
	declared := set.declareTriggers()
	if want := "CREATE DEFINER=`TRIGGER`@`ON` trigger `" + standInX + "` before insert on `t_shadow` FOR EACH ROW\n" +
		"IF NOT EXISTS (SELECT 1 FROM information_schema.triggers WHERE trigger_schema = 's' AND trigger_name = 'x' AND event_object_schema = 's' AND event_object_table = 't'" +
		" AND NOT (UNIX_TIMESTAMP(created) <=> 12.34)) THEN\nset new.a = 'for each row' -- end\n; END IF"; declared[0].Text != want {
		t.Errorf("declare: %s\nwant %s", declared[0].Text, want)
	}
	if got := strings.Join(declared[0].Before, "; "); got != "SET SESSION character_set_client = utf8mb4, sql_mode = ''; USE `s`; "+
		"SET SESSION sql_mode = 'ANSI_QUOTES', character_set_client = latin1, collation_connection = latin1_bin" {
		t.Errorf("before: %s", got)
	}
	on := func(names ...string) (all []schema.Trigger) {
		for _, n := range names {
			all = append(all, schema.Trigger{Name: n})
		}
		return all
	}
	const createX, dropX = "CREATE DEFINER=`TRIGGER`@`ON` trigger s.x before insert on `s`.t FOR EACH ROW PRECEDES `" + standInX + "` set new.a = 'for each row' -- end", "DROP TRIGGER `s`.`x`"
	const createY, dropY = `CREATE DEFINER="u"@"h" TRIGGER IF NOT EXISTS "y" AFTER DELETE ON "t" FOR/**/EACH ROW PRECEDES ` + "`" + standInY + "` BEGIN END", "DROP TRIGGER `s`.`y`"
	const endX, endY = "DROP TRIGGER `s`.`" + standInX + "`", "DROP TRIGGER `s`.`" + standInY + "`"
	for _, c := range []struct {
		what       string
		statements []Statement
		want       []string
	}{
		{"settle", set.settleTriggers(on(standInX, standInY), on("x", "y")), []string{dropX, createX, endX, dropY, createY, endY}},
		{"settle, the first dropped", set.settleTriggers(on(standInX, standInY), on("y")), []string{createX, endX, dropY, createY, endY}},
		{"settle, the first there", set.settleTriggers(on("x", standInX, standInY), on("y")), []string{endX, dropY, createY, endY}},
		{"settle, the first done", set.settleTriggers(on("x", standInY), on("y")), []string{dropY, createY, endY}},
		{"settled", set.settleTriggers(on("x", "y"), nil), nil},
		{"settled, and dropped since", set.settleTriggers(on("x"), nil), nil},
		{"withdraw", set.withdrawTriggers(on(standInX, standInY)), []string{endX, endY}},
		{"withdraw, half declared", set.withdrawTriggers(on(standInX)), []string{endX}},
		{"nothing declared", set.withdrawTriggers(nil), nil},
	} {
		var got []string
		for _, s := range c.statements {
			got = append(got, s.Text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q\nwant %q", c.what, got, c.want)
		}
	}
}

// TestTriggerText: what is read from a trigger's text.
func TestTriggerText(t *testing.T) {
	x := trigger(
		"x",
		"CREATE TRIGGER x BEFORE UPDATE ON t FOR EACH ROW BEGIN INSERT INTO `far`.log SELECT new.`A B`, OLD . c, 'new.d' FROM a, b JOIN k; UPDATE z SET q = NEW.c; END",
		"",
	)
	if got := Uses(x); !slices.Equal(got, []string{"A B", "c"}) {
		t.Errorf("it uses %q", got)
	}
	var tables []string
	for _, n := range Tables(x) {
		tables = append(tables, strings.TrimPrefix(n.Schema+"."+n.Table, "."))
	}
	if want := []string{"far.log", "OLD.c", "a", "b", "k", "z"}; !slices.Equal(tables, want) {
		t.Errorf("it may name the tables %q, want %q", tables, want)
	}
	set := Set{Source: name("t"), Shadow: name("t_shadow")}
	for _, c := range []struct{ table, create, client, want string }{
		{"t", "CREATE TRIGGER x BEFORE UPDATE ON t FOR EACH ROW SET @a = 1", "latin1", ""},
		{"täble", "CREATE TRIGGER x BEFORE UPDATE ON täble FOR EACH ROW SET @a = 1", "utf8mb3", ""},
		{"täble", "CREATE TRIGGER x BEFORE UPDATE ON t FOR EACH ROW SET @a = 1", "latin1", "letters beyond ASCII"},
		{"t", "CREATE TRIGGER x BEFORE UPDATE ON t", "utf8mb4", "cannot read its statement"},
		{"t", "", "utf8mb4", "cannot read its statement"},
	} {
		set.Source.Table = c.table
		if got := set.CanCarry(
			schema.Trigger{Name: "x", Create: []byte(c.create), Client: c.client},
		); got == "" != (c.want == "") ||
			!strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.create, got, c.want)
		}
	}
}
