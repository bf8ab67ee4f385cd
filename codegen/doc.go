// Package codegen generates guarded implementations of Go interfaces: types whose methods pass every call on to an
// implementation as a guarded call of a resource. The command "tidegate wrap" is its front end:
//
//	//go:generate tidegate wrap -type Store
//
// # What is generated
//
// For an interface Store, a struct GuardedStore with all its methods, those of embedded interfaces included, and
//
//	func NewGuardedStore(next Store, engine *tidegate.Engine,
//		resource func(ctx context.Context, method string, args []tidegate.Arg) string,
//		guard ...tidegate.Guard[struct{}]) *GuardedStore
//
// A nil engine is the default engine. resource names the resource of each call from its context, method and arguments;
// nil, or where it returns "", the name is Interface.Method. The guard, of which at most one is of use, gives the
// calls' direction and type, handlers, and the errors to ignore or trace. Names of an unexported interface begin with
// guarded and newGuarded. A generic interface gives a generic type.
//
// # How methods are guarded
//
// The first parameter of type context.Context is the call's context, else it is context.Background. The other
// parameters, contexts excepted, are the call's arguments for rules, in their order and under their names; a variadic
// one is one argument, a slice; unnamed and blank ones have no name.
//
// If the last result is an error, it is the outcome of the call, and it carries the refusal of a call that does not
// run; the other results are then zero. OnBlock, Fallback and Default of the guard may replace the error, also by nil;
// other results stay as they are. A method whose last result is no error cannot tell of a refusal: the implementation
// is not called, the guard's handlers are, and all results are zero values. Such a call never fails but by a panic.
//
// Unexported methods that only another package can implement (as generated gRPC servers have) are passed on unguarded.
package codegen
