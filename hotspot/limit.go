package hotspot

import (
	"math"
	"math/bits"
)

// tokenScale is the number of units a token is divided into if a threshold has a fraction.
const tokenScale = 1_000_000

// far bounds spans of time so that sums of two of them do not overflow.
const far = math.MaxInt64 / 4

// A limit is what one threshold of a rule means, computed once: for the rule's count and for each exception item.
type limit struct {
	count float64

	// Token bucket. A threshold below 1 becomes one token per duration/count; a whole one counts in tokens, any
	// other in millionths of a token, so that all sums are exact integers.
	scale    int64 // units per token
	refill   int64 // units added per period
	period   int64 // ms; a refill needs more than one
	capacity int64 // units: threshold plus burst

	single int64   // throttling: ns that one call takes
	second float64 // throttling: ns in the duration

	most int64 // concurrency: calls in flight

	place int // of an exception item among all
}

func newLimit(count float64, r *Rule) limit {
	seconds := max(1, r.DurationInSec)
	l := limit{count: count, second: float64(seconds) * 1e9}
	l.setBucket(satMul(seconds, 1000), max(0, r.BurstCount))
	l.single = l.cost(1)
	l.most = clampInt(math.Floor(count))
	return l
}

func (l *limit) setBucket(period, burst int64) {
	l.scale, l.period = 1, min(far, period)
	switch {
	case l.count < 1:
		l.refill, l.period = 1, min(far, clampInt(math.Floor(float64(period)/l.count)))
	case l.count == math.Trunc(l.count) || l.count > 1<<40:
		l.refill = clampInt(l.count)
	default:
		l.scale, l.refill = tokenScale, clampInt(math.Round(l.count*tokenScale))
	}
	l.capacity = satAdd(l.refill, satMul(burst, l.scale))
}

// closed says that the threshold is 0, which refuses every call, even one that counts for nothing.
func (l *limit) closed() bool { return !(l.count > 0) }

// units returns the price of n tokens.
func (l *limit) units(n int64) int64 {
	if l.scale == 1 {
		return n
	}
	return satMul(n, l.scale)
}

// earned returns the units earned in elapsed ms, rounded down.
func (l *limit) earned(elapsed int64) int64 {
	high, low := bits.Mul64(uint64(elapsed), uint64(l.refill))
	if high >= uint64(l.period) {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, uint64(l.period))
	return int64(min(quotient, math.MaxInt64))
}

// cost returns the ns that n calls take at the threshold's pace.
func (l *limit) cost(n int64) int64 {
	if n == 1 && l.single > 0 {
		return l.single
	}
	return min(far, clampInt(math.Round(float64(n)*l.second/l.count)))
}

// clampInt converts to int64, saturating; NaN gives 0.
func clampInt(x float64) int64 {
	switch {
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	case math.IsNaN(x):
		return 0
	}
	return int64(x)
}

// satAdd returns a+b for b >= 0, at most MaxInt64.
func satAdd(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxInt64
}

// satMul returns a*b for a, b >= 0, at most MaxInt64.
func satMul(a, b int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high != 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(low)
}
