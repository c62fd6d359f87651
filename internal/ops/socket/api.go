package socket

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"midstream/internal/engine/operator"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/reach"
	"midstream/internal/ops/record"
)

// PageEnv is the variable by which midstream serve gives a run the URL of its change.
const PageEnv = "MIDSTREAM_PAGE"

// About is what a run is; it doesn't change.
type About struct {
	Table     string      `json:"table" doc:"the table that is changed: database.table, a part with a dot or a backtick in backticks"`
	Alter     string      `json:"alter" doc:"the clauses of the ALTER TABLE, or the statement"`
	Into      string      `json:"into,omitempty" doc:"the name that the table has after the swap (--into); missing: it keeps its own"`
	Server    string      `json:"server" doc:"host:port, or the path of a socket"`
	AnyCase   bool        `json:"any_case" doc:"true: the server ignores the letter case of table names"`
	Rehearsal string      `json:"rehearsal" doc:"rehearsal, rehearsal on a replica, or empty: the table is changed"`
	Undoes    bool        `json:"undoes" doc:"true: the run takes the last change of the table back"`
	Follows   bool        `json:"follows" doc:"true: an undo that began held, and follows the table until it is released"`
	Together  []string    `json:"together,omitempty" doc:"tables of the other runs that swap in the same step (--together), as table; missing if the run is alone"`
	Process   int         `json:"process" doc:"id of the run's process"`
	Version   string      `json:"version" doc:"version of midstream"`
	Reach     reach.Flags `json:"reach" doc:"flags that reach the server and the run, as they can be typed again, without a password; empty if the command line had none"`
	Began     time.Time   `json:"began" doc:"when the run began"`
	Page      string      `json:"page" doc:"URL of the change on the pages of midstream serve that began the run, as that one listened; empty for a run without it"`
	Socket    string      `json:"socket" doc:"path of the socket that answers"`
}

// Status is how a run stands.
type Status struct {
	About
	Phase     string     `json:"phase" doc:"the phase that the run is in, as in the record phase of docs/events.md; empty before the first"`
	State     string     `json:"state" doc:"state of the run: running; waiting (throttled names the reason); blocked (blocked names the sessions); held; prepared: it holds its lock for a round of a barrier; paused; stopped: the run captures nothing until you resume it" enum:"running,waiting,blocked,held,prepared,paused,stopped"`
	Why       string     `json:"why" doc:"the reason for the state, for people; empty if running"`
	PausedBy  string     `json:"paused_by" doc:"the user who paused the run; empty if it is not paused"`
	Since     *time.Time `json:"paused_since" doc:"time of the pause; null if the run is not paused"`
	CopyShare string     `json:"copy_share" doc:"limit on the share of its time that the row copy works"`
	Slowdown  string     `json:"max_slowdown" doc:"how much longer the application's statements may take: the setting max-slowdown; a deadline may derive another limit from it"`
	Held      string     `json:"held" doc:"the reason why the run will not swap when it is ready; empty if it will"`
	Soaks     bool       `json:"soaks" doc:"true: the run waits between the two acts of --soak (docs/soak.md), and uses nothing but a check from time to time"`
	Round     *Round     `json:"round" doc:"the round of a barrier that the run takes part in now; null if there is none"`
	Command   string     `json:"command" doc:"the command that the run executes now, and its user; empty if there is none"`
	Progress  any        `json:"progress" doc:"the newest record progress of docs/events.md; null before the first"`
	Throttled any        `json:"throttled" doc:"the newest record throttled of docs/events.md; null before the first"`
	Blocked   any        `json:"blocked" doc:"the newest record blocked of this phase (docs/events.md); null if there is none"`
}

// Round is a round of a barrier (docs/change-sets.md).
type Round struct {
	Number   int   `json:"number" doc:"number of the round, from prepare"`
	Prepared bool  `json:"prepared" doc:"true: the run holds its lock, with all changes applied"`
	HoldMS   int64 `json:"hold_ms" doc:"time from the request until the run gives the lock back by itself, in milliseconds; 0 if it is not prepared"`
	LeftMS   int64 `json:"left_ms" doc:"the rest of that time"`
}

// Answer is what a command has come to.
type Answer struct {
	Text   string `json:"text" doc:"the new state, for people"`
	Status Status `json:"status" doc:"the status of the run after the command"`
}

// Setting is one that may change while a run is at work.
type Setting struct {
	Name  string `json:"name" doc:"name of the setting: the flag of midstream run"`
	Value string `json:"value" doc:"the present value, as the flag spells it; may be empty. Of a URL, only the scheme and the host are shown, and *** for the rest"`
	Kind  string `json:"kind" doc:"kind of the value"`
	Range string `json:"range" doc:"permitted values; may be empty"`
	Help  string `json:"help" doc:"what the setting does"`
}

// Blockers are the sessions at a table's locks.
type Blockers struct {
	Table   string `json:"table" doc:"the table that the run changes: database.table"`
	Holding any    `json:"holding" doc:"sessions that hold a metadata lock on the table, as blockers of the record blocked of docs/events.md"`
	Waiting any    `json:"waiting" doc:"sessions that wait for a metadata lock on the table, in the same form"`
}

// The bodies of the commands.
type (
	// PauseCommand says how to pause.
	PauseCommand struct {
		StopCapture bool `json:"stop_capture,omitempty" doc:"true: stop at a checkpoint, and read no binlog either; resume continues from there"`
	}
	// ThrottleCommand says how fast to copy.
	ThrottleCommand struct {
		Share string `json:"share" doc:"limit on the share of its time that the row copy works, from 0% to 100%" example:"30%"`
	}
	// CutOverCommand says how to let the swap go.
	CutOverCommand struct {
		Now bool `json:"now,omitempty" doc:"true: do not wait for the window or the hold file"`
	}
	// PrepareCommand says for which round of a barrier a held run is to have its lock.
	PrepareCommand struct {
		Round  int   `json:"round" minimum:"1" doc:"number of the round"`
		HoldMS int64 `json:"hold_ms" minimum:"1" maximum:"60000" doc:"how long after the request the lock may be held, in milliseconds; at most --lock-work after the run has it"`
	}
	// CommitCommand says that the decision of a round is stored.
	CommitCommand struct {
		Round int `json:"round" minimum:"1" doc:"number of the round"`
	}
	// UndoCommand says how an undo that follows takes the change back.
	UndoCommand struct {
		Park bool `json:"park,omitempty" doc:"true: copy the rows that do not fit the definition that comes back to a table of their own"`
	}
	// AbortCommand says how to end.
	AbortCommand struct {
		Keep bool `json:"keep,omitempty" doc:"true: keep the work, so that the same command of midstream run can resume it"`
	}
	// SetCommand says what to change.
	SetCommand struct {
		Settings map[string]string `json:"settings" doc:"new values, by the names of the settings; the run accepts all of them or none"`
	}
	nothing struct{}
)

type (
	input[B any]  struct{ Body B }
	output[B any] struct{ Body B }
)

// apiVersion is that of the API: fields and operations may be added, none is renamed or dropped.
const apiVersion = "1.0.0"

// Formats are those of huma, whose answers may be read at a terminal: what that would obey is
// escaped, and has the same value in JSON.
func Formats() map[string]huma.Format {
	formats := map[string]huma.Format{}
	for name, format := range huma.DefaultFormats {
		marshal := format.Marshal
		format.Marshal = func(out io.Writer, answer any) error { return marshal(escape.Writer(out), answer) }
		formats[name] = format
	}
	return formats
}

// TakeForJSON takes a body for JSON that curl -d sends as a form, because the API has no forms.
func TakeForJSON(r *http.Request) {
	if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
		r.Header.Set("Content-Type", "application/json")
	}
}

// newAPI registers the operations of a server.
func newAPI(s *Server) (http.Handler, *huma.OpenAPI) {
	mux := http.NewServeMux()
	if s.run.Metrics != nil { // of the document alone there is no run
		mux.Handle("GET /metrics", s.run.Metrics)
	}
	cfg := huma.DefaultConfig("Control of a run of Midstream", apiVersion)
	cfg.Formats = Formats()
	cfg.CreateHooks, cfg.DocsPath, cfg.SchemasPath = nil, "", ""
	cfg.Info.Description = "Served by each midstream run on a Unix socket of its user (curl --unix-socket PATH http://run/v1/status). " +
		"The run executes one command at a time; only abort may come during another. /metrics answers Prometheus (docs/metrics.md). " +
		"Generated from the code: go test ./internal/cli -run TestDocs -update"
	api := humago.New(mux, cfg)

	huma.Register(api, huma.Operation{OperationID: "status", Method: http.MethodGet, Path: "/v1/status", Summary: "Status of the run"},
		func(context.Context, *struct{}) (*output[Status], error) { return &output[Status]{s.status()}, nil })
	huma.Register(
		api,
		huma.Operation{
			OperationID: "settings",
			Method:      http.MethodGet,
			Path:        "/v1/settings",
			Summary:     "Settings that may change during the run",
		},
		func(context.Context, *struct{}) (*output[[]Setting], error) {
			return &output[[]Setting]{s.settings()}, nil
		},
	)
	huma.Register(
		api,
		huma.Operation{
			OperationID: "blockers",
			Method:      http.MethodGet,
			Path:        "/v1/blockers",
			Summary:     "Sessions that hold or wait for the table's locks",
			Errors:      []int{500},
		},
		func(ctx context.Context, _ *struct{}) (*output[Blockers], error) {
			b, err := s.blockers(ctx)
			if err != nil {
				return nil, problemOf(err)
			}
			return &output[Blockers]{b}, nil
		},
	)
	huma.Register(api, huma.Operation{
		OperationID: "events",
		Method:      http.MethodGet,
		Path:        "/v1/events",
		Summary:     "Events of the run, one record of docs/events.md per line, until it ends",
		Description: "The stream begins with the newest records of phase, progress, throttled and blocked.",
		Responses: map[string]*huma.Response{"200": {Description: "Records", Content: map[string]*huma.MediaType{
			ndjson: {Schema: &huma.Schema{Type: huma.TypeString}}}}},
	}, func(context.Context, *struct{}) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: s.stream}, nil
	})

	register(api, s, "pause", "Pause row copy, apply, prescan, verify and the swap; the run still captures changes, unless stop_capture is true",
		func(c PauseCommand) command { return command{text: "pause" + flag(c.StopCapture, "stop-capture")} }, s.pause)
	register(api, s, "resume", "Resume after a pause", func(nothing) command { return command{text: "resume"} }, s.resume)
	register(
		api, s, "throttle", "Limit the share of its time that the row copy works",
		func(c ThrottleCommand) command { return command{text: "throttle " + c.Share} }, s.throttle,
	)
	register(api, s, "hold", "Hold the swap until cutover releases it", func(nothing) command { return command{text: "hold"} }, s.hold)
	register(
		api, s, "cutover", "Release the swap",
		func(c CutOverCommand) command { return command{text: "cutover" + flag(c.Now, "now")} }, s.cutOver,
	)
	register(
		api, s, "prepare", "Have a held run ask for its lock, apply the last changes, and hold the lock until commit, hold or its end; answers once it does",
		func(c PrepareCommand) command {
			return command{text: fmt.Sprintf("prepare round %d for %d ms", c.Round, c.HoldMS), waits: true}
		}, s.prepare,
	)
	register(
		api, s, "commit", "Swap: at once if the run is prepared, otherwise as soon as it has its lock again",
		func(c CommitCommand) command { return command{text: fmt.Sprintf("commit round %d", c.Round)} }, s.commit,
	)
	register(
		api, s, "undo", "Release an undo that follows the table; rows that do not fit hold it again",
		func(c UndoCommand) command { return command{text: "undo" + flag(c.Park, "park")} }, s.undo,
	)
	register(
		api, s, "abort", "Stop the run, and remove or keep its work",
		func(c AbortCommand) command { return command{text: "abort" + flag(c.Keep, "keep"), ends: true} }, s.abort,
	)
	register(
		api, s, "kill", "Kill a session that holds a lock of the table; never replication, a backup or a large transaction (--kill-rows)",
		func(c KillCommand) command { return command{text: fmt.Sprintf("kill connection %d", c.Connection)} }, s.kill,
	)
	register(
		api, s, "set", "Change settings",
		func(c SetCommand) command { return command{text: "set " + strings.Join(pairs(c.Settings), " ")} }, s.set,
	)
	return mux, api.OpenAPI()
}

// register registers a command that changes something.
func register[B any](
	api huma.API,
	s *Server,
	name, summary string,
	spell func(B) command,
	do func(ctx context.Context, by string, command B) (string, error),
) {
	huma.Register(api, huma.Operation{OperationID: name, Method: http.MethodPost, Path: "/v1/" + name, Summary: summary,
		Errors: []int{http.StatusConflict, http.StatusUnprocessableEntity, http.StatusInternalServerError}},
		func(ctx context.Context, in *input[B]) (*output[Answer], error) {
			text, err := s.command(ctx, spell(in.Body), func(by string) (string, error) { return do(ctx, by, in.Body) })
			if err != nil {
				return nil, s.problem(err)
			}
			return &output[Answer]{Answer{Text: s.run.Reach.In(text), Status: s.status()}}, nil
		})
}

// OpenAPI is the document of the API, in YAML.
func OpenAPI() ([]byte, error) {
	_, document := newAPI(&Server{})
	return document.YAML()
}

func flag(is bool, name string) string {
	if is {
		return " --" + name
	}
	return ""
}

// pairs spells settings for people, without what may be a secret.
func pairs(values map[string]string) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		if setting, known := operator.SettingOf(name); known {
			value = setting.Hidden(value)
		}
		list = append(list, name+"="+value)
	}
	return list
}

func (s *Server) settings() []Setting {
	cfg := s.run.Control.Settings()
	var list []Setting
	for _, setting := range operator.AllSettings() {
		list = append(
			list,
			Setting{Name: setting.Name, Value: setting.Shown(cfg), Kind: setting.Kind, Range: setting.Range, Help: setting.Help},
		)
	}
	return list
}

func (s *Server) blockers(ctx context.Context) (Blockers, error) {
	holding, waiting, err := s.run.Control.Blockers(ctx)
	if err != nil {
		return Blockers{}, fmt.Errorf("list the sessions that hold %s: %w", s.run.Table, err)
	}
	return Blockers{Table: s.run.Table, Holding: record.Blockers(holding), Waiting: record.Blockers(waiting)}, nil
}
