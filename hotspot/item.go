package hotspot

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidegate-go/tidegate/chain"
)

// Item is an exception: a threshold of its own for one value.
type Item struct {
	Object    string // the value as text, of the class that ClassType names
	Count     int64  // threshold in place of the rule's; must not be negative
	ClassType string // int, long, short, byte, double, float, boolean, char or a boxed Java class; else a string
}

// Value returns the value that the item is for, or why the item has no effect.
func (i Item) Value() (chain.Arg, error) {
	if i.Count < 0 {
		return chain.Arg{}, fmt.Errorf("count must not be negative: %d", i.Count)
	}
	bits := intBits(i.ClassType)
	switch {
	case bits > 0:
		n, err := strconv.ParseInt(i.Object, 10, bits)
		if err != nil {
			return chain.Arg{}, fmt.Errorf("object %q is no %s", i.Object, i.ClassType)
		}
		return chain.Int64("", n), nil
	case isClass(i.ClassType, "double", "Double"), isClass(i.ClassType, "float", "Float"):
		return i.float()
	case isClass(i.ClassType, "boolean", "Boolean"):
		return chain.Bool("", strings.EqualFold(i.Object, "true")), nil
	case i.ClassType == "char":
		if i.Object == "" {
			return chain.Arg{}, fmt.Errorf("object is empty and no char")
		}
		_, size := utf8.DecodeRuneInString(i.Object)
		return chain.String("", i.Object[:size]), nil
	}
	return chain.String("", i.Object), nil
}

func (i Item) float() (chain.Arg, error) {
	bits := 64
	if isClass(i.ClassType, "float", "Float") {
		bits = 32
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(i.Object), bits)
	if err != nil {
		return chain.Arg{}, fmt.Errorf("object %q is no %s", i.Object, i.ClassType)
	}
	return chain.Float64("", f), nil
}

// known says whether the class is one that this package tells apart, or a plain string.
func (i Item) known() bool {
	if intBits(i.ClassType) > 0 {
		return true
	}
	switch i.ClassType {
	case "", "double", "java.lang.Double", "float", "java.lang.Float", "boolean", "java.lang.Boolean",
		"char", "java.lang.Character", "String", "string", "java.lang.String":
		return true
	}
	return strings.TrimSpace(i.ClassType) == ""
}

// intBits gives the width of a class of whole numbers, 0 for others.
func intBits(class string) int {
	switch class {
	case "int", "java.lang.Integer":
		return 32
	case "long", "java.lang.Long":
		return 64
	case "short", "java.lang.Short":
		return 16
	case "byte", "java.lang.Byte":
		return 8
	}
	return 0
}

func isClass(name, primitive, boxed string) bool {
	return name == primitive || name == "java.lang."+boxed
}

// Warnings returns remarks on a valid rule that probably does not do what was meant: items without
// effect, and classes that are taken as strings.
func (r Rule) Warnings() []string {
	var list []string
	for at, item := range r.Items {
		if _, err := item.Value(); err != nil {
			list = append(list, fmt.Sprintf("paramFlowItemList[%d] is left out: %v", at, err))
		} else if !item.known() {
			list = append(list, fmt.Sprintf("paramFlowItemList[%d]: unknown classType %q, the value is taken as a string", at, item.ClassType))
		}
	}
	if r.BurstCount != 0 && r.ControlBehavior == Throttling {
		list = append(list, "burstCount has no effect with controlBehavior 2")
	}
	return list
}
