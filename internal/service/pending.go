package service

import "time"

// pending says which waiting changes may have come to their turn since the queue has last looked, so that the others cost nothing.
type pending struct {
	all   bool             // something has ended: any of them
	some  []string         // ids of those that are new
	tries map[string]tried // those that could not be begun
	again time.Time        // when all are looked at again, as the last look was broken off; zero for never
}

// tried is what could not be begun.
type tried struct {
	times int
	next  time.Time // when it is tried again
}

// longestRetry is the most time between two tries to begin a change.
const longestRetry = time.Minute

// one has the queue look at a change.
func (p *pending) one(id string) { p.some = append(p.some, id) }

// later has the queue look at a change again in a while: longer with every time.
func (p *pending) later(id string) {
	if p.tries == nil {
		p.tries = map[string]tried{}
	}
	times := p.tries[id].times + 1
	p.tries[id] = tried{times, time.Now().Add(min(retry<<min(times-1, 10), longestRetry))}
}

// over has the queue look at all changes: one is over, and others may have waited for that.
func (p *pending) over(id string) {
	delete(p.tries, id)
	p.all = true
}

// rest breaks a look off: nothing can be begun for a while.
func (p *pending) rest() { p.again = time.Now().Add(retry) }

// take hands over the changes to look at; waiting lists all that wait. Those that are to be tried again later are not among them before that.
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
