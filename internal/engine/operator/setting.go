package operator

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"midstream/internal/engine/forecast"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/rowcopy"
	"midstream/internal/engine/throttle"
	"midstream/internal/engine/window"
)

// Setting is a named part of Settings. The name is used for a flag, in an option file, and in
// commands to a run, because every setting may change while a run is at work. Only Setting defines
// its range.
type Setting struct {
	Name string
	// Kind is the kind of its value: duration, number, percent, bytes, bool, ...
	Kind  string
	Range string // for people; "" where any value of the kind will do
	Help  string
	// Repeats means that the flag may be given several times, each with one part of a value that
	// has commas.
	Repeats bool

	get func(*Settings) string
	set func(*Settings, string) error
	// hide removes what may be a secret from a value; nil if the setting has no secrets.
	hide func(string) string
}

// Get spells the value that settings have.
func (s Setting) Get(from Settings) string { return s.get(&from) }

// Shown returns the value as others may see it: without what may be a secret.
func (s Setting) Shown(from Settings) string { return s.Hidden(s.Get(from)) }

// Hidden removes what may be a secret from a value of the setting.
func (s Setting) Hidden(text string) string {
	if s.hide == nil || text == "" {
		return text
	}
	return s.hide(text)
}

// Harmless returns the value of a flag without what may be a secret, for an error about the value.
func Harmless(name, value string) string {
	setting, is := SettingOf(name)
	switch {
	case is:
		return setting.Hidden(value)
	case (name == "hook" || name == "binlog-reader") && strings.Contains(value, "://"):
		moment, url, _ := strings.Cut(value, "=")
		if strings.Contains(moment, "://") {
			return WithoutSecrets(value)
		}
		return moment + "=" + WithoutSecrets(url)
	}
	return value
}

// hidden stands for what may be a secret.
const hidden = "***"

// ErrHidden means that a value was copied from where it is hidden.
var ErrHidden = errors.New(hidden + " stands for a value that is hidden: give the value again")

// Hides reports whether a text is a hidden value, or a command with one.
func Hides(text string) bool { return strings.Contains(text, hidden) }

// WithoutSecrets returns the scheme and the host of a URL, because its user, path and query may be secrets.
func WithoutSecrets(text string) string {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme == "" || u.Host == "" {
		return hidden
	}
	shown := u.Scheme + "://" + u.Host
	if u.User == nil && (u.Path == "" || u.Path == "/") && u.RawQuery == "" && u.Fragment == "" {
		return shown + u.Path
	}
	return shown + "/" + hidden
}

// Set reads a value into settings. On an error the settings are unchanged, and the error describes
// the values that would be taken.
func (s Setting) Set(settings *Settings, text string) error {
	text = strings.TrimSpace(text)
	if s.hide != nil && Hides(text) {
		return ErrHidden
	}
	return s.set(settings, text)
}

// AllSettings lists all settings, in the order of the help.
func AllSettings() []Setting {
	return slices.Concat(pace(), finish(), waits(), swapping())
}

// ForRows are the settings that a change of rows obeys.
var ForRows = []string{
	"chunk-time", "copy-share", "max-slowdown", "full-speed", "copy-window", "max-replica-lag", "max-load", "critical-load", "max-history",
	"max-redo", "min-free-disk", "throttle-file", "throttle-query", "throttle-url",
	"cutover-when-gone", // of midstream serve: the freeze of the server
}

// SettingOf returns the setting of a name, or of a former name.
func SettingOf(name string) (Setting, bool) {
	name = CurrentName(name)
	for _, s := range AllSettings() {
		if s.Name == name {
			return s, true
		}
	}
	return Setting{}, false
}

// CommandLineDefaults are the defaults of all settings on the command line. They include settings
// that a run waits for; Settings have no defaults for these.
func CommandLineDefaults() Settings {
	s := Settings{}.WithDefaults()
	s.Throttle = Throttle{ReplicaLag: time.Second, CaptureDelay: 3 * time.Second, History: 1_000_000, CheckpointAge: 0.75}
	s.Kills.Rows = lock.DefaultRows
	return s
}

// pace are the settings of the row copy.
func pace() []Setting {
	return []Setting{
		workers(),
		duration(
			"chunk-time", 10*time.Millisecond, 10*time.Second,
			"longest time for a chunk of rows; under traffic a chunk takes less",
			func(c *Settings) *time.Duration { return &c.RowCopy.Target },
		),
		part("copy-share", 0, "limit the row copy to this share of its time; 100%: no limit; 0%: it stops, and changes are still applied",
			func(c *Settings) float64 { return 1 - c.Rest }, func(c *Settings, part float64) { c.Rest = 1 - part }),
		{
			Name: "max-slowdown", Kind: "slowdown", Range: throttle.SlowdownRange,
			Help: "how much longer the application's statements may take on average: a percentage, a time, or the greater of both",
			get:  func(c *Settings) string { return c.MaxSlowdown.String() },
			set: func(c *Settings, text string) error {
				s, err := throttle.ParseSlowdown(text)
				if err == nil {
					c.MaxSlowdown = s
				}
				return err
			},
		},
		{
			Name: "profile", Kind: "profile",
			Help: "file on this machine with the load of each hour, in lines such as 'Mon-Fri 8-17,60': the time left and the deadline count on it",
			get:  func(c *Settings) string { return c.Profile.String() },
			set: func(c *Settings, text string) (err error) {
				p := forecast.Profile{}
				if text != "" {
					p, err = forecast.ReadProfile(text)
				}
				if err == nil {
					c.Profile = p
				}
				return err
			},
		},
		boolean(
			"full-speed", "copy rows with all workers, even if that slows the application",
			func(c *Settings) *bool { return &c.FullSpeed },
		),
	}
}

// workers is the number of connections that copy rows.
func workers() Setting {
	const auto = "auto"
	s := number(
		"workers", 1, rowcopy.MostWorkers,
		"connections that copy rows; auto: as many as help, up to 64 and to half of the free connections",
		func(c *Settings) *int { return &c.RowCopy.Workers },
	)
	get, set := s.get, s.set
	s.Kind, s.Range = "number|auto", s.Range+", or auto"
	s.get = func(c *Settings) string {
		if c.RowCopy.Workers == 0 {
			return auto
		}
		return get(c)
	}
	s.set = func(c *Settings, text string) error {
		if text == auto {
			c.RowCopy.Workers = 0
			return nil
		}
		if err := set(c, text); err != nil {
			return fmt.Errorf("%w, or auto", err)
		}
		return nil
	}
	return s
}

// waits are the settings with conditions that a run waits for.
func waits() []Setting {
	return []Setting{
		hours(
			"copy-window",
			"when rows may be copied and compared, as 'Mon-Fri 22:00-06:00; Sat,Sun Europe/Berlin'; changes are applied at any time",
			func(c *Settings) *window.Window { return &c.Throttle.CopyWindow },
		),
		duration(
			"max-replica-lag", 0, time.Hour,
			"how far a replica may be behind, beyond an intended delay; 0: no limit. Replicas are found by SHOW REPLICAS, and measured by heartbeats",
			func(c *Settings) *time.Duration { return &c.Throttle.ReplicaLag },
		),
		duration(
			"max-capture-delay", 0, time.Hour,
			"how far capture may be behind: above it the row copy waits until it is at half of it; 0: no limit",
			func(c *Settings) *time.Duration { return &c.Throttle.CaptureDelay },
		),
		limits(
			"max-load", "status variables above which the row copy waits: Threads_running=50,Threads_connected=900",
			func(c *Settings) *[]throttle.Limit { return &c.Throttle.MaxLoad },
		),
		limits(
			"critical-load", "status variables above which the run ends, if two samples in a row are above",
			func(c *Settings) *[]throttle.Limit { return &c.Throttle.CriticalLoad },
		),
		number(
			"max-history", 0, 1_000_000_000,
			"entries of InnoDB's history list above which the row copy waits; 0: no limit",
			func(c *Settings) *int { return &c.Throttle.History },
		),
		part("max-redo", 0, "share of the redo log that may be unflushed (MySQL 8.0.30 and later); 0: no limit",
			func(c *Settings) float64 { return c.Throttle.CheckpointAge },
			func(c *Settings, part float64) { c.Throttle.CheckpointAge = part }),
		bytes(
			"min-free-disk",
			"bytes that must stay free where the server's files are, if that is this machine, such as 10G; 0: not checked",
			func(c *Settings) *int64 { return &c.Throttle.FreeDisk },
		),
		bytes(
			"disk-free-now",
			"free bytes where the server's files are, if that is another machine: the run waits when it has written nine tenths of them",
			func(c *Settings) *int64 { return &c.Throttle.GivenDisk },
		),
		several(
			Setting{Name: "throttle-file", Kind: "path", Help: "file on this machine: the run waits while the file exists; may be repeated"},
			func(string) error { return nil }, func(c *Settings) *[]string { return &c.Throttle.Files },
		),
		word(
			"throttle-query", "query",
			"query on the server: the run waits while its first value is above 0. It can't write; names without a database are of the table's",
			nil, func(c *Settings) *string { return &c.Throttle.Query },
		),
		secret(word("throttle-url", "url", "the run waits while a GET is answered by another status than 2xx", func(text string) error {
			u, err := url.Parse(text)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				return errors.New("must be a URL that begins with http:// or https://")
			}
			return nil
		}, func(c *Settings) *string { return &c.Throttle.URL }), WithoutSecrets),
	}
}

// WaitsChange reports whether values change the conditions that a run waits for.
func WaitsChange(values map[string]string) bool {
	return slices.ContainsFunc(waits(), func(s Setting) bool {
		_, says := values[s.Name]
		return says
	})
}

// swapping are the settings of the swap and its lock.
func swapping() []Setting {
	return []Setting{
		boolean(
			"hold",
			"wait with the swap until midstream cutover; until then, changes are applied and the tables compared",
			func(c *Settings) *bool { return &c.When.Hold },
		),
		hours(
			"cutover-window",
			"when the table may be changed, as 02:00-04:00 or 'Sat,Sun 22:30-04:00 Europe/Berlin'; else the run holds: changes are applied",
			func(c *Settings) *window.Window { return &c.When.Window },
		),
		word(
			"cutover-when-gone", "path", "file on this machine: the run holds while the file exists", nil,
			func(c *Settings) *string { return &c.When.Gone },
		),
		duration(
			"lock-wait", 10*time.Millisecond, 30*time.Second,
			"how long an attempt to cut over may wait for the lock, and queries for it",
			func(c *Settings) *time.Duration { return &c.Lock.Wait },
		),
		duration(
			"lock-work", 10*time.Millisecond, 30*time.Second, "how long the lock may be held",
			func(c *Settings) *time.Duration { return &c.Lock.Work },
		),
		duration(
			"lock-backoff", 10*time.Millisecond, 10*time.Minute,
			"pause after the first failed attempt; it doubles each time",
			func(c *Settings) *time.Duration { return &c.Backoff },
		),
		duration(
			"lock-backoff-max", 10*time.Millisecond, time.Hour, "maximum pause between two lock attempts",
			func(c *Settings) *time.Duration { return &c.MaxBackoff },
		),
		number(
			"lock-attempts", 0, 1_000_000,
			"stop after this many attempts and keep the work; 0: never. The run makes no attempt while it sees a blocker; --lock-give-up limits that time too",
			func(c *Settings) *int { return &c.Attempts },
		),
		duration(
			"lock-give-up", 0, 1000*time.Hour, "stop after trying for this long and keep the work; 0: never",
			func(c *Settings) *time.Duration { return &c.GiveUp },
		),
		duration(
			"max-reader-lag", 100*time.Millisecond, 24*time.Hour,
			"hold the swap while a reader of the binlog (--binlog-reader) is further behind than this",
			func(c *Settings) *time.Duration { return &c.ReaderLag },
		),
		duration(
			"kill-blockers-after", 0, 24*time.Hour,
			"kill a session that has blocked the lock for this long; 0: never. Never replication, a backup, or a transaction that has changed more than --kill-rows",
			func(c *Settings) *time.Duration { return &c.Kills.After },
		),
		patterns(
			"kill-user", "users whose sessions may be killed, * for any letters; may be repeated (all)",
			func(c *Settings) *[]string { return &c.Kills.Users },
		),
		patterns(
			"kill-host", "hosts whose sessions may be killed; may be repeated (all)",
			func(c *Settings) *[]string { return &c.Kills.Hosts },
		),
		number(
			"kill-rows", 1, 1_000_000_000,
			"most rows that a killed transaction may have changed: more would take long to roll back",
			func(c *Settings) *int { return &c.Kills.Rows },
		),
	}
}

// ReadDuration reads a duration of a range. Its error describes the values that would be taken, as
// the other errors do.
func ReadDuration(text string, least, most time.Duration) (time.Duration, error) {
	if n, is := strings.CutSuffix(text, "d"); is {
		if days, err := strconv.ParseInt(n, 10, 16); err == nil {
			text = strconv.FormatInt(24*days, 10) + "h"
		}
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, errors.New("must be a number with a unit, such as 250ms, 2s, 24h or 7d, and not too large")
	case d < least || d > most:
		return 0, fmt.Errorf("must be between %s and %s", least, most)
	}
	return d, nil
}

// ReadNumber reads an integer of a range; digits may have _ between them.
func ReadNumber(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(strings.ReplaceAll(text, "_", ""))
	switch {
	case err != nil:
		return 0, errors.New("must be a whole number")
	case n < least || n > most:
		return 0, fmt.Errorf("must be between %d and %d", least, most)
	}
	return n, nil
}

// ReadBool reads true or false, in the words of option files too.
func ReadBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "on", "1":
		return true, nil
	case "false", "off", "0":
		return false, nil
	}
	return false, errors.New("must be true or false")
}

// ReadCondition reads a condition of the server's, which the server judges. An empty one is a mistake, such as a variable without a value.
func ReadCondition(text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", errors.New("it has no condition")
	}
	return text, nil
}

func duration(name string, least, most time.Duration, help string, at func(*Settings) *time.Duration) Setting {
	return Setting{
		Name: name, Kind: "duration", Range: fmt.Sprintf("%s to %s", least, most), Help: help,
		get: func(c *Settings) string { return at(c).String() },
		set: func(c *Settings, text string) error {
			d, err := ReadDuration(text, least, most)
			if err == nil {
				*at(c) = d
			}
			return err
		},
	}
}

func number(name string, least, most int, help string, at func(*Settings) *int) Setting {
	return Setting{
		Name: name, Kind: "number", Range: fmt.Sprintf("%d to %d", least, most), Help: help,
		get: func(c *Settings) string { return strconv.Itoa(*at(c)) },
		set: func(c *Settings, text string) error {
			n, err := ReadNumber(text, least, most)
			if err == nil {
				*at(c) = n
			}
			return err
		},
	}
}

func boolean(name, help string, at func(*Settings) *bool) Setting {
	return Setting{
		Name: name, Kind: "bool", Range: "true or false", Help: help,
		get: func(c *Settings) string { return strconv.FormatBool(*at(c)) },
		set: func(c *Settings, text string) error {
			is, err := ReadBool(text)
			if err == nil {
				*at(c) = is
			}
			return err
		},
	}
}

// secret returns a setting that shows its value through hide.
func secret(s Setting, hide func(string) string) Setting {
	s.hide = hide
	return s
}

// word is a text that may be empty, and else passes the check, if there is one.
func word(name, kind, help string, check func(string) error, at func(*Settings) *string) Setting {
	return Setting{
		Name: name, Kind: kind, Help: help,
		get: func(c *Settings) string { return *at(c) },
		set: func(c *Settings, text string) error {
			if text != "" && check != nil {
				if err := check(text); err != nil {
					return err
				}
			}
			*at(c) = text
			return nil
		},
	}
}

// hours is a window; an empty text takes it away.
func hours(name, help string, at func(*Settings) *window.Window) Setting {
	return Setting{
		Name: name, Kind: "window", Help: help,
		get: func(c *Settings) string { return at(c).String() },
		set: func(c *Settings, text string) error {
			if text == "" {
				*at(c) = window.Window{}
				return nil
			}
			w, err := window.Parse(text)
			if err == nil {
				*at(c) = w
			}
			return err
		},
	}
}

func limits(name, help string, at func(*Settings) *[]throttle.Limit) Setting {
	return Setting{
		Name: name, Kind: "limits", Help: help,
		get: func(c *Settings) string {
			var parts []string
			for _, l := range *at(c) {
				parts = append(parts, fmt.Sprintf("%s=%g", l.Variable, l.Most))
			}
			return strings.Join(parts, ",")
		},
		set: func(c *Settings, text string) error {
			if text == "" {
				*at(c) = nil
				return nil
			}
			list, err := throttle.ParseLimits(text)
			if err == nil {
				*at(c) = list
			}
			return err
		},
	}
}

func patterns(name, help string, at func(*Settings) *[]string) Setting {
	return several(Setting{Name: name, Kind: "pattern", Help: help}, func(p string) error {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			return errors.New("must be a name, with * for any letters, such as 'report*'")
		}
		return nil
	}, at)
}

// several is a list, with commas between, of what passes the check.
func several(s Setting, check func(string) error, at func(*Settings) *[]string) Setting {
	s.Repeats = true
	s.get = func(c *Settings) string { return strings.Join(*at(c), ",") }
	s.set = func(c *Settings, text string) error {
		if text == "" {
			*at(c) = nil
			return nil
		}
		list := strings.Split(text, ",")
		for _, part := range list {
			if err := check(part); err != nil {
				return err
			}
		}
		*at(c) = list
		return nil
	}
	return s
}

func percentText(part float64) string { return fmt.Sprintf("%.0f%%", 100*part) }

// part is a share, given in percent, from least to 100.
func part(name string, least int, help string, get func(*Settings) float64, set func(*Settings, float64)) Setting {
	return Setting{
		Name: name, Kind: "percent", Range: fmt.Sprintf("%d%% to 100%%", least), Help: help,
		get: func(c *Settings) string { return percentText(get(c)) },
		set: func(c *Settings, text string) error {
			n, err := strconv.Atoi(strings.TrimSuffix(text, "%"))
			if err != nil || n < least || n > 100 {
				return fmt.Errorf("must be a whole percentage between %d and 100", least)
			}
			set(c, float64(n)/100)
			return nil
		},
	}
}

// bytes is a number of bytes, with K, M, G or T behind it.
func bytes(name, help string, at func(*Settings) *int64) Setting {
	return Setting{
		Name: name, Kind: "bytes", Help: help,
		get: func(c *Settings) string { return strconv.FormatInt(*at(c), 10) },
		set: func(c *Settings, text string) error {
			number, unit := text, int64(1)
			if text != "" {
				if i := strings.IndexByte("KMGT", strings.ToUpper(text[len(text)-1:])[0]); i >= 0 {
					number, unit = text[:len(text)-1], 1<<(10*(i+1))
				}
			}
			n, err := strconv.ParseInt(number, 10, 64)
			if err != nil || n < 0 || n > math.MaxInt64/unit {
				return errors.New("must be a number of bytes, such as 500M or 20G")
			}
			*at(c) = n * unit
			return nil
		},
	}
}

// CheckAddress fails if a text is not the host:port of a server.
func CheckAddress(text string) error {
	host, port, err := net.SplitHostPort(text)
	if n, failed := strconv.Atoi(port); err != nil || host == "" || failed != nil || n < 1 || n > 65535 {
		return errors.New("must be host:port")
	}
	return nil
}
