package session

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// TestEachTableOfAGroupHasItsWishes: a flag about a table names it in front of its value. What does not, or could mean two things, is
// refused with its reason.
func TestEachTableOfAGroupHasItsWishes(t *testing.T) {
	t.Parallel()
	tables := []schema.Name{{Schema: "shop", Table: "orders"}, {Schema: "shop", Table: "a:b"}, {Schema: "crm", Table: "orders"}}
	of := func(database string, flags ...string) ([]plan.Options, error) {
		var w Wishes
		takes := map[string]func(string) error{}
		w.Register(func(_, name, _, _, _ string, take func(string) error) { takes[name] = take })
		for _, text := range flags {
			name, value, _ := strings.Cut(text, "=")
			if err := takes[name](value); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		each, problems := w.ByTable(database, tables)
		options := make([]plan.Options, len(each))
		for i := range each {
			problems = append(problems, each[i].Read(&options[i])...)
		}
		return options, errors.Join(problems...)
	}

	options, err := of("", "keep=shop.orders: created_at >= '2024-01-01 10:00'", "set=`shop`.`a:b`:e=LOWER(e)", "set=shop.orders: e=UPPER(e)",
		"map=shop.orders: a=x", "map=crm.orders: b=x", "old-name=crm.orders: former", "key=shop.`a:b`: by_e")
	if err != nil {
		t.Fatal(err)
	}
	if o := options[0]; o.Filter != "created_at >= '2024-01-01 10:00'" || o.Set["e"] != "UPPER(e)" || !maps.Equal(o.Map, map[string]string{"x": "a"}) ||
		o.Key != "" || o.Names != (plan.Wish{}) {
		t.Errorf("%+v", o)
	}
	if o := options[1]; o.Set["e"] != "LOWER(e)" || o.Key != "by_e" || o.Filter != "" || o.Map != nil {
		t.Errorf("%+v", o)
	}
	if o := options[2]; o.Names.Old != "former" || o.Map["x"] != "b" || o.Set != nil {
		t.Errorf("%+v", o)
	}
	if _, err := of("shop", "keep=orders: id > 1"); err != nil {
		t.Errorf("with --database: %v", err)
	}

	for want, flags := range map[string][]string{
		"does not name its table":               {"keep=id > 1"},
		"with --together, begin with the table": {"keep=orders: id > 1"},
		"shop.items is not among the tables":    {"old-name=shop.items: former"},
		"is not among the tables that":          {"keep=a.created_at > '10:00'"},
		"it has no condition":                   {"keep=shop.orders: "},
		"must be column=expression":             {"set=shop.orders: =e"},
		"given twice for shop.orders":           {"keep=shop.orders: id > 1", "keep=shop.orders: id > 2"},
		"x is given twice":                      {"map=shop.orders: a=x", "map=shop.orders: b=x"},
		"the name shop.former, for a table of the run on shop.orders, is needed by": {"old-name=shop.orders: former", "shadow-name=shop.`a:b`: Former"},
		"the name shop.a:b_old, for a table of the run on shop.orders, is needed":   {"old-name=shop.orders: a:b_old"},
	} {
		if _, err := of("", flags...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, and not %q", flags, err, want)
		}
	}
}

// TestAdviceInAGroupNamesTheTable: values of --map, --keep and --set begin with the table, in a refusal that advises them.
func TestAdviceInAGroupNamesTheTable(t *testing.T) {
	t.Parallel()
	for fix, want := range map[string]string{
		"Declare each of them: --map old=new (or the same name), or --map =new for a new column": "Declare each of them: --map s.a:old=new (or the same name), or --map s.a:=new for a new column",
		`Give a condition, such as --keep "id > 1"`:                                              `Give a condition, such as --keep "s.a: id > 1"`,
		`Name the column: --set "n=..."`:                                                         `Name the column: --set "s.a: n=..."`,
		"Leave out --keep":                                                                       "Leave out --keep",
	} {
		refused := &plan.Refused{Blocking: []plan.Risk{{Fix: fix}}}
		if got := ofMember(refused, schema.Name{Schema: "s", Table: "a"}).Blocking[0].Fix; got != want {
			t.Errorf("%s instead of %s", got, want)
		}
		if refused.Blocking[0].Fix != fix {
			t.Errorf("the refusal itself has become %s", refused.Blocking[0].Fix)
		}
	}
}
