package hotspot

import (
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// Texts longer than maxText are kept as their beginning and a second digest, so that a value's memory is bounded
// whatever callers send. Both digests are seeded per table: nobody can choose two texts that meet in all 128 bits.
const (
	maxText   = 48
	shortText = 32
)

// A hasher hashes keys, seeded at random so that callers cannot choose values that collide.
type hasher struct {
	first, second maphash.Seed
	mixA, mixB    uint64
}

func newHasher() hasher {
	return hasher{maphash.MakeSeed(), maphash.MakeSeed(), rand.Uint64(), rand.Uint64() | 1}
}

// hash returns a key's hash, never 0.
func (h *hasher) hash(k *Key) uint64 {
	var hash uint64
	switch k.class {
	case classText:
		hash = maphash.String(h.first, k.text)
	case classOther:
		hash = maphash.Comparable(h.first, k.obj)
	default:
		hash = h.mix(k.num, uint64(k.class))
	}
	return max(1, hash)
}

// mix is the multiply-and-fold step of wyhash (Wang Yi), twice: enough for a table's index, and 2 ns.
func (h *hasher) mix(num, class uint64) uint64 {
	high, low := bits.Mul64(num^h.mixA, (class+1)*0x9E3779B97F4A7C15^h.mixB)
	high, low = bits.Mul64(high^low^h.mixB, 0xA0761D6478BD642F)
	return high ^ low
}

// hashOf returns the hash of a value in the table.
func (h *hasher) hashOf(v *value) uint64 {
	if v.class == classLong {
		return v.more.hash
	}
	k := v.key()
	return h.hash(&k)
}

// matches says whether v is the value of k, whose hash was found beside it.
func (h *hasher) matches(v *value, k *Key) bool {
	switch v.class {
	case classText:
		return k.class == classText && v.text == k.text
	case classOther:
		return k.class == classOther && v.more.obj == k.obj
	case classLong:
		return k.class == classText && len(k.text) == v.more.size && v.num == maphash.String(h.second, k.text)
	default:
		return v.num == k.num && v.class == k.class
	}
}

// newValue makes the record of a value that has had no call yet. own is its exception item's limit, or nil.
func (h *hasher) newValue(hash uint64, k *Key, own *limit, state int64, burst bool) *value {
	v := &value{num: k.num, class: k.class, own: own != nil}
	long := len(k.text) > maxText
	switch {
	case long:
		v.class, v.num, v.text = classLong, maphash.String(h.second, k.text), strings.Clone(beginning(k.text))
	case k.text != "":
		v.text = strings.Clone(k.text)
	}
	if long || burst || v.own || k.class == classOther {
		v.more = &extra{obj: k.obj, limit: own, hash: hash, size: len(k.text)}
	}
	v.state.Store(state)
	return v
}

// beginning returns up to shortText bytes of a long text, cut between characters.
func beginning(text string) string {
	end := shortText
	for end > shortText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
