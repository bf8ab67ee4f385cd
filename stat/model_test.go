package stat_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/stat"
)

// event is one thing that happened to a node.
type event struct {
	at                                            int64
	done                                          bool // a call completed
	pass, block, success, exception, occupied, rt int64
}

func (e *event) add(o event) {
	e.pass += o.pass
	e.block += o.block
	e.success += o.success
	e.exception += o.exception
	e.occupied += o.occupied
	e.rt += o.rt
}

type loan struct {
	start, count int64
	touched      bool
}

// model is what a node should say: a list of everything that happened.
type model struct {
	geometry
	events []event
	loans  []*loan
	active int64
	since  int64 // second-level counts begin here: the window was changed then
}

func (m *model) touch(now int64) {
	for _, l := range m.loans {
		if l.start == now-now%m.length() {
			l.touched = true
		}
	}
}

func (m *model) sum(from int64) (sum event) {
	for _, e := range m.events {
		if e.at >= from {
			sum.add(e)
		}
	}
	return sum
}

func (m *model) snapshot(now int64) stat.Snapshot {
	m.touch(now)
	oldest := m.oldest(now)
	var sec event
	best, least := map[int64]int64{}, maxRT
	for _, e := range m.events {
		if e.at < oldest || e.at < m.since {
			continue
		}
		sec.add(e)
		if e.done {
			best[e.at/m.length()] += e.success
			least = min(least, e.rt)
		}
	}
	most := int64(1)
	for _, n := range best {
		most = max(most, n)
	}
	sec.pass -= sec.occupied
	snap := stat.Snapshot{Time: time.Unix(0, now), Active: m.active, MinRT: math.Max(1, float64(least)/1e6)}
	for _, l := range m.loans {
		switch {
		case l.start > now:
			snap.Waiting += l.count
		case l.touched && l.start >= oldest:
			sec.pass += l.count
		}
	}
	seconds := float64(m.interval) / 1000
	snap.PassQPS, snap.BlockQPS = float64(sec.pass)/seconds, float64(sec.block)/seconds
	snap.SuccessQPS, snap.ExceptionQPS = float64(sec.success)/seconds, float64(sec.exception)/seconds
	snap.TotalQPS = float64(sec.pass+sec.block) / seconds
	snap.MaxSuccessQPS = float64(most) * float64(m.buckets) / seconds
	if sec.success > 0 {
		snap.AvgRT = float64(sec.rt) / 1e6 / float64(sec.success)
	}
	m.minute(now, &snap)
	return snap
}

// minute fills in what comes from whole seconds.
func (m *model) minute(now int64, snap *stat.Snapshot) {
	this := now - now%second
	all := m.sum(this - minute + second)
	snap.TotalPass, snap.TotalBlock, snap.TotalRequest = all.pass, all.block, all.pass+all.block
	snap.TotalSuccess, snap.TotalException, snap.TotalOccupied = all.success, all.exception, all.occupied
	previous, current := m.sum(this-second), m.sum(this)
	snap.PreviousPassQPS = float64(previous.pass - current.pass)
	snap.PreviousBlockQPS = float64(previous.block - current.block)
}

func (m *model) seconds(now, since int64) []stat.SecondStats {
	var list []stat.SecondStats
	this := now - now%second
	for start := this - minute + second; start < this; start += second {
		if start < since {
			continue
		}
		from, to := m.sum(start), m.sum(start+second)
		s := stat.SecondStats{
			Time: time.Unix(0, start), Pass: from.pass - to.pass, Block: from.block - to.block,
			Success: from.success - to.success, Exception: from.exception - to.exception,
			OccupiedPass: from.occupied - to.occupied, RT: time.Duration(from.rt - to.rt),
		}
		if s != (stat.SecondStats{Time: s.Time}) {
			list = append(list, s)
		}
	}
	return list
}

// open is a call that has not completed.
type open struct {
	hint      uint32
	at, count int64
	later     int64 // until when the call waits; 0: it does not
}

// player plays random events to a node and its model.
type player struct {
	*model
	node   *stat.Node
	random *rand.Rand
	now    int64
	flying []open
}

func (p *player) wait() {
	var d int64
	switch p.random.IntN(20) {
	case 0:
		d = p.random.Int64N(5 * second)
	case 1:
		d = p.length() * p.random.Int64N(2*p.buckets+1)
	case 2:
		if p.random.IntN(4) == 0 {
			d = p.random.Int64N(3 * minute)
		}
	default:
		d = p.random.Int64N(p.length()/2 + 1)
	}
	p.now += d
	if p.random.IntN(10) == 0 { // exactly on a bucket's edge
		p.now += p.length() - p.now%p.length()
	}
}

func (p *player) step() {
	p.wait()
	hint, n := p.random.Uint32N(8), p.random.Int64N(4)
	switch p.random.IntN(8) {
	case 0, 1, 2:
		p.node.Pass(hint, p.now, n)
		p.happens(event{pass: n})
		p.active++
		p.flying = append(p.flying, open{hint: hint, at: p.now, count: n})
	case 3:
		p.node.Block(hint, p.now, n)
		p.happens(event{block: n})
	case 4, 5:
		p.complete()
	case 6:
		p.borrow(hint, n)
	default:
		p.arrive()
	}
}

func (p *player) happens(e event) {
	e.at = p.now
	p.touch(p.now)
	p.events = append(p.events, e)
}

func (p *player) take(waiting bool) (o open, ok bool) {
	i := slices.IndexFunc(p.flying, func(o open) bool { return (o.later != 0) == waiting })
	if i < 0 {
		return o, false
	}
	o = p.flying[i]
	p.flying = slices.Delete(p.flying, i, i+1)
	return o, true
}

func (p *player) complete() {
	o, ok := p.take(false)
	if !ok {
		return
	}
	rt, failed := p.now-o.at, p.random.IntN(3) == 0
	p.node.Complete(o.hint, p.now, o.count, rt, failed)
	e := event{done: true, success: o.count, rt: rt}
	if failed {
		e.exception = o.count
	}
	p.happens(e)
	p.active--
}

func (p *player) borrow(hint uint32, n int64) {
	at := p.now - p.now%p.length() + p.length() // the next bucket
	p.node.Borrow(hint, p.now, at, n)
	p.happens(event{pass: n, occupied: n})
	p.lend(at, n)
	p.flying = append(p.flying, open{hint: hint, at: p.now, count: n, later: at})
}

func (p *player) lend(at, n int64) {
	for _, l := range p.loans {
		if l.start == at {
			l.count += n
			return
		}
	}
	p.loans = append(p.loans, &loan{start: at, count: n})
}

// arrive ends the wait of a call that borrowed: it is let in, or its caller has left.
func (p *player) arrive() {
	o, ok := p.take(true)
	switch {
	case !ok:
	case p.now < o.later && p.now-p.now%second == o.at-o.at%second && p.now-p.now%p.length() == o.at-o.at%p.length():
		p.node.Return(o.hint, o.at, o.later, o.count)
		p.happens(event{pass: -o.count, occupied: -o.count})
		p.lend(o.later, -o.count)
	default:
		p.node.Arrive(o.hint)
		p.active++
		o.later = 0
		p.flying = append(p.flying, o)
	}
}

func (p *player) check(t *testing.T, what string) {
	t.Helper()
	if got, want := p.node.Snapshot(p.now), p.snapshot(p.now); !near(got, want) {
		t.Fatalf("%s at +%d ms:\n got %+v\nwant %+v", what, (p.now-epoch)/ms, got, want)
	}
	since := p.now - p.random.Int64N(2*minute)
	got, want := p.node.Seconds(p.now, time.Unix(0, since)), p.seconds(p.now, since)
	for i := range got {
		got[i].Peak = 0
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%s at +%d ms, seconds since +%d:\n got %v\nwant %v", what, (p.now-epoch)/ms, (since-epoch)/ms, got, want)
	}
	if got, want := p.node.Active(), p.active; got != want {
		t.Fatalf("%s: %d in flight, want %d", what, got, want)
	}
}

func near(a, b stat.Snapshot) bool {
	if math.Abs(a.AvgRT-b.AvgRT) > 1e-6 {
		return false
	}
	a.AvgRT = b.AvgRT
	return a == b
}

func play(t *testing.T, g geometry, seed uint64, each func(p *player, step int)) {
	t.Helper()
	p := &player{
		model: &model{geometry: g}, node: stat.NewNode(g.scope(t)),
		random: rand.New(rand.NewPCG(seed, 7)), now: epoch + int64(seed)*123*ms,
	}
	for step := range 300 {
		p.step()
		each(p, step)
		if step%9 == 0 {
			p.check(t, fmt.Sprintf("%v seed %d step %d", g, seed, step))
		}
		if len(p.events) > 400 {
			p.events = slices.DeleteFunc(p.events, func(e event) bool { return e.at < p.now-4*minute })
		}
	}
}

func TestNodeAgainstModel(t *testing.T) {
	t.Parallel()
	for _, g := range geometries() {
		t.Run(g.String(), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(4) {
				play(t, g, seed, func(*player, int) {})
			}
		})
	}
}

func TestNodeWithManyRingsAgainstModel(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, g := range geometries() {
		for seed := range uint64(2) {
			play(t, g, seed, func(p *player, step int) {
				if step%50 == 20 {
					p.node.Inflate()
					if p.node.Rings() != 4 {
						t.Fatalf("%d rings for 4 cores", p.node.Rings())
					}
				}
				if step%30 == 0 {
					p.node.Tend(p.now)
				}
			})
		}
	}
}

func TestTendChangesNoFigure(t *testing.T) {
	t.Parallel()
	for _, g := range geometries() {
		for seed := range uint64(2) {
			play(t, g, seed, func(p *player, step int) {
				if p.random.IntN(4) == 0 {
					p.node.Tend(p.now)
				}
			})
		}
	}
}
