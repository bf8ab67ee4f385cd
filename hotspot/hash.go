package hotspot

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
	"unicode/utf8"
)

// Texts longer than shortest are compared by two seeded digests, 64 bits of one and 32 of the other, and their length,
// so that comparing costs no further cache line; of texts longer than maxText only the beginning is kept, so that a
// value's memory is bounded whatever callers send. Both digests are seeded per table: nobody can choose two texts that
// meet in all bits.
const (
	shortest  = 16 // bytes of a text that fit into a value's bits
	maxText   = 48
	shortText = 32
)

// A hasher hashes keys, seeded at random so that callers cannot choose values that collide.
type hasher struct {
	first, second maphash.Seed
	mixer
}

// A mixer makes the hash of a key out of its bits and kind, so that a record tells the hash of its key.
type mixer struct{ a, b uint64 }

func newHasher() hasher {
	return hasher{maphash.MakeSeed(), maphash.MakeSeed(), mixer{rand.Uint64(), rand.Uint64() | 1}}
}

// A probe is a key as the table compares it: bits has a number, a text of up to 16 bytes, or the digests and the length
// of a longer one. Objects have a digest there and are compared by themselves. The high half of the hash chooses the shard, the low half
// the place in it.
type probe struct {
	hash uint64
	bits [2]uint64
	kind form
	text string
	obj  any
}

func (p *probe) long() bool { return classOf(p.kind) == classLong }

// key returns the key that the probe is for.
func (p *probe) key() Key {
	switch class := classOf(p.kind); class {
	case classText, classLong:
		return Key{class: classText, text: p.text}
	case classOther:
		return Key{class: classOther, obj: p.obj}
	default:
		return Key{class: class, num: p.bits[0]}
	}
}

// prepare makes p, which is zero, ready for looking a key up.
func (h *hasher) prepare(p *probe, k *Key) {
	switch k.class {
	case classText:
		h.ofText(p, k.text)
	case classOther:
		p.kind, p.obj = form(classOther), k.obj
		p.bits[0] = maphash.Comparable(h.first, k.obj)
		p.hash = h.mix(p.bits[0], 0, p.kind)
	default:
		h.ofNumber(p, k.class, k.num)
	}
}

func (h *hasher) ofNumber(p *probe, c class, number uint64) {
	p.kind, p.bits[0] = form(c), number
	p.hash = h.mix(number, 0, p.kind)
}

func (h *hasher) ofText(p *probe, text string) {
	p.text = text
	size := len(text)
	if size > shortest {
		p.kind = kindOf(classLong, 0)
		p.bits[0] = maphash.String(h.first, text)
		p.bits[1] = maphash.String(h.second, text)<<32 | uint64(uint32(size))
	} else {
		p.kind = kindOf(classText, size)
		p.bits[0], p.bits[1] = pack(text)
	}
	p.hash = h.mix(p.bits[0], p.bits[1], p.kind)
}

// mix is the multiply-and-fold step of wyhash (Wang Yi), twice, with secret operands: enough for a table's index, and
// 2 ns, a fifth of what a digest of a short text costs.
func (m *mixer) mix(a, b uint64, kind form) uint64 {
	high, low := bits.Mul64(a^m.a, b^m.b)
	high, low = bits.Mul64(high^low^m.b, uint64(kind)<<32^0xA0761D6478BD642F)
	return high ^ low
}

// matches says whether v, which has the form f, is the value of the key, whose hash was found beside it. What it
// compares may in part be another value's: then the form changes, which the caller finds out when it looks at it after
// it has reserved.
func (p *probe) matches(v *value, f form) bool {
	return (v.bits[0].Load()^p.bits[0])|(v.bits[1].Load()^p.bits[1])|uint64(f&kindMask^p.kind) == 0
}

// isOther says that v, which matches, is another object than the key's.
func (p *probe) isOther(v *value, records *slab) bool {
	return p.kind == form(classOther) && !p.isObject(v, records)
}

func (p *probe) isObject(v *value, records *slab) bool {
	x := records.extraOf(v)
	return x != nil && x.obj == p.obj
}

// pack puts a text of up to 16 bytes into two words, by loads that overlap.
func pack(text string) (a, b uint64) {
	n := len(text)
	switch {
	case n >= 8:
		return word(text), word(text[n-8:])
	case n >= 4:
		return half(text) | half(text[n-4:])<<32, 0
	}
	for i := range n {
		a |= uint64(text[i]) << (8 * i)
	}
	return a, 0
}

// word returns the first eight bytes, half the first four. The compiler makes one load of each.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func half(s string) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// unpack is the reverse of pack.
func unpack(a, b uint64, size int) string {
	var text [shortest]byte
	switch {
	case size >= 8:
		binary.LittleEndian.PutUint64(text[:], a)
		binary.LittleEndian.PutUint64(text[size-8:], b)
	case size >= 4:
		binary.LittleEndian.PutUint32(text[:], uint32(a))
		binary.LittleEndian.PutUint32(text[size-4:], uint32(a>>32))
	default:
		binary.LittleEndian.PutUint64(text[:], a)
	}
	return string(text[:size])
}

// beginning returns a text of up to maxText bytes, and of a longer one up to shortText, cut between characters.
func beginning(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := shortText
	for end > shortText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
