package sim

import (
	"math/rand/v2"

	"midstream/internal/lab/knobs"
)

// Options are what a seed decides before the first step. Percentages are chances.
type Options struct {
	Kind   int // of the key: see kinds
	IDs    int // keys that the server tells apart
	Fill   int // percentage of them that have a row at the start
	Unique int // secondary unique columns, 0 to 3
	Spare  int // values of a unique column beyond one a key

	Copiers  int
	Appliers int
	Chunk    int // most rows of a chunk
	Batch    int // most keys of a batch
	Limit    int // of the backlog
	Piece    int // rows that a statement reads or writes in one step
	Rest     int // most steps between transactions of the application
	Gulp     int // most events that are received in one step
	Beat     int // most steps between heartbeats
	Save     int // most steps between checkpoints

	KeepAhead    bool
	KeepRepeats  bool
	KeyChanged   bool
	Upsert       bool // lists of keys may be overwritten where nothing else is unique
	SourceUnique bool // the unique columns are unique in the source too

	Deletes   int // percentage of the application's statements on rows that are there
	XA        int // percentage of transactions
	Rollback  int // percentage of XA transactions
	Hold      int // most steps for which one stays prepared
	LostAck   int // percentage of heartbeats
	Return    int // percentage of batches given back before they are synced
	Overrun   int // percentage of attempts to cut over, at each of their stages
	Timeout   int // percentage of waits for a row lock
	Crash     int // in ten thousand steps
	Reconnect int // in ten thousand steps
	Calm      int // steps for which the processes keep their weights
	Steps     int // until the application falls silent
}

// overwrites says that lists of keys are overwritten where no row is gone.
func (o *Options) overwrites() bool { return o.Upsert && o.Unique == 0 && !o.KeyChanged }

// RandomOptions draws the options of a seed.
func RandomOptions(seed uint64, steps int) Options {
	r := rand.New(rand.NewPCG(seed, 1))
	percent := func(values ...int) int { return values[r.IntN(len(values))] }
	return Options{
		Kind:     r.IntN(len(kinds)),
		IDs:      6 + r.IntN(18),
		Fill:     percent(0, 50, 50, 80, 100),
		Unique:   r.IntN(4),
		Spare:    r.IntN(4),
		Copiers:  1 + r.IntN(4),
		Appliers: 1 + r.IntN(4),
		Chunk:    1 + r.IntN(6),
		Batch:    1 + r.IntN(6),
		Limit:    percent(1, 4, 8, 16, 100, 100),
		Piece:    1 + r.IntN(4),
		Rest:     percent(1, 10, 30, 60),
		Gulp:     percent(1, 2, 10),
		Beat:     percent(10, 30, 100),
		Save:     percent(20, 50, 150),
		KeepAhead: r.IntN(
			4,
		) == 0,
		KeepRepeats:  r.IntN(4) == 0,
		KeyChanged:   r.IntN(4) == 0,
		SourceUnique: r.IntN(2) == 0,
		Upsert:       r.IntN(3) > 0,
		Deletes: percent(
			10, 25, 60,
		),
		XA:        percent(0, 0, 10, 40),
		Rollback:  percent(0, 30, 60),
		Hold:      percent(1, 50, 300),
		LostAck:   percent(0, 0, 20),
		Return:    percent(0, 0, 20),
		Overrun:   percent(0, 20, 50),
		Timeout:   percent(0, 0, 10),
		Crash:     percent(0, 10, 50, 100),
		Reconnect: percent(0, 50, 200),
		Calm:      percent(10, 50, 200),
		Steps:     steps,
	}
}

// Set overrides options: name=value, separated by commas.
func (o *Options) Set(list string) error { return knobs.Set(o, list) }

// Diff lists the options that differ from those of the seed, in the form that Set takes.
func (o Options) Diff(seed uint64) string { return knobs.Diff(o, RandomOptions(seed, o.Steps)) }
