package dbconn

import (
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// fileLines are lines of the group [client], and how the client of MySQL 9.7.4 reads them (mysql
// --print-defaults).
var fileLines = []struct{ line, user string }{
	{`user=plain`, `plain`},
	{`user = spaced value   `, `spaced value`},
	{"\tuser=indented", `indented`},
	{`user=a#b`, `a`},
	{`user="a#b"`, `a#b`},
	{`user='a#b' # tail`, `a#b`},
	{`user=a"b#c"d`, `a"b#c"d`},
	{`user="  in quotes "  `, `  in quotes `},
	{`user=tab\tnl\ns\s\\x\"q\'z\qend`, "tab\tnl\ns \\x\"q'z\\qend"},
	{`user="it\"s#x"`, `it"s#x`},
	{`user='don''t'`, `don''t`},
	{`user=semi;colon`, `semi;colon`},
	{`user=a\#b`, `a\`},
	{`user="unbalanced`, `"unbalanced`},
	{`user=trail\`, `trail\`},
	{`user=eq=eq`, `eq=eq`},
	{`loose-user=loose`, `loose`},
	{`loose_user=loose`, `loose`},
	{"user=crlf\r", `crlf`},
	{`; user=comment`, ``},
	{`default-character-set=utf8mb4`, ``},
	{`no-auto-rehash`, ``},
	{`loose-user spaced`, ``},
}

func TestOptionFile(t *testing.T) {
	for _, c := range fileLines {
		r := optionReader{}
		if err := r.lines("test", "[client]\n"+c.line+"\n", 0); err != nil {
			t.Errorf("%q: %v", c.line, err)
		}
		if r.filed.Options.User != c.user {
			t.Errorf("%q: user %q instead of %q", c.line, r.filed.Options.User, c.user)
		}
	}
}

func TestOptionFileTakesAllThatAConnectionNeeds(t *testing.T) {
	text := `
# of the server
[mysqld]
user=mysql
port=99
[client] # ours
host=db1
port=3307
socket=/s
protocol=TCP
user=u
password="p#1"
ssl_mode=verify_ca
ssl-ca=/ca
ssl-cert=/cert
ssl-key=/key
[mysql]
user=other
[ midstream ]
user=not
[midstream]
user=late
`
	r := optionReader{}
	if err := r.lines("test", text, 0); err != nil {
		t.Fatal(err)
	}
	password := Secret("p#1")
	want := Options{Host: "db1", Port: 3307, Socket: "/s", Protocol: "tcp", User: "late", Password: &password,
		SSLMode: SSLVerifyCA, SSLCA: "/ca", SSLCert: "/cert", SSLKey: "/key"}
	if !reflect.DeepEqual(r.filed.Options, want) {
		t.Errorf("%+v instead of %+v", r.filed.Options, want)
	}
}

func TestOptionFileErrorsNameThePlace(t *testing.T) {
	for text, want := range map[string]string{
		"user=x\n":                       "line 1: an option precedes the first group",
		"[client]\n\n[mysql\n":           "line 3: the group's name has no closing ]",
		"[client]\nport=many\n":          `line 2: port: "many" is not a port`,
		"[client]\nssl-mode=sometimes":   `line 2: ssl-mode: "sometimes": must be DISABLED`,
		"[client]\nssl-crl=/x":           "line 2: ssl-crl: not supported",
		"[client]\nprotocol=PIPE":        "line 2: protocol:",
		"[client]\npassword=x\nport=\n":  "line 3: port:",
		"[client]\nport 23306\n":         `line 2: unknown option "port ..."`,
		"[midstream]\nuser\t= x\nu v=x":  `line 3: unknown option "u ..."`,
		"[client]\n=x":                   "line 2: an option has no name",
		"[client]\nhost\n":               "line 2: host: needs a value",
		"[client]\nloose-port 23306\n":   "",
		"[mysql]\nport 23306\n":          "",
		"[client]\n!include /dev/null\n": "",
		"[client]\n!whatever\n":          "",
		"[client]\n!include /not/there":  "",
	} {
		r := optionReader{}
		err := r.lines("file", text, 0)
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v instead of %q", text, err, want)
		}
	}
}

// folder makes files of a test: name to text.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOptionFilesIncludeEachOther(t *testing.T) {
	dir := folder(t, map[string]string{
		"d/b.cnf": "[client]\nuser=b\n", "d/a.cnf": "[client]\nuser=a\nhost=h\n", "d/c.txt": "[client]\nuser=c\n",
		"one.cnf": "[client]\nport=1\n",
	})
	main := filepath.Join(dir, "main.cnf")
	text := "[client]\n!include " + dir + "/one.cnf\n!includedir " + dir + "/d\nsocket=/after\n"
	if err := os.WriteFile(main, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	filed, err := OptionFiles{Only: main}.Read()
	if o := filed.Options; err != nil || o.User != "b" || o.Host != "h" || o.Port != 1 || o.Socket != "/after" {
		t.Errorf("%+v, %v", o, err)
	}
	circle := filepath.Join(dir, "circle.cnf")
	if err := os.WriteFile(circle, []byte("!include "+circle+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (OptionFiles{Only: circle}).Read(); err == nil {
		t.Error("a circle was followed to its end")
	}
}

func TestWhichOptionFilesAreRead(t *testing.T) {
	dir := folder(t, map[string]string{
		"home/.my.cnf": "[client]\nuser=home\n", "extra.cnf": "[client]\nuser=extra\nhost=extra\n", "open/.my.cnf": "[client]\nuser=open\n",
	})
	home, extra, open := filepath.Join(dir, "home"), filepath.Join(dir, "extra.cnf"), filepath.Join(dir, "open")
	if err := os.Chmod(filepath.Join(open, ".my.cnf"), 0o666); err != nil {
		t.Fatal(err)
	}
	including := filepath.Join(dir, "including.cnf")
	if err := os.WriteFile(including, []byte("[client]\nuser=in\n!include "+open+"/.my.cnf\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		files      OptionFiles
		user, host string
		notes      int
		fails      bool
	}{
		{OptionFiles{Home: home}, "home", "", 0, false},
		{OptionFiles{Home: home, Extra: extra}, "home", "extra", 0, false},
		{OptionFiles{Home: home, Only: extra}, "extra", "extra", 0, false},
		{OptionFiles{Home: home, Only: os.DevNull}, "", "", 0, false},
		{OptionFiles{Home: open}, "", "", 1, false},
		{OptionFiles{Only: filepath.Join(open, ".my.cnf")}, "", "", 0, true},
		{OptionFiles{Extra: filepath.Join(open, ".my.cnf")}, "", "", 0, true},
		{OptionFiles{Only: including}, "in", "", 1, false},
		{OptionFiles{Only: dir}, "", "", 0, true},
		{OptionFiles{Only: filepath.Join(dir, "missing")}, "", "", 0, true},
		{OptionFiles{Extra: filepath.Join(dir, "missing")}, "", "", 0, true},
		{OptionFiles{Home: filepath.Join(dir, "missing")}, "", "", 0, false},
	} {
		filed, err := c.files.Read()
		if o, notes := filed.Options, filed.Notes; o.User != c.user || o.Host != c.host || len(notes) != c.notes ||
			(err != nil) != c.fails {
			t.Errorf("%+v: user %q, host %q, notes %q, %v", c.files, o.User, o.Host, notes, err)
		}
	}
}

// TestSettings: options of [midstream] that are not about the connection are returned; other
// options of [client] belong to other programs.
func TestSettings(t *testing.T) {
	r := optionReader{}
	text := "[client]\ndrop-old\nquick\n[midstream]\ndrop-old\nuser=u\nlock_wait = '1s' # short\nloose-new=\n[mysql]\nquick\n"
	if err := r.lines("f", text, 0); err != nil {
		t.Fatal(err)
	}
	want := []Setting{
		{Name: "drop-old", Place: "option file f, line 5"},
		{Name: "lock-wait", Value: "1s", Said: true, Place: "option file f, line 7"},
		{Name: "new", Said: true, Loose: true, Place: "option file f, line 8"},
	}
	if !reflect.DeepEqual(r.filed.Settings, want) || r.filed.Options.User != "u" {
		t.Errorf("%+v instead of %+v", r.filed, want)
	}
}

// TestMalformedLineTellsNoPassword: the error of a line does not show its value.
func TestMalformedLineTellsNoPassword(t *testing.T) {
	for _, line := range []string{"password secret", "password\tsecret", "password secret=x", "pass_word my_secret"} {
		r := optionReader{}
		err := r.lines("f", "[client]\n"+line+"\n", 0)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestWhatIsSaidFirstCounts(t *testing.T) {
	flag, file, env := Secret("flag"), Secret("file"), Secret("env")
	low := Options{Host: "env", User: "env", Password: &env}
	mid := Options{User: "file", Password: &file, SSLCA: "ca", AskPassword: false}
	if o := (Options{Port: 1}).Over(
		mid,
	).Over(
		low,
	); o.Host != "env" || o.User != "file" || *o.Password != "file" || o.SSLCA != "ca" ||
		o.Port != 1 {
		t.Errorf("%+v", o)
	}
	if o := (Options{Password: &flag}).Over(mid).Over(low); *o.Password != "flag" {
		t.Errorf("%+v", o)
	}
	// -p alone asks, whatever the files and the environment contain.
	if o := (Options{AskPassword: true}).Over(mid).Over(low); o.Password != nil || !o.AskPassword {
		t.Errorf("%+v", o)
	}
	empty := Secret("")
	if o := (Options{Password: &empty}).Over(mid); *o.Password != "" {
		t.Errorf("%+v", o)
	}
}

func TestOptionsFromEnv(t *testing.T) {
	env := map[string]string{"MYSQL_HOST": "h", "MYSQL_TCP_PORT": "33", "MYSQL_UNIX_PORT": "/s", "MYSQL_PWD": "secret"}
	o, err := OptionsFromEnv(func(name string) string { return env[name] })
	if err != nil || o.Host != "h" || o.Port != 33 || o.Socket != "/s" || *o.Password != "secret" {
		t.Errorf("%+v, %v", o, err)
	}
	env["MYSQL_TCP_PORT"] = "x"
	if _, err := OptionsFromEnv(func(name string) string { return env[name] }); err == nil {
		t.Error("a port of x was taken")
	}
}

// TestLocalhostMeansTheSocket compares with what mysql 9.7.4 does for the same flags.
func TestLocalhostMeansTheSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	some, none := []string{"/not/there", path}, []string{"/not/there"}
	for _, c := range []struct {
		options          Options
		sockets          []string
		network, address string
		notes            int
	}{
		{Options{}, some, "unix", path, 0},
		{Options{}, none, "tcp", "localhost:3306", 0},
		{Options{Port: 3307}, some, "unix", path, 1},
		{Options{Port: 3307}, none, "tcp", "localhost:3307", 0},
		{Options{Host: "LocalHost"}, some, "unix", path, 0},
		{Options{Host: "localhost", Socket: "/x"}, some, "unix", "/x", 0},
		{Options{Socket: "/x"}, none, "unix", "/x", 0},
		{Options{Host: "127.0.0.1", Socket: "/x"}, some, "tcp", "127.0.0.1:3306", 0},
		{Options{Host: "db1", Port: 3307}, some, "tcp", "db1:3307", 0},
		{Options{Host: "::1"}, some, "tcp", "[::1]:3306", 0},
		{Options{Protocol: "tcp", Socket: "/x", Port: 3307}, some, "tcp", "localhost:3307", 0},
		{Options{Protocol: "socket", Host: "db1"}, some, "unix", path, 0},
		{Options{Protocol: "socket"}, none, "unix", "", 0},
	} {
		network, address, notes := c.options.endpoint(c.sockets)
		if network != c.network || address != c.address || len(notes) != c.notes {
			t.Errorf("%+v: %s %s %q instead of %s %s", c.options, network, address, notes, c.network, c.address)
		}
	}
}

func TestConfigSaysEverythingAtOnce(t *testing.T) {
	_, _, err := Options{Host: "h", Port: 70000, SSLMode: SSLVerifyIdentity, SSLCert: "/not/there"}.Config()
	for _, want := range []string{"port 70000", "ssl-ca is missing", "ssl-cert and ssl-key"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	for host, want := range map[string]string{
		"db1:3306": "-h db1 -P 3306", "[::1]:3306": "-h ::1 -P 3306", "[::1]": "without brackets", "--port=1": "looks like a flag",
		"db1": "", "::1": "", "fe80::1%eth0": "", "10.0.0.1": "", "": "",
	} {
		_, _, err := Options{Host: host}.Config()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("host %q: %v instead of %q", host, err, want)
		}
	}
	if cfg, _, err := (Options{Host: "h"}).Config(); err != nil || cfg.User == "" || cfg.Address != "h:3306" {
		t.Errorf("%+v, %v", cfg, err)
	}
}
