// Command command cannot be imported.
package main

// Runner runs.
type Runner interface{ Run() error }

func main() {}
