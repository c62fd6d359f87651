package queue

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"midstream/internal/engine/window"
)

// checkStart fails with a *socket.Problem if the times of a submission's start are wrong.
func checkStart(asked Submission) error {
	if asked.Window == "" {
		return nil
	}
	if _, err := window.Parse(asked.Window); err != nil {
		return bad(notQueued, fmt.Sprintf("window %q: %v", asked.Window, err), `write it as "Tue-Thu 09:00-16:00 Europe/Berlin"`)
	}
	return nil
}

// tooEarly is why a change may not begin yet, and when that is looked at again; "" if it may.
func (e *entry) tooEarly(now time.Time) (why string, next time.Time) {
	if e.NotBefore != nil && now.Before(*e.NotBefore) {
		return "it begins not before " + e.NotBefore.UTC().Format("2006-01-02 15:04:05 UTC"), *e.NotBefore
	}
	if e.Window == "" {
		return "", time.Time{}
	}
	w, err := window.Parse(e.Window)
	if err == nil && !w.Open(now) {
		return "it begins only in its window: " + e.Window, now.Add(startEvery)
	}
	return "", time.Time{}
}

// startEvery is the longest time between two looks at changes that wait for a time.
const startEvery = 15 * time.Second

// byPriority sorts changes that are checked: the higher number first, and otherwise as they were.
func (s *Service) byPriority(ids []string) []string {
	priorities := map[string]int{}
	for _, id := range ids {
		if e := s.find(id); e != nil {
			priorities[id] = e.Priority
		}
	}
	slices.SortStableFunc(ids, func(a, b string) int { return cmp.Compare(priorities[b], priorities[a]) })
	return ids
}
