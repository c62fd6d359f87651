package ledger

import (
	"math/rand/v2"
	"sync"
)

// row is all that the ledger remembers of one slot.
type row struct {
	plain, wide uint32            // nonces
	unique      [maxUnique]uint32 // ids of its unique values, noID for NULL
	spelling    uint8             // of its key
	present     bool
}

// noID is the id of NULL.
const noID = ^uint32(0)

// seedNonce marks the nonces of seeded rows; those of the writers never have the bit.
const seedNonce = 1 << 31

// page holds the touched rows of a block and which unique values of the same numbers
// are in use. A block without a page is as it was seeded.
type page struct {
	rows []row
	used [maxUnique][]bool
}

// owner is the number of a writer, or one of the two below.
type owner int

const (
	held owner = -1 // for transactions of the test's
	hot  owner = -2 // shared by all writers
)

// book is the memory of a ledger. Its map of blocks is fixed once the table is
// seeded; the rows of a block may be touched only by its owner.
type book struct {
	layout  *layout
	salt    uint64
	seeded  int // slots below it were seeded
	size    int // of slots
	block   int // slots a block
	owners  []owner
	pages   []*page
	hotRows []Slot
}

// newBook maps the blocks. rows is the number of rows seeded.
func newBook(l *layout, opts Options, rows int) *book {
	spare := opts.Spare
	if spare <= 0 {
		spare = rows/8 + 16*max(opts.Writers, 4)
	}
	b := &book{layout: l, salt: opts.Seed, seeded: rows, size: rows + spare, block: 4}
	for b.block < 256 && b.block*16*max(opts.Writers, 1) < b.size {
		b.block *= 2
	}
	blocks := (b.size + b.block - 1) / b.block
	b.size = blocks * b.block
	b.pages = make([]*page, blocks)
	b.owners = make([]owner, blocks)
	for i := range b.owners {
		switch {
		case opts.Writers == 0, len(opts.Hold) == 0 && i%16 == 7:
			b.owners[i] = held
		default:
			b.owners[i] = owner(i % opts.Writers)
		}
	}
	if blocks >= 8 {
		b.owners[blocks-1] = held // room for what held transactions insert
	}
	for _, slot := range opts.Hold {
		if int(slot) < b.size {
			b.owners[int(slot)/b.block] = held
		}
	}
	b.shareHot(opts.HotRows)
	return b
}

// shareHot spreads the hot rows over the seeded part of the table.
func (b *book) shareHot(want int) {
	blocks := max(b.seeded/b.block, 1)
	hotBlocks := min(want, max(blocks/4, 1))
	if want == 0 || len(b.owners) < 8 {
		return
	}
	each := min((want+hotBlocks-1)/hotBlocks, b.block)
	for i := range hotBlocks {
		at := i * blocks / hotBlocks
		for b.owners[at] < 0 && at < blocks-1 { // held
			at++
		}
		if b.owners[at] < 0 {
			continue
		}
		b.owners[at] = hot
		for j := range each {
			if len(b.hotRows) < want {
				b.hotRows = append(b.hotRows, Slot(at*b.block+j*b.block/each))
			}
		}
	}
}

func (b *book) owner(slot Slot) owner { return b.owners[int(slot)/b.block] }

// seedPeriod is the number of rows that are seeded with plain and wide values of their
// own; the next so many rows repeat them.
const seedPeriod = 1 << 15

// seededRow is what a slot was seeded with; an unseeded one is absent.
func (b *book) seededRow(slot Slot) row {
	if int(slot) >= b.seeded {
		return row{}
	}
	h := mix(uint64(slot%seedPeriod) ^ b.salt<<32)
	r := row{plain: uint32(h) | seedNonce, wide: uint32(h>>32) | seedNonce, present: true}
	r.spelling = uint8(h % uint64(b.layout.Spellings))
	for k := range r.unique {
		r.unique[k] = uint32(slot)
	}
	return r
}

// get returns what the ledger remembers of a slot; of one beyond the last, that it is
// absent.
func (b *book) get(slot Slot) row {
	if int(slot) >= b.size {
		return row{}
	}
	if p := b.pages[int(slot)/b.block]; p != nil {
		return p.rows[int(slot)%b.block]
	}
	return b.seededRow(slot)
}

func (b *book) set(slot Slot, r row) { b.page(slot).rows[int(slot)%b.block] = r }

// inUse says whether a unique value is in a row, or set aside for one.
func (b *book) inUse(k int, id uint32) bool {
	if p := b.pages[int(id)/b.block]; p != nil {
		return p.used[k][int(id)%b.block]
	}
	return int(id) < b.seeded
}

func (b *book) setInUse(k int, id uint32, used bool) {
	b.page(Slot(id)).used[k][int(id)%b.block] = used
}

// page returns the page of a slot's block, made on the first touch.
func (b *book) page(slot Slot) *page {
	number := int(slot) / b.block
	if p := b.pages[number]; p != nil {
		return p
	}
	p := &page{rows: make([]row, b.block)}
	for i := range p.rows {
		p.rows[i] = b.seededRow(Slot(number*b.block + i))
	}
	for k := range b.layout.uniques {
		p.used[k] = make([]bool, b.block)
		for i := range p.used[k] {
			p.used[k][i] = p.rows[i].present
		}
	}
	b.pages[number] = p
	return p
}

// area is the part of the book that one writer owns, or that is held. Writers have
// theirs for themselves; the lock is for held transactions that run side by side.
type area struct {
	book   *book
	owner  owner
	blocks []int // in order

	mu      sync.Mutex
	present int // rows present
	aim     int // rows present at first: the load keeps near it
}

func newArea(b *book, o owner) *area {
	a := &area{book: b, owner: o}
	for i, own := range b.owners {
		if own != o {
			continue
		}
		a.blocks = append(a.blocks, i)
		for j := range b.block {
			if b.get(Slot(i*b.block + j)).present {
				a.present++
			}
		}
	}
	a.aim = a.present
	return a
}

// slots is the number of slots of the area.
func (a *area) slots() int { return len(a.blocks) * a.book.block }

// at returns the n-th slot of the area.
func (a *area) at(n int) Slot {
	return Slot(a.blocks[n/a.book.block]*a.book.block + n%a.book.block)
}

// find looks from a random place on for a number that fits. Most looks are at random
// places; the last is a walk over the whole area, so it finds one if there is one.
func (a *area) find(rng *rand.Rand, fits func(Slot) bool) (Slot, bool) {
	n := a.slots()
	if n == 0 {
		return 0, false
	}
	for range 32 {
		if slot := a.at(rng.IntN(n)); fits(slot) {
			return slot, true
		}
	}
	start := rng.IntN(n)
	for i := range n {
		if slot := a.at((start + i) % n); fits(slot) {
			return slot, true
		}
	}
	return 0, false
}

// near returns the first slot at or above a place that fits, or else the last below.
func (a *area) near(place Slot, fits func(Slot) bool) (found Slot, ok bool) {
	for n := range a.slots() {
		slot := a.at(n)
		if !fits(slot) {
			continue
		}
		found, ok = slot, true
		if slot >= place {
			break
		}
	}
	return found, ok
}
