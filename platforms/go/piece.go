package sotto

// #include "bridge.h"
import "C"

import "unsafe"

// TokenBias is added to the logit of a token; negative infinity bans the token.
type TokenBias struct {
	Token Token
	Bias  float32
}

// SequenceBias is added to the logit of the last of its tokens after the others have been generated.
type SequenceBias struct {
	Tokens []Token
	Bias   float32
}

// Alternative is a token that the model could have generated, with its ln p.
type Alternative struct {
	Token          Token
	LogProbability float32
}

// Piece is a generated token.
type Piece struct {
	Text                  string // whole characters; empty while a character or a stop string is incomplete
	Token                 Token  // -1 if the piece contains only text that was withheld before
	Bytes                 []byte // the bytes of the token
	LogProbability        float32
	SampledLogProbability float32       // after the sampler's chain; both are NaN unless LogProbabilities is set
	Alternatives          []Alternative // most likely first
	ElapsedNS             uint64

	// The others are set if Statistics is; without it they are NaN and 0.
	Entropy             float32 // of the model's distribution, in nats
	EffectiveVocabulary float32 // exp(Entropy)
	KeptCount           uint32  // number of tokens that could be drawn after the sampler's chain
	Repetitiveness      float32 // of the newest tokens, from 0 to 1
}

func newPiece(p *C.sotto_piece) Piece {
	piece := Piece{
		Text:                  C.GoStringN(p.text, C.int(p.text_size)),
		Token:                 Token(p.token),
		LogProbability:        float32(p.log_probability),
		SampledLogProbability: float32(p.sampled_log_probability),
		ElapsedNS:             uint64(p.elapsed_ns),
		Entropy:               float32(p.entropy),
		EffectiveVocabulary:   float32(p.effective_vocabulary),
		KeptCount:             uint32(p.kept_count),
		Repetitiveness:        float32(p.repetitiveness),
	}
	if p.byte_count > 0 {
		piece.Bytes = C.GoBytes(unsafe.Pointer(p.bytes), C.int(p.byte_count))
	}
	for _, a := range unsafe.Slice(p.alternatives, p.alternative_count) {
		piece.Alternatives = append(piece.Alternatives, Alternative{Token(a.token), float32(a.log_probability)})
	}
	return piece
}

// Sequence is a continuation that a search found.
type Sequence struct {
	Tokens         []Token
	Score          float64 // ranks the sequence in the search
	LogProbability float64
	Stop           Status
	Index          uint32
}

func newSequences(sequences *C.sotto_sequence, count C.size_t) []Sequence {
	var found []Sequence
	for _, s := range unsafe.Slice(sequences, count) {
		found = append(found, Sequence{goTokens(s.tokens, s.token_count), float64(s.score),
			float64(s.log_probability), Status(s.stop), uint32(s.index)})
	}
	return found
}
