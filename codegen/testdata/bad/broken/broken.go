// Package broken does not compile, for the want of what is generated.
package broken

// T is a type.
type T struct{}

// F is to be generated.
func F() T { return NewT() }
