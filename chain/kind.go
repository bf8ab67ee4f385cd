package chain

import "fmt"

// Kind names a kind of rule. Its zero value, KindCustom, stands for checks registered by the user.
type Kind uint8

// The kinds of rules, in the order in which their checks run.
const (
	KindCustom Kind = iota
	KindAuthority
	KindSystem
	KindGateway
	KindParam
	KindFlow
	KindIsolation
	KindDegrade
	KindAPI // gateway API definitions: rules that decide nothing by themselves
)

var kindNames = [...]string{"custom", "authority", "system", "gateway", "param", "flow", "isolation", "degrade", "api"}

// String returns the kind's name as rule documents and tools spell it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// ParseKind returns the kind of that name.
func ParseKind(name string) (Kind, error) {
	for i, n := range kindNames {
		if n == name {
			return Kind(i), nil
		}
	}
	return 0, fmt.Errorf("unknown rule kind %q; use one of %v", name, kindNames[1:])
}

// The order numbers of the built-in checks. A custom check with order 0 runs after all of them.
const (
	OrderAuthority      = -6000
	OrderSystem         = -5000
	OrderGateway        = -4000
	OrderParam          = -3000
	OrderFlow           = -2000
	OrderIsolation      = -1750
	OrderDefaultBreaker = -1500
	OrderBreaker        = -1000
)
