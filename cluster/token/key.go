package token

import (
	"hash/maphash"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
	"github.com/tidegate-go/tidegate/hotspot"
)

// A valueKey is the identity of a parameter value: a number and its class, or two digests of a text. The digests are
// seeded at random, so nobody can choose two texts that meet in all 125 bits. So a value takes the same
// memory however long its text is, and the table holds no pointer.
type valueKey struct{ num, class uint64 }

// Each wire type of a number is a class of its own, in both modes, so that an exception item means what it says: an int 8
// is another value than a long 8, as in Java. Texts have isText set. The two lowest bits of a class are always 0.
const (
	tagClass uint64 = 16 << 2
	isText   uint64 = 1 << 63
)

// canonicalNaN stands for every NaN, so that NaN is one value and not a new one per call.
const canonicalNaN = 0x7FF8000000000001

// A keyer makes keys and their hashes.
type keyer struct {
	first, second maphash.Seed
	mixA, mixB    uint64
}

func newKeyer() *keyer {
	return &keyer{maphash.MakeSeed(), maphash.MakeSeed(), rand.Uint64(), rand.Uint64() | 1}
}

// key returns the key of a value and its hash. The hash's top bits choose the shard, the low ones the place in it.
func (k *keyer) key(v *wire.Value) (key valueKey, hash uint64) {
	if v.Tag == wire.TagString {
		hash = maphash.Bytes(k.first, v.Text)
		return valueKey{hash, maphash.Bytes(k.second, v.Text)&^maxHeat | isText}, hash
	}
	key = valueKey{v.Bits, tagClass + uint64(v.Tag)<<2}
	switch v.Tag {
	case wire.TagDouble:
		key.num = floatBits(math.Float64frombits(v.Bits))
	case wire.TagFloat:
		key.num = floatBits(float64(math.Float32frombits(uint32(v.Bits))))
	case wire.TagInt, wire.TagLong, wire.TagByte, wire.TagShort, wire.TagBool, wire.TagString:
	}
	return key, k.mix(key.num, key.class)
}

// hash returns the hash of a key.
func (k *keyer) hash(key valueKey) uint64 {
	if key.class&isText != 0 {
		return key.num
	}
	return k.mix(key.num, key.class)
}

// floatBits returns the bits under which a float is known. Java's equality of boxed doubles keeps -0.0 and 0.0 apart.
func floatBits(f float64) uint64 {
	if math.IsNaN(f) {
		return canonicalNaN
	}
	return math.Float64bits(f)
}

// mix is the multiply-and-fold step of wyhash (Wang Yi), twice.
func (k *keyer) mix(num, class uint64) uint64 {
	high, low := bits.Mul64(num^k.mixA, (class+1)*0x9E3779B97F4A7C15^k.mixB)
	high, low = bits.Mul64(high^low^k.mixB, 0xA0761D6478BD642F)
	return high ^ low
}

// itemKeys returns the thresholds of a rule's exception items by value, nil if it has none that count. A later item
// replaces an earlier one of the same value.
func (k *keyer) itemKeys(items []hotspot.Item) map[valueKey]float64 {
	var counts map[valueKey]float64
	for _, item := range items {
		arg, err := item.Value()
		if err != nil || item.ClassType == "char" { // no char can come by the wire
			continue
		}
		if counts == nil {
			counts = make(map[valueKey]float64, len(items))
		}
		value := valueOf(arg, item.ClassType)
		key, _ := k.key(&value)
		counts[key] = float64(item.Count)
	}
	return counts
}

// valueOf returns the value as a client would send one of that Java class.
func valueOf(arg chain.Arg, class string) wire.Value {
	switch arg.Kind() {
	case chain.ArgInt:
		return wire.Value{Tag: integerTag(class), Bits: arg.Bits()}
	case chain.ArgFloat:
		f := math.Float64frombits(arg.Bits())
		if class == "float" || class == "java.lang.Float" {
			return wire.FloatValue(float32(f))
		}
		return wire.DoubleValue(f)
	case chain.ArgBool:
		return wire.Value{Tag: wire.TagBool, Bits: arg.Bits()}
	default:
		return wire.TextValue([]byte(arg.Str()))
	}
}

func integerTag(class string) wire.Tag {
	switch class {
	case "int", "java.lang.Integer":
		return wire.TagInt
	case "short", "java.lang.Short":
		return wire.TagShort
	case "byte", "java.lang.Byte":
		return wire.TagByte
	}
	return wire.TagLong
}
