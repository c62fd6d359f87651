package backlog

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"midstream/internal/engine/frontier"
	"midstream/internal/engine/key"
)

// letters compares keys of letters by their bytes.
type letters struct{}

func (letters) Compare(a, b key.Key) (int, bool) { return strings.Compare(string(a), string(b)), true }

type rig struct {
	*Backlog
	t       *testing.T
	tracker *frontier.Tracker
}

// setup returns a backlog of one worker for keys of one letter.
func setup(t *testing.T, change ...func(*Config)) *rig {
	t.Helper()
	cfg := Config{Partition: func(k key.Key, n int) int { return int(k[0]) % n }}
	for _, c := range change {
		c(&cfg)
	}
	tracker := frontier.New(letters{})
	return &rig{Backlog: New(cfg, tracker), t: t, tracker: tracker}
}

// add puts letters into the open segment.
func (r *rig) add(keys string) {
	for _, k := range keys {
		r.Add(key.Key(k))
	}
}

// reveal adds, seals and reveals.
func (r *rig) reveal(keys string) uint64 {
	r.add(keys)
	segment := r.Seal()
	r.Reveal(segment)
	return segment
}

// take returns a batch of a worker, and fails if it doesn't hold these keys.
func (r *rig) take(worker, most int, want string) *Batch {
	r.t.Helper()
	batch := r.TryTake(worker, most)
	var got []byte
	if batch != nil {
		for _, k := range batch.Keys {
			got = append(got, k...)
		}
	}
	if string(got) != want {
		r.t.Errorf("worker %d takes %q, want %q", worker, got, want)
	}
	return batch
}

func (r *rig) has(length int, oldest uint64) {
	r.t.Helper()
	if got := r.Len(); got != length {
		r.t.Errorf("the backlog holds %d keys, want %d", got, length)
	}
	if got := r.Oldest(); got != oldest {
		r.t.Errorf("the oldest segment is %d, want %d", got, oldest)
	}
}

func TestL3_NothingIsTakenBeforeItIsRevealed(t *testing.T) {
	r := setup(t)
	r.tracker.End(r.tracker.Begin(""))
	r.add("a")
	first := r.Seal()
	r.add("ab")
	second := r.Seal()
	r.add("c")
	r.take(0, 9, "")
	r.Reveal(first)
	batch := r.take(0, 9, "a")
	r.Done(batch)
	r.take(0, 9, "")
	r.Reveal(second)
	r.Done(r.take(0, 9, "ab"))
	r.take(0, 9, "")
	r.has(1, 3)
}

func TestL4_OnlyKeysAheadAreDropped(t *testing.T) {
	r := setup(t)
	r.tracker.End(r.tracker.Begin("f"))
	r.tracker.Begin("m")
	r.reveal("agz")
	r.has(2, 1)
	r.take(0, 9, "a")
	if got := r.Counts(); got.Dropped != 1 || got.Added != 3 {
		t.Errorf("counts are %+v", got)
	}

	keeps := setup(t, func(c *Config) { c.KeepAhead = true })
	keeps.reveal("az")
	keeps.take(0, 9, "az")
}

// Keys that may be ahead, which only the server could decide, wait for the copy's end, whatever the
// limit is, and no longer.
func TestKeysThatAwaitTheCopy(t *testing.T) {
	r := setup(t, func(c *Config) { c.AwaitCopy, c.Limit = true, 3 })
	r.tracker = frontier.New(nobodyKnows{})
	r.Backlog.tracker = r.tracker
	first := r.tracker.Begin("f")
	r.reveal("agtz")
	r.has(4, 1)
	if r.TryTake(0, 9) != nil || r.Full() || r.Due() != 0 {
		t.Errorf("%d are due", r.Due())
	}
	last := r.tracker.Begin("")
	r.tracker.End(first)
	if r.TryTake(0, 9) != nil {
		t.Error("the copy has not ended")
	}
	r.tracker.End(last)
	r.take(0, 9, "agtz")
}

// nobodyKnows can't compare keys that differ.
type nobodyKnows struct{}

func (nobodyKnows) Compare(a, b key.Key) (int, bool) { return 0, a == b }

func TestL2_KeysWaitForTheirChunk(t *testing.T) {
	r := setup(t)
	first, second := r.tracker.Begin("f"), r.tracker.Begin("m")
	r.reveal("ag")
	r.take(0, 9, "")
	r.tracker.End(second)
	r.take(0, 9, "") // barriers are passed in their order
	r.tracker.End(first)
	r.take(0, 9, "ag")
}

func TestL2_OneKeyIsInOneBatch(t *testing.T) {
	r := setup(t)
	r.tracker.End(r.tracker.Begin(""))
	r.reveal("a")
	inFlight := r.take(0, 9, "a")
	r.reveal("a")
	r.has(2, 1) // its second change may be unread
	r.Done(inFlight)
	r.Done(r.take(0, 9, "a"))
	r.take(0, 9, "")
	r.has(0, 3)
}

func TestL2_KeyThatWaitsAndIsRevealedAgainIsKept(t *testing.T) {
	r := setup(t)
	slow, quick := r.tracker.Begin("f"), r.tracker.Begin("m")
	r.reveal("g") // waits for both chunks
	r.tracker.End(quick)
	r.reveal("g") // waits for no chunk
	r.Done(r.take(0, 9, "g"))
	r.has(1, 1)
	r.tracker.End(slow)
	r.Done(r.take(0, 9, "g"))
	r.has(0, 3)
}

func TestL5_ReturnedKeysAreNotLost(t *testing.T) {
	r := setup(t)
	r.tracker.End(r.tracker.Begin(""))
	r.reveal("ab")
	batch := r.take(0, 1, "a")
	r.reveal("a")
	r.has(3, 1)
	r.Return(batch)
	r.has(2, 1)
	r.Done(r.take(0, 9, "b"))
	r.has(1, 1)
	r.Done(r.take(0, 9, "a"))
	r.has(0, 3)
}

// A caller that deletes rows of the shadow because their sync is yet to come must be able to rely
// on that sync, even if the worker has done it already and is about to report it.
func TestL5_KeysComeAgainAfterAgain(t *testing.T) {
	r := setup(t)
	r.tracker.End(r.tracker.Begin(""))
	oldest := r.reveal("ab")
	taken := r.take(0, 1, "a")
	r.reveal("c")
	r.add("d")
	keys := r.Again()
	slices.Sort(keys)
	if got := strings.Join(asText(keys), ""); got != "abcd" {
		t.Errorf("outstanding are %s", got)
	}
	r.Done(taken)
	r.has(4, oldest)
	r.Done(r.take(0, 9, "b"))
	r.has(3, oldest)
	r.Done(r.take(0, 9, "ac"))
	r.has(1, r.number)
}

func asText(keys []key.Key) []string {
	var texts []string
	for _, k := range keys {
		texts = append(texts, string(k))
	}
	return texts
}

// TestApplyStopsWhileKeysWait: work that has ended takes no more keys, however many there are. Before, apply stopped only once it found
// none, and a swap next to a fast application waited for that without end.
func TestApplyStopsWhileKeysWait(t *testing.T) {
	r := setup(t)
	r.tracker.End(r.tracker.Begin(""))
	r.reveal("ab")
	ended := errors.New("ended")
	ctx, end := context.WithCancelCause(t.Context())
	end(ended)
	if batch, err := r.Take(ctx, 0, 1); batch != nil || !errors.Is(err, ended) {
		t.Errorf("takes %v, %v", batch, err)
	}
	r.take(0, 2, "ab")
}

func TestNoKeyIsPassedOverForEver(t *testing.T) {
	r := setup(t)
	r.tracker.End(r.tracker.Begin(""))
	r.reveal("abcz")
	for range 3 {
		r.Done(r.TryTake(0, 1))
		r.reveal("abc")
	}
	r.take(0, 1, "z")
}

func TestKeepRepeatsSyncsAKeyOnceAChange(t *testing.T) {
	r := setup(t, func(c *Config) { c.KeepRepeats = true })
	r.tracker.End(r.tracker.Begin(""))
	r.reveal("aaab")
	for _, want := range []string{"ab", "a", "a", ""} {
		if batch := r.take(0, 9, want); batch != nil {
			r.Done(batch)
		}
	}
	r.has(0, 2)
}

// A worker that waits in Take is woken by everything that can make keys takeable.
func TestTakeWakesUp(t *testing.T) {
	for name, act := range map[string]func(r *rig, c frontier.Chunk){
		"keys are revealed": func(r *rig, c frontier.Chunk) {
			r.tracker.End(c)
			r.reveal("n")
		},
		"a chunk ends": func(r *rig, c frontier.Chunk) {
			r.reveal("a")
			synctest.Wait()
			r.tracker.End(c)
			r.Wake()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := setup(t)
				chunk := r.tracker.Begin("m")
				r.tracker.End(r.tracker.Begin(""))
				took := make(chan *Batch)
				go func() {
					batch, err := r.Take(t.Context(), 0, 9)
					if err != nil {
						t.Error(err)
					}
					took <- batch
				}()
				synctest.Wait()
				act(r, chunk)
				if batch := <-took; len(batch.Keys) != 1 {
					t.Errorf("took %v", batch.Keys)
				}
			})
		})
	}
}

func TestWaitNotFullWakesUpAndEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, func(c *Config) { c.Limit = 2 })
		r.tracker.End(r.tracker.Begin(""))
		r.reveal("ab")
		if !r.Full() {
			t.Error("two keys don't fill a backlog of two")
		}
		done := make(chan error, 1)
		go func() { done <- r.WaitNotFull(t.Context()) }()
		synctest.Wait()
		r.Done(r.TryTake(0, 1))
		if err := <-done; err != nil {
			t.Errorf("waiting ended with %v", err)
		}

		r.reveal("c")
		why := errors.New("that's enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { done <- r.WaitNotFull(ctx) }()
		synctest.Wait()
		cancel(why)
		if err := <-done; !errors.Is(err, why) {
			t.Errorf("waiting ended with %v", err)
		}
	})
}

// Random work on two workers: a key that was added is synced after it was added, the length is the
// number of keys that the backlog holds anywhere, and the oldest segment never goes back.
func TestNothingIsLostOrCountedWrongly(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		r := setup(t, func(c *Config) { c.Workers, c.KeepRepeats = 2, seed%2 == 1 })
		r.tracker.End(r.tracker.Begin(""))
		owed := map[key.Key]bool{} // added since its last batch
		var taken [2]*Batch
		oldest := uint64(0)
		rests := seed%3 == 0 // keys that were synced a short time ago
		for step := range 400 {
			worker := random.IntN(2)
			switch batch := taken[worker]; {
			case rests && random.IntN(20) == 0:
				r.Rest([]time.Duration{0, 1, time.Hour}[random.IntN(3)])
			case step < 300 && random.IntN(3) == 0:
				k := key.Key(rune('a' + random.IntN(8)))
				r.Add(k)
				owed[k] = true
			case random.IntN(4) == 0:
				r.Reveal(r.Seal())
			case batch == nil:
				if taken[worker] = r.TryTake(worker, 1+random.IntN(3)); taken[worker] != nil {
					for _, k := range taken[worker].Keys {
						delete(owed, k)
					}
				}
			case random.IntN(4) == 0:
				r.Return(batch)
				for _, k := range batch.Keys {
					owed[k] = true
				}
				taken[worker] = nil
			default:
				r.Done(batch)
				taken[worker] = nil
			}
			if now := r.Oldest(); now < oldest {
				t.Fatalf("seed %d: the oldest segment went from %d to %d", seed, oldest, now)
			} else {
				oldest = now
			}
		}
		r.Rest(0)
		for worker, batch := range taken {
			if batch != nil {
				r.Done(batch)
			}
			r.Reveal(r.Seal())
			for batch := r.TryTake(worker, 3); batch != nil; batch = r.TryTake(worker, 3) {
				for _, k := range batch.Keys {
					delete(owed, k)
				}
				r.Done(batch)
			}
		}
		if len(owed) > 0 || r.Len() != 0 {
			t.Fatalf("seed %d: %v are lost, %d keys are left", seed, owed, r.Len())
		}
	}
}

// TestL5_ARestingKeyIsNotLost: a key that was synced a short time ago rests, and each other key does not. It still counts as
// not synced, and comes out after its time, or as soon as nothing rests.
func TestL5_ARestingKeyIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t)
		r.tracker.End(r.tracker.Begin(""))
		r.Rest(time.Minute)
		r.reveal("a")
		r.Done(r.take(0, 9, "a"))
		r.reveal("ab")
		r.Done(r.take(0, 9, "b"))
		r.reveal("a")
		r.take(0, 9, "")
		r.has(1, 2)
		if !r.Pending([]key.Key{"a"})["a"] || len(r.Again()) != 1 {
			t.Error("the key that rests is not pending")
		}
		time.Sleep(59 * time.Second)
		r.Rest(time.Minute)
		r.take(0, 9, "")
		time.Sleep(time.Second)
		r.Rest(time.Minute)
		r.Done(r.take(0, 9, "a"))
		r.has(0, 4)
		r.reveal("a")
		r.take(0, 9, "")
		r.Rest(0)
		r.Done(r.take(0, 9, "a"))
		r.reveal("a")
		r.Done(r.take(0, 9, "a"))
	})
}

// Keys come out in their order, generation by generation: keys that exist when a worker begins with
// the first of them come before later keys.
func TestKeysComeOutInOrder(t *testing.T) {
	r := setup(t)
	c := r.tracker.Begin("m")
	r.reveal("hgfedcba")
	r.reveal("lkji")
	r.tracker.End(c)
	r.tracker.End(r.tracker.Begin(""))
	var got []key.Key
	for batch := r.TryTake(0, 3); batch != nil; batch = r.TryTake(0, 3) {
		if len(got) == 0 {
			r.reveal("a1")
		}
		got = append(got, batch.Keys...)
		r.Done(batch)
	}
	if want := []key.Key{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "1", "a"}; !slices.Equal(got, want) {
		t.Errorf("keys come out as %v, want %v", got, want)
	}
}
