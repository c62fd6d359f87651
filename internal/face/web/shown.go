package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/face/humanize"
	"midstream/internal/face/report"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// tile is a number with its name.
type tile struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// now is how a run stands, as a page shows it. All but what buttons ask is for people.
type now struct {
	State    string   `json:"state"` // as of socket.Status
	Mood     string   `json:"mood"`  // good or warn: its color
	Why      string   `json:"why"`
	Phase    string   `json:"phase"`
	Text     string   `json:"text"`     // how far the phase is
	Fraction *float64 `json:"fraction"` // of the phase; null where that can't be told
	Tiles    []tile   `json:"tiles"`
	Waits    []string `json:"waits"` // for what, and for whom
	Held     string   `json:"held"`  // why it does not swap; empty if it will
	Share    string   `json:"share"` // the most of the row copy's time that may be work
	Progress any      `json:"progress"`
}

// now asks a run how it stands.
func (s *Server) now(ctx context.Context, id string) (*now, error) {
	var status socket.Status
	if err := s.ask(ctx, "/v1/changes/"+url.PathEscape(id)+"/status", &status); err != nil {
		return nil, err
	}
	n := &now{
		State:    status.State,
		Mood:     "good",
		Why:      escape.Line(status.Why),
		Phase:    humanize.Phase(event.Phase(status.Phase)),
		Held:     escape.Line(status.Held),
		Share:    status.CopyShare,
		Progress: status.Progress,
		Tiles:    []tile{},
		Waits:    []string{},
	}
	if status.State != "running" {
		n.Mood = "warn"
	}
	if p, is := record.EventOf(status.Progress).(event.Progress); is && string(p.Phase) == status.Phase {
		n.Text, n.Fraction = humanize.Progress(p), fractionOf(p)
		n.Tiles = tilesOf(p)
	}
	if t, is := record.EventOf(status.Throttled).(event.Throttled); is && len(t.Gates) > 0 {
		n.Waits = append(n.Waits, humanize.Throttled(t))
	}
	if b, is := record.EventOf(status.Blocked).(event.Blocked); is && len(b.Blockers) > 0 && status.State == "blocked" {
		n.Waits = append(n.Waits, humanize.Blocked(b))
	}
	return n, nil
}

// silent is how a run stands that has not answered since.
func silent(since time.Time, err error) *now {
	return &now{
		State: "no answer",
		Mood:  "warn",
		Tiles: []tile{},
		Waits: []string{},
		Why: fmt.Sprintf(
			"It has not answered since %s UTC (%s). What it has told stands below.",
			since.UTC().Format(time.TimeOnly), escape.Error(err),
		),
	}
}

// pending is what a change waits for that has not begun.
type pending struct {
	Why string `json:"why"`
}

func (s *Server) waiting(ctx context.Context, id string) (p pending, err error) {
	err = s.ask(ctx, "/v1/changes/"+url.PathEscape(id), &p)
	p.Why = escape.Line(p.Why)
	return p, err
}

// fractionOf is how far a phase is, 0 to 1; nil where that can't be told.
func fractionOf(p event.Progress) *float64 {
	var f float64
	switch p.Phase {
	case event.PhaseCopy:
		f = p.Fraction
	case event.PhasePrescan:
		f = humanize.ScannedFraction(p)
	case event.PhaseVerify:
		f = humanize.VerifiedFraction(p)
	case event.PhaseIndex, event.PhaseNative:
		f = p.IndexFraction
	}
	if f <= 0 {
		return nil
	}
	return &f
}

// tilesOf are the numbers of a run that copies rows; none of another.
func tilesOf(p event.Progress) []tile {
	if p.RowsTotal == 0 && p.RowsCopied == 0 {
		return []tile{}
	}
	tiles := []tile{
		{"rows copied", fmt.Sprintf("%s of about %s", humanize.Count(p.RowsCopied), humanize.Count(p.RowsTotal))},
		{"row copy", humanize.Rate(p.CopyRate) + " rows/s"},
		{"end", strings.TrimPrefix(humanize.ETA(p), "ETA ")},
		{"backlog", humanize.Plural(p.Backlog, "key")},
		{"applied", fmt.Sprintf("%s, %s/s", humanize.Plural(p.Applied, "key"), humanize.Rate(p.ApplyRate))},
		{"capture delay", humanize.Span(p.CaptureDelay)},
	}
	if p.ReplicaLag >= 0 {
		tiles = append(tiles, tile{"replica lag", humanize.Span(p.ReplicaLag)})
	}
	if p.StatementTime > 0 {
		text := humanize.Span(p.StatementTime)
		if p.StatementTimeAlone > 0 {
			text += ", " + humanize.Span(p.StatementTimeAlone) + " without this run"
		}
		tiles = append(tiles, tile{"the application's statement", text})
	}
	if p.Workers > 0 {
		tiles = append(tiles, tile{"at work", fmt.Sprintf("%.2g workers, %s a chunk", p.Workers, humanize.Plural(p.ChunkRows, "row"))})
	}
	if p.Verified > 0 {
		tiles = append(tiles, tile{"rows compared", humanize.Count(p.Verified)})
	}
	return tiles
}

// told is a line of a history with what it tells people: the field told, and html of a plan.
func told(line []byte) []byte {
	text, html := "", ""
	var head record.Head
	if json.Unmarshal(line, &head) != nil {
		return line
	}
	switch head.Event {
	case record.NamePlan:
		var plan record.Plan
		if json.Unmarshal(line, &plan) == nil {
			html = parts(report.Of(&history.Story{Plan: &plan}), "plan")
			text = "method " + plan.Method
		}
	case record.NameResult:
		var result record.Result
		if json.Unmarshal(line, &result) == nil {
			text = endText(&result)
		}
	default:
		e, _, err := record.Read(line)
		if err != nil {
			return line
		}
		text = lineOf(e)
	}
	more, err := json.Marshal(struct {
		Told string `json:"told"`
		HTML string `json:"html,omitempty"`
	}{text, html})
	if err != nil || len(line) < 2 {
		return line
	}
	return append(append(append([]byte{}, line[:len(line)-1]...), ','), more[1:]...)
}

// lineOf says what an event tells; "" if nothing that a person would want.
func lineOf(e event.Event) string {
	switch e := e.(type) {
	case event.PhaseEntered:
		return humanize.Phase(e.Phase)
	case event.Progress:
		return humanize.Progress(e)
	case event.Retry:
		return "tried again: " + escape.Line(e.Cause)
	}
	_, text, _ := humanize.Happening(e)
	return text
}

// endText says how a run has ended.
func endText(r *record.Result) string {
	text := escape.Line(report.StateWords(r.Outcome, r.Rehearsal))
	if r.ElapsedMS > 0 {
		text += ", after " + humanize.Span(r.ElapsedMS.Duration())
	}
	if r.Error != "" {
		text += ": " + escape.Line(r.Error)
	}
	return text
}

// parts are parts of a report's page; "" if they can't be made.
func parts(r *report.Report, names ...string) string {
	var text bytes.Buffer
	if err := r.Parts(&text, names...); err != nil {
		return ""
	}
	return text.String()
}

// ending is what a page shows of a run that has ended: after the last word there may be nobody to ask.
func (s *Server) ending(path string) []byte {
	var end struct {
		State string `json:"state"` // for people; empty where the run has told no end
		Mood  string `json:"mood"`  // good, warn or bad: its color
		HTML  string `json:"html"`
	}
	if story, err := history.Whole(path); err == nil {
		r := report.Of(story)
		if story.Result != nil {
			end.State, end.Mood = r.Words(), r.Mood()
		}
		end.HTML = parts(r, "error", "compared", "phases", "verify", "retries", "left")
	}
	text, err := json.Marshal(end)
	if err != nil {
		return []byte("{}")
	}
	return text
}
