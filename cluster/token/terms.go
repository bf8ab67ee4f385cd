package token

import "math"

// Terms are how many units a window may hold, if it decides: the bits of a number of units, negative if they are for all
// clients together, else for each.
type terms uint64

// special are those of a rule that no window decides. They are not a number.
const special = ^terms(0)

func termsOf(perWindow float64, global bool) terms {
	if global {
		perWindow = -perWindow
	}
	return terms(math.Float64bits(perWindow))
}

// most returns how many units the window of a rule in that space may hold now.
func (t terms) most(sp *space) int64 {
	perUnit := math.Float64frombits(uint64(t))
	if math.Signbit(perUnit) {
		return perWindow(-perUnit, 1)
	}
	return perWindow(perUnit, float64(sp.connected.Load()))
}

// perWindow returns how many units of a window may be granted: floor(units x clients + 1e-6), so that a count whose
// product with the window is whole, but for the binary fractions of the computer, counts as whole.
func perWindow(perUnit, clients float64) int64 { return units(math.Floor(perUnit*clients + 1e-6)) }
