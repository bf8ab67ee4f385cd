package chain

// Bound is a check of one resource and whether its rule only observes.
type Bound struct {
	Check    Check
	Observed bool
	Order    int // position among all checks of the resource; the engine sets it
}
