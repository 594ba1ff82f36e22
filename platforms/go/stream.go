package sotto

// #include "bridge.h"
import "C"

import (
	"context"
	"fmt"
	"iter"
	"math"
	"runtime"
)

// PrefillEmbeddings begins an empty stream with rows of EmbeddingSize floats instead of tokens.
func (s *Session) PrefillEmbeddings(embeddings []float32) (Status, error) {
	size := int(s.core.model.info.EmbeddingSize)
	if len(embeddings)%size != 0 {
		return OK, &Error{InvalidArgument, fmt.Sprintf("embeddings has %d floats; it must have %d per row",
			len(embeddings), size), -1}
	}
	return s.plain(func(handle *C.sotto_session) C.sotto_status {
		return C.sotto_session_prefill_embeddings(handle, floatsOf(embeddings), C.size_t(len(embeddings)/size))
	})
}

// Next generates one token. At the end of a text, stop is the reason, and the piece contains the text that was
// withheld.
func (s *Session) Next() (piece Piece, stop Status, err error) {
	stop, err = s.plain(func(handle *C.sotto_session) C.sotto_status {
		var cPiece *C.sotto_piece
		status := C.sotto_session_next(handle, &cPiece)
		if status >= 0 {
			piece = newPiece(cPiece)
		}
		return status
	})
	return piece, stop, err
}

// Step is the result of Next in one session.
type Step struct {
	Piece Piece
	Stop  Status
	Err   error
}

// NextOf generates one token in each of several sessions of the same model, in one batch, which is faster than one
// session after the other, and gives the same results. It panics if a callback has panicked.
func NextOf(sessions []*Session) ([]Step, error) {
	if len(sessions) == 0 {
		return nil, nil
	}
	defer runtime.KeepAlive(sessions)
	handles := make([]*C.sotto_session, len(sessions))
	for i, session := range sessions {
		if err := session.core.enter(); err != nil {
			return nil, err
		}
		defer session.core.leave()
		handles[i] = session.core.handle
	}
	pieces, statuses := make([]*C.sotto_piece, len(sessions)), make([]C.sotto_status, len(sessions))
	details := newError()
	status := C.sotto_sessions_next(&handles[0], C.size_t(len(handles)), &pieces[0], &statuses[0], &details)
	if err := check(status, &details); err != nil {
		return nil, err
	}
	steps := make([]Step, len(sessions))
	for i, session := range sessions {
		session.core.callbacks.repanic()
		if statuses[i] >= 0 {
			steps[i] = Step{Piece: newPiece(pieces[i]), Stop: Status(statuses[i])}
		} else {
			steps[i].Err = check(statuses[i], failureOf(handles[i], statuses[i]))
		}
	}
	return steps, nil
}

// NoLimit is a value of maxTokens: the text continues until another stop.
const NoLimit = math.MaxInt

func limit(maxTokens int) (C.size_t, error) {
	if maxTokens < 0 {
		return 0, &Error{InvalidArgument, fmt.Sprintf("maxTokens is %d; it must be at least 0", maxTokens), -1}
	}
	if maxTokens == NoLimit {
		return ^C.size_t(0), nil
	}
	return C.size_t(maxTokens), nil
}

// Pieces evaluates a prompt and yields the pieces after it, until a stop or until maxTokens. If it fails or ctx is
// cancelled, it yields the error last. Info returns the reason why the text ended. An empty prompt continues the text.
func (s *Session) Pieces(ctx context.Context, prompt []Token, maxTokens int) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		if err := s.run(ctx, prompt, maxTokens, func(piece Piece) bool { return yield(piece, nil) }); err != nil {
			yield(Piece{}, err)
		}
	}
}

// Stream is like Pieces, but yields text.
func (s *Session) Stream(ctx context.Context, prompt string, maxTokens int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		tokens, err := s.tokenize(prompt)
		if err == nil {
			err = s.run(ctx, tokens, maxTokens, func(piece Piece) bool {
				return piece.Text == "" || yield(piece.Text, nil)
			})
		}
		if err != nil {
			yield("", err)
		}
	}
}

// tokenize encodes text with the session's model, which lives as long as the session.
func (s *Session) tokenize(text string) (tokens []Token, err error) {
	if err := s.core.enter(); err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(s)
	defer s.core.leave()
	return s.core.model.tokenize(text, 0)
}

// run is the loop of the iterators. It ends when yield returns false.
func (s *Session) run(ctx context.Context, prompt []Token, maxTokens int, yield func(Piece) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := limit(maxTokens); err != nil {
		return err
	}
	isCancelled := false // the library has reported the cancellation
	isDone := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		s.Cancel()
		close(isDone)
	})
	defer func() {
		if stop() || isCancelled {
			return
		}
		<-isDone // the session must not stay cancelled for its next call
		_, _ = s.plain(func(handle *C.sotto_session) C.sotto_status {
			var piece *C.sotto_piece
			return C.sotto_session_next(handle, &piece)
		})
	}()
	status, err := s.Prefill(prompt)
	if err == nil {
		err = s.SetLimit(maxTokens)
	}
	for err == nil && status == OK {
		var piece Piece
		piece, status, err = s.Next()
		if err == nil && (status == OK || piece.Text != "") && !yield(piece) {
			isCancelled = status == StopCancelled
			return nil
		}
	}
	if err != nil {
		return err
	}
	isCancelled = status == StopCancelled
	if isCancelled {
		return ctx.Err()
	}
	return nil
}
