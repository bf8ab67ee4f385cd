package hotspot

import "github.com/tidegate-go/tidegate/chain"

// appendValues appends the values of an argument as a token server is asked for them, in the types in which the caller
// gave them. It allocates nothing where KeysOf does not, if to has room.
func appendValues(to []chain.Arg, arg chain.Arg) (values []chain.Arg, skipped int) {
	skipped = arg.Each(func(one chain.Arg) bool {
		to = append(to, one)
		return true
	})
	return to, skipped
}
