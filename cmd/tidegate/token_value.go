package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tidegate-go/tidegate/chain"
)

// valueTypes are the types of parameters that the protocol knows.
const valueTypes = "int, long, byte, short, double, float, bool, string"

// parseValue reads TYPE:VALUE.
func parseValue(text string) (chain.Arg, error) {
	kind, value, found := strings.Cut(text, ":")
	if !found {
		return chain.Arg{}, fmt.Errorf("%q is not TYPE:VALUE", text)
	}
	v, err := valueOf(kind, value)
	if err != nil {
		return chain.Arg{}, err
	}
	return chain.Any("", v), nil
}

func valueOf(kind, value string) (any, error) {
	switch kind {
	case "string":
		return value, nil
	case "bool":
		b, err := strconv.ParseBool(value)
		return b, wrongValue(kind, value, err)
	case "byte":
		n, err := strconv.ParseInt(value, 10, 8)
		return int8(n), wrongValue(kind, value, err)
	case "short":
		n, err := strconv.ParseInt(value, 10, 16)
		return int16(n), wrongValue(kind, value, err)
	case "int":
		n, err := strconv.ParseInt(value, 10, 32)
		return int32(n), wrongValue(kind, value, err)
	case "long":
		n, err := strconv.ParseInt(value, 10, 64)
		return n, wrongValue(kind, value, err)
	case "float":
		n, err := strconv.ParseFloat(value, 32)
		return float32(n), wrongValue(kind, value, err)
	case "double":
		n, err := strconv.ParseFloat(value, 64)
		return n, wrongValue(kind, value, err)
	}
	return nil, fmt.Errorf("%q is not one of %s", kind, valueTypes)
}

func wrongValue(kind, value string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%q is not a value of type %s", value, kind)
}
