package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/face/humanize"
	"midstream/internal/face/report"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/groups"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// tile is a number with its name.
type tile struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// now is the state of a run, as a page shows it.
type now struct {
	State    string           `json:"state"` // as of socket.Status
	Mood     string           `json:"mood"`  // good or warn: the color
	Why      string           `json:"why"`
	Phase    string           `json:"phase"`
	Text     string           `json:"text"`     // progress of the phase
	Fraction *float64         `json:"fraction"` // of the phase; null if it is not known
	Tiles    []tile           `json:"tiles"`
	Waits    []string         `json:"waits"` // reasons for waiting
	Held     string           `json:"held"`  // why it does not cut over; empty if it will
	Share    string           `json:"share"` // limit of the row copy's working time
	Progress any              `json:"progress"`
	Tables   []member         `json:"tables"` // of a group
	Head     headline         `json:"head"`
	Steps    []humanize.Stage `json:"steps"`
	Blockers []blocking       `json:"blockers"`
	Remedy   string           `json:"remedy"` // what to do about them
}

// member is the state of a table of a group.
type member struct {
	Name    string `json:"name"`
	State   string `json:"state"`
	Why     string `json:"why"`
	Phase   string `json:"phase"`
	Rows    string `json:"rows"`
	Percent string `json:"percent"` // of the rows
}

// members are the tables of a group.
func members(all []socket.Status) []member {
	list := []member{}
	for _, status := range all {
		m := member{
			Name: schema.NameOf(status.Table).String(), State: status.State, Why: escape.Line(status.Why),
			Phase: humanize.Headline(event.Phase(status.Phase), false),
		}
		if p, is := record.EventOf(status.Progress).(event.Progress); is && p.RowsTotal > 0 {
			m.Rows, m.Percent = fmt.Sprintf("%s of %s", humanize.Count(p.RowsCopied), humanize.Count(p.RowsTotal)), humanize.Percent(p.Fraction)
		}
		list = append(list, m)
	}
	return list
}

// now asks a run for its state. passed is what a reader has seen of the run.
func (s *Server) now(ctx context.Context, id string, passed passed) (*now, error) {
	var status groups.ChangeStatus
	if err := s.ask(ctx, "/v1/changes/"+url.PathEscape(id)+"/status", &status); err != nil {
		return nil, err
	}
	n := &now{
		State:    status.State,
		Mood:     "good",
		Why:      heldUntil(status.Why),
		Phase:    humanize.Headline(event.Phase(status.Phase), status.Undoes),
		Held:     heldUntil(status.Held),
		Share:    status.CopyShare,
		Progress: status.Progress,
		Tiles:    []tile{},
		Waits:    []string{},
		Tables:   members(status.Tables),
		Head:     headlineOf(status, passed.held()),
		Steps:    passed.stages(),
		Blockers: []blocking{},
	}
	if status.State != "running" {
		n.Mood = "warn"
	}
	if p, is := record.EventOf(status.Progress).(event.Progress); is && string(p.Phase) == status.Phase {
		n.Text, n.Fraction = humanize.Progress(p), fractionOf(p)
		if len(status.Tables) > 0 && p.Fraction > 0 && p.Fraction < 1 { // a table is compared while the next one has no row yet
			n.Fraction = &p.Fraction
		}
		n.Tiles = tilesOf(p)
	}
	if status.State == "paused" || status.State == "stopped" {
		n.Phase, _, _ = strings.Cut(n.Phase, ":")
		n.Tiles = slices.DeleteFunc(n.Tiles, func(t tile) bool { return t.Name == tileRate || t.Name == tileEnd })
	}
	if t, is := record.EventOf(status.Throttled).(event.Throttled); is && len(t.Gates) > 0 && status.State != "paused" { // the headline has a pause
		n.Waits = append(n.Waits, humanize.Throttled(t))
	}
	if b, is := record.EventOf(status.Blocked).(event.Blocked); is && len(b.Blockers) > 0 && status.State == "blocked" {
		n.Blockers = blockingOf(b)
		n.Remedy = humanize.Remedy(b.Run, b.Blockers)
	}
	return n, nil
}

// silent is the state of a run that has not answered since.
func silent(since time.Time, err error) *now {
	return &now{
		State:  "no answer",
		Mood:   "warn",
		Tiles:  []tile{},
		Waits:  []string{},
		Tables: []member{},
		Head:   headline{Word: "no answer", Parts: []part{}},
		Why: fmt.Sprintf(
			"The run has not answered since %s UTC (%s). This page shows its last report.",
			since.UTC().Format(time.TimeOnly), escape.Error(err),
		),
	}
}

// pending is what a change waits for before it begins.
type pending struct {
	Why string `json:"why"`
}

func (s *Server) waiting(ctx context.Context, id string) (p pending, err error) {
	err = s.ask(ctx, "/v1/changes/"+url.PathEscape(id), &p)
	p.Why = escape.Line(capital(p.Why))
	return p, err
}

// fractionOf is the completed part of a phase, 0 to 1; nil if it is not known.
func fractionOf(p event.Progress) *float64 {
	var f float64
	switch p.Phase {
	case event.PhaseCopy, event.PhaseRows, event.PhaseRecount:
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

// tileRate and tileEnd are the names of tiles that a run without work does not have.
const tileRate, tileEnd = "copy rate", "time left"

// tilesOf are the numbers of a run that copies rows. Another run has none.
func tilesOf(p event.Progress) []tile {
	if p.RowsTotal == 0 && p.RowsCopied == 0 {
		return []tile{}
	}
	tiles := []tile{
		{"rows copied", fmt.Sprintf("%s of %s", humanize.Count(p.RowsCopied), humanize.Count(p.RowsTotal))},
		{"backlog", humanize.Plural(p.Backlog, "key")},
		{"capture delay", humanize.Span(p.CaptureDelay)},
	}
	if p.Phase == event.PhaseCopy {
		tiles = slices.Insert(tiles, 1, tile{tileRate, humanize.Rate(p.CopyRate) + " rows/s"}, endTile(p))
	}
	if p.Applied > 0 {
		tiles = append(tiles, tile{"applied", fmt.Sprintf("%s, %s/s", humanize.Plural(p.Applied, "change"), humanize.Rate(p.ApplyRate))})
	}
	if d := p.Deadline; !d.By.IsZero() {
		d.By = d.By.UTC()
		tiles = append(tiles, tile{"deadline", strings.TrimPrefix(humanize.Deadline(d, p.At), "deadline ")})
	}
	if p.ReplicaLag >= 0 {
		tiles = append(tiles, tile{"replica lag", humanize.Span(p.ReplicaLag)})
	}
	if p.StatementTime > 0 {
		text := humanize.Span(p.StatementTime) + " on average"
		if p.StatementTimeAlone > 0 {
			text += ", " + humanize.Span(p.StatementTimeAlone) + " without this run"
		}
		tiles = append(tiles, tile{"application statements", text})
	}
	if p.Unfit != nil {
		tiles = append(tiles, tile{"rows that do not fit", humanize.Count(p.Unfit.Rows)},
			tile{"last comparison", strings.TrimPrefix(humanize.Compared(p.Compared, p.At), "compared ")})
	}
	if p.Verified > 0 {
		tiles = append(tiles, tile{"rows compared", humanize.Count(p.Verified)})
	}
	return tiles
}

// endTile is when the run ends, with the time in UTC as all times of a page are, or whether the changes
// are applied.
func endTile(p event.Progress) tile {
	text := humanize.ETA(p)
	left, ends := strings.CutPrefix(text, "done in ")
	switch {
	case !ends && p.ETA >= 0:
		return tile{"changes", text}
	case !ends:
		left = "unknown"
	case p.ETA < 24*time.Hour && !p.At.IsZero():
		left += ", at about " + p.At.Add(p.ETA).UTC().Format("15:04 UTC")
	}
	return tile{tileEnd, left}
}

// told is a line of a history with a text for people in the field told, and for a plan with its html. In a group, member is the table.
func told(line []byte, member string) []byte {
	text, html, step := "", "", ""
	var head record.Head
	if json.Unmarshal(line, &head) != nil {
		return line
	}
	switch head.Event {
	case record.NamePlan:
		var plan record.Plan
		if json.Unmarshal(line, &plan) == nil {
			html = parts(report.Of(&history.Story{Plan: &plan}), "plan")
			text = "method: " + humanize.Method(plan.Method)
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
	if member != "" && text != "" {
		text, step = schema.NameOf(member).String()+": "+text, text
	}
	more, err := json.Marshal(struct {
		Told   string `json:"told"`
		HTML   string `json:"html,omitempty"`
		Member string `json:"member,omitempty"`
		Step   string `json:"step,omitempty"` // told without the member
	}{text, html, member, step})
	if err != nil || len(line) < 2 {
		return line
	}
	return append(append(append([]byte{}, line[:len(line)-1]...), ','), more[1:]...)
}

// lineOf is the text of an event; "" if people do not need it.
func lineOf(e event.Event) string {
	switch e := e.(type) {
	case event.PhaseEntered:
		return humanize.Headline(e.Phase, e.Undo)
	case event.Progress:
		return humanize.Progress(e)
	case event.Retry:
		return "retry: " + escape.Line(e.Cause)
	}
	_, text, _ := humanize.Happening(e)
	return text
}

// endText is the end of a run in one line.
func endText(r *record.Result) string {
	text := escape.Line(report.StateWords(r.Outcome, r.Rehearsal))
	if r.ElapsedMS > 0 {
		text += ", after " + humanize.Span(r.ElapsedMS.Duration())
	}
	if r.Error != "" {
		text += ": " + inLine(r.Error)
	}
	return text
}

// parts are parts of a report's page; "" on an error.
func parts(r *report.Report, names ...string) string {
	var text bytes.Buffer
	if err := r.Parts(&text, names...); err != nil {
		return ""
	}
	return text.String()
}

// ending is what a page shows of a run that has ended. Its process may be gone by then.
func (s *Server) ending(path string) []byte {
	var end struct {
		State string `json:"state"` // as of the change; empty if the run has no result
		Head  string `json:"head"`  // the rest of the headline
		Mood  string `json:"mood"`  // good, warn or bad: the color
		HTML  string `json:"html"`
	}
	if story, err := history.Whole(path); err == nil {
		r := report.Of(story)
		for _, member := range r.Members() { // what has gone wrong with one table has ended the others
			if member.Result != nil && end.Mood != "bad" {
				end.State, end.Mood, end.Head = endWord(member), member.Mood(), endHead(member)
			}
		}
		names := []string{"error", "compared", "phases", "verify", "retries", "undo", "left"}
		if s.source.Queue && !story.Run.Undoes { // the page has the newest state
			names = slices.DeleteFunc(names, func(name string) bool { return name == "undo" })
		}
		if len(r.Together) == 0 {
			end.HTML = parts(r, names...)
		} else {
			end.HTML = parts(r, "tables")
			for _, member := range r.Members() {
				end.HTML += parts(member, append([]string{"member"}, names...)...)
			}
		}
	}
	text, err := json.Marshal(end)
	if err != nil {
		return []byte("{}")
	}
	return text
}
