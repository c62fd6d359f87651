package selector_test

import (
	"maps"
	"strings"
	"testing"

	"midstream/internal/fleet/selector"
)

// TestMatches: a server is chosen if each condition holds.
func TestMatches(t *testing.T) {
	server := map[string]string{"app": "shop", "env": "prod", "shard": "017", "cell": "eu1", "empty": ""}
	for text, matches := range map[string]bool{
		"*": true, "app=shop": true, "app==shop": true, "app=shop,env=prod": true, "app = shop , env = prod": true,
		"app=shop,env=test": false, "app=bank": false, "region=eu": false,
		"shard!=031": true, "shard!=017": false, "region!=eu": true,
		"cell in (eu1, eu2)": true, "cell in (eu2,eu3)": false, "region in (eu)": false, "cell in(eu1)": true,
		"cell notin (eu1,eu2)": false, "cell notin (eu2)": true, "region notin (eu)": true,
		"cell": true, "region": false, "!cell": false, "!region": true, "! region": true,
		"empty=": true, "empty": true, "app=": false, "region=": false,
		"cell in (eu1,eu2),shard=017,!retired": true, "App=shop": false, "app=Shop": false,
	} {
		s, err := selector.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		again, err := selector.Parse(s.String())
		if err != nil || again.String() != s.String() || s.Matches(server) != matches || again.Matches(server) != matches {
			t.Errorf("%s matches: %t; %s matches: %t, %v", text, s.Matches(server), s, again.Matches(server), err)
		}
	}
	if (selector.Selector{}).Matches(server) {
		t.Error("a selector that was never parsed selects a server")
	}
}

// TestNormalForm: the same conditions have the same text.
func TestNormalForm(t *testing.T) {
	for text, normal := range map[string]string{
		"env=prod,app=shop": "app=shop,env=prod", "app=shop, app=shop": "app=shop", "c in (b, a,b)": "c in (a,b)",
		"c in (a)": "c=a", "c notin (a)": "c!=a", "! c": "!c", "c notin (b,a)": "c notin (a,b)", " * ": "*",
	} {
		if s, err := selector.Parse(text); err != nil || s.String() != normal {
			t.Errorf("%s: %s, %v; want %s", text, s, err, normal)
		}
	}
}

// TestBadSelectors: an error names the condition and how to write it.
func TestBadSelectors(t *testing.T) {
	long := strings.Repeat("a", 64)
	for text, want := range map[string]string{
		"": "is empty; write conditions", "  ": "is empty", "app=shop,": "an empty condition: remove a comma", ",": "an empty condition",
		"*,app=shop": "write * alone", "app shop": `the label "app shop" must be`, "=shop": `the label "" must be`, "app=a b": `the value "a b" must be`,
		"app=(a)": `the value "(a)"`, "app in a,b": `the label "app in a"`, "app in (a": `"app in (a"`, "a>b": `the label "a>b"`,
		"app=-a": `the value "-a"`, long + "=a": "up to 63", "a=" + long: "up to 63", "a=b=c": `the value "b=c"`, "app=shop;env=prod": `the value "shop;env=prod"`,
		"!app=shop": `the label "!app"`, "a in (b=c)": `the value "b=c"`, "schön=ja": `the label "schön"`,
	} {
		s, err := selector.Parse(text)
		if err == nil {
			t.Errorf("%q is taken for %s", text, s)
		} else if !strings.Contains(strings.ReplaceAll(err.Error(), "1 to 63", "up to 63"), want) {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}

// TestLabels: what is written is read.
func TestLabels(t *testing.T) {
	labels, err := selector.ParseLabels("env=prod, app=shop,shard=017,empty=")
	if text := selector.FormatLabels(labels); err != nil || text != "app=shop,empty=,env=prod,shard=017" {
		t.Errorf("%s, %v", text, err)
	}
	if labels, err = selector.ParseLabels(" "); err != nil || !maps.Equal(labels, map[string]string{}) {
		t.Errorf("%v, %v", labels, err)
	}
	for text, want := range map[string]string{
		"prod": `"prod" is no label`, "a=b,": `"" is no label`, "a=b,a=c": `the label a is given twice, as "b" and "c"`, "a b=c": `the label "a b"`, "a=b c": `the value "b c"`,
	} {
		if labels, err := selector.ParseLabels(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %s", text, labels, err, want)
		}
	}
}

func FuzzSelector(f *testing.F) {
	for _, seed := range []string{"app=shop,env!=prod", "a in (b,c),!d,e", "*", "a notin (b)", "a==", "(,)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := selector.Parse(text)
		if err != nil {
			return
		}
		if again, err := selector.Parse(s.String()); err != nil || again.String() != s.String() {
			t.Errorf("%q is %q, which is read as %q, %v", text, s, again, err)
		}
	})
}
