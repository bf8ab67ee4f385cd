package wire

import (
	"crypto/hmac"
	"crypto/sha256"
)

// NonceSize is the length of a nonce of the handshake, ProofSize that of a proof, in bytes.
const (
	NonceSize = 32
	ProofSize = sha256.Size
)

// ServerProof is how a server proves that it knows the secret: HMAC-SHA256 of its role and both nonces. It follows the
// server's nonce in the answer to a challenge.
func ServerProof(secret, clientNonce, serverNonce []byte) []byte {
	return proof(secret, "tidegate server", clientNonce, serverNonce)
}

// ClientProof is how a client proves it, by a message of type TypeProve. Compare proofs in constant time: hmac.Equal.
func ClientProof(secret, serverNonce, clientNonce []byte) []byte {
	return proof(secret, "tidegate client", serverNonce, clientNonce)
}

func proof(secret []byte, role string, first, second []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(role))
	h.Write(first)
	h.Write(second)
	return h.Sum(nil)
}
