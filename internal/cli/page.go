package cli

import (
	"errors"
	"fmt"

	"midstream/internal/cli/exit"
	"midstream/internal/face/web"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
)

// page is what run --listen serves: the runs of one process, from the first one's begin to the end of the process.
type page struct {
	listening
	runs web.Runs
	stop func() // nil before it answers
}

const pageUse = "serve the page and the API of this run at this address and port, such as 127.0.0.1:8386, until the run ends;\n" +
	"an address beyond this machine needs --token-file, and --tls-cert or --insecure-http"

// check says what is wrong with the flags.
func (p *page) check(c *change) error {
	err := p.door.Check()
	if p.door.Listen != "" && c.socket.off {
		err = errors.Join(err, errors.New("--listen and --no-control exclude each other: the page needs the run's control socket"))
	}
	if p.door.Listen != "" && c.history.Off {
		err = errors.Join(err, errors.New("--listen and --no-history exclude each other: the page shows the run's history"))
	}
	return err
}

// show has the page show a run.
func (p *page) show(c *change, s *session.Session, told record.Run) (end func(record.Result), err error) {
	if p.door.Listen == "" {
		return nil, nil
	}
	if s.Handler() == nil || s.History() == "" {
		return nil, &exit.Error{
			Code: exit.Failed,
			Err:  errors.New("the page of a run needs its control socket and its history"),
			Left: "nothing was written",
			Next: "name usable folders by --control-dir and --history-dir, or leave out --listen",
		}
	}
	begun := p.runs.Begin(told, s.History(), s.Handler()) // before a reader can know the page's address
	if p.stop == nil {
		// A page that is gone is no reason to end a run.
		gone := func(err error) { c.output.note(fmt.Sprintf("the page of the run failed: %v", err)) }
		stop, err := p.serve(c.app, p.runs.Source(), p.runs.Metrics(), gone, "nothing was written")
		if err != nil {
			return nil, err
		}
		p.stop = stop
		c.output.note(fmt.Sprintf("the page of the run is at %s; its access token is in %s", p.url(), p.server.TokenFile()))
	}
	return begun.End, nil
}

// close ends the pages, when those who look have heard of the end.
func (p *page) close() {
	if p.stop != nil {
		p.stop()
	}
}
