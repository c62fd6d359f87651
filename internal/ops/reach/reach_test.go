package reach

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

const flags Flags = "--host=db1 --user='a b' -p"

// TestCommandsGetTheFlags: + is the place for the flags. Texts of others do not have it, and stay.
func TestCommandsGetTheFlags(t *testing.T) {
	for _, marked := range []string{
		"", "nothing to say", "midstream", "midstream ", "midstream undo", "midstream undo ",
		"midstream undo+ shop.orders", "Undo it: midstream undo+ shop.orders.", "(midstream undo+ --cold shop.orders)",
		"midstream undo+ shop.orders takes it back; midstream undo+ --end shop.orders gives it up",
		"midstream undo+ 'a b.c d' takes it back", `midstream undo+ $'a\'b.c' is the redo`, "midstream undo+ -- -a.b, then wait",
		`midstream undo+ 'it'\''s.t'; midstream cleanup+ --old 'it'\''s.t'`, "midstream cleanup+ лавка.größe: both fix that",
		"midstream undo+ --undo-fill c=1 --undo-fill 'd=a b' shop.orders takes it back",
		"midstream undo+ --list", "midstream undo+ --list lists them", "midstream undo+ --list shop.orders shows it.",
		`midstream run+ --undo=24h "ALTER TABLE ..."`, "run the rest: midstream run+ 'ALTER TABLE `a`.`b` COMMENT \"midstream undo x.y\"'",
		"Compare: midstream verify+ a.b a.c. Remove: midstream cleanup+ a.c", "midstream undo+ database.table still takes it back",
		"midstream blockers+ shop.orders", "To undo:\n  midstream undo+ a.b\nTo give it up: midstream undo+ --end a.b\n",
		"it completes its work (COMMENT 'cut o…); midstream cleanup+ 'a b.c' gives it up", "the table's rows, or midstream undo+ a.b", "-p",
		"midstream plan+ 'ALTER TABLE a.b FORCE'",
		// what reaches no server
		"midstream status a.b", "midstream report a.b", "midstream set a.b lock-wait=1s", "midstream queue a.b",
		// what is for another server, texts of others, and mentions
		"midstream undo --host=db2 a.b", "my midstream undo a.b is a table", "Unknown column midstream undo a.b", "midstream undo --list", "midstream run 'ALTER TABLE a.b FORCE'",
		"ADD COLUMN c INT COMMENT 'midstream undo a.b'", "Duplicate entry 'midstream undo a.b' for key 'x'", "`midstream undo a.b`", "CONCAT('midstream undo a.b')",
		"altered shop.midstream undo a.b", "COMMENT='midstream undo a.b'", "SELECT /* midstream undo a.b */ 1", "SELECT 1 -- midstream undo a.b",
		"midstream check lists every row. See v1.2", "another run of midstream works on a.b", "midstream undo --plan prints what a.b has",
	} {
		bare, want := strings.ReplaceAll(marked, "+", ""), strings.ReplaceAll(marked, "+", " "+string(flags))
		text := strings.ReplaceAll(marked, "+", " ")
		if got := flags.In(text); got != want {
			t.Errorf("%s\nbecame\n%s", text, got)
		}
		if got := flags.In(want); got != want {
			t.Errorf("again, %s\nbecame\n%s", want, got)
		}
		if got := Flags("").In(text); got != bare {
			t.Errorf("without flags, %s became %s", text, got)
		}
		for _, one := range []string{text, bare, want} {
			if got := strings.Join(Words(one), " "); strings.ReplaceAll(got, "  ", " ") != strings.Join(strings.Fields(one), " ") || flags.In(got) == got && flags.In(one) != one {
				t.Errorf("the words of %q are %q", one, got)
			}
		}
	}
}

// TestEachVerbGetsItsFlags: a command for a run has the folder of its socket, and one for midstream serve the URL.
func TestEachVerbGetsItsFlags(t *testing.T) {
	const control Flags = `--host=db1 --control-dir='/a b'`
	const url Flags = "--to=https://ops:8080 --token-file='/a b'"
	for text, want := range map[Flags]map[string]string{
		control: {
			"midstream cutover  a.b, or midstream abort  a.b": "midstream cutover --control-dir='/a b' a.b, or midstream abort --control-dir='/a b' a.b",
			"midstream status  shows it":                      "midstream status --control-dir='/a b' shows it",
			"midstream undo  a.b; midstream cleanup  a.b":     "midstream undo --host=db1 --control-dir='/a b' a.b; midstream cleanup --host=db1 a.b",
			"midstream submit  --undo=x":                      "midstream submit --undo=x",
		},
		url: {"midstream submit  --undo=x; midstream undo  a.b; midstream abort  a.b": "midstream submit " + string(url) + " --undo=x; midstream undo a.b; midstream abort a.b"},
		"":  {"midstream submit  --undo=x; midstream resume  a.b": "midstream submit --undo=x; midstream resume a.b"},
	} {
		for bare, want := range want {
			var out strings.Builder
			if _, err := Writer(&out, func() Flags { return text }).Write([]byte(bare)); err != nil || out.String() != want {
				t.Errorf("%s: %s, %v", bare, out.String(), err)
			}
		}
	}
	const served = "midstream submit  --undo=x; midstream undo --host=db1 a.b"
	if got := Flags("--host=db1").In("midstream submit  --undo=x; midstream undo  a.b"); got != served {
		t.Errorf("only who asked the service knows its URL: %s", got)
	}
	for _, verb := range []string{"abort", "queue"} {
		set := pflag.NewFlagSet(verb, pflag.ContinueOnError)
		set.SortFlags = false
		names := map[string][]string{"abort": {"control-dir"}, "queue": {"to", "token-file", "tls-ca"}}[verb]
		for _, name := range names {
			set.String(name, "", "")
			_ = set.Set(name, "/x") // it takes any text
		}
		if got, want := Of(set, false), "--"+strings.Join(names, "=/x --")+"=/x"; got != Flags(want) {
			t.Errorf("%s: %s", verb, got)
		}
	}
}

func TestWordsKeepsCommandsWhole(t *testing.T) {
	text := "Undo it (midstream undo --cold 'a b.c'), or\nmidstream cleanup --old a.b. Set x='1 2'"
	want := []string{"Undo", "it", "(midstream undo --cold 'a b.c'),", "or", "midstream cleanup --old a.b.", "Set", "x='1 2'"}
	if got := Words(text); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	text, want = "midstream submit  --undo=a, or midstream status  shows it", []string{"midstream submit  --undo=a,", "or", "midstream status  shows", "it"}
	if got := Words(text); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestACommandKeepsWhatFollowsItsArgument: a command that is copied up to a line break does what its text promises.
func TestACommandKeepsWhatFollowsItsArgument(t *testing.T) {
	for _, one := range []string{
		"midstream undo  --cold a.b --plan", "midstream undo --host=db1 --cold a.b --plan", "midstream set --control-dir=/x a.b kill-blockers-after=30s lock-wait=1s",
		"midstream reject  17 --reason 'no good'", "midstream queue --to=https://x 17 --wait", "midstream fleet skip  s1 --server='a b'",
		"midstream fleet approve --to=https://x s1 --wave=two", "midstream fleet approve  s1 --wave=two",
	} {
		if got := Words("first " + one + ", then"); !slices.Equal(got, []string{"first", one + ",", "then"}) {
			t.Errorf("%s: %q", one, got)
		}
		if got := Words(one + " does it"); !slices.Equal(got, []string{one, "does", "it"}) {
			t.Errorf("%s: %q", one, got)
		}
	}
}

// TestWriter: text and JSON get the flags, and all values of others stay.
func TestWriter(t *testing.T) {
	for _, flags := range []Flags{flags, `--user='a "b\' -p`, ""} {
		var out bytes.Buffer
		w := Writer(&out, func() Flags { return flags })
		const undo = "midstream undo  a.b"
		record := map[string]string{"next": undo, "fix": "<\"x\" \U0001F600>: " + undo, "alter": "midstream undo a.b", "error": `"next":"midstream undo a.b"`, "left": `\`}
		if err := json.NewEncoder(w).Encode(record); err != nil {
			t.Fatal(err)
		}
		record["next"], record["fix"] = flags.In(undo), flags.In(record["fix"])
		var got map[string]string
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || !maps.Equal(got, record) {
			t.Errorf("%v: %q instead of %q", err, got, record)
		}
		out.Reset()
		if n, err := w.Write([]byte("Next: " + undo + "\n")); err != nil || n != len("Next: "+undo+"\n") || out.String() != "Next: "+flags.In(undo)+"\n" {
			t.Error(n, err, out.String())
		}
	}
}

func TestFlagsThatWereGiven(t *testing.T) {
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	for _, name := range append([]string{"database", "method"}, where...) {
		set.String(name, "", "")
	}
	if got := Of(set, false); got != "" {
		t.Error(got)
	}
	if err := set.Parse([]string{"--user=it's", "--host=db1", "--database=shop", "--defaults-file=a b.cnf"}); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	set.SortFlags = false // as on Midstream's command line: in the order in which they were given
	want := `--user='it'\''s' --host=db1 --defaults-file=` + schema.Shell(filepath.Join(here, "a b.cnf")) + " -p"
	if got := Of(set, true); got != Flags(want) { // also for who reads it in another folder
		t.Error(got)
	}
	set.String(At, "", "")
	if err := set.Parse([]string{"--" + At + "=db2:3308"}); err != nil {
		t.Fatal(err)
	}
	if got := Of(set, true); got != "--host=db2 --port=3308" { // who reads it elsewhere has no such option file
		t.Error(got)
	}
	for address, want := range map[string]Flags{
		"": "", "db1:3307": "--host=db1 --port=3307", "[::1]:3306": "--host='::1' --port=3306", "/a b/my.sock": "--socket='/a b/my.sock'",
	} {
		if got := To(address); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}

// TestVariablesBecomeFlags: a command that is copied into another terminal reaches the same server without the variables.
func TestVariablesBecomeFlags(t *testing.T) {
	env := dbconn.Options{Host: "db1", Port: 3307, Socket: "/a b/my.sock"}
	for _, c := range []struct {
		typed  Flags
		env    dbconn.Options
		others dbconn.Options
		want   Flags
	}{
		{"", dbconn.Options{}, dbconn.Options{}, ""},
		{"--user=dba", dbconn.Options{}, dbconn.Options{User: "dba"}, "--user=dba"},
		{"", env, dbconn.Options{}, "--host=db1 --port=3307 --socket='/a b/my.sock'"},
		{"--host=db2 -p", env, dbconn.Options{Host: "db2"}, "--port=3307 --socket='/a b/my.sock' --host=db2 -p"},
		{"--defaults-file=/x", env, dbconn.Options{Host: "db2", Port: 1, Socket: "/s"}, "--defaults-file=/x"}, // the file counts more
	} {
		if got := c.typed.With(c.env, c.others); got != c.want {
			t.Errorf("%q became %q, not %q", c.typed, got, c.want)
		}
	}
}

// FuzzIn: the flags are added once, nothing else changes, and no word is lost.
func FuzzIn(f *testing.F) {
	for _, seed := range []string{"midstream undo  a.b; midstream run  'x", "(midstream verify  a.b \"c\" `d` …'/* -- \\", "midstream undo -- -a.b\n=$'\\'midstream plan  x.y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := flags.In(text)
		if twice := flags.In(once); twice != once {
			t.Errorf("%q became %q, and then %q", text, once, twice)
		}
		if !strings.Contains(text, string(flags)) && strings.ReplaceAll(strings.ReplaceAll(once, string(flags), ""), " ", "") != strings.ReplaceAll(text, " ", "") {
			t.Errorf("%q became %q", text, once)
		}
		if got, want := strings.Join(Words(text), ""), strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < 0x80 && blank(byte(r)) }), ""); strings.Join(
			strings.FieldsFunc(got, func(r rune) bool { return r < 0x80 && blank(byte(r)) }), "") != want {
			t.Errorf("the words of %q are %q", text, got)
		}
	})
}

// TestAServiceWithItsOwnSocketsNamesThem: midstream serve has its own --control-dir. The commands that its runs print have it,
// next to the address by which people elsewhere reach the server.
func TestAServiceWithItsOwnSocketsNamesThem(t *testing.T) {
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	set.String(At, "", "")
	set.String("control-dir", "", "")
	if err := set.Parse([]string{"--print-address=db1:3306", "--control-dir=/run/own"}); err != nil {
		t.Fatal(err)
	}
	const text = "midstream abort  t, then midstream undo  --end t; midstream cleanup  t"
	want := "midstream abort --control-dir=/run/own t, then midstream undo --host=db1 --port=3306 --control-dir=/run/own --end t; " +
		"midstream cleanup --host=db1 --port=3306 t"
	if got := Of(set, false).In(text); got != want {
		t.Errorf("%s", got)
	}
	if got, want := To("db1:3306").Sockets("").In(text), To("db1:3306").In(text); got != want {
		t.Errorf("%s", got)
	}
}

// TestFleetVerbsReachTheService: a next command about a change set has the flags of the service, and none of a server.
func TestFleetVerbsReachTheService(t *testing.T) {
	own := Flags("--host=db1 --service='http://a:1' --token-file=/t --control-dir=/c")
	const text, want = "midstream fleet approve  a --wave='b'", "midstream fleet approve --service='http://a:1' --token-file=/t a --wave='b'"
	if got := own.In(text); got != want {
		t.Error(got)
	}
}
