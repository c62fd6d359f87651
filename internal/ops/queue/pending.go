package queue

import "time"

// pending holds the waiting changes whose turn may have come since the last check, so that the others cost nothing.
type pending struct {
	all   bool             // a change is over: check all
	some  []string         // ids of new changes
	tries map[string]tried // changes that could not begin
	again time.Time        // when all are checked again; zero for never
}

// tried is a change that could not begin.
type tried struct {
	times int
	next  time.Time // of the next try
}

// longestRetry is the longest time between two tries to begin a change.
const longestRetry = time.Minute

// one adds a change to the next check.
func (p *pending) one(id string) { p.some = append(p.some, id) }

// later adds a change to a later check. The wait grows with each try.
func (p *pending) later(id string) {
	if p.tries == nil {
		p.tries = map[string]tried{}
	}
	times := p.tries[id].times + 1
	p.tries[id] = tried{times, time.Now().Add(min(retry<<min(times-1, 10), longestRetry))}
}

// when adds a change to the first check after a time.
func (p *pending) when(id string, at time.Time) {
	if p.tries == nil {
		p.tries = map[string]tried{}
	}
	p.tries[id] = tried{p.tries[id].times, at}
}

// over adds all changes to the next check, because some may have waited for the one that is over.
func (p *pending) over(id string) {
	delete(p.tries, id)
	p.all = true
}

// rest postpones the check of all changes, because none can begin now.
func (p *pending) rest() { p.again = time.Now().Add(retry) }

// take returns the ids of the changes to check now. waiting lists all that wait. A change that is
// to be tried later is left out until then.
func (p *pending) take(waiting func() []string) []string {
	look := p.some
	if p.all || !p.again.IsZero() && !p.again.After(time.Now()) {
		look, p.again = waiting(), time.Time{}
	} else {
		for id, t := range p.tries {
			if !t.next.After(time.Now()) {
				look = append(look, id)
			}
		}
	}
	p.all, p.some = false, nil
	var due []string
	for _, id := range look {
		if t, is := p.tries[id]; !is || !t.next.After(time.Now()) {
			due = append(due, id)
		}
	}
	return due
}
